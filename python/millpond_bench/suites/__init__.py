# SPDX-License-Identifier: BSL-1.0
"""The measurements of papers as experiments: cells, figures, statements. Only data."""
