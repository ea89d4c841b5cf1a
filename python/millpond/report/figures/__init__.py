# SPDX-License-Identifier: BSL-1.0
"""Figures, tables and pages, whatever they show."""
