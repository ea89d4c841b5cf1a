# SPDX-License-Identifier: BSL-1.0
"""Each system call of the recorder in a program fails, asleep and awake: the program runs on, and no loss is silent."""

from __future__ import annotations

import resource
from pathlib import Path

import pytest
from served_faults import LIMITS, check_every_call
from sleeping import Sleeper, counts, is_valid

from tiers import mostly_more

# Other calls go to the kernel directly: limits of the process make them fail.
ERRORS = {"mmap": "ENOMEM", "madvise": "ENOMEM"}


def run_through(folder: Path, fault: dict[str, str], limit: tuple[int, int] | None = None) -> list[str]:
    """Runs two stretches, with a limit from before the first. Returns the promises that they broke."""
    one = Sleeper(folder, extra=fault)
    try:
        said = ""
        one.tell("a 200", "w 2")
        if limit:
            resource.prlimit(one.pid, limit[0], (limit[1], limit[1]))
        for lines in (["a 50", "f 20", "c 30"], ["A 30", "F 0"]):
            status, _, words = one.ask("start")
            said += words
            if status == 0:
                one.tell(*lines)
                said += one.ask("stop")[2]
        status, words = one.end("x 5")
        said += words
    finally:
        one.close()
    traces = sorted(folder.glob("t-*"))
    broken = [
        f"{path.name} is not whole, and not a word about it" for path in traces if not said and not is_valid(path)
    ]
    found = [counts(path) for path in traces]
    if not said and found != [(50, 20, 0), (30, 30, 0), (60, 60, 0)]:
        broken.append(f"the traces hold {found}, and not a word about it")
    return broken + ([f"exit status {status}: {said}"] if status not in (5, 4) else [])


@pytest.mark.parametrize("name", LIMITS)
def test_a_limit_from_before_disturbs_no_program(name: str, tmp_path: Path) -> None:
    assert run_through(tmp_path, {}, LIMITS[name]) == []


@pytest.mark.parametrize("kind", ERRORS)
@pytest.mark.parametrize("how_long", mostly_more(["FOREVER", "ONCE"], "FOREVER"))
def test_a_failing_call_disturbs_no_program(kind: str, how_long: str, tmp_path: Path) -> None:
    check_every_call(kind, ERRORS[kind], how_long, tmp_path, run_through)
