# SPDX-License-Identifier: BSL-1.0
"""What is run: cells, the plans that they carry, and checksums of what they computed."""
