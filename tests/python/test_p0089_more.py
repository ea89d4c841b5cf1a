# SPDX-License-Identifier: BSL-1.0
"""Experiments around the published ones: the dials, and questions that the paper left open."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from claim_values import evaluate
from fakes.fake_p0089_suite import FakeP0089

from millpond.cells.cell import Outcome
from millpond.cells.metrics import COUNTERS
from millpond.rounds.interleaved_rounds import WHOLE
from millpond.system.errors import Status
from millpond_bench.bench_cli import main
from millpond_bench.claims import claim_rules
from millpond_bench.claims.claim_rules import judge, judge_all
from millpond_bench.claims.claims import HOLDS, NOT_MEASURED, UNDECIDED, UNTESTABLE, Claim, load
from millpond_bench.command import named
from millpond_bench.experiments import suite_rounds
from millpond_bench.experiments.bench_document import Kind
from millpond_bench.experiments.experiment import SCALES, PublishedSpec
from millpond_bench.experiments.result_table import FIGURE, PublishedTable, ResultTable, published_table
from millpond_bench.experiments.surroundings import KEEPING
from millpond_bench.runs.experiment_run import RunRequest, memory_bytes
from millpond_bench.runs.published_run import PublishedRun, cells_of
from millpond_bench.suites import p0089_memory
from millpond_bench.suites.p0089_anomalies import EXPERIMENT as ANOMALIES
from millpond_bench.suites.p0089_bindings import CLANG, VIRTUAL
from millpond_bench.suites.p0089_dials import CENTRE, DIALS, SETTINGS
from millpond_bench.suites.p0089_dials import EXPERIMENT as DIALLED
from millpond_bench.suites.p0089_spike import EXPERIMENT as SPIKE
from millpond_bench.suites.p0089_strategies import ALIASES

CANDIDATES = load(ANOMALIES.claims)
OPEN = {e.name: e for e in (ANOMALIES, SPIKE, VIRTUAL, CLANG)}
EACH_CANDIDATE = pytest.mark.parametrize("rule", CANDIDATES, ids=lambda c: c.id)


@pytest.mark.parametrize("scale", SCALES)
def test_one_dial_at_a_time_is_turned_and_every_dial_is(scale: str) -> None:
    turned = set()
    for cell in cells_of(DIALLED.data, scale, ""):
        at = {name: int(value) for name, value in cell.parameters}
        away = [name for name in DIALS if at[name] != CENTRE[name]]
        assert len(away) <= 1
        assert at["threads"] == 2 or at["contention"] == 0
        turned |= {(name, at[name]) for name in away}
    least = 2 if scale == "quick" else 4
    assert all(sum(name == dial for name, _ in turned) >= least for dial in DIALS)


def test_the_centre_is_a_setting_of_every_dial_and_settings_rise() -> None:
    assert all(CENTRE[dial] in SETTINGS[dial] for dial in DIALS)
    assert all(list(SETTINGS[dial]) == sorted(set(SETTINGS[dial])) for dial in DIALS)


def test_two_threads_can_contend_as_much_as_the_dial_asks_for() -> None:
    inside = CENTRE["density"] / 1000
    assert max(SETTINGS["contention"]) / 1000 <= inside * inside + 1e-9


@EACH_CANDIDATE
def test_a_candidate_is_judged_by_cells_of_the_standard_scale(rule: Claim) -> None:
    experiment = OPEN[rule.experiment]
    cells = cells_of(experiment.data, "standard", "")
    twos = {rule.metric: {1: 2.0}}
    figures = ResultTable({(at, c.contender.name): twos for c in cells if (at := experiment.data.point_of(c))})
    found, used = evaluate(rule, experiment, figures)
    assert found == [pytest.approx(1.0)]
    assert used
    assert set(rule.where) <= set(experiment.data.axes)
    assert rule.low > 0.0 or rule.high < float("inf")
    assert rule.metric in ("", *experiment.data.extra_metrics, *COUNTERS)


@pytest.mark.lengthy
@EACH_CANDIDATE
def test_the_papers_observations_hold_in_its_own_tables(rule: Claim) -> None:
    experiment = OPEN[rule.experiment]
    judged = judge(rule, experiment.data, published_table(experiment), ResultTable({}))
    if rule.id in ("a.appears", "c.rises", "c.recedes", "b.spike", "b.fall", "d.appears", "d.appears.flat"):
        assert judged.published_satisfies is True
    assert judged.published_satisfies is not False or rule.paper_disagrees


def test_candidates_are_statements_each_once() -> None:
    assert len({c.id for c in CANDIDATES}) == len(CANDIDATES)
    assert {c.experiment for c in CANDIDATES} == set(OPEN)


@pytest.mark.parametrize("experiment", OPEN.values(), ids=OPEN)
def test_the_quick_scale_of_open_questions_takes_seconds(experiment: PublishedSpec) -> None:
    cells = cells_of(experiment.data, "quick", "")
    assert sum(experiment.rules.needs(dict(c.parameters), c.contender.name).seconds for c in cells) < 20.0


def test_a_word_selects_an_experiment_and_its_parts() -> None:
    assert [e.name for e in named(["p0089.anomalies"])] == list(OPEN)
    assert [e.name for e in named(["p0089.anomalies.spike"])] == [SPIKE.name]
    own = [f"p0089.{name}" for name in ("1", "2", "3", "4", "memory", "freeing", "shuffles", "dials")]
    assert len(named(["p0089"])) == len(named([*own, *OPEN]))


def claim(name: str, kind: Kind, **given: Any) -> Claim:
    return Claim(id=name, experiment=CLANG.name, section="7", statement="…", kind=kind, of=("AS9",), **given)


BY_CLANG = claim("clang", "ratio", against=("AS7",), where={"toolchain": ["clang", "gcc"]})
OF_TOOLCHAINS = claim("both", "growth", axis="toolchain", first="release", last="clang")
ANYWHERE = claim("any", "ratio", against=("AS7",), where={"ds": 5})


def test_statements_about_a_missing_toolchain_are_untestable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claim_rules, "load", lambda _: (BY_CLANG, OF_TOOLCHAINS, ANYWHERE))
    without = {
        row.claim.id: row for row in judge_all(CLANG, ResultTable({}), ResultTable({}), {"clang": "no clang here"})
    }
    assert [without[name].verdict for name in ("clang", "both", "any")] == [UNTESTABLE, UNTESTABLE, NOT_MEASURED]
    assert without["clang"].claim_record().to_json()["missing"] == "no clang here"
    assert {row.verdict for row in judge_all(CLANG, ResultTable({}), ResultTable({}))} == {NOT_MEASURED}


def test_one_round_of_an_exact_count_is_enough() -> None:
    rule = claim("exact", "ratio", against=("AS7",), where={"ds": 5}, high=0.5, exact=True)
    at = (("ds", 5), ("log2_size", 8), ("short_by", 1), ("toolchain", "release"))
    figures = ResultTable({(at, ALIASES["AS9"]): {FIGURE: {1: 1.0}}, (at, ALIASES["AS7"]): {FIGURE: {1: 2.0}}})
    assert judge(rule, CLANG.data, ResultTable({}), figures).verdict == HOLDS
    assert judge(msgspec.structs.replace(rule, exact=False), CLANG.data, ResultTable({}), figures).verdict == UNDECIDED


def test_the_time_before_shuffling_has_no_slowdown() -> None:
    cells = cells_of(SPIKE.data, "quick", "")
    outcomes = [Outcome(c, "bench", 1, {"access_seconds": 1.0}, "") for c in cells]
    figures = PublishedTable(SPIKE, cells, outcomes).by_place()
    assert {dict(at)["sf"] for at, _ in figures.keys(FIGURE)} == {5}
    assert {dict(at)["sf"] for at, _ in figures.keys("access_seconds")} == {5, -5}


@pytest.mark.lengthy
def test_kept_memory_is_set_by_environment_not_by_parameter(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    fake = FakeP0089()
    seen: list[tuple[Sequence[str], Mapping[str, str]]] = []

    def capture(argv: Sequence[str], environment: Mapping[str, str], **more: Any) -> Any:
        seen.append((argv, environment))
        return fake.capture(argv, environment, **more)

    monkeypatch.setattr(suite_rounds.native, "capture", capture)
    monkeypatch.setattr(suite_rounds.native, "find", Path)
    monkeypatch.setattr("millpond_bench.runs.experiment_run.subject_of", lambda *_: "a program")
    words = ("p0089.anomalies", "--scale=quick", "--rounds=1", "--cells=structures/ds=7/*/AS1", "-o", "out.json")
    assert main(["run", *words]) == Status.OK
    rounds = [(argv, environment) for argv, environment in seen if "--list" not in argv]
    assert rounds and all("--kept" not in argv for argv, _ in rounds)
    name, value = KEEPING
    assert {environment.get(name) for _, environment in rounds} == {None, value}
    summary = json.loads(Path("out.json").read_text())["summary"]
    assert {row["parameters"]["kept"] for row in summary} == {0, 1}
    assert {row["strategy"] for row in summary} == {ALIASES["AS1"]}


def test_memory_exhaustion_needs_runs_under_a_limit() -> None:
    spec = p0089_memory.EXPERIMENT
    run = PublishedRun(
        spec, cells_of(spec.data, "quick", ""), RunRequest("quick", None, 1, WHOLE, None, memory_bytes())
    )
    cell = run.cells[0]
    assert run.launch(cell).limited == ("prlimit", f"--as={2**34 // 64}", "--")
    rule = next(c for c in load(spec.claims) if c.id == "3.monotonic.fails")
    places = [(at, c.contender.name) for c in run.cells if (at := spec.data.point_of(c))]
    estimated = ResultTable({}, dict.fromkeys(places, "refused"))
    assert judge(rule, spec.data, ResultTable({}), estimated).verdict == NOT_MEASURED
    assert judge(rule, spec.data, ResultTable({}), ResultTable({}, dict.fromkeys(places, "bad_alloc"))).verdict == HOLDS
