# SPDX-License-Identifier: BSL-1.0
"""`millpond-bench run --google FILE`: Google Benchmark's compare.py reads the file and every entry in it."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fakes.fake_p0089_suite import FakeP0089

from millpond.system.errors import Status
from millpond_bench.bench_cli import main
from millpond_bench.suites.p0089_strategies import ALIASES

Use = Callable[..., FakeP0089]
AS1, AS3, AS7 = ALIASES["AS1"], ALIASES["AS3"], ALIASES["AS7"]
SIZE = "--cells=structures/ds=2/log2_size=8/*"
TWO = ("p0089.1", "p0089.2", "--scale=quick", SIZE, "--cells=locality/log2_g=20/log2_s=18/af=4/*")
SAID = """==1== Events    : Ir Dr Dw I1mr D1mr D1mw ILmr DLmr DLmw
==1== Collected : 900 300 100 1 30 4 1 3 2
"""
COMPARE = Path("/usr/share/benchmark/compare.py")
UNITS = ("ns", "us", "ms", "s")
needs_compare = pytest.mark.skipif(not COMPARE.exists(), reason=f"{COMPARE} is not there: install libbenchmark-tools")


def export(name: str, *words: str) -> dict[str, Any]:
    assert main(["run", "-o", "out.json", "-o", "out.html", "-o", f"google:{name}", *words]) == Status.OK
    return dict(json.loads(Path(name).read_text(encoding="utf-8")))


def rounds_of(document: dict[str, Any], ending: str = "") -> list[dict[str, Any]]:
    return [e for e in document["benchmarks"] if e["run_type"] == "iteration" and e["name"].endswith(ending)]


@pytest.mark.more
def test_every_round_is_an_entry_in_its_place(p0089: Use) -> None:
    fake = p0089()
    document = export("g.json", *TWO, "--rounds=3")
    rounds = rounds_of(document)
    assert len(rounds) == len(fake.calls)
    by_name: dict[str, list[dict[str, Any]]] = {}
    for entry in rounds:
        by_name.setdefault(entry["name"], []).append(entry)
    for name, entries in by_name.items():
        assert [e["repetition_index"] for e in entries] == [0, 1, 2]
        assert {e["repetitions"] for e in entries} == {3}
        assert {e["run_name"] for e in entries} == {name}
    families = [entries[0]["family_index"] for entries in by_name.values()]
    assert families == list(range(len(families))), "two experiments must not share a family"


@pytest.mark.more
def test_entries_have_all_fields_that_readers_use(p0089: Use) -> None:
    p0089(bad_alloc=[AS3], dies=[AS7], callgrind=SAID)
    for words in ((), ("--counters=simulated",), ("--rounds=1",)):
        for entry in export("g.json", *TWO, *words)["benchmarks"]:
            assert isinstance(entry["name"], str) and entry["name"].startswith(entry["run_name"])
            assert entry["time_unit"] in UNITS
            times = [entry["real_time"], entry["cpu_time"]]
            assert all(map(math.isfinite, times))
            assert all(t > 0.0 for t in times) or entry.get("aggregate_name") == "stddev"
            assert entry["run_type"] == ("aggregate" if "aggregate_name" in entry else "iteration")
            for index in ("family_index", "per_family_instance_index"):
                assert entry[index] >= 0


@pytest.mark.more
def test_times_are_those_of_the_round(p0089: Use) -> None:
    p0089()
    document = export("g.json", "p0089.1", "--scale=quick", SIZE)
    seconds = FakeP0089.seconds("structures", AS7, {"ds": "2", "log2_size": "8", "log2_leaves": "16"})
    for entry in rounds_of(document, AS7):
        assert (entry["real_time"], entry["cpu_time"]) == pytest.approx((1e6 * seconds, 1e6 * seconds))
        assert entry["time_unit"] == "us" and entry["peak_bytes"] == 1_000_000


@pytest.mark.more
def test_several_rounds_have_their_mean_median_and_deviation(p0089: Use) -> None:
    p0089()
    (first, *_) = rounds_of(export("g.json", *TWO, "--rounds=3"))
    entries = json.loads(Path("g.json").read_text())["benchmarks"]
    own = {e["aggregate_name"]: e for e in entries if e["run_name"] == first["name"] and e["run_type"] == "aggregate"}
    assert {name: e["name"] for name, e in own.items()} == {
        name: f"{first['name']}_{name}" for name in ("mean", "median", "stddev")
    }
    assert own["mean"]["cpu_time"] == pytest.approx(first["cpu_time"])
    assert own["stddev"]["cpu_time"] == pytest.approx(0.0)
    assert own["median"]["peak_bytes"] == first["peak_bytes"]
    assert not [e for e in export("g.json", *TWO, "--rounds=1")["benchmarks"] if e["run_type"] == "aggregate"]


@pytest.mark.more
def test_failures_have_no_times_and_are_listed_with_reasons(p0089: Use) -> None:
    p0089(bad_alloc=[AS3])
    document = export("g.json", "p0089.1", "--scale=quick", SIZE)
    assert not rounds_of(document, AS3) and rounds_of(document, AS1)
    assert {e["name"].rpartition("/")[2] for e in document["failed"]} == {AS3}
    assert all(e["error_occurred"] and "memory" in e["error_message"] for e in document["failed"])


@pytest.mark.more
def test_simulated_counters_are_added_to_measured_rounds(p0089: Use) -> None:
    fake = p0089(callgrind=SAID)
    document = export("g.json", "p0089.1", "--scale=quick", SIZE, "--counters=simulated")
    assert len(rounds_of(document)) == len(fake.calls)
    assert {e["simulated_instructions"] for e in rounds_of(document)} == {900.0}


@pytest.mark.more
def test_the_context_has_only_known_facts(p0089: Use) -> None:
    p0089()
    context = export("g.json", *TWO)["context"]
    assert {"date", "host_name", "executable", "num_cpus", "load_avg", "json_schema_version"} <= context.keys()
    assert not {"mhz_per_cpu", "cpu_scaling_enabled", "library_build_type"} & context.keys()


def compare(*words: str) -> tuple[str, dict[str, dict[str, Any]]]:
    """Runs compare.py; returns its output, and its result rows by name."""
    argv = [sys.executable, "-W", "error::RuntimeWarning", str(COMPARE), "--no-color", "-d", "found.json", *words]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    return done.stdout, {row["name"]: row for row in json.loads(Path("found.json").read_text())}


def change_of(row: dict[str, Any]) -> float:
    return float(row["measurements"][0]["cpu"])


@pytest.mark.more
@needs_compare
def test_compare_finds_by_how_much_two_runs_differ(p0089: Use) -> None:
    p0089()
    export("a.json", *TWO)
    p0089(factor={AS7: 0.5})
    export("b.json", *TWO)
    said, rows = compare("benchmarks", "a.json", "b.json")
    assert "U Test, Repetitions: 3 vs 3" in said
    halved = {name: round(change_of(row), 6) for name, row in rows.items() if row["run_type"] == "iteration"}
    assert set(halved.values()) == {0.0, -0.5}
    assert all((change == -0.5) == name.endswith(AS7) for name, change in halved.items())
    assert change_of(rows["OVERALL_GEOMEAN"]) < 0.0
    said, _ = compare("-a", "benchmarks", "a.json", "b.json")
    assert f"{AS7}_median" in said


@pytest.mark.more
@needs_compare
@pytest.mark.parametrize("words", [(), ("--counters=simulated",), ("--counters",)])
def test_compare_leaves_out_failures(p0089: Use, words: tuple[str, ...]) -> None:
    counted = {"instructions": {"value": 1200, "why_null": None, "running_share": 1.0}}
    p0089(callgrind=SAID, counters=counted)
    export("a.json", *TWO, *words)
    p0089(callgrind=SAID, counters=counted, bad_alloc=[AS3], dies=[AS7])
    export("b.json", *TWO, *words)
    for files in (("a.json", "b.json"), ("b.json", "a.json")):
        said, rows = compare("benchmarks", *files)
        assert AS3 not in said and AS7 not in said and "nan" not in said
        assert {change_of(row) for name, row in rows.items() if name != "OVERALL_GEOMEAN"} == {0.0}


@pytest.mark.more
@needs_compare
def test_compare_sets_one_strategy_against_another(p0089: Use) -> None:
    p0089()
    document = export("a.json", "p0089.1", "--scale=quick", SIZE)
    one, other = (rounds_of(document, name)[0]["cpu_time"] for name in (AS1, AS7))
    _, rows = compare("filters", "a.json", f"/{AS1}$", f"/{AS7}$")
    (row,) = [r for r in rows.values() if r["run_type"] == "iteration"]
    assert change_of(row) == pytest.approx(other / one - 1.0)
