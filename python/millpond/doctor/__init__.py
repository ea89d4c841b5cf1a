# SPDX-License-Identifier: BSL-1.0
"""Checks of the machine for `millpond doctor`: its examination, and the comparison of replay with real programs."""
