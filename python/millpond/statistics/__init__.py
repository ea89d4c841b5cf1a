# SPDX-License-Identifier: BSL-1.0
"""Intervals and tests on rounds, paired and unpaired."""
