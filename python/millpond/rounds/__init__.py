# SPDX-License-Identifier: BSL-1.0
"""How cells are run: rounds in turns, grids and their forecasts, the recorder, replay and trial as programs."""
