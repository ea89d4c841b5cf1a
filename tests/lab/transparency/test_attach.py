# SPDX-License-Identifier: BSL-1.0
"""A recording of a program that runs already: the trace holds each call between attach and detach, and the program goes
on as if nothing had been.

`served` does what lines say, so each count is known. `attended` notices when it is disturbed.
"""

from __future__ import annotations

import ctypes
import os
import random
import shutil
import signal
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
from attaching import ATTENDED, SERVED, Starter, skip_if_forbidden
from harness import BIN, LIMIT_SECONDS, PROGRAMS
from loaded_program import LoadedProgram
from sleeping import ASKED, Sleeper, counts, is_valid, stopped_early
from trace_reading import ALLOCATE, FREE, MARKED, allocations_by_phase, read

from tiers import scaled

LIBRARIES = BIN.parent / "lib" / "millpond"
SIZES, STEP = 1000, 37  # of marked.hpp: sizes go around


def missing(path: Path) -> tuple[int, int]:
    """Returns the number of marked allocations of a trace, and of those that lack the one before them."""
    found = lost = 0
    for events in read(path).streams.values():
        sizes = [event.bytes for event in events if event.operation == ALLOCATE and event.bytes in MARKED]
        found += len(sizes)
        lost += sum((after - before) % SIZES != STEP for before, after in pairwise(sizes))
    return found, lost


def test_the_trace_holds_what_was_done_while_attached(running: Starter) -> None:
    one = running()
    one.tell("a 100", "w 4", "A 10")
    with one.recorded() as trace:
        one.tell("a 20", "f 7", "r 3", "A 5", "F 1")
    one.tell("a 50", "f 50", "J 0")
    assert one.end("x 3") == (3, "")
    found = Counter(event.operation for event in read(trace).events())
    assert (counts(trace)[0], counts(trace)[2], found[FREE]) == (20 + 4 * 5, 3, 7 + 4 * 15)
    assert is_valid(trace) and stopped_early(trace) == ASKED
    assert sorted(path.name for path in one.folder.iterdir()) == ["run", "t.mpt"]


def test_a_program_is_attached_to_again_and_again(running: Starter) -> None:
    one = running()
    one.tell("w 3", "A 100")
    for n in range(scaled(100, 10)):
        with one.recorded(f"t{n}.mpt") as trace:
            one.tell(f"a {n + 1}", f"f {n}", "A 2")
        one.tell("a 3", "f 3")
        assert counts(trace) == (n + 1 + 3 * 2, n, 0), n
    one.tell("F 1", "J 0")
    assert one.end("x 4") == (4, "")


@pytest.mark.parametrize("binding", ["", "1"], ids=["lazy", "now"])
def test_code_and_slots_are_as_before(binding: str, running: Starter, monkeypatch: pytest.MonkeyPatch) -> None:
    """So the program runs the very instructions that it ran before."""
    monkeypatch.setenv("LD_BIND_NOW", binding)
    one = running()
    work = ("a 20", "f 5", "r 3", "w 2", "A 5", "F 1", "J 0", "c 2")
    one.tell(*work)
    before = LoadedProgram(one.pid)
    for n in range(3):
        with one.recorded(f"t{n}.mpt") as trace:
            changed = LoadedProgram(one.pid).differences(before)
            assert any(difference.startswith("a slot") for difference in changed), changed
            one.tell(*work)
        one.tell(*work)
        assert counts(trace)[0] == 20 + 2 * 5, n
        assert not LoadedProgram(one.pid).differences(before), n


def test_no_recording_stays_mapped(running: Starter) -> None:
    one = running()
    one.tell("w 3")
    with one.recorded() as trace:
        one.tell("A 50", "a 50")
        assert f"{trace}.partial" in one.modules()
    assert ".partial" not in one.modules()


def test_a_program_that_ends_while_attached_is_salvaged(running: Starter) -> None:
    one = running()
    recorder = one.start_recorder("t.mpt")
    assert recorder.stderr
    with recorder:
        said = recorder.stderr.readline()
        skip_if_forbidden(said)
        assert "attached" in said
        one.tell("a 12")
        assert one.end("x 4") == (4, "")
        assert recorder.stderr.read() == "millpond: the program has ended\n"
        assert recorder.wait(LIMIT_SECONDS) == 0
    assert counts(one.folder / "t.mpt") == (12, 0, 0)


def test_children_are_recorded_until_the_end(running: Starter) -> None:
    one = running()
    with one.recorded() as trace:
        one.tell("c 11", "a 2")
    one.tell("c 5")
    assert one.end("x 0") == (0, "")
    (child,) = one.folder.glob("t.mpt.*")
    assert (counts(trace), counts(child)) == ((2, 0, 0), (11, 11, 0))


def test_a_program_in_a_pid_namespace_is_recorded(running: Starter) -> None:
    one = running("unshare", "--user", "--map-root-user", "--pid", "--fork", *SERVED)
    try:
        one.tell("a 4")
    except (AssertionError, BrokenPipeError):
        pytest.skip("pid namespaces are not permitted here")
    outside = Path(f"/proc/{one.pid}/task/{one.pid}/children").read_text("utf-8")
    one.pid = int(outside)
    with one.recorded() as trace:
        one.tell("a 6", "c 3")
        assert one.ask("mark", "load") == (0, "")
        one.tell("f 2")
    (child,) = one.folder.glob("t.mpt.*")
    assert (counts(trace), counts(child)) == ((6, 2, 0), (3, 3, 0))
    assert int(child.suffix[1:]) < int(outside), "its number is that of its own namespace"
    assert one.end("x 0") == (0, "")


def test_phases_are_marked_from_outside_only(running: Starter) -> None:
    one = running()
    one.tell("w 1")
    with one.recorded() as trace:
        one.tell("a 10")
        assert one.ask("mark", "load") == (0, "")
        one.tell("a 5", "A 2")
        for word in ("start", "stop", "snapshot"):
            status, said = one.ask(word)
            assert status == 2 and f"the program is attached to, so it cannot {word}" in said
    assert [(name, blocks.total()) for name, blocks in allocations_by_phase(read(trace))] == [(b"", 10), (b"load", 7)]
    assert one.ask("mark", "load")[0] == 3
    assert one.end("x 0") == (0, "")


def test_an_allocating_program_is_not_disturbed(running: Starter) -> None:
    """Threads allocate, wait, load libraries, start threads and fork all the time; no call is lost, and none fails."""
    seed = random.randrange(2**32)
    print("seed", seed)
    spans = random.Random(seed)
    one = running(*ATTENDED)
    one.wait_for_work()
    for n in range(scaled(40, 5)):
        recorder = one.start_recorder("t.mpt", "--for", f"{spans.uniform(0.01, 0.1):.3f}")
        said = recorder.communicate(timeout=LIMIT_SECONDS)[1]
        skip_if_forbidden(said)
        assert recorder.returncode == 0, (n, said)
        if "did not allocate while it was recorded" in said:  # a busy machine may give no thread a turn in time
            continue
        found, lost = missing(one.folder / "t.mpt")
        assert found > 0 and lost == 0, (n, found, lost)
        for trace in one.folder.glob("t.mpt*"):
            trace.unlink()
    assert one.end() == (0, "undisturbed\n")


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        ("served_static", "it is a static program, whose malloc cannot be replaced; link it dynamically"),
        ("served_own_malloc", "a malloc is linked into the executable, so its calls cannot be seen"),
    ],
)
def test_programs_whose_malloc_is_inside_are_refused(running: Starter, program: str, reason: str) -> None:
    one = running(str(PROGRAMS / program))
    one.tell("a 3")
    assert reason in one.refusal()
    one.tell("f 3")
    assert one.end("x 5") == (5, "")


def test_a_program_that_is_traced_is_refused(running: Starter) -> None:
    one = running()
    seize, detach = 0x4206, 17
    ptrace = ctypes.CDLL(None, use_errno=True).ptrace
    if ptrace(seize, one.pid, None, None) != 0:
        pytest.skip("ptrace is not permitted here")
    try:
        assert f"process {os.getpid()} traces it already; end that debugger first" in one.refusal()
    finally:
        os.kill(one.pid, signal.SIGSTOP)
        os.waitpid(one.pid, 0)
        ptrace(detach, one.pid, None, None)


def test_a_program_that_was_started_recorded_is_refused(running: Starter, sleeper: Callable[..., Sleeper]) -> None:
    asleep, one = sleeper(), running()
    one.pid = asleep.pid
    one.folder = asleep.folder / "attached"
    one.folder.mkdir()
    assert "it runs under Millpond already; stop it, and start it without" in one.refusal()
    assert asleep.end("x 6")[0] == 6


@pytest.mark.skipif(os.geteuid() != 0, reason="only root starts programs as another user, or mounts")
@pytest.mark.parametrize(
    ("prefix", "reason"),
    [
        (("setpriv", "--reuid=65534", "--clear-groups"), "it belongs to user 65534; run millpond as that user"),
        (("unshare", "-m", "sh", "-c", f"mount -t tmpfs none {LIBRARIES} && exec $0"), "it cannot see "),
    ],
)
def test_programs_out_of_reach_are_refused(running: Starter, prefix: tuple[str, ...], reason: str) -> None:
    if shutil.which(prefix[0]) is None:
        pytest.skip(f"{prefix[0]} is not here")
    one = running(*prefix, *SERVED)
    one.tell("a 1")
    assert reason in one.refusal()


def test_a_program_with_a_filter_is_refused(running: Starter) -> None:
    one = running()
    one.tell("a 1", "z 1")  # glibc's first malloc makes a call that the filter forbids
    assert "(seccomp); start it with 'millpond trace record'" in one.refusal()
    one.tell("a 1")


def test_a_stopped_program_is_refused(running: Starter) -> None:
    one = running()
    os.kill(one.pid, signal.SIGSTOP)
    os.waitid(os.P_PID, one.pid, os.WSTOPPED | os.WNOWAIT)
    assert "it is stopped; continue it first (kill -CONT" in one.refusal()


def test_a_program_under_two_recorders_is_refused(running: Starter) -> None:
    one = running()
    with one.recorded() as trace:
        second = one.start_recorder("second.mpt", "--for", "1")
        said = second.communicate(timeout=LIMIT_SECONDS)[1]
        assert second.returncode == 4 and "the program is recorded already; end that recording" in said, said
        one.tell("a 9")
    assert counts(trace) == (9, 0, 0)


def test_a_process_that_does_not_exist_is_refused(running: Starter) -> None:
    one = running()
    one.end("x 0")
    recorder = one.start_recorder("t.mpt")
    assert recorder.communicate(timeout=LIMIT_SECONDS)[1] == f"millpond: there is no process {one.pid}\n"
    assert recorder.returncode == 3
