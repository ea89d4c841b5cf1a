# SPDX-License-Identifier: BSL-1.0
"""Compares two runs, two stores or two builds."""
