# SPDX-License-Identifier: BSL-1.0
"""Each system call of a recording fails, once or permanently: the program runs on, and no loss is silent.

recorded_program   calls that the recorder's library makes in the program
sampled_program    the same where each block that the program counts is chosen
forked_child       the same, in a forked child only: the other processes' traces stay whole
recorder           calls of millpond-record, from its start to its end
finishing          calls of `millpond-record --finish` after the recorder was killed

For each kind of call, n grows until a run makes fewer than n such calls.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest
from faulting import (
    PROGRAM,
    RECORD,
    Fault,
    Reference,
    broken_by_attempt,
    broken_by_finish,
    interrupted_recording,
)

from tiers import mostly_more

# The errors that such a call can meet; each n takes the next one. EINTR is temporary, so it is never permanent.
ERRORS = {
    "open": ("EMFILE", "EACCES", "ENOSPC", "EINTR"),
    "write": ("ENOSPC", "EIO", "SHORT", "EINTR"),
    "mmap": ("ENOMEM", "EAGAIN"),
    "madvise": ("ENOMEM", "EAGAIN"),
    "ftruncate": ("ENOSPC", "EIO", "EINTR"),
    "fallocate": ("ENOSPC", "EIO", "EINTR"),
    "rename": ("ENOSPC", "EACCES", "EIO"),
    "fork": ("EAGAIN", "ENOMEM"),
    "mkdir": ("ENOSPC", "EACCES"),
    "unlink": ("EACCES", "EIO"),
    "link": ("ENOSPC", "EPERM"),
    "sync": ("EIO", "ENOSPC"),
}
PASSING = {"EINTR", "SHORT"}
CALLS_MAX = 400
# The kinds of calls that are made at least once, so that a test of them cannot pass without a fault.
IN_PROGRAM = {"open", "write", "mmap", "madvise"}
IN_CHILD = {"mmap", "madvise"}
IN_FINISHING = {"open", "write", "mmap", "madvise", "fallocate", "rename", "unlink"}
IN_RECORDER = IN_FINISHING | {"fork"}
LIBRARY_OF_RECORDER = "libmillpond-record.so"
LIBRARY_OF_SAMPLES = "libmillpond-sample.so"
EVERY_BLOCK = ("--sample", "1")  # the blocks that the program counts have thousands of bytes

every_call = pytest.mark.parametrize("how_long", mostly_more(["ONCE", "FOREVER"], "ONCE"))
every_kind = pytest.mark.parametrize("kind", ERRORS)


Attempt = Callable[[Fault], list[str]]  # returns the promises that a recording with that fault broke


@pytest.fixture
def attempt(tmp_path: Path, reference: Reference) -> Attempt:
    return lambda fault: broken_by_attempt(fault, tmp_path / "work", tmp_path / "report", reference)


def check_every_call(
    kind: str,
    how_long: str,
    report: Path,
    attempt: Attempt,
    program: Path,
    caller: str = "",
    forked: bool = False,
    options: tuple[str, ...] = (),
) -> int:
    """Lets the n-th call of a kind fail for n = 1, 2, … until a run makes fewer calls; lists all broken promises.

    Returns the number of calls that were made to fail.
    """
    errors = [error for error in ERRORS[kind] if how_long == "ONCE" or error not in PASSING]
    broken: list[str] = []
    for n in count(1):
        assert n <= CALLS_MAX, f"{CALLS_MAX} calls of the kind, and no end"
        error = errors[(n - 1) % len(errors)]
        report.unlink(missing_ok=True)
        found = attempt(Fault(kind, n, error, how_long, program.name, caller, forked, options))
        broken += [f"{kind} {n} {error} {how_long}: {what}" for what in found]
        if not report.exists():
            break
    assert not broken, f"{len(broken)} promises broken in {n - 1} calls:\n" + "\n".join(broken)
    return n - 1


@every_kind
@every_call
def test_recorded_program_is_undisturbed(kind: str, how_long: str, tmp_path: Path, attempt: Attempt) -> None:
    failed = check_every_call(kind, how_long, tmp_path / "report", attempt, PROGRAM, LIBRARY_OF_RECORDER)
    assert failed > 0 or kind not in IN_PROGRAM


@every_kind
@every_call
def test_sampled_program_is_undisturbed(kind: str, how_long: str, tmp_path: Path, attempt: Attempt) -> None:
    failed = check_every_call(
        kind, how_long, tmp_path / "report", attempt, PROGRAM, LIBRARY_OF_SAMPLES, options=EVERY_BLOCK
    )
    assert failed > 0 or kind not in IN_PROGRAM


@every_kind
@every_call
def test_forked_child_loses_its_own_trace_only(kind: str, how_long: str, tmp_path: Path, attempt: Attempt) -> None:
    failed = check_every_call(kind, how_long, tmp_path / "report", attempt, PROGRAM, LIBRARY_OF_RECORDER, forked=True)
    assert failed > 0 or kind not in IN_CHILD


@every_kind
@every_call
def test_recorder_loses_nothing_in_silence(kind: str, how_long: str, tmp_path: Path, attempt: Attempt) -> None:
    failed = check_every_call(kind, how_long, tmp_path / "report", attempt, RECORD)
    assert failed > 0 or kind not in IN_RECORDER


@pytest.fixture(scope="module")
def interrupted(tmp_path_factory: pytest.TempPathFactory, reference: Reference) -> tuple[Path, Path]:
    """The folder of an interrupted recording, and a fresh copy of it for each attempt."""
    place = tmp_path_factory.mktemp("interrupted")
    interrupted_recording(place / "work", reference)
    (place / "work").rename(place / "saved")
    return place / "saved", place / "work"


@every_kind
@every_call
def test_finishing_can_be_repeated_until_all_is_there(
    kind: str, how_long: str, tmp_path: Path, reference: Reference, interrupted: tuple[Path, Path]
) -> None:
    report = tmp_path / "report"
    saved, work = interrupted

    def attempt(fault: Fault) -> list[str]:
        return broken_by_finish(fault, saved, work, report, reference)

    failed = check_every_call(kind, how_long, report, attempt, RECORD)
    assert failed > 0 or kind not in IN_FINISHING
