# SPDX-License-Identifier: BSL-1.0
"""Callgrind's totals: what a program did inside some of its functions, counted or simulated.

valgrind --tool=callgrind --toggle-collect=F … PROGRAM  ──▶ `Events : Ir Dr …`, `Collected : 12 3 …`  ──▶ {"Ir": 12, …}
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable

from millpond.system.errors import Failure, Status

_LINES = re.compile(r"(?:Events\s*:(?P<names>[ \w]*)\n[^\n]*)?Collected\s*:(?P<values>[ \d]*)")
_INSTRUCTIONS = "Ir"


def command(functions: Iterable[str], *, caches: bool = False) -> list[str]:
    """The words before the program's own. `functions`: patterns of what is collected, with all that it calls.

    `caches`: caches and branches are simulated too, and a program that starts another in its place is followed.

    Failure (status 4) where Valgrind is not installed.
    """
    toggles = [f"--toggle-collect={function}" for function in functions]
    more = ["--cache-sim=yes", "--branch-sim=yes", "--trace-children=yes"] if caches else []
    return [find_valgrind(), "--tool=callgrind", f"--callgrind-out-file={os.devnull}", *more, *toggles]


def collected(said: str) -> dict[str, int]:
    """The totals by callgrind's names (`Ir`, `Dr`, `D1mr`, `DLmr`, …) in what it wrote; empty where there are none."""
    found = _LINES.search(said)
    if found is None:
        return {}
    names = (found["names"] or _INSTRUCTIONS).split()
    values = [int(word) for word in found["values"].split()]
    # A total of nothing is one 0, however many events there are.
    return dict(zip(names, values if len(values) == len(names) else [0] * len(names), strict=True))


def find_valgrind() -> str:
    """Failure (status 4) where it is not installed."""
    found = shutil.which("valgrind")
    if found is None:
        raise Failure(
            Status.ENVIRONMENT, "valgrind is missing, which counts instructions; `scripts/setup bench` has it"
        )
    return found
