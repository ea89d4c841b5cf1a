# SPDX-License-Identifier: BSL-1.0
"""Exports a stored run for other tools."""
