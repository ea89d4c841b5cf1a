# SPDX-License-Identifier: BSL-1.0
"""Runs experiments and judges them."""
