# SPDX-License-Identifier: BSL-1.0
"""The gate: changes inside the noise never fail it, real ones do, and incomparable runs are reported."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from conftest import FakeLab
from msgspec import structs

from millpond.cells.cell import Cell, Control, Outcome, Program
from millpond.cells.plan_file import PlanRoute
from millpond.cells.plans import Plan
from millpond.commands.compare import known_metrics
from millpond.report.comparison import cell_samples, store_changes
from millpond.statistics import conditions
from millpond.statistics.order_statistics import ALPHA
from millpond.store.observations import Journal
from millpond.store.store import Store
from millpond.system.errors import Failure

ROUNDS = 11
ARGV = ("./program", "big.txt")


def outcome(cell: Cell, number: int, values: Mapping[str, float], status: str = "ok", why: str = "") -> Outcome:
    return Outcome(cell, "judging", number, dict(values), "2026-01-02T03:04:05.000+00:00", status, why)


def rounds_of(
    generator: np.random.Generator, cell: Cell, *, factor: float = 1.0, noise: float = 0.02, rounds: int = ROUNDS
) -> list[Outcome]:
    """Returns a warm-up that would spoil every median, then rounds around one second and ten megabytes."""
    found = [outcome(cell, 0, {"cpu_seconds": 99.0, "peak_bytes": 1.0})]
    for number in range(1, rounds + 1):
        cpu, peak = (factor * generator.lognormal(0, noise, 2)).tolist()
        values = {"cpu_seconds": cpu, "wall_seconds": cpu * 1.1, "peak_bytes": 1e7 * peak, "page_faults": 500}
        found.append(outcome(cell, number, values))
    return found


def journal(outcomes: list[Outcome], experiment: str = "advise", program: tuple[str, ...] = ARGV) -> Journal:
    result = Journal(experiment, program)
    result.add_outcomes(outcomes)
    return result


def compared(a: Journal, b: Journal, *texts: str, only: str = "") -> store_changes.StoreComparison:
    sides = [cell_samples.cells_of(name, j.rows) for name, j in (("a", a), ("b", b))]
    return store_changes.compare(*sides, [conditions.parse(t) for t in texts], only, known=known_metrics())


def of_control(name: str) -> Cell:
    return Cell(Program(ARGV), Control(name))


BARE = of_control("bare")


def plan(build_id: str, name: str = "one") -> Plan:
    return Plan(name, "./program", build_id, (PlanRoute(("book",), "book", "multipool"),))


@pytest.mark.more
def test_equal_runs_fail_the_gate_no_more_often_than_stated(seed: int) -> None:
    """The test uses the smallest limit; any larger one fails less often."""
    generator = np.random.default_rng(seed)
    trials, failed = 150, 0
    for _ in range(trials):
        a, b = (journal(rounds_of(generator, BARE)) for _ in "ab")
        failed += bool(compared(a, b, "cpu_seconds > +0%", "peak_bytes > +0%").breaches)
    assert failed / trials <= ALPHA + 4 * math.sqrt(ALPHA * (1 - ALPHA) / trials)


@pytest.mark.more
def test_equal_runs_never_fail_a_limit_above_their_noise(seed: int) -> None:
    generator = np.random.default_rng(seed)
    for _ in range(100):
        a, b = (journal(rounds_of(generator, BARE)) for _ in "ab")
        assert not compared(a, b, "cpu_seconds > +3%", "peak_bytes > +3%").breaches


def test_a_real_increase_fails_and_the_sentence_has_its_figures(seed: int) -> None:
    generator = np.random.default_rng(seed)
    a, b = journal(rounds_of(generator, BARE)), journal(rounds_of(generator, BARE, factor=1.1))
    found = compared(a, b, "cpu_seconds > +5%", "peak_bytes > +50%")
    assert [x.condition.metric for x in found.breaches] == ["cpu_seconds"]
    sentence = found.breaches[0].sentence
    assert "cpu_seconds of bare (./program big.txt)" in sentence and "beyond +5 %" in sentence


def test_a_real_increase_below_the_limit_holds(seed: int) -> None:
    generator = np.random.default_rng(seed)
    a, b = journal(rounds_of(generator, BARE)), journal(rounds_of(generator, BARE, factor=1.1))
    assert not compared(a, b, "cpu_seconds > +20%", "peak_bytes > +3MB").breaches
    assert compared(a, b, "peak_bytes > +500kB").breaches


def test_a_decrease_is_gated_by_less_than(seed: int) -> None:
    generator = np.random.default_rng(seed)
    a, b = journal(rounds_of(generator, BARE)), journal(rounds_of(generator, BARE, factor=0.8))
    assert compared(a, b, "cpu_seconds < -10%").breaches
    assert not compared(a, b, "cpu_seconds > +0%").breaches


def test_counted_values_are_compared_exactly() -> None:
    a, b = Journal("advise", ARGV), Journal("advise", ARGV)
    for j, events in ((a, 1_000_000), (b, 1_000_001)):
        j.add_counted("book", "events", "events", events, "counted")
    found = compared(a, b, "events > +0", "events > +5%")
    assert [x.condition.text for x in found.breaches] == ["events > +0"]
    assert "subsystem book" in found.breaches[0].sentence


def test_a_plan_of_another_build_is_the_same_plan(seed: int) -> None:
    generator = np.random.default_rng(seed)
    a = journal(rounds_of(generator, Cell(Program(ARGV), plan("aa11", "01-book"))))
    b = journal(rounds_of(generator, Cell(Program(ARGV), plan("bb22", "02-book"))))
    found = compared(a, b)
    assert {cell.contender for cell, _ in found.changes} == {"plan book in multipool"}


def test_other_workloads_parameters_and_contenders_are_not_paired(seed: int) -> None:
    generator = np.random.default_rng(seed)
    a = journal([o for c in (BARE, of_control("empty")) for o in rounds_of(generator, c)])
    b = journal([
        o
        for c in (BARE, of_control("shared"), replace(of_control("empty"), parameters=(("threads", "2"),)))
        for o in rounds_of(generator, c)
    ])  # fmt: skip
    found = compared(a, b)
    assert {cell.text for cell, _ in found.changes} == {"bare"}
    assert {c.contender for c in found.only_b} == {"shared", "empty"}
    with pytest.raises(Failure, match="nothing in common") as other:
        compared(a, journal(rounds_of(generator, Cell(Program(("else", "x")), Control("bare"))), program=("else", "x")))
    assert other.value.status == 3
    assert "./program big.txt" in other.value.message and "else x" in other.value.message


def test_cells_that_are_not_asked_for_are_not_listed(seed: int) -> None:
    generator = np.random.default_rng(seed)
    alone = rounds_of(generator, of_control("looked_up"))
    a, b = journal([*rounds_of(generator, BARE), *alone]), journal(rounds_of(generator, BARE))
    assert [cell.text for cell in compared(a, b).only_a] == ["looked_up"]
    assert compared(a, b, only="bare").only_a == []
    assert compared(b, a, only="bare").only_b == []


def test_two_builds_of_a_program_are_paired_by_its_name(seed: int) -> None:
    generator = np.random.default_rng(seed)
    old, new = ("old/program", "x"), ("new/program", "x")
    a = journal(rounds_of(generator, Cell(Program(old), Control("bare"))), program=old)
    b = journal(rounds_of(generator, Cell(Program(new), Control("bare")), factor=1.2), program=new)
    found = compared(a, b, "cpu_seconds > +5%")
    assert found.breaches
    assert any("new/program of B is compared with old/program of A" in note for note in found.notes)


def test_contenders_that_fail_only_in_b_fail_the_gate(seed: int) -> None:
    generator = np.random.default_rng(seed)
    dead = [outcome(BARE, 1, {}, "killed", "dies of SIGSEGV where the bare program exits with 0")]
    a = journal([o for c in (BARE, of_control("empty")) for o in rounds_of(generator, c)])
    b = journal(dead + rounds_of(generator, of_control("empty")))
    found = compared(a, b, "peak_bytes > +5%")
    assert len(found.breaches) == 1
    assert "SIGSEGV" in found.breaches[0].sentence


def test_rounds_that_chose_are_left_out_where_others_judged(seed: int) -> None:
    generator = np.random.default_rng(seed)
    judged = rounds_of(generator, BARE)
    chosen = [Outcome(BARE, "choosing", i, {"cpu_seconds": 50.0}, "t") for i in range(1, 8)]
    found = cell_samples.cells_of("a", journal(judged + chosen).rows)
    sample = found.samples[next(at for at in found.samples if at[1] == "cpu_seconds")]
    assert len(sample.values) == ROUNDS and max(sample.values) < 2


def test_other_machines_are_reported_with_a_warning_about_times(seed: int) -> None:
    generator = np.random.default_rng(seed)
    a, b = journal(rounds_of(generator, BARE)), journal(rounds_of(generator, BARE))
    b.rows[:] = [structs.replace(row, machine="another [abc]") for row in b.rows]
    notes = compared(a, b).notes
    assert any("different machines" in n and "times say nothing" in n for n in notes)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "is not a condition"),
        ("peak_bytes +5%", "is not a condition"),
        ("peak_bytes >= +5%", "is not a condition"),
        ("peak_bytes > five%", "is not a condition"),
        ("peak_bytes > +5% and more", "is not a condition"),
        ("peak_bytes > -5%", "did you mean 'peak_bytes < -5%'"),
        ("peak_bytes < +5%", "did you mean 'peak_bytes > +5%'"),
        ("peak_bytes < 5%", "write a decrease as peak_bytes < -5%"),
        ("peak_bytes > +5", "needs a unit"),
        ("peak_bytes > +5ms", "is not a unit of it"),
        ("page_faults > +5MB", "is not a unit of it"),
        ("weak_bytes > +5%", "the metrics are access_seconds, address_changes, after_ns"),
    ],
)
def test_a_wrong_condition_is_refused_with_a_correct_one(text: str, says: str) -> None:
    generator = np.random.default_rng(1)
    a, b = journal(rounds_of(generator, BARE)), journal(rounds_of(generator, BARE))
    with pytest.raises(Failure) as refused:
        compared(a, b, text)
    assert refused.value.status == 2
    assert says in refused.value.message


@pytest.mark.parametrize(
    ("text", "unit", "limit"),
    [
        ("m > +5%", "bytes", 0.05),
        ("m>5 %", "seconds", 0.05),
        ("m > +2MiB", "bytes", 2 * 2**20),
        ("m > +1.5 kB", "bytes", 1500),
        ("m > +20ms", "seconds", 0.02),
        ("m > +1000", "faults", 1000),
        ("m > 1e3", "faults", 1000),
        ("m < -10%", "bytes", -0.1),
        ("m < -3", "faults", -3),
    ],
)
def test_limits_are_parsed_in_their_units(text: str, unit: str, limit: float) -> None:
    assert conditions.parse(text).limit_in(unit) == pytest.approx(limit)


def test_a_metric_without_measurements_is_missing_input(seed: int) -> None:
    generator = np.random.default_rng(seed)
    a, b = journal(rounds_of(generator, BARE)), journal(rounds_of(generator, BARE))
    with pytest.raises(Failure, match="no pair has held_bytes") as refused:
        compared(a, b, "held_bytes > +5%")
    assert refused.value.status == 3


@pytest.mark.lengthy
def test_changed_advice_is_reported(lab: FakeLab, seed: int) -> None:
    generator = np.random.default_rng(seed)
    for name, best in (("a", "multipool"), ("b", "nothing")):
        store, run = Store(lab.work / name), journal(rounds_of(generator, BARE))
        store.write(run)
        subsystems = [{"name": "book", "best": best}, {"name": "prices", "best": "nothing"}]
        store.write_document("advice", run.run, {"program": {"argv": list(ARGV)}, "subsystems": subsystems})
    found = document(lab, 0, "a", "b")
    assert found["advice"] == {
        "compared": 2,
        "changed": [{"workload": "program big.txt", "subsystem": "book", "a": "multipool", "b": "nothing"}],
    }
    summary = found["summary"]
    assert summary["pairs"] == len(found["pairs"]) >= summary["interval_contains_no_change"]
    assert "the advice was multipool and is now nothing" in lab.run("compare", "a", "b").stdout


@pytest.fixture
def stores(lab: FakeLab, seed: int) -> Callable[..., list[str]]:
    def write(*factors: float) -> list[str]:
        generator = np.random.default_rng(seed)
        names = []
        for number, factor in enumerate(factors):
            store = Store(lab.work / f"store{number}")
            store.write(journal(rounds_of(generator, BARE, factor=factor)))
            names.append(f"store{number}")
        return names

    return write


def document(lab: FakeLab, status: int, *words: str) -> dict[str, Any]:
    done = lab.run("compare", *words, "-o", "out.json")
    assert done.status == status, done.stderr
    return dict(json.loads((lab.work / "out.json").read_text()))


@pytest.mark.lengthy
def test_the_verb_fails_by_status_one_and_says_why(lab: FakeLab, stores: Callable[..., list[str]]) -> None:
    names = stores(1.0, 1.1)
    done = lab.run("compare", *names, "--fail-if", "cpu_seconds > +5%", "--fail-if", "peak_bytes > +90%")
    assert done.status == 1
    assert "breached 'cpu_seconds > +5%'" in done.stderr and "peak_bytes" not in done.stderr
    assert "1 condition of 2 breached" in done.stdout
    found = document(lab, 1, *names, "--fail-if", "cpu_seconds > +5%")
    assert found["schema"] == "millpond.compare/1"
    assert found["breached"] and found["conditions"][0]["breaches"]
    pair = next(p for p in found["pairs"] if p["metric"] == "cpu_seconds")
    assert {"n", "median", "low", "high", "level", "method", "verdict"} <= set(pair["ratio"])


@pytest.mark.lengthy
def test_the_verb_holds_for_equal_stores(lab: FakeLab, stores: Callable[..., list[str]]) -> None:
    found = document(lab, 0, *stores(1.0, 1.0), "--fail-if", "cpu_seconds > +3%")
    assert not found["breached"]


@pytest.mark.lengthy
def test_the_verb_refuses_missing_stores_and_conditions(lab: FakeLab, stores: Callable[..., list[str]]) -> None:
    names = stores(1.0)
    assert lab.run("compare", names[0], "nowhere/store").status == 3
    assert lab.run("compare", names[0], names[0], "--fail-if", "x").status == 2
    assert lab.run("compare", names[0]).status == 2
    (lab.work / "empty").mkdir()
    assert lab.run("compare", names[0], "empty").status == 3


@pytest.mark.lengthy
def test_runs_of_one_store_are_compared_by_their_ids(lab: FakeLab, seed: int) -> None:
    generator = np.random.default_rng(seed)
    store = Store(lab.work / "results/store")
    runs = [journal(rounds_of(generator, BARE, factor=f)) for f in (1.0, 1.3)]
    for run in runs:
        store.write(run)
    found = document(lab, 1, runs[0].run, runs[1].run, "--fail-if", "cpu_seconds > +5%")
    assert found["a"]["runs"] == [runs[0].run]
    assert lab.run("compare", runs[0].run, "20000101T000000").status == 3


@pytest.mark.lengthy
def test_a_damaged_file_is_named_and_gives_status_three(lab: FakeLab, stores: Callable[..., list[str]]) -> None:
    names = stores(1.0, 1.0)
    (lab.work / "store1/observations/broken.parquet").write_text("no parquet")
    done = lab.run("compare", *names)
    assert done.status == 3
    assert "broken.parquet" in done.stderr and "pair" in done.stdout
