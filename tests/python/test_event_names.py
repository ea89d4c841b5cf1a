# SPDX-License-Identifier: BSL-1.0
"""`millpond-bench run --event NAME` passes the event to every round and shows it in every form of the result."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fakes.fake_p0089_suite import UNITS, FakeP0089

from millpond.cells.metrics import COUNTERS
from millpond.system.errors import Status
from millpond_bench.bench_cli import main
from millpond_bench.experiments import event_names

Use = Callable[..., FakeP0089]
ONE = ("p0089.1", "--scale=quick", "--rounds=2", "--cells=structures/ds=2/log2_size=8/*/AS1")
L3, TAKEN = "MEM_LOAD_RETIRED:L3_MISS", "taken=0xc4"
COUNTED = {
    L3: {"value": 4 * UNITS, "why_null": None, "running_share": 0.5},
    "taken": {"value": None, "why_null": "the kernel forbids it", "running_share": None},
}
LISTED = {
    "schema": "millpond.events/1",
    "units": ["a processor"],
    "named": [
        {"name": "instructions", "description": "retired", "counted_as": "perf::I", "available": True, "why_not": None},
        {"name": "page_walks", "description": "walks", "counted_as": None, "available": False, "why_not": "none here"},
    ],
    "events": [{"name": "x::MEM", "description": "loads", "unit_masks": [{"name": "L3", "description": "the third"}]}],
}


def run(*words: str) -> dict[str, Any]:
    places = ("-o", "out.json", "-o", "out.html", "-o", "google:google.json")
    assert main(["run", *places, *ONE, *words]) == Status.OK
    return dict(json.loads(Path("out.json").read_text()))


def google_rounds() -> list[dict[str, Any]]:
    """Returns the rounds of a cell in the form of Google Benchmark, without their summaries."""
    entries = json.loads(Path("google.json").read_text())["benchmarks"]
    return [entry for entry in entries if entry["run_type"] == "iteration"]


@pytest.mark.lengthy
def test_an_event_reaches_every_round_and_every_form_of_the_result(
    p0089: Use, capsys: pytest.CaptureFixture[str]
) -> None:
    fake = p0089(counters=COUNTED)
    document = run("--event", L3, "--event", TAKEN)
    assert len(fake.calls) == 2
    for call in fake.calls:
        assert call[-4:] == ("--event", L3, "--event", TAKEN) and "--counters" not in call
    rows = {row["metric"]: row for row in document["observations"] if row["unit"] == "events"}
    assert rows.keys() == {L3, "taken"}
    assert (rows[L3]["value"], rows[L3]["kind"]) == (4.0 * UNITS, "counted")
    (share,) = [row for row in document["observations"] if row["metric"] == f"{L3}:running_share" and row["round"] == 1]
    assert (share["value"], share["unit"], share["kind"]) == (0.5, "share", "measured")
    assert any("took turns" in note and "50 %" in note and L3 in note for note in document["notes"])
    assert (rows["taken"]["value"], rows["taken"]["why_null"]) == (None, "the kernel forbids it")
    (summary,) = [row for row in document["summary"] if row["metric"] == L3]
    assert (summary["n"], summary["median"], summary["unit"]) == (2, 4.0 * UNITS, "events")
    assert "taken is null: the kernel forbids it" in document["notes"]
    page = Path("out.html").read_text()
    assert (
        "Counted in the windows" in page and re.search(rf"<th[^>]*>{re.escape(L3)}\b", page) and "<td>4.00</td>" in page
    )
    assert [entry[L3] for entry in google_rounds()] == [4.0 * UNITS] * 2
    shown = capsys.readouterr().out
    assert "counted in the window" in shown and "4.00" in shown


@pytest.mark.more
def test_rounds_with_other_events_are_kept_apart(p0089: Use) -> None:
    fake = p0089(counters=COUNTED)
    both, plain = ("--event", L3, "--counters"), ()
    for words, calls in ((("--event", L3), 2), (("--event", TAKEN), 4), (("--event", L3), 4), (both, 6), (plain, 8)):
        run("--store=st", *words)
        assert len(fake.calls) == calls, words


@pytest.mark.more
def test_named_events_are_not_passed_to_callgrind(p0089: Use) -> None:
    said = "==1== Events    : Ir Dr\n==1== Collected : 900 300\n"
    fake = p0089(counters=COUNTED, callgrind=said)
    document = run("--event", L3, "--counters=simulated")
    assert all(L3 in call for call in fake.calls) and not any(L3 in call for call in fake.simulated)
    kinds = {row["metric"]: row["kind"] for row in document["observations"] if row["value"] is not None}
    assert (kinds[L3], kinds["instructions"]) == ("counted", "simulated")
    rows = {row["metric"]: row for row in document["observations"]}
    assert rows["l1d_misses"]["value"] is None and "D1mr" in rows["l1d_misses"]["why_null"]
    assert [entry[L3] for entry in google_rounds()] == [4.0 * UNITS] * 2


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--event", "MEM_LOAD_RETIRD"), "no event is called"),
        (("--event", ""), "NAME=0xCODE"),
        (("--event", "=0xc4"), "NAME=0xCODE"),
        (("--event", "taken=c4"), "NAME=0xCODE"),
        (("--event", "taken=0x"), "NAME=0xCODE"),
        (("--event", "taken=0x10000000000000000"), "NAME=0xCODE"),
        (("--event", L3, "--event", L3), "twice"),
        (("--event", TAKEN, "--event", "taken=0xc5"), "twice"),
        (("--event", "cycles", "--counters"), "--counters"),
        (("--event", "cycles", "--counters=simulated"), "--counters"),
        (("--event", "cpu_seconds=0xc4"), "a metric has that name"),
        (tuple(w for n in range(17) for w in ("--event", f"e{n}=0x{n}")), "at most 16 fit"),
    ],
)
def test_unknown_events_are_refused_before_anything_runs(
    p0089: Use, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], why: str
) -> None:
    fake = p0089(unknown=["MEM_LOAD_RETIRD"])
    assert main(["run", *ONE, *words]) == Status.USAGE
    assert not fake.calls
    assert why in capsys.readouterr().err


def test_a_value_behind_a_colon_belongs_to_libpfms_name() -> None:
    assert event_names.label_of("UOPS_RETIRED:ALL:c=0x1") == "UOPS_RETIRED:ALL:c=0x1"
    assert event_names.label_of(TAKEN) == "taken"


@pytest.mark.more
def test_a_named_event_has_its_own_unit(p0089: Use) -> None:
    p0089(counters={"cycles": {"value": 7, "why_null": None}})
    rows = {row["metric"]: row for row in run("--event", "cycles")["observations"]}
    assert (rows["cycles"]["value"], rows["cycles"]["unit"]) == (7.0, COUNTERS["cycles"])


def test_the_events_of_this_machine_are_listed(p0089: Use, capsys: pytest.CaptureFixture[str]) -> None:
    p0089(events=LISTED)
    assert main(["list", "events"]) == Status.OK
    shown = capsys.readouterr().out
    for words in (
        "instructions",
        "as perf::I",
        "null here: none here",
        "a processor",
        "x::MEM  loads",
        ":L3  the third",
    ):
        assert words in shown
    assert main(["list", "events", "-o", "events.json"]) == Status.OK
    assert json.loads(Path("events.json").read_text()) == LISTED
    p0089(events={"schema": "another"})
    assert main(["list", "events"]) == Status.ENVIRONMENT


@pytest.mark.more
def test_a_dry_run_counts_callgrinds_processes_and_their_time(p0089: Use, capsys: pytest.CaptureFixture[str]) -> None:
    p0089(callgrind="==1== Events    : Ir\n==1== Collected : 900\n")
    grids = {}
    for how in ("--counters", "--counters=simulated"):
        assert main(["run", *ONE, how, "--dry-run", "-o", "grid.json"]) == Status.OK
        grids[how] = json.loads(Path("grid.json").read_text())
    plain, simulated = grids["--counters"], grids["--counters=simulated"]
    assert (plain["runs"], simulated["runs"]) == (2, 3)
    assert simulated["cells"][0]["simulated_runs"] == 1
    assert simulated["estimated_seconds"] > 10 * plain["estimated_seconds"]
    assert "1 under callgrind" in capsys.readouterr().out
    # Rounds in the store are not run again.
    run("--store=st", "--counters=simulated")
    assert main(["run", *ONE, "--counters=simulated", "--store=st", "--dry-run", "-o", "grid.json"]) == Status.OK
    left = json.loads(Path("grid.json").read_text())
    assert (left["runs"], left["stored_runs"], left["estimated_seconds"]) == (0, 3, 0.0)
