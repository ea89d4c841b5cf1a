# SPDX-License-Identifier: BSL-1.0
"""What the source documents measured, as experiments: cells, figures, statements. Data alone."""
