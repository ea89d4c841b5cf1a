# SPDX-License-Identifier: BSL-1.0
"""`millpond-bench run --counters`: a counter is a value with its kind, or null with a reason, never a silent zero."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from fakes.fake_p0089_suite import FakeP0089

from millpond.cells.metrics import COUNTERS
from millpond.system import callgrind
from millpond.system.errors import Failure, Status
from millpond_bench.bench_cli import main
from millpond_bench.claims.claims import HOLDS, NOT_MEASURED, UNTESTABLE
from millpond_bench.runs.published_run import counted_cells
from millpond_bench.suites.every_experiment import OF_SUITES as EXPERIMENTS
from millpond_bench.suites.p0089 import BENCHMARK_2
from millpond_bench.suites.p0089_strategies import ALIASES

pytestmark = pytest.mark.more  # tests the bench of published experiments, not the product

Use = Callable[..., FakeP0089]
AS1 = ALIASES["AS1"]
ONE = ("p0089.1", "--scale=quick", "--rounds=2", "--cells=structures/ds=2/log2_size=8/*/AS1")
COUNTED = {
    "instructions": {"value": 1200, "why_null": None, "running_share": 1.0},
    "l1d_misses": {"value": None, "why_null": "the kernel forbids it", "running_share": None},
}
SAID = """==1== Events    : Ir Dr Dw I1mr D1mr D1mw ILmr DLmr DLmw Bc Bcm Bi Bim
==1== Collected : 900 300 100 1 30 4 1 3 2 50 5 20 2
"""


def run(*words: str) -> dict[str, Any]:
    assert main(["run", "-o", "out.json", "-o", "out.html", *ONE, *words]) == Status.OK
    return dict(json.loads(Path("out.json").read_text()))


def rows_of(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {row["metric"]: row for row in document["observations"] if row["metric"] in COUNTERS}


@pytest.mark.more
def test_without_the_option_nothing_is_counted(p0089: Use) -> None:
    fake = p0089(counters=COUNTED)
    assert not rows_of(run())
    assert fake.calls and not any("--counters" in call for call in fake.calls)


@pytest.mark.more
def test_missing_processor_counters_are_null_with_a_reason(p0089: Use) -> None:
    fake = p0089(counters=COUNTED)
    document = run("--counters")
    assert all("--counters" in call for call in fake.calls)
    rows = rows_of(document)
    assert (rows["instructions"]["value"], rows["instructions"]["kind"]) == (1200.0, "counted")
    assert (rows["l1d_misses"]["value"], rows["l1d_misses"]["why_null"]) == (None, "the kernel forbids it")
    (summary,) = [row for row in document["summary"] if row["metric"] == "instructions"]
    assert (summary["n"], summary["median"]) == (2, 1200.0)
    assert any("l1d_misses is null: the kernel forbids it" in note for note in document["notes"])


# The fake program knows the first experiment of each workload.
@pytest.mark.more
@pytest.mark.parametrize("name", {e.data.workload: e.name for e in reversed(EXPERIMENTS)}.values())
def test_every_experiment_has_a_row_for_each_counter(p0089: Use, name: str) -> None:
    p0089(counters=COUNTED)
    words = ["run", name, "--scale=quick", "--rounds=1", "--counters", "-o", "out.json", "-o", "out.html"]
    assert main(words) == Status.OK
    found = json.loads(Path("out.json").read_text())["observations"]
    counted = [row for row in found if row["metric"] == "instructions" and row["stage"] == "bench"]
    assert counted and {row["value"] for row in counted} == {1200.0}


@pytest.mark.more
def test_rounds_with_counters_are_not_those_without(p0089: Use) -> None:
    fake = p0089(counters=COUNTED)
    for words, calls in (((), 2), (("--counters",), 4), (("--counters",), 4), ((), 4)):
        document = run("--store=st", *words)
        assert len(fake.calls) == calls
    assert not rows_of(document)
    again = rows_of(run("--store=st", "--counters"))
    assert again["l1d_misses"]["why_null"] == "the kernel forbids it"


@pytest.mark.lengthy
def test_simulated_counters_come_from_two_processes_more_of_each_cell(p0089: Use) -> None:
    fake = p0089(callgrind=SAID)
    document = run("--counters=simulated", "--store=st")
    assert len(fake.calls) == 2 and not any("--counters" in call for call in fake.calls)
    (call,) = fake.simulated
    assert "--toggle-collect=millpond_measured_window" in call and "--cache-sim=yes" in call
    assert call[-len(fake.calls[0]) :] == fake.calls[0]
    rows = rows_of(document)
    assert {name: rows[name]["value"] for name in COUNTERS} == {
        "instructions": 900.0, "l1d_loads": 300.0, "stores": 100.0, "l1d_misses": 30.0, "llc_loads": 30.0,
        "llc_misses": 3.0, "cycles": None, "stalled_cycles": None, "l1d_stall_cycles": None, "branch_misses": 7.0,
        "dtlb_misses": 9.0, "page_walks": 4.0, "working_set_lines": 32.0, "working_set_pages": 2.0,
    }  # fmt: skip
    assert {row["kind"] for row in rows.values()} == {"simulated"}
    assert all("clock" in rows[name]["why_null"] for name in ("stalled_cycles", "l1d_stall_cycles"))
    again = rows_of(run("--counters=simulated", "--store=st"))
    assert len(fake.simulated) == 1
    assert {name: (row["value"], row["kind"], row["why_null"]) for name, row in again.items()} == {
        name: (row["value"], row["kind"], row["why_null"]) for name, row in rows.items()
    }


@pytest.mark.lengthy
@pytest.mark.parametrize(
    ("config", "why"),
    [
        ({"callgrind": SAID.replace("900 300 100 1 30 4 1 3 2 50 5 20 2", "0"), "window": 0}, "symbols"),
        ({"ends": 4}, "exits with 4"),
    ],
)
def test_counters_unknown_to_callgrind_are_null(p0089: Use, config: dict[str, Any], why: str) -> None:
    p0089(**config)
    document = run("--counters=simulated")
    for row in rows_of(document).values():
        assert row["value"] is None and row["why_null"]
    for name in ("instructions", "working_set_lines"):
        assert why in rows_of(document)[name]["why_null"]
    assert next(row for row in document["summary"] if row["metric"] == "leaves_cpu_seconds")["n"] == 2


def test_an_unknown_way_of_counting_is_refused(p0089: Use, capsys: pytest.CaptureFixture[str]) -> None:
    fake = p0089()
    assert main(["run", *ONE, "--counters=guessed"]) == Status.USAGE
    assert not fake.calls
    assert "simulated" in capsys.readouterr().err


def test_callgrinds_totals_are_read_with_and_without_caches() -> None:
    assert callgrind.collected(SAID)["DLmr"] == 3
    assert callgrind.collected("==1== Events    : Ir\n==1== Collected : 17\n") == {"Ir": 17}
    assert callgrind.collected("nothing") == {}


def _shuffled(argv: Sequence[str]) -> str:
    """Fakes equal instructions for all, and three times the misses for AS1's lists after shuffling."""
    misses = 90 if "5" in argv and AS1 in argv else 30
    return SAID.replace(" 30 4 ", f" {misses} 4 ")


WHOLE = ("run", "p0089.2", "--scale=quick", "--rounds=1", "-o", "out.json", "-o", "out.html")


@pytest.mark.lengthy
def test_the_headline_is_judged_by_default_on_simulated_cells(p0089: Use) -> None:
    fake = p0089(callgrind=_shuffled)
    assert main([*WHOLE]) == Status.OK
    document = json.loads(Path("out.json").read_text())
    counted = [row for row in document["observations"] if row["kind"] == "simulated"]
    assert len(fake.simulated) == len(counted_cells(BENCHMARK_2.data, "quick")) and counted
    assert not any("log2_g 13" in " ".join(call).replace("--", "") for call in fake.calls)
    verdicts = {claim["id"]: claim["verdict"] for claim in document["claims"] if claim["id"].startswith("0.")}
    assert verdicts.pop("0.stalls.shuffled") in (NOT_MEASURED, UNTESTABLE)
    assert set(verdicts.values()) == {HOLDS}
    assert not any("clock" in note for note in document["notes"])


@pytest.mark.lengthy
def test_cells_that_were_chosen_are_all_that_runs(p0089: Use) -> None:
    fake = p0089(callgrind=_shuffled)
    assert main([*WHOLE, "--cells=*/log2_s=6/*/AS1"]) == Status.OK
    assert fake.calls and not fake.simulated


@pytest.mark.lengthy
def test_without_valgrind_only_the_counted_statements_are_lost(p0089: Use, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = p0089()

    def missing() -> str:
        raise Failure(Status.ENVIRONMENT, "valgrind is missing")

    monkeypatch.setattr(callgrind, "find_valgrind", missing)
    assert main([*WHOLE]) == Status.OK
    assert fake.calls and not fake.simulated
    document = json.loads(Path("out.json").read_text())
    (lost,) = [claim for claim in document["claims"] if claim["id"] == "0.operations.shuffled"]
    assert (lost["verdict"], lost["missing"]) == (UNTESTABLE, "valgrind is missing")


@pytest.mark.lengthy
def test_stalls_are_untestable_where_the_exact_event_is_missing(p0089: Use) -> None:
    lacks = {"name": "l1d_stall_cycles", "available": False, "why_not": "no such counter"}
    p0089(callgrind=_shuffled, events={"schema": "millpond.events/1", "named": [lacks]})
    for name, prefix in (("unique_chars", "u.stalls"), ("p0089.2", "0.stalls")):
        assert main(["run", name, *WHOLE[2:]]) == Status.OK
        document = json.loads(Path("out.json").read_text())
        stalls = [claim for claim in document["claims"] if claim["id"].startswith(prefix)]
        assert stalls and {claim["verdict"] for claim in stalls} == {UNTESTABLE}
        assert all("no such counter" in claim["missing"] for claim in stalls)
