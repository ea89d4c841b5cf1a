# SPDX-License-Identifier: BSL-1.0
"""The page of models and figures: 4 KiB on every machine, as in lab/program/model_page.hpp.

A machine's own pages have the size `resource.getpagesize()`.
"""

from __future__ import annotations

MODEL_PAGE_BYTES = 4096
