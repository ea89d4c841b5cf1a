# SPDX-License-Identifier: BSL-1.0
"""The verbs, one file each, and their shared options."""
