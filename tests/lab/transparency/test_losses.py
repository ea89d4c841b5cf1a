# SPDX-License-Identifier: BSL-1.0
"""Every event is in the trace, or one line gives the number lost and the reason; plans and mallocs keep one heap."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest
from harness import BIN, PROGRAMS, RECORD, Outcome, Program, run

from tiers import USUAL_MALLOCS, mostly_more

OPENED, LIBRARY = str(PROGRAMS / "opened"), str(PROGRAMS / "opened_library.so")
THREADS = str(PROGRAMS / "live_threads")
RUN, CHARACTERISE = str(BIN / "millpond-run"), str(BIN / "millpond-characterise")
MALLOCS = ("multipool", "quick_fit", "gnu_gxx", "size_map")


def recorded(command: list[str], place: Path) -> tuple[Outcome, int]:
    """Returns the outcome, and the number of events in the trace."""
    trace = place / "t.mpt"
    place.mkdir(exist_ok=True)
    outcome = run([str(RECORD), "-o", str(trace), "--", *command], Program("any", ()), place / "run")
    return outcome, told(trace, r"^events (\d+)")


def told(trace: Path, pattern: str) -> int:
    """Returns a number that `millpond-trace info` prints for a trace."""
    argv = [str(BIN / "millpond-trace"), "info", str(trace)]
    said = subprocess.run(argv, capture_output=True, text=True, check=True).stdout
    found = re.search(pattern, said, re.MULTILINE)
    assert found is not None, said
    return int(found[1])


def in_folder(command: list[str], place: Path, environment: dict[str, str] | None = None) -> Outcome:
    return run(command, Program("any", (), environment=environment or {}), place)


@pytest.mark.parametrize("count", [100, 2000])
def test_threads_that_live_at_once_lose_nothing(count: int, tmp_path: Path) -> None:
    outcome, events = recorded([THREADS, str(count)], tmp_path)
    if outcome.status == 3:
        pytest.skip(f"this machine allows no {count} threads")
    assert (outcome.status, outcome.stderr) == (0, b"")
    assert events >= 40 * count


def test_a_lack_of_mappings_is_reported_or_loses_nothing(tmp_path: Path) -> None:
    """The address space fits few threads: either all events are in the trace, or a line gives the number lost."""
    shell = f"ulimit -v 400000; exec {THREADS} 500"
    outcome, _ = recorded(["sh", "-c", shell], tmp_path)
    if outcome.status == 0:
        # The shell's own trace, and the program's, some of whose allocations may have failed: then it frees nothing.
        program = max(tmp_path.glob("t.mpt*"), key=lambda trace: len(trace.name))
        assert told(program, r"^events (\d+)") + 2 * told(program, r" failed=(\d+)") >= 40 * 500
    elif outcome.status != 3:
        assert b"events were lost" in outcome.stderr


@pytest.mark.parametrize("how", ["plain", "lazy", "deep"])
def test_libraries_lose_no_event_however_opened(how: str, tmp_path: Path) -> None:
    outcome, events = recorded([OPENED, LIBRARY, how], tmp_path)
    bare = in_folder([OPENED, LIBRARY, how], tmp_path / "bare")
    assert (outcome.status, outcome.stdout, outcome.stderr) == (0, bare.stdout, b"")
    assert events >= 1200


@pytest.mark.parametrize("malloc", mostly_more(MALLOCS, *USUAL_MALLOCS))
@pytest.mark.parametrize("checks", ["0", "1"])
def test_a_deep_bound_library_shares_our_heap(malloc: str, checks: str, tmp_path: Path) -> None:
    library = BIN.parent / "lib" / "millpond" / f"libmillpond-{malloc}.so"
    bare = in_folder([OPENED, LIBRARY, "deep"], tmp_path / "bare")
    ours = in_folder(
        [OPENED, LIBRARY, "deep"], tmp_path / "ours", {"LD_PRELOAD": str(library), "MILLPOND_CHECK": checks}
    )
    assert (ours.status, ours.stdout, ours.stderr) == (bare.status, bare.stdout, bare.stderr)


@pytest.fixture(scope="module")
def plans(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("plans")
    recorded([OPENED, LIBRARY, "plain"], place)
    subprocess.run([CHARACTERISE, "--plan-out", str(place / "plans"), str(place / "t.mpt")],
                   check=True, capture_output=True)  # fmt: skip
    return place / "plans"


def with_subsystem(plans: Path, name: str, place: Path, keep_libraries: bool = True) -> Path:
    plan = json.loads((plans / "all.plan.json").read_text())
    del plan["checksum"]  # as in a plan written by hand
    plan["routes"] = [{"subsystems": [name, "own"], "pool": "p", "strategy": "multipool"}]
    if not keep_libraries:
        del plan["libraries"]
    (place / "one.plan.json").write_text(json.dumps(plan))
    return place / "one.plan.json"


@pytest.mark.parametrize("how", ["plain", "deep"])
def test_a_plan_reaches_a_library_that_is_opened(plans: Path, how: str, tmp_path: Path) -> None:
    plan = with_subsystem(plans, "give", tmp_path)
    ran = in_folder([RUN, "--plan", str(plan), "--stats", "--", OPENED, LIBRARY, how], tmp_path / "run")
    assert ran.status == 0
    assert b"until the program opens" in ran.stderr and b'"give"' in ran.stderr
    assert b"no allocation came from" not in ran.stderr
    pooled = next(line for line in ran.stderr.decode().splitlines() if line.startswith("millpond: p "))
    assert int(pooled.split()[2]) == 400  # `own` 200, `give` 100, and a realloc of each block of `own` that grows


def test_every_plan_of_an_opened_library_runs(plans: Path, tmp_path: Path) -> None:
    for plan in plans.glob("*.plan.json"):
        ran = in_folder([RUN, "--plan", str(plan), "--", OPENED, LIBRARY, "plain"], tmp_path / plan.name)
        assert ran.status == 0, ran.stderr.decode()


def test_a_library_that_never_comes_is_named_at_the_end(plans: Path, tmp_path: Path) -> None:
    plan = with_subsystem(plans, "give", tmp_path)
    ran = in_folder([RUN, "--plan", str(plan), "--", OPENED, LIBRARY, "none"], tmp_path / "run")
    assert ran.status == 0
    assert b"no allocation came from" in ran.stderr


def test_a_misspelt_subsystem_is_still_refused(plans: Path, tmp_path: Path) -> None:
    plan = with_subsystem(plans, "giev", tmp_path)
    ran = in_folder([RUN, "--plan", str(plan), "--", OPENED, LIBRARY, "plain"], tmp_path / "run")
    assert ran.status == 2
    assert b"giev" in ran.stderr and b"give" in ran.stderr and ran.stdout == b""


def test_a_plan_without_libraries_finds_those_of_the_command(plans: Path, tmp_path: Path) -> None:
    plan = with_subsystem(plans, "give", tmp_path, keep_libraries=False)
    ran = in_folder([RUN, "--plan", str(plan), "--", OPENED, LIBRARY, "plain"], tmp_path / "run")
    assert ran.status == 0
