# SPDX-License-Identifier: BSL-1.0
"""Draws figures, tables and pages."""
