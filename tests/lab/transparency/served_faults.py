# SPDX-License-Identifier: BSL-1.0
"""Faults of the recorder inside `served`: limits of the process, and each of its system calls in turn."""

from __future__ import annotations

import resource
from collections.abc import Callable
from itertools import count
from pathlib import Path

from harness import PROGRAMS

LIMITS = {"no descriptor": (resource.RLIMIT_NOFILE, 3), "no file": (resource.RLIMIT_FSIZE, 1)}
CALLS_MAX = 200


def check_every_call(
    kind: str, error: str, how_long: str, folder: Path, run_through: Callable[[Path, dict[str, str]], list[str]]
) -> None:
    """Lets the n-th call of a kind fail for n = 1, 2, … until a run makes fewer; AssertionError for broken promises.

    `run_through` takes an empty folder and the variables that make `served` fail so, and returns these promises.
    """
    broken = []
    for n in count(1):
        assert n < CALLS_MAX
        place, report = folder / str(n), folder / "report"
        place.mkdir()
        report.unlink(missing_ok=True)
        fault = {"LD_PRELOAD": str(PROGRAMS / "libfail_nth.so"), "FAIL_NTH": f"{kind}:{n}:{error}:{how_long}",
                 "FAIL_NTH_PROGRAM": "served", "FAIL_NTH_CALLER": "libmillpond-record.so",
                 "FAIL_NTH_REPORT": str(report)}  # fmt: skip
        broken += [f"{kind} {n}: {what}" for what in run_through(place, fault)]
        if not report.exists():
            break
    assert n > 1, "no call was made to fail"
    assert not broken, "\n".join(broken)
