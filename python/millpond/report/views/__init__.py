# SPDX-License-Identifier: BSL-1.0
"""The contents of every report as plain values, made once: terminal, Markdown and page only render them."""
