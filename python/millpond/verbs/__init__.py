# SPDX-License-Identifier: BSL-1.0
"""The table of verbs and options; the parser, help, completions and man pages that are made from it."""
