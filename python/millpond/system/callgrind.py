# SPDX-License-Identifier: BSL-1.0
"""Callgrind's totals: the events inside some functions of a program, counted or simulated.

valgrind --tool=callgrind --toggle-collect=F … PROGRAM  ──▶ `Events : Ir Dr …`, `Collected : 12 3 …`  ──▶ {"Ir":
12, …}
valgrind --tool=callgrind --callgrind-out-file=X …      ──▶ X  ──▶ instructions by the file that they lie in
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable
from pathlib import Path

from millpond.system.errors import Failure, Status

_LINES = re.compile(r"(?:Events\s*:(?P<names>[ \w]*)\n[^\n]*)?Collected\s*:(?P<values>[ \d]*)")
_INSTRUCTIONS = "Ir"


def command(functions: Iterable[str], *, caches: bool = False) -> list[str]:
    """The command line that comes before the program's own.

    `functions`: patterns of the functions that are counted, with everything that they call. `caches`: simulates caches
    and branches too, and follows a program that starts another in its place. Failure (status 4) if Valgrind is not
    installed.
    """
    toggles = [f"--toggle-collect={function}" for function in functions]
    more = ["--cache-sim=yes", "--branch-sim=yes", "--trace-children=yes"] if caches else []
    return [find_valgrind(), "--tool=callgrind", f"--callgrind-out-file={os.devnull}", *more, *toggles]


def collected(said: str) -> dict[str, int]:
    """The totals in callgrind's output by callgrind's names (`Ir`, `Dr`, `D1mr`, …); empty if there are none."""
    found = _LINES.search(said)
    if found is None:
        return {}
    names = (found["names"] or _INSTRUCTIONS).split()
    values = [int(word) for word in found["values"].split()]
    # If nothing was counted, there is a single 0 for all events.
    return dict(zip(names, values if len(values) == len(names) else [0] * len(names), strict=True))


def instructions_by_file(profile: Path) -> dict[str, int]:
    """The instructions executed in each program file and library, from callgrind's profile. O(lines).

    Instructions count in the file that they lie in, also if a function of another file made the call.
    """
    names: dict[str, str] = {}
    found: dict[str, int] = {}
    file, follows_call = "", False
    with profile.open(encoding="utf-8", errors="replace") as lines:
        for line in lines:
            if line.startswith(("ob=", "cob=")):  # a number, followed by its name the first time
                key, _, rest = line.strip().partition("=")
                number, _, name = rest.partition(" ")
                names.setdefault(number, name)
                file = number if key == "ob" else file
            elif line.startswith("calls="):
                follows_call = True  # the next line holds the cost of the call, which its callee has already
            elif line[:1] in "0123456789+-*":
                if not follows_call:
                    found[file] = found.get(file, 0) + int(line.split()[1])
                follows_call = False
    return {names.get(number, ""): count for number, count in found.items()}


def find_valgrind() -> str:
    """The path of Valgrind. Failure (status 4) if it is not installed."""
    found = shutil.which("valgrind")
    if found is None:
        raise Failure(
            Status.ENVIRONMENT, "valgrind, which counts instructions, is missing; `scripts/setup bench` installs it"
        )
    return found
