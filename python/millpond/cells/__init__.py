# SPDX-License-Identifier: BSL-1.0
"""Cells (the unit that is run), the plans that they carry, and checksums of what they computed."""
