# SPDX-License-Identifier: BSL-1.0
"""Real programs with their inputs, and how they are captured, counted and run as 32-bit code."""
