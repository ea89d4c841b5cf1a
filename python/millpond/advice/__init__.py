# SPDX-License-Identifier: BSL-1.0
"""From a recorded program to its advice."""
