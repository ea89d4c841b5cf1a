# SPDX-License-Identifier: BSL-1.0
"""A stored run for other tools."""
