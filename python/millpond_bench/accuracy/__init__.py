# SPDX-License-Identifier: BSL-1.0
"""Validation: the error of predictions, compared with real programs."""
