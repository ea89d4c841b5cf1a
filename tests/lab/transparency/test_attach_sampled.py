# SPDX-License-Identifier: BSL-1.0
"""A sampled recording of a program that runs already: it has the whole life of each block that it chooses, whatever
was attached before, and the program goes on as if nothing had been.
"""

from __future__ import annotations

import random
import subprocess
import time
from pathlib import Path

from attaching import ATTENDED, Starter, skip_if_forbidden
from harness import LIMIT_SECONDS, RECORD
from loaded_program import LoadedProgram
from sleeping import ASKED, counts, is_valid, stopped_early
from trace_reading import ALLOCATE, FREE, MARKED, number, read

from tiers import scaled

SAMPLE = 11  # an entry of the process
# Every allocation of 5000 bytes holds one that is chosen: 1 − e^−5000 is 1.
EVERY_BYTE = ("--sample", "1")
RARELY = ("--sample", str(1 << 40))
# A thread that was sampled before notices another recording after so many bytes (lab/record/byte_countdown.hpp).
SEGMENT_BYTES = 1 << 20


def test_with_every_byte_chosen_no_event_is_missing(running: Starter) -> None:
    one = running()
    one.tell("a 100", "w 4", "A 10")
    with one.recorded("t.mpt", *EVERY_BYTE) as trace:
        one.tell("a 20", "f 7", "A 5", "F 2")
    one.tell("f 50", "J 0")
    assert one.end("x 3") == (3, "")
    assert number(read(trace).process[SAMPLE][0], 0)[0] == 1
    assert counts(trace) == (20 + 4 * 5, 7 + 4 * 5, 0)  # the threads freed ten blocks of before, too
    assert is_valid(trace) and stopped_early(trace) == ASKED


def test_blocks_end_only_in_their_own_trace(running: Starter) -> None:
    """The next recording may find a block at the address of one that the former followed."""
    one = running()
    for n in range(3):
        with one.recorded(f"t{n}.mpt", *EVERY_BYTE) as trace:
            one.tell("f 5", "a 15")
        assert counts(trace) == (15, 0, 0), n
        one.tell("f 5", "a 5")
    one.end("x 0")


def test_recorders_take_turns(running: Starter) -> None:
    """Whole and sampled recordings of one process follow one another in a random order; each has what was done."""
    seed = random.randrange(2**32)
    print("seed", seed)
    choices = random.Random(seed)
    one = running()
    one.tell("w 3")
    before = LoadedProgram(one.pid)
    for n in range(scaled(60, 8)):
        options = choices.choice([(), EVERY_BYTE, RARELY])
        says = "millpond: no block was chosen for the sample, so no trace was written\n" if options == RARELY else ""
        with one.recorded(f"t{n}.mpt", *options, says=says) as trace:
            one.tell("a 300", "A 300", "f 10")
        one.tell("f 290", "F 300")
        if options == RARELY:
            continue
        missed = 0 if not options else SEGMENT_BYTES // MARKED[0] + 1
        allocations, frees, _ = counts(trace)
        assert 1200 - 4 * missed <= allocations <= 1200, n
        assert frees == 10, n
    one.tell("J 0")
    assert not LoadedProgram(one.pid).differences(before)
    assert one.end("x 4") == (4, "")


def test_a_whole_recorder_refuses_what_the_other_records(running: Starter) -> None:
    one = running()
    for options, others in (((), EVERY_BYTE), (EVERY_BYTE, ())):
        with one.recorded("t.mpt", *options) as trace:
            second = one.start_recorder("second.mpt", "--for", "1", *others)
            said = second.communicate(timeout=LIMIT_SECONDS)[1]
            assert second.returncode == 4 and "the program is recorded already; end that recording" in said, said
            one.tell("a 9", "f 9")
        assert counts(trace) == (9, 9, 0)


def test_an_interrupted_recording_gives_way_to_the_other_recorder(running: Starter) -> None:
    for options, others in (((), EVERY_BYTE), (EVERY_BYTE, ())):
        one = running()
        killed = one.start_recorder("killed.mpt", *options)
        assert killed.stderr
        with killed:
            skip_if_forbidden(killed.stderr.readline())
            one.tell("a 4")
            killed.kill()
        again = one.start_recorder("again.mpt", *others)
        assert "complete it with 'millpond trace record --finish" in again.communicate(timeout=LIMIT_SECONDS)[1]
        finish = [str(RECORD), "--finish", str(one.folder / "killed.mpt")]
        subprocess.run(finish, check=True, timeout=LIMIT_SECONDS, capture_output=True)
        assert counts(one.folder / "killed.mpt") == (4, 0, 0)
        with one.recorded("t.mpt", *others) as trace:
            one.tell("a 9", "f 9")
        assert counts(trace) == (9, 9, 0)
        assert one.end("x 5") == (5, "")


def test_the_last_minutes_of_an_attached_program_are_kept(running: Starter) -> None:
    """With them stay the blocks that are alive since before."""
    one = running()
    with one.recorded("t.mpt", *EVERY_BYTE, "--ring", "0.01") as trace:
        one.tell("a 40")
        begin = time.monotonic()
        while time.monotonic() < begin + 3:  # the ring is 0.6 s
            one.tell("a 50", "f 50")
        one.tell("a 5")
    found = [event for event in read(trace).events() if event.bytes in MARKED or event.operation == FREE]
    allocated = {event.address for event in found if event.operation == ALLOCATE}
    assert len(allocated) >= 45
    assert one.end("x 1") == (1, "")


def test_an_allocating_program_is_not_disturbed(running: Starter) -> None:
    """Threads allocate, wait, load libraries, start threads and fork all the time; none fails."""
    one = running(*ATTENDED)
    one.wait_for_work()
    found = 0
    for n in range(scaled(20, 3)):
        recorder = one.start_recorder("t.mpt", "--for", "0.05", "--sample", "2000")
        said = recorder.communicate(timeout=LIMIT_SECONDS)[1]
        skip_if_forbidden(said)
        assert recorder.returncode == 0, (n, said)
        for trace in one.folder.glob("t.mpt*"):
            found += sum(event.bytes in MARKED for event in read(Path(trace)).events())
            trace.unlink()
    assert found > 0
    assert one.end() == (0, "undisturbed\n")
