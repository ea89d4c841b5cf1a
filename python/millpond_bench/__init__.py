# SPDX-License-Identifier: BSL-1.0
"""Experiments of papers and of ourselves: data, programs, runs, statements and pages. Imports millpond."""
