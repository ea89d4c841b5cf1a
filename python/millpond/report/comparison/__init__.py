# SPDX-License-Identifier: BSL-1.0
"""Two runs beside each other."""
