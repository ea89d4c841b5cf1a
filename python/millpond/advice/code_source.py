# SPDX-License-Identifier: BSL-1.0
"""Reads the lines of a program's own source, if it is available."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from millpond.system.any_bytes import system_form

_BYTES_MAX = 4 << 20
# A call over several lines has its address on one of them.
_LINES_AROUND = (0, -1, 1, -2, 2)


@cache
def lines_of(file: str) -> tuple[str, ...]:
    """Returns the lines of a source file; empty if it cannot be read."""
    path = Path(system_form(file))
    try:
        if not path.is_file() or path.stat().st_size > _BYTES_MAX:
            return ()
        return tuple(path.read_text(encoding="utf-8", errors="replace").split("\n"))
    except OSError:
        return ()


def source_line(file: str, line: int, pattern: re.Pattern[str]) -> tuple[int, str] | None:
    """Returns the line within two lines of a place that matches a pattern, the nearest first, with its number."""
    lines = lines_of(file)
    for away in _LINES_AROUND:
        at = line + away
        if 0 < at <= len(lines) and pattern.search(_code_of(lines[at - 1])):
            return at, lines[at - 1].rstrip("\r")
    return None


def _code_of(line: str) -> str:
    """Returns a line without its comment."""
    return re.sub(r"//.*|/\*.*?\*/", "", line)
