# SPDX-License-Identifier: BSL-1.0
"""Values in the layout of a paper's table, in the terminal."""
