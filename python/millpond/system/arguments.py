# SPDX-License-Identifier: BSL-1.0
"""Reads sizes from a command line, and words options as they were typed."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping

STDOUT = "-"

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}


def bytes_of(text: str) -> int:
    """Parses `4096`, `64MB`, `1.5 GB` or `512KiB`: at least one byte. ValueError, with a message for the user, for
    others.
    """
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)\s*([kmgt]?(?=b?$)|[kmgt]i(?=b$))b?", text.strip().lower())
    size = int(float(found[1]) * _UNITS[found[2]]) if found else 0
    if size < 1:
        raise ValueError(f"{text!r} is not a size; give bytes, or write 64MB or 2GB")
    return size


def options_text(given: Mapping[str, object]) -> str:
    """The options as typed: `--scale=quick --rounds=6`; options that were not given are left out."""
    pairs = [(name, one) for name, value in given.items() if value is not None
             for one in (value if isinstance(value, list) else [value])]  # fmt: skip
    return shlex.join(f"{name}={value}" for name, value in pairs)
