# SPDX-License-Identifier: BSL-1.0
"""What a published experiment is, whichever document it is of: its rounds, figures, statements and pages."""
