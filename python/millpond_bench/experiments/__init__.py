# SPDX-License-Identifier: BSL-1.0
"""What an experiment is: its points, parameters and programs, and the values that its rounds give."""
