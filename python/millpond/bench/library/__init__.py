# SPDX-License-Identifier: BSL-1.0
"""The benchmark of the library's allocators against their peers: grid, rounds, bars."""
