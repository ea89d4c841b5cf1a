# SPDX-License-Identifier: BSL-1.0
"""Validation: how far predictions are off what real programs do."""
