# SPDX-License-Identifier: BSL-1.0
"""The statements of papers and of ourselves, and the rules that judge them."""
