# SPDX-License-Identifier: BSL-1.0
"""Runs cells: interleaved rounds, grids and their forecasts, and the native recorder, replay and trial."""
