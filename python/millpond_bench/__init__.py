# SPDX-License-Identifier: BSL-1.0
"""Experiments of papers and of the library itself: data, programs, runs, statements and pages. Imports millpond."""
