# SPDX-License-Identifier: BSL-1.0
"""The experiments of the talk and of the suballocator: their data agree with the paper and run as they are."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from fakes.fake_p0089_suite import FakeP0089

from millpond.cells.cell import LITTER
from millpond.cells.metrics import COUNTERS
from millpond.rounds.interleaved_rounds import groups_of
from millpond.system.errors import Status
from millpond_bench.bench_cli import main
from millpond_bench.claims.claim_rules import judge
from millpond_bench.claims.claims import ABSENT, HOLDS, NOT_MEASURED, UNTESTABLE, Claim, load
from millpond_bench.experiments.experiment import ROUNDS, SCALES, PublishedSpec
from millpond_bench.experiments.paper_tables import FOLDER
from millpond_bench.experiments.result_table import FIGURE, ResultTable, published_table
from millpond_bench.runs.published_run import cells_of
from millpond_bench.suites import suballocator, unique_chars
from millpond_bench.suites.every_experiment import PUBLISHED as ALL

pytestmark = pytest.mark.more  # tests the bench of published experiments, not the product

SUBALLOCATOR = ("suballocator.1", "suballocator.2", "suballocator.sum", "suballocator.3", "suballocator.4")
Use = Callable[..., FakeP0089]
EXPERIMENTS = (*unique_chars.EXPERIMENTS, *suballocator.EXPERIMENTS)
BY_NAME = {e.name: e for e in EXPERIMENTS}
EACH = pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda e: e.name)
AT_SCALES = pytest.mark.parametrize("scale", SCALES)
CLAIMS = [*load("unique_chars.toml"), *load("suballocator.toml")]
TESTED = [c for c in CLAIMS if c.kind != "untestable"]
# Callgrind's output at the end of each round.
SIMULATED = "==1== Events    : Ir Dr D1mr DLmr\n==1== Collected : 900 300 30 3\n"
STD, POOL = suballocator.ALIASES["std::allocator"], suballocator.ALIASES["boost::fast_pool_allocator"]
SUBALLOCATOR64 = suballocator.ALIASES["suballocator64"]


def run(*words: str) -> tuple[int, dict[str, Any]]:
    """Returns the status, and the document if one was written."""
    Path("out.json").unlink(missing_ok=True)
    status = main(["run", "-o", "out.json", "-o", "out.html", *words])
    path = Path("out.json")
    return status, json.loads(path.read_text()) if path.exists() else {}


def test_the_experiments_have_the_names_of_the_documents() -> None:
    assert tuple(e.name for e in EXPERIMENTS) == ("unique_chars", *SUBALLOCATOR)
    assert len({e.name for e in ALL}) == len(ALL)


def test_a_document_says_its_own_title_and_machine() -> None:
    said = {(e.document, e.source, e.machine) for e in ALL}
    assert len(said) == len({document for document, _, _ in said}) == len({source for _, source, _ in said})
    assert len({machine for _, _, machine in said}) == len(said)


def test_every_published_row_is_a_figure_or_marked_as_none() -> None:
    text = (files("millpond_bench.suites") / FOLDER / suballocator.TABLE).read_text(encoding="utf-8")
    rows = list(csv.DictReader(text.splitlines()))
    read = [e.table.read(row) for e in suballocator.EXPERIMENTS for row in rows]
    taken = [one for one in read if one is not None]
    left = [row for row in rows if all(e.table.read(row) is None for e in suballocator.EXPERIMENTS)]
    assert len(taken) + len(left) == len(rows)
    assert {row["metric"] for row in left} == {"total", "speedup", "time saved"}
    assert len(taken) == 6


def test_the_published_figures_stand_in_the_units_of_ours() -> None:
    five, sets = (BY_NAME[name] for name in ("suballocator.2", "suballocator.3"))
    all_of = (("count", 50_000_000),)
    assert five.published_values() == {(all_of, STD): 31.2, (all_of, POOL): 11.6}
    assert five.published_values("elements_bytes") == {(all_of, STD): 1.56e9, (all_of, POOL): 0.52e9}
    first = (("count", 30_000_000), ("collections_before", 0), ("inserts", 1))
    assert sets.published_values() == {(first, STD): 3170.0, (first, POOL): 2040.0}
    assert sets.published_values("elements_bytes") == {}
    for name in ("unique_chars", "suballocator.1"):
        assert BY_NAME[name].published_values() == {}


@EACH
def test_a_published_figure_lies_on_one_cell_of_the_paper_grid(experiment: PublishedSpec) -> None:
    cells = cells_of(experiment.data, "paper", "")
    keys = [(experiment.data.point_of(cell), cell.contender.name) for cell in cells]
    assert len(set(keys)) == len(keys) == len({cell.name for cell in cells})
    assert {((*at, *experiment.data.usual), name) for at, name in experiment.table.printed()} <= set(keys)


@EACH
@AT_SCALES
def test_a_scale_has_the_baseline_and_fits_its_time(experiment: PublishedSpec, scale: str) -> None:
    cells = cells_of(experiment.data, scale, "")
    for group in groups_of(cells):
        assert experiment.data.baseline in {cell.contender.name for cell in group}
    needs = [experiment.rules.needs(dict(c.parameters), c.contender.name) for c in cells]
    assert all(n.seconds > 0.0 and n.bytes > 0 for n in needs)
    if scale == "quick":
        assert ROUNDS[scale] * sum(n.seconds for n in needs) < 60.0


@EACH
def test_metrics_exist_and_aliases_name_one_strategy_each(experiment: PublishedSpec) -> None:
    known = experiment.metrics.units
    assert {experiment.data.figure.metric, *experiment.data.extra_metrics} <= known.keys()
    assert len(set(experiment.data.aliases.values())) == len(experiment.data.aliases)
    assert {*experiment.data.aliases.values(), *experiment.rules.optional} <= {*experiment.data.strategies}
    assert not {*experiment.data.strategies} & {*experiment.data.extra_strategies}


def test_the_litter_option_replaces_the_litter_axis() -> None:
    (experiment,) = unique_chars.EXPERIMENTS
    plain, littered = cells_of(experiment.data, "quick", ""), cells_of(experiment.data, "quick", "0.25")
    at = [experiment.data.point_of(cell) for cell in plain]
    assert {dict(p or ())[LITTER] for p in at} == {0, 50}
    assert {dict(experiment.data.point_of(c) or ())[LITTER] for c in littered} == {25}
    assert 2 * len(littered) == len(plain)
    needs = [
        experiment.rules.needs(dict(c.parameters), c.contender.name)
        for c in plain[: 2 * len(experiment.data.strategies)]
    ]
    assert needs[0].seconds < needs[len(experiment.data.strategies)].seconds


@pytest.mark.parametrize("rule", CLAIMS, ids=lambda c: c.id)
def test_a_rule_is_well_formed(rule: Claim) -> None:
    experiment = BY_NAME[rule.experiment]
    assert rule.statement.endswith(".")
    if rule.kind == "untestable":
        assert rule.missing and not rule.of
        return
    assert rule.of and {*rule.of, *rule.against, *rule.among} <= {*experiment.data.aliases, *experiment.data.strategies}
    assert {*rule.where, *([rule.axis] if rule.axis else [])} <= {*experiment.data.axes}
    assert rule.metric in ("", *experiment.data.extra_metrics, *COUNTERS)
    assert math.isfinite(rule.low) or math.isfinite(rule.high)
    assert rule.low <= rule.high
    assert len(rule.against) in (0, 1, len(rule.of))
    assert bool(rule.axis) == (rule.kind in ("growth", "step"))


def test_statements_are_many_unique_and_mostly_testable() -> None:
    assert len({c.id for c in CLAIMS}) == len(CLAIMS)
    for document in ("unique_chars", "suballocator"):
        claims = load(f"{document}.toml")
        assert len(claims) >= 10
        assert {c.experiment for c in claims} == {e.name for e in EXPERIMENTS if e.document == document}
        assert 5 * sum(c.kind == "untestable" for c in claims) <= len(claims)


@pytest.mark.parametrize("rule", TESTED, ids=lambda c: c.id)
def test_published_figures_support_statements_or_are_lost(rule: Claim) -> None:
    experiment = BY_NAME[rule.experiment]
    judged = judge(rule, experiment.data, published_table(experiment), ResultTable({}))
    assert (judged.published is None) == bool(rule.published_lost)
    assert judged.published_satisfies == (None if rule.published_lost else True), judged.published
    assert judged.verdict == NOT_MEASURED


def test_a_rule_of_a_metric_is_about_that_metric() -> None:
    experiment = BY_NAME["suballocator.2"]
    rule = next(c for c in load("suballocator.toml") if c.id == "s.five.returns")
    key = ((("count", 1000),), SUBALLOCATOR64)
    small = {1: 0.04, 2: 0.04, 3: 0.05, 4: 0.03, 5: 0.04, 6: 0.05}
    ours = ResultTable({key: {FIGURE: dict.fromkeys(small, 99.0), "kept_share": small}})
    assert judge(rule, experiment.data, ResultTable({}), ours).verdict == HOLDS
    assert judge(rule, experiment.data, ResultTable({}), ResultTable({key: {FIGURE: small}})).verdict == NOT_MEASURED


@pytest.mark.lengthy
@EACH
def test_the_quick_scale_runs_all_cells_and_judges_all_statements(experiment: PublishedSpec, p0089: Use) -> None:
    fake = p0089(callgrind=SIMULATED)
    status, document = run(experiment.name, "--scale=quick", "--rounds=1")
    assert status == Status.OK
    cells = cells_of(experiment.data, "quick", "")
    assert len(fake.calls) == len(cells)
    rows = [r for r in document["summary"] if r["metric"] == experiment.data.figure.name]
    assert {r["cell"] for r in rows} == {c.name for c in cells}
    assert all(r["n"] == 1 and r["median"] > 0.0 for r in rows)
    found = {c["id"]: c["verdict"] for c in document["claims"]}
    assert set(found) == {c.id for c in CLAIMS if c.experiment == experiment.name}
    measured = [c for c in TESTED if c.experiment == experiment.name and found[c.id] == NOT_MEASURED]
    assert all("count" in c.where or c.metric in COUNTERS for c in measured), "larger scales or counters are missing"
    own = [c for c in CLAIMS if c.experiment == experiment.name]
    never, counted = {c.id for c in own if c.kind == "untestable"}, {c.id for c in own if c.metric in COUNTERS}
    assert never <= {name for name, verdict in found.items() if verdict == UNTESTABLE} <= never | counted


@pytest.mark.more
def test_simulated_counters_judge_only_statements_on_loads(p0089: Use) -> None:
    p0089(callgrind=SIMULATED)
    _, document = run("unique_chars", "--scale=quick", "--rounds=1", "--counters=simulated")
    found = {c["id"]: c for c in document["claims"]}
    assert {found[name]["verdict"] for name in ("u.loads", "u.misses")} == {ABSENT}, "all have the same loads"
    for name in ("u.stalls", "u.stalls.local"):
        assert found[name]["verdict"] == UNTESTABLE
        assert "clock" in found[name]["missing"]


@EACH
def test_every_cell_is_one_that_the_program_knows(experiment: PublishedSpec, p0089: Use) -> None:
    fake = p0089()
    known = {s for w in fake.listed(experiment.suite)["workloads"] for s in w["contenders"]}
    for scale in SCALES:
        for cell in cells_of(experiment.data, scale, ""):
            assert cell.contender.name in known
            assert {name for name, _ in cell.parameters} <= {*experiment.data.axes, *experiment.data.free, LITTER}


@pytest.mark.more
def test_rows_without_published_figures_have_tables(p0089: Use) -> None:
    p0089()
    assert run("unique_chars", "suballocator", "--scale=quick", "--rounds=1")[0] == Status.OK
    text = Path("out.html").read_text(encoding="utf-8")
    for words in ("fresh heap", "heap littered, 50 % of it freed", "256 characters", "ns to allocate one",
                  "inserted into a set, fresh memory", "1 000 000", "1.3", "std::allocator"):  # fmt: skip
        assert words in text, words


@pytest.mark.lengthy
def test_a_papers_name_selects_all_its_experiments(p0089: Use) -> None:
    fake = p0089()
    _, document = run("suballocator", "--scale=quick", "--rounds=1", "--cells=*/suballocator32")
    assert [e["name"] for e in document["experiments"]] == [*SUBALLOCATOR]
    assert {c[c.index("--contender") + 1] for c in fake.calls} == {suballocator.ALIASES["suballocator32"]}


@pytest.mark.lengthy
def test_a_program_without_boost_runs_the_other_strategies(p0089: Use) -> None:
    fake = p0089(lacks=suballocator.OPTIONAL)
    status, document = run("suballocator.2", "--scale=quick", "--rounds=1")
    assert status == Status.OK
    assert not {c[c.index("--contender") + 1] for c in fake.calls} & {*suballocator.OPTIONAL}
    assert len(fake.calls) == 2 * (len(suballocator.STRATEGIES) - len(suballocator.OPTIONAL)), "two lengths"
    assert all(any(name in note for note in document["notes"]) for name in suballocator.OPTIONAL)
    p0089(lacks=[SUBALLOCATOR64])
    assert run("suballocator.2", "--scale=quick", "--rounds=1")[0] == Status.ENVIRONMENT
