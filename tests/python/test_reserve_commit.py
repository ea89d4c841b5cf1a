# SPDX-License-Identifier: BSL-1.0
"""The data of "Reserve and commit" are consistent, and agree with the surviving parts of the paper."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from claim_values import evaluate
from fakes.fake_reserve_commit_suite import FakeReserveCommit

from millpond.rounds.interleaved_rounds import groups_of
from millpond.system import native
from millpond.system.errors import Status
from millpond_bench.bench_cli import main
from millpond_bench.claims.claims import Claim, load
from millpond_bench.command import named
from millpond_bench.experiments.experiment import SCALES, PublishedSpec
from millpond_bench.experiments.experiment_data import place_of
from millpond_bench.experiments.result_table import ResultTable
from millpond_bench.runs.published_run import cells_of
from millpond_bench.suites.reserve_commit import ALIASES, EXPERIMENTS, LENGTHS, dtrace
from millpond_bench.suites.reserve_commit import CLAIMS as FILE

EACH = pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda e: e.name)
CLAIMS = load(FILE)
TESTED = [c for c in CLAIMS if c.kind != "untestable"]
BY_NAME = {e.name: e for e in EXPERIMENTS}
Use = Callable[..., FakeReserveCommit]


@pytest.fixture
def suite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Use:
    """Replaces the real program by a fake."""

    def make(**config: object) -> FakeReserveCommit:
        fake = FakeReserveCommit(**config)  # type: ignore[arg-type]
        monkeypatch.setattr(native, "capture", fake.capture)
        monkeypatch.setattr(native, "find", lambda name: tmp_path / name)
        monkeypatch.chdir(tmp_path)
        return fake

    return make


def test_the_experiments_have_the_names_of_the_document() -> None:
    assert tuple(e.name for e in EXPERIMENTS) == tuple(f"reserve_commit.{n}" for n in (*range(1, 6), "short"))
    assert {e.document for e in EXPERIMENTS} == {"reserve_commit"}


def test_a_documents_name_stands_for_all_of_its_experiments() -> None:
    assert named(["reserve_commit"]) == list(EXPERIMENTS)
    assert named(["reserve_commit.3", "reserve_commit.1"]) == [EXPERIMENTS[0], EXPERIMENTS[2]]
    assert {e.document for e in named(["p0089"])} == {"p0089"}
    assert set(EXPERIMENTS) < set(named(["all"]))


@EACH
@pytest.mark.parametrize("scale", SCALES)
def test_every_scale_has_all_strategies_and_each_cell_once(experiment: PublishedSpec, scale: str) -> None:
    cells = cells_of(experiment.data, scale, "")
    assert len({cell.name for cell in cells}) == len(cells)
    for group in groups_of(cells):
        assert experiment.data.baseline in {cell.contender.name for cell in group}
    assert {cell.contender.name for cell in cells} == set(experiment.data.strategies)


@EACH
def test_every_metric_that_is_asked_for_is_one_that_cells_have(experiment: PublishedSpec) -> None:
    assert {experiment.data.figure.metric, *experiment.data.extra_metrics} <= experiment.metrics.units.keys()


@EACH
@pytest.mark.parametrize("scale", SCALES)
def test_every_cell_has_an_estimate_that_litter_raises(experiment: PublishedSpec, scale: str) -> None:
    for plain, littered in zip(
        cells_of(experiment.data, scale, ""), cells_of(experiment.data, scale, "0.5"), strict=True
    ):
        needs = [experiment.rules.needs(dict(cell.parameters), cell.contender.name) for cell in (plain, littered)]
        assert 0.0 < needs[0].seconds < needs[1].seconds
        assert 0 < needs[0].bytes < needs[1].bytes
        assert experiment.data.point_of(plain) == experiment.data.point_of(littered)


def test_strategies_that_move_bytes_run_only_on_ints() -> None:
    for experiment in EXPERIMENTS:
        for cell in cells_of(experiment.data, "paper", ""):
            element = dict(cell.parameters).get("element", "int")
            assert element == "int" or cell.contender.name not in ("realloc", "mremap")


def test_words_and_numbers_are_places_on_an_axis() -> None:
    assert (place_of("10"), place_of("-3"), place_of("int"), place_of("-")) == (10, -3, "int", "-")
    cell = next(c for c in cells_of(EXPERIMENTS[1].data, "quick", "") if dict(c.parameters)["element"] == "unique_ptr")
    assert EXPERIMENTS[1].data.point_of(cell) == (("length", 10**6), ("element", "unique_ptr"), ("optimisation", 0))


def test_published_histograms_add_up_to_lengths_and_commits() -> None:
    counts: Counter[str] = Counter()
    for probe, _, count in dtrace():
        counts[probe] += count
    # Both benchmarks append up to each length; tracing began after the smaller lengths of the first.
    assert counts["append_unique_ptr"] == sum(LENGTHS[:3]) + LENGTHS[2]
    assert 2 * LENGTHS[3] < counts["append_int"] < 2 * sum(LENGTHS)
    appended_bytes = 4 * counts["append_int"] + 8 * counts["append_unique_ptr"]
    assert counts["VirtualAlloc"] * 4096 == pytest.approx(appended_bytes, rel=1e-6)


def test_statements_are_many_unique_and_mostly_testable() -> None:
    assert len(CLAIMS) >= 12
    assert len({c.id for c in CLAIMS}) == len(CLAIMS)
    assert {c.experiment for c in CLAIMS} == set(BY_NAME)
    untestable = [c for c in CLAIMS if c.kind == "untestable"]
    assert 5 * len(untestable) <= len(CLAIMS)
    assert all(c.missing for c in untestable)
    assert all(c.statement.endswith(".") for c in CLAIMS)
    assert all(c.published_lost for c in TESTED)


@pytest.mark.parametrize("rule", TESTED, ids=lambda c: c.id)
def test_a_rule_is_well_formed_and_the_papers_grid_has_figures_for_it(rule: Claim) -> None:
    experiment = BY_NAME[rule.experiment]
    assert {*rule.of, *rule.against} <= {*ALIASES, *experiment.data.strategies}
    assert {*rule.where, *([rule.axis] if rule.axis else [])} <= set(experiment.data.axes)
    assert rule.low <= rule.high and (math.isfinite(rule.low) or math.isfinite(rule.high))
    assert rule.metric in ("", experiment.data.figure.name, *experiment.data.extra_metrics)
    cells = cells_of(experiment.data, "paper", "")
    keys = [(at, cell.contender.name) for cell in cells if (at := experiment.data.point_of(cell)) is not None]
    expected = [0.0 if rule.kind == "fails" else 1.0]
    assert evaluate(rule, experiment, ResultTable({key: {rule.metric: {1: 1.0}} for key in keys}))[0] == expected


@pytest.mark.more
def test_a_statement_is_judged_on_the_metric_that_it_is_about(suite: Use) -> None:
    suite(values={"vector": 4.0, "dyn_array_2023": 1.01})
    words = ["run", "reserve_commit.1", "--scale=quick", "--rounds=6", "-o", "out.json", "-o", "out.html"]
    assert main(words) == Status.OK
    claims = {c["id"]: c for c in json.loads(Path("out.json").read_text(encoding="utf-8"))["claims"]}
    assert claims["1.peak.less"]["verdict"] == "holds"
    assert claims["1.spike.none"]["ours"]["median"] == pytest.approx(1.01)
    assert claims["1.spike.none"]["verdict"] == "holds"
    assert claims["1.peak.linear"]["verdict"] == "absent"
    assert claims["1.peak.linear"]["p_adjusted"] == 0.0
    assert claims["1.guard"]["verdict"] == "holds"
    assert all(c["published"] is None for c in claims.values())


@pytest.mark.more
def test_an_array_that_runs_out_of_memory_is_a_figure_too(suite: Use) -> None:
    suite(fails=["vector"])
    words = ["run", "reserve_commit.1", "--scale=quick", "--rounds=1", "-o", "out.json", "-o", "out.html"]
    assert main(words) == Status.OK
    found = json.loads(Path("out.json").read_text(encoding="utf-8"))
    assert {r["status"] for r in found["summary"] if r["strategy"] == "vector"} == {"bad_alloc"}
    assert {r["status"] for r in found["summary"] if r["strategy"] == "dyn_array"} == {"ok"}


@pytest.mark.more
def test_the_page_shows_our_tables_and_names_the_document(suite: Use) -> None:
    fake = suite(values={"dyn_array": 123.0})
    words = ["run", "reserve_commit", "--scale=quick", "--rounds=1", "-o", "out.json", "-o", "out.html"]
    assert main(words) == Status.OK
    assert {call["workload"] for call in fake.calls} == {e.data.workload for e in EXPERIMENTS}
    text = Path("out.html").read_text(encoding="utf-8")
    assert "P0089R0" not in text and "Reserve and commit" in text and "Ryzen" in text
    assert all(f'id="{e.name}"' in text for e in EXPERIMENTS)
    assert text.count("<caption>here</caption>") >= len(EXPERIMENTS)
    assert "<caption>published</caption>" not in text
    assert ">123<" in text and ">unique_ptr, 10 000 000<" in text
