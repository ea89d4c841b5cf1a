# SPDX-License-Identifier: BSL-1.0
"""Splits the command line before an option parser sees it.

    millpond advise --budget 60 --json -- perl -w script.pl
                    └── options of the verb ──┘ └ the program, never looked into

Two rules: everything after the first `--` belongs to the program; and `--json` takes a value only as `--json=FILE` (a
bare `--json` means standard output), as does `--counters`. So no argument is taken for a file name by accident.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass

from millpond.system.errors import Failure, Status

STDOUT = "-"
# The values of these options when they are given without one.
_OPTIONAL_VALUE = {"--json": STDOUT, "--counters": "measured"}


@dataclass(frozen=True)
class CommandLine:
    """The arguments before the first `--`, and the program's own arguments after it (None if there is no `--`)."""

    options: tuple[str, ...]
    program: tuple[str, ...] | None


def split(words: list[str]) -> CommandLine:
    """Splits at the first `--` and gives every bare option of optional value its default value."""
    if "--" in words:
        at = words.index("--")
        options, program = words[:at], tuple(words[at + 1 :])
    else:
        options, program = words, None
    return CommandLine(tuple(f"{w}={_OPTIONAL_VALUE[w]}" if w in _OPTIONAL_VALUE else w for w in options), program)


def program_of(verb: str, line: CommandLine, positional: list[str] | None) -> tuple[str, ...]:
    """The program to run. Without one, a usage failure that shows how to name it. `positional`: arguments that
    the parser found.
    """
    usage = f"millpond {verb} [OPTIONS] -- PROGRAM ARGS..."
    if line.program is None:
        raise Failure(Status.USAGE, f"`--` is missing before the program: {usage}")
    if not line.program or not line.program[0]:
        raise Failure(Status.USAGE, f"no program follows `--`: {usage}")
    stray = (positional or [])[: len(positional or []) - len(line.program)]
    if stray:
        raise Failure(Status.USAGE, f"unexpected argument {stray[0]!r} before `--`: {usage}")
    return line.program


_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}


def bytes_of(text: str) -> int:
    """Parses `4096`, `64MB` or `1.5 GB`: decimal units, at least one byte. ValueError, with a message for the user,
    for others.
    """
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)\s*([kmgt]?)b?", text.strip().lower())
    size = int(float(found[1]) * _UNITS[found[2]]) if found else 0
    if size < 1:
        raise ValueError(f"{text!r} is not a size; give bytes, or write 64MB or 2GB")
    return size


def options_text(given: Mapping[str, object]) -> str:
    """The options as typed: `--scale=quick --rounds=6`; options that were not given are left out."""
    pairs = [(name, one) for name, value in given.items() if value is not None
             for one in (value if isinstance(value, list) else [value])]  # fmt: skip
    return shlex.join(f"{name}={value}" for name, value in pairs)
