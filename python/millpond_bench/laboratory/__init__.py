# SPDX-License-Identifier: BSL-1.0
"""Benchmarks of the laboratory: its own costs, and the quality of its advice."""
