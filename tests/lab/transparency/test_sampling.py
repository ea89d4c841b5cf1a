# SPDX-License-Identifier: BSL-1.0
"""A sampled recording: the program does not notice it, every chosen block is followed to its end, and no other one."""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from harness import BIN, Outcome, Program, run_recorded, traces_of
from sleeping import Sleeper
from special_programs import COUNTED, FAMILY_PROGRAMS, counted, said
from trace_reading import ALLOCATE, FREE, REALLOC_ALLOCATE, REALLOC_FREE, Trace, count_marked, number, read

Bare = Callable[[Program], Outcome]

SAMPLE = 11  # an entry of the process
# Every allocation of 5000 bytes holds one that is chosen: 1 − e^−5000 is 1.
EVERY_BYTE = ["--sample", "1"]


def sampled(program: Program, place: Path, options: list[str]) -> tuple[Outcome, list[Path]]:
    (place / "traces").mkdir()
    path = place / "traces" / "trace.mpt"
    return run_recorded(program, place, path, options), traces_of(path)


@pytest.mark.parametrize("program", COUNTED, ids=lambda one: one.name)
def test_with_every_byte_chosen_no_event_is_missing(program: Program, bare: Bare, tmp_path: Path) -> None:
    outcome, traces = sampled(program, tmp_path, EVERY_BYTE)
    assert outcome == bare(program)
    assert [counted(read(path)) for path in traces] == said(outcome.stdout)


@pytest.mark.parametrize("program", FAMILY_PROGRAMS, ids=lambda one: one.name)
def test_children_are_sampled_in_traces_of_their_own(program: Program, tmp_path: Path) -> None:
    outcome, traces = sampled(program, tmp_path, EVERY_BYTE)
    found = Counter(counted(read(path)) for path in traces)
    found.pop((0, 0, 0), None)
    assert found == Counter(said(outcome.stdout))


@pytest.mark.parametrize("interval", [5000, 60000])
def test_a_chosen_block_has_its_end_and_no_other_block_has(interval: int, bare: Bare, tmp_path: Path) -> None:
    program = Program("together", ("{programs}/threads", "together"))
    outcome, traces = sampled(program, tmp_path, ["--sample", str(interval)])
    assert outcome == bare(program)
    trace = read(traces[0])
    assert number(trace.process[SAMPLE][0], 0)[0] == interval
    allocations, frees, reallocations = counted(trace)
    expected = said(outcome.stdout)[0]
    assert 0 < allocations < expected[0]
    living: set[int] = set()
    for event in trace.events():
        if event.operation in (FREE, REALLOC_FREE):
            assert event.address in living, "the free of a block that was not chosen"
            living.remove(event.address)
        else:
            assert event.operation in (ALLOCATE, REALLOC_ALLOCATE)
            living.add(event.address)
    assert frees + reallocations <= expected[1] + expected[2]


def test_one_seed_chooses_the_same_allocations_again(tmp_path: Path) -> None:
    program = Program("calls", ("{programs}/calls",))
    runs = []
    for name, seed in (("first", "7"), ("again", "7"), ("other", "8")):
        place = tmp_path / name
        place.mkdir()
        _, traces = sampled(program, place, ["--sample", "20000", "--seed", seed])
        runs.append([event.bytes for event in read(traces[0]).events() if event.operation == ALLOCATE])
    assert runs[0] == runs[1]
    assert runs[0] != runs[2]


def test_a_sampled_recording_may_sleep(sleeper: Callable[..., Sleeper]) -> None:
    one = sleeper(*EVERY_BYTE)
    one.tell("a 20")
    one.control("start")
    one.tell("a 30", "f 10")
    [path] = one.control("stop")
    counts = count_marked(read(path))
    assert (counts["allocations"], counts["frees"]) == (30, 10)


def test_what_needs_every_event_refuses_a_sampled_trace(tmp_path: Path) -> None:
    _, traces = sampled(Program("calls", ("{programs}/calls",)), tmp_path, ["--sample", "1000"])
    trace = str(traces[0])
    for argv in (["millpond-characterise", "--sizes", trace], ["millpond-replay", "--prepare", trace, "-o", "x"],
                 ["millpond-characterise", "--plan-out", str(tmp_path / "plans"), trace]):  # fmt: skip
        if not (BIN / argv[0]).exists():
            continue
        done = subprocess.run([BIN / argv[0], *argv[1:]], capture_output=True, text=True, check=False, cwd=tmp_path)
        assert done.returncode in (2, 3), argv
        assert "record without --sample" in done.stderr, (argv, done.stderr)


def test_contexts_of_a_sample_have_intervals(tmp_path: Path) -> None:
    """They hold the bytes of the whole trace, in 95 % of the contexts of 10 samples."""
    program = Program("calls", ("{programs}/calls",))
    (tmp_path / "whole").mkdir()
    whole, _ = contexts_of(sampled(program, tmp_path / "whole", [])[1][0])
    held = pairs = 0
    for seed in range(1, 11):
        place = tmp_path / str(seed)
        place.mkdir()
        trace = sampled(program, place, ["--sample", "3000", "--seed", str(seed)])[1][0]
        found, unseen = contexts_of(trace)
        assert set(found) <= set(whole) and unseen > 3000
        for context, true in whole.items():
            if len(true) == 1:  # no two contexts have these names
                [(value, low, high)] = found.get(context, [(0, 0, unseen)])
                assert low <= value <= high
                held += low <= true[0][0] <= high
                pairs += 1
    assert held >= 0.95 * pairs > 0


def contexts_of(trace: Path) -> tuple[dict[tuple[str, ...], list[tuple[int, int, int]]], int]:
    """The bytes of contexts with the ends of their intervals, by their functions; and what an unseen one may have."""
    to, out = trace.with_suffix(".tree"), trace.with_suffix(".json")
    argv = [BIN / "millpond-characterise", "--json", out, "--contexts", to, trace]
    subprocess.run(argv, check=True)
    tree = json.loads(to.read_text("utf-8"))
    stacks: list[tuple[str, ...]] = [()]
    found: dict[tuple[str, ...], list[tuple[int, int, int]]] = {}
    for i, (parent, function, _, objects, size, *_) in enumerate(tree["nodes"]):
        stacks.append((*stacks[parent], tree["functions"][function]))
        if objects:
            low, high = tree["intervals"][i][:2] if "intervals" in tree else (size, size)
            found.setdefault(stacks[-1], []).append((size, low, high))
    return found, tree.get("unseen", (0, 0))[1]


def test_options_that_need_every_event_are_refused(tmp_path: Path) -> None:
    for option in ("--frees", "--scan", "--scope=main"):
        done = run_recorded(Program("calls", ("{programs}/calls",)), tmp_path / option, tmp_path / "t.mpt",
                            ["--sample", "1000", option])  # fmt: skip
        assert done.status == 2
        assert b"they need every event" in done.stderr


RING = 12  # an entry of the process: the tick of the cut
STEADY = ("{programs}/steady", "3000000", "1000")


def left_sizes(path: Path) -> tuple[Trace, list[int]]:
    """Returns a trace, and the sizes of the blocks that are alive at its end."""
    trace = read(path)
    living: dict[int, int] = {}
    for event in trace.events():
        if event.operation == FREE:
            living.pop(event.address, None)
        elif event.operation == ALLOCATE:
            assert event.address not in living, "a free was lost"
            living[event.address] = event.bytes
    return trace, sorted(living.values())


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Trace, list[int]]:
    """The sample of the steady program without a ring, and the sizes of the blocks that it leaves."""
    place = tmp_path_factory.mktemp("whole")
    _, traces = sampled(Program("steady", STEADY), place, ["--sample", "1000", "--seed", "5"])
    return left_sizes(traces[0])


def test_a_ring_has_the_last_events_and_all_that_was_alive(whole: tuple[Trace, list[int]], tmp_path: Path) -> None:
    options = ["--sample", "1000", "--seed", "5", "--ring", "0.0005"]
    _, traces = sampled(Program("steady", STEADY), tmp_path, options)
    trace, left = left_sizes(traces[0])
    assert left == whole[1]
    [cut] = trace.process[RING]
    tick = number(cut, 0)[0]
    newer = [(event.operation, event.bytes) for event in trace.events() if event.time >= tick]
    every = [(event.operation, event.bytes) for event in whole[0].events()]
    assert newer == every[len(every) - len(newer) :]
    older = sum(event.time < tick for event in trace.events())
    assert older < 4 * len(left), "older events are those of blocks that were alive, and of a few kept blocks"


def test_a_killed_recorder_of_a_ring_leaves_a_whole_trace(whole: tuple[Trace, list[int]], tmp_path: Path) -> None:
    path = tmp_path / "t.mpt"
    program = [word.replace("{programs}", str(BIN.parent / "test_programs")) for word in STEADY]
    options = ["--sample", "1000", "--seed", "5", "--ring", "0.0005"]
    # The program kills its parent, goes on and ends; only then its output does.
    subprocess.run([BIN / "millpond-record", *options, "-o", path, "--", *program, "2000000"], capture_output=True,
                   check=False)  # fmt: skip
    assert not path.exists()
    subprocess.run([BIN / "millpond-record", "--finish", path], capture_output=True, check=True)
    assert left_sizes(path)[1] == whole[1]
    checked = subprocess.run([BIN / "millpond-trace", "info", path], capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_a_ring_is_refused_without_a_sample_or_asleep(tmp_path: Path) -> None:
    for options in ([], ["--sample", "1000", "--idle"]):
        done = run_recorded(Program("calls", ("{programs}/calls",)), tmp_path / "-".join(["x", *options]),
                            tmp_path / "t.mpt", ["--ring", "1", *options])  # fmt: skip
        assert done.status == 2
        assert b"--ring needs --sample" in done.stderr
