# SPDX-License-Identifier: BSL-1.0
"""Premises: every statement names one or none, papers meet their own, and points where one fails are no evidence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millpond_bench.claims.claim_rules import judge, judge_all
from millpond_bench.claims.claims import BROKEN, HOLDS, NOT_MEASURED, STRONGER, UNFOUNDED, Claim, load
from millpond_bench.claims.premises import NONE, Premise, PremiseCondition, check_premise, premise_of, premises_of
from millpond_bench.experiments.experiment import PublishedSpec
from millpond_bench.experiments.result_table import FIGURE, PlaceTable, ResultTable, published_table
from millpond_bench.pages import experiment_page, results_page
from millpond_bench.pages.kept_results import KeptPart, KeptResults
from millpond_bench.suites.every_experiment import PUBLISHED
from millpond_bench.suites.grunwald1993_locality import CACHES, CLASSICS, TIME

pytestmark = pytest.mark.more  # tests the bench of published experiments, not the product

FILES = sorted({spec.claims for spec in PUBLISHED if spec.claims})
BY_NAME: Mapping[str, PublishedSpec] = {spec.name: spec for spec in PUBLISHED}
STATEMENTS = [(file, claim) for file in FILES for claim in load(file)]
FACTS = {"objects_allocated": {1: 5e5}, "allocator_share": {1: 12.0}}
IDLE = {"objects_allocated": {1: 3869.0}, "allocator_share": {1: 0.07}}


def test_every_statement_names_its_premise_or_none() -> None:
    unnamed = [claim.id for file, claim in STATEMENTS if claim.premise not in {NONE, *premises_of(file)}]
    assert not unnamed, f'name a premise of the file, or "none": {unnamed}'


def test_at_most_three_in_a_hundred_have_no_rule() -> None:
    assert 100 * sum(claim.kind == "untestable" for _, claim in STATEMENTS) <= 3 * len(STATEMENTS)


@pytest.mark.parametrize("file", FILES)
def test_every_premise_is_used_and_measured_by_its_experiments(file: str) -> None:
    claims = [claim for claim in load(file) if claim.premise != NONE]
    assert {*premises_of(file)} == {claim.premise for claim in claims}
    for claim in claims:
        spec, premise = BY_NAME[claim.experiment], premise_of(claim, file)
        assert premise is not None and premise.conditions
        for condition in premise.conditions:
            assert condition.low is not None or condition.high is not None
            assert {*condition.where, premise.along or "program"} - {"program"} <= {*spec.data.axes}
            assert condition.metric in {"", *spec.data.extra_metrics} or claim.experiment == "grunwald1993.words"


def test_the_paper_meets_its_own_premises() -> None:
    published = published_table(BY_NAME["grunwald1993.programs"])
    for claim in load("grunwald1993.toml"):
        assert not check_premise(claim, premise_of(claim, "grunwald1993.toml"), published, _canonical).failed


def _canonical(name: str) -> str:
    return TIME.data.canonical(name)


def _times(programs: Mapping[str, Mapping[str, Any]], seconds: float) -> PlaceTable:
    """Returns eight environments of each program on the classic allocators; the first takes `seconds`."""
    rounds = range(1, 9)
    return ResultTable({
        ((("program", program), ("cache", cache)), name): {
            FIGURE: {n: (seconds if place == 0 else 1.0) * (1 + 0.001 * n) for n in rounds}, **facts,
        }
        for program, facts in programs.items() for cache in (16, 64) for place, name in enumerate(CLASSICS)
    })  # fmt: skip


SLOW = Claim(id="x", experiment=TIME.name, statement="s.", kind="ratio", over="every", of=("FIRSTFIT",),
             against=("BSD",), low=1.0, premise="allocation")  # fmt: skip
PREMISE = premises_of("grunwald1993.toml")["allocation"]


def _judged(found: PlaceTable, premise: Premise | None = PREMISE) -> Any:
    return judge(SLOW, TIME.data, ResultTable({}), found, premise=premise)


def test_a_program_without_allocation_is_no_evidence() -> None:
    alone = _judged(_times({"GS": IDLE}, 0.5))
    assert alone.verdict == UNFOUNDED and alone.ours is None and alone.holds is None
    assert "GS: objects_allocated 3869" in alone.claim.missing
    assert _judged(_times({"GS": IDLE}, 0.5), premise=None).verdict in BROKEN
    assert _judged(_times({"TROFF": FACTS}, 2.0)).verdict == HOLDS


def test_others_are_judged_without_it_and_say_so() -> None:
    both = ResultTable({**_times({"GS": IDLE}, 0.5).values, **_times({"TROFF": FACTS}, 2.0).values})
    judged = _judged(both)
    assert judged.verdict == HOLDS and judged.points == 4
    assert "left out, since the premise fails: GS: objects_allocated 3869" in judged.note
    assert judged.claim_record().premise == PREMISE.wording()


def test_a_premise_that_was_not_measured_is_named() -> None:
    judged = _judged(_times({"TROFF": {}}, 2.0))
    assert judged.verdict == HOLDS and "premise was not measured" in judged.note
    assert _judged(ResultTable({})).verdict == NOT_MEASURED


@given(st.floats(1.0, 1e6), st.floats(1.0, 1e6), st.floats(1.0, 1e6))
def test_a_condition_holds_within_its_bound(low: float, high: float, value: float) -> None:
    condition = PremiseCondition(of=("BSD",), low=low, high=high)
    assert condition.keeps(value) == (low <= value <= high)
    assert f"at least {low:.12g}" in condition.text() and f"at most {high:.12g}" in condition.text()


def test_a_failure_along_an_axis_leaves_out_its_whole_row() -> None:
    premise = Premise(
        text="p", along="cache", conditions=(PremiseCondition(of=("BSD",), low=1.0, where={"cache": 64}),)
    )
    found = ResultTable({((("program", p), ("cache", c)), "bsd"): {FIGURE: {1: value}}
                         for p, value in (("GS", 0.5), ("TROFF", 2.0)) for c in (16, 64)})  # fmt: skip
    kept = check_premise(SLOW, premise, found, _canonical)
    assert {dict(at)["program"] for at, _ in kept.figures.values} == {"TROFF"}
    assert len(kept.figures.values) == 2 and len(kept.failed) == 1


def test_every_kind_of_run_of_the_study_measures_its_premises() -> None:
    judged = judge_all(CACHES, ResultTable({}), ResultTable({}))
    assert {one.premise for one in judged} == {PREMISE.wording()}


SHARE = Claim(id="x", experiment=TIME.name, statement="s.", kind="ratio", over="share", of=("FIRSTFIT",), low=0.5,
              against=("BSD",), at_least=10.0, at_most=20.0)  # fmt: skip


@pytest.mark.parametrize(
    ("times", "expected"),
    [(15.0, HOLDS), (90.0, STRONGER), (1.0, "absent"), (3.0, "absent"), (0.1, "absent")],
)
def test_a_share_between_two_limits_can_be_stronger(times: float, expected: str) -> None:
    found = _times({"TROFF": {}, "GAWK": {}, "MAKE": {}}, times)
    judged = judge(SHARE, TIME.data, ResultTable({}), found)
    assert judged.verdict == expected
    assert ("beyond 20" in judged.note) == (expected == STRONGER)


def test_a_share_below_a_range_is_stronger_on_the_other_side() -> None:
    found = _times({"TROFF": {}, "GAWK": {}, "MAKE": {}}, 0.01)
    rule = Claim.from_json({**SHARE.to_json(), "at_least": 0.05, "at_most": 0.1})
    assert judge(rule, TIME.data, ResultTable({}), found).verdict == STRONGER
    denial = Claim.from_json({**SHARE.to_json(), "at_least": 0.9, "at_most": 1.1})
    assert judge(denial, TIME.data, ResultTable({}), found).verdict == "absent"


def _utilization(peaks: Mapping[str, float], values: Mapping[str, float]) -> PlaceTable:
    """Returns Benchmark III around the limit of a pool: `peaks` of AS11 above it, `values` of a block's time there."""
    spec = BY_NAME["p0089.3"]
    usual = dict(spec.data.usual)
    found = {}
    for size in (11, 12, 13, 14):
        at = tuple((name, {"log2_t": 30, "log2_a": 20, "log2_s": size}.get(name) or usual[name])
                   for name in spec.data.axes)  # fmt: skip
        for name in ("new_delete:type:destroy", *peaks):
            above = size > 12 and name in peaks
            found[at, name] = {FIGURE: {n: (values[name] if above else 1.0) * (1 + 0.001 * n) for n in range(1, 9)},
                               "peak_bytes": {1: peaks[name] if above else 1e6}}  # fmt: skip
    return ResultTable(found)


def test_a_pool_that_serves_larger_blocks_says_nothing_of_handing_on() -> None:
    """Ours hands out blocks of up to 1 MiB; the document's of up to 2^12 bytes."""
    spec = BY_NAME["p0089.3"]
    names = [spec.data.canonical(name) for name in ("AS11", "AS13")]
    theirs = [spec.data.original_allocator(name) for name in ("AS11", "AS13")]
    found = _utilization(
        {**dict.fromkeys(names, 7e5), **dict.fromkeys(theirs, 5e8)},
        {**dict.fromkeys(names, 1.0), **dict.fromkeys(theirs, 50.0)},
    )
    judged = next(v for v in judge_all(spec, ResultTable({}), found) if v.claim.id == "3.composite.cliff")
    assert judged.verdict == UNFOUNDED and "peak_bytes 700000" in judged.claim.missing
    assert judged.on_documents is not None and judged.on_documents.verdict == HOLDS


def test_pages_show_premises() -> None:
    judged = _judged(ResultTable({**_times({"GS": IDLE}, 0.5).values, **_times({"TROFF": FACTS}, 2.0).values}))
    row = experiment_page._claim(judged, TIME)
    assert f"Premise: {PREMISE.wording()}." in row["aside"]
    part = KeptPart(experiment=TIME.name, title="t", scale="standard", toolchain="release", malloc="glibc", machine="m",
                    compiler="", version="0", command="c", rounds=8, measured="2026-01-01T00:00:00+00:00",
                    claims=(judged.claim_record(),))  # fmt: skip
    kept = KeptResults(document="grunwald1993", source="s", parts=(part,))
    text = results_page.pages([kept])["grunwald1993.md"]
    assert "premise: the program allocates as many objects" in text
    assert "left out, since the premise fails: GS" in text
