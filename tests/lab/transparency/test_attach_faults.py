# SPDX-License-Identifier: BSL-1.0
"""Each system call of the recorder in a program that it is attached to fails: the program runs on, and no loss is
silent.
"""

from __future__ import annotations

import re
import resource
import signal
from pathlib import Path

import pytest
from attaching import SERVED, RunningProgram, skip_if_forbidden
from harness import LIMIT_SECONDS
from served_faults import LIMITS, check_every_call
from sleeping import counts, is_valid

from tiers import mostly_more

ERRORS = {"mmap": "ENOMEM", "madvise": "ENOMEM", "open": "EMFILE"}
REFUSALS = r"millpond: the program cannot (load the recorder|open the recording's file): .+\n"


def run_through(folder: Path, fault: dict[str, str], limit: tuple[int, int] | None = None) -> list[str]:
    """Attaches twice, with a limit from before the first. Returns the promises that this broke."""
    broken = []
    one = RunningProgram(folder, SERVED, fault)
    try:
        one.tell("a 200", "w 2")
        if limit:
            resource.prlimit(one.pid, limit[0], (limit[1], limit[1]))
        for n, lines in enumerate((("a 50", "f 20", "c 30"), ("A 30", "F 0"))):
            recorder = one.start_recorder(f"t{n}.mpt")
            assert recorder.stderr
            said = recorder.stderr.readline()
            skip_if_forbidden(said)
            one.tell(*lines)
            if "attached to" in said:
                recorder.send_signal(signal.SIGINT)
            rest = recorder.communicate(timeout=LIMIT_SECONDS)[1]
            if "attached to" not in said and not (recorder.returncode == 4 and re.fullmatch(REFUSALS, said)):
                broken.append(f"refused with status {recorder.returncode}: {said}{rest}")
            if "attached to" in said and not re.match(r"millpond: detached", rest):
                broken.append(f"status {recorder.returncode}: {rest}")
            traces = sorted(folder.glob(f"t{n}.mpt*"))
            lost = recorder.returncode != 0 or rest.count("\n") > 1
            broken += [f"{path.name} is not whole, and not a word about it" for path in traces
                       if not lost and not is_valid(path)]  # fmt: skip
            wanted = [[(50, 20, 0), (30, 30, 0)], [(60, 60, 0)]][n]
            found = [counts(path) for path in traces] if not lost else wanted
            if found != wanted:
                broken.append(f"the traces hold {found}, and not a word about it")
        status, words = one.end("x 5")
        if (status, words) != (5, ""):
            broken.append(f"exit status {status}: {words}")
    finally:
        one.close()
    return broken


@pytest.mark.parametrize("name", LIMITS)
def test_a_limit_from_before_disturbs_no_program(name: str, tmp_path: Path) -> None:
    assert run_through(tmp_path, {}, LIMITS[name]) == []


@pytest.mark.parametrize("kind", ERRORS)
@pytest.mark.parametrize("how_long", mostly_more(["FOREVER", "ONCE"], "FOREVER"))
def test_a_failing_call_disturbs_no_program(kind: str, how_long: str, tmp_path: Path) -> None:
    check_every_call(kind, ERRORS[kind], how_long, tmp_path, run_through)
