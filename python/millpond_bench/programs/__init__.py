# SPDX-License-Identifier: BSL-1.0
"""Real programs with their inputs, and the code that captures, counts and runs them, also as 32-bit programs."""
