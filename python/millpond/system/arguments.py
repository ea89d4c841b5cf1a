# SPDX-License-Identifier: BSL-1.0
"""Reads sizes from a command line, and words options as they were typed."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping

STDOUT = "-"

_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}


def bytes_of(text: str) -> int:
    """Parses `4096`, `64MB`, `1.5 GB` (decimal units) or `512KiB` (binary): at least one byte. ValueError, with a
    message for the user, for others.
    """
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)\s*(?:([kmgt]?)b?|([kmgt])ib)", text.strip().lower())
    base, unit = (1024, found[3]) if found and found[3] else (1000, found[2] if found else "")
    size = int(float(found[1]) * base ** _POWERS[unit]) if found else 0
    if size < 1:
        raise ValueError(f"{text!r} is not a size; give bytes, or write 64MB or 512KiB")
    return size


def options_text(given: Mapping[str, object]) -> str:
    """The options as typed: `--scale=quick --rounds=6`; options that were not given are left out."""
    pairs = [(name, one) for name, value in given.items() if value is not None
             for one in (value if isinstance(value, list) else [value])]  # fmt: skip
    return shlex.join(f"{name}={value}" for name, value in pairs)
