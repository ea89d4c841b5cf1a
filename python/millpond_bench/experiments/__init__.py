# SPDX-License-Identifier: BSL-1.0
"""Experiments as data: their points, parameters and programs, and the values of their rounds."""
