# SPDX-License-Identifier: BSL-1.0
"""Builds the documentation's site: docs/, and pages made from the verbs, the JSON types and the headers.

docs/*.md ─────────────────────────────────┐
table of verbs  ─▶ reference/cli/*.md      │
JSON types      ─▶ reference/schemas/*.md  ├─▶ build/docs/source ──Sphinx, Furo──▶ build/docs/site
headers ─Doxygen─▶ reference/library/*.md  │
stored results  ─▶ images/*.png ───────────┘

`make docs` runs it (build_site.py). Nothing here is installed with Millpond.
"""
