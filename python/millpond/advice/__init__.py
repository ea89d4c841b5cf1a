# SPDX-License-Identifier: BSL-1.0
"""Turns a recorded program into advice."""
