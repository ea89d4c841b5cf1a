# SPDX-License-Identifier: BSL-1.0
"""Statements are judged the same way on published tables and on ours, and the published tables support them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import pytest
from claim_values import evaluate
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from millpond_bench.claims.claim_rules import judge, judge_all
from millpond_bench.claims.claims import BROKEN, HOLDS, NOT_MEASURED, UNDECIDED, UNTESTABLE, Claim, load
from millpond_bench.claims.verdicts import FEWEST_ROUNDS
from millpond_bench.experiments.experiment import surrounded
from millpond_bench.experiments.experiment_data import Point
from millpond_bench.experiments.result_table import FIGURE, PlaceTable, ResultTable, published_table
from millpond_bench.suites import p0089_dials, p0089_freeing, p0089_memory
from millpond_bench.suites.every_experiment import PUBLISHED
from millpond_bench.suites.p0089 import CLAIMS, EXPERIMENTS
from millpond_bench.suites.p0089_strategies import ALL_ALIASES

pytestmark = pytest.mark.more  # tests the bench of published experiments, not the product

_MORE = (p0089_dials.EXPERIMENT, p0089_memory.EXPERIMENT, p0089_freeing.EXPERIMENT)
BY_NAME = {e.name: e for e in (*EXPERIMENTS, *_MORE)}
OF_EVERY_DOCUMENT = {e.name: e for e in PUBLISHED}
ONE = EXPERIMENTS[0]
LOADED = load(CLAIMS)
TESTED = [c for c in LOADED if c.kind != "untestable"]
NUMERIC = [c for c in (*TESTED, *load("grunwald1993.toml")) if not c.published_lost and c.kind != "untestable"]
times = st.floats(0.01, 100.0)


def at(ds: int, size: int, **around: str) -> Point:
    """Returns a point of Benchmark I; `around`: its environment, if not the usual one."""
    return (("ds", ds), ("log2_size", size), *{**dict(ONE.data.usual), **around}.items())


def figures(**found: Mapping[Point, list[float]]) -> PlaceTable:
    """Returns figures by alias and point, a value for each round."""
    values = {
        (point, ALL_ALIASES[alias]): {FIGURE: dict(enumerate(rounds, 1))}
        for alias, by_point in found.items()
        for point, rounds in by_point.items()
    }
    return ResultTable(values, names={key: f"{key[1]} at {key[0]}" for key in values})


def claim(**given: Any) -> Claim:
    return Claim(**{"id": "x", "experiment": ONE.name, "section": "7", "statement": "s", "kind": "ratio", **given})


def values(rule: Claim, found: PlaceTable) -> list[float]:
    return evaluate(rule, ONE, found)[0]


@pytest.mark.lengthy
@pytest.mark.parametrize("rule", NUMERIC, ids=lambda c: c.id)
def test_published_figures_support_statements_unless_marked(rule: Claim) -> None:
    experiment = OF_EVERY_DOCUMENT[rule.experiment]
    judged = judge(rule, experiment.data, published_table(experiment), ResultTable({}))
    assert judged.published is not None
    assert judged.published_satisfies == (not rule.paper_disagrees), f"{judged.published}, {rule.bound_text()}"
    assert judged.verdict == NOT_MEASURED


def test_every_section_has_statements_without_duplicates() -> None:
    assert len(LOADED) >= 40
    assert len({c.id for c in LOADED}) == len(LOADED)
    assert {c.experiment for c in LOADED} == set(BY_NAME)
    assert {f"7.{n}" for n in range(1, 13)} <= {c.section for c in LOADED}
    assert all(c.statement.endswith(".") for c in LOADED)


def test_at_most_an_eighth_is_untestable_each_with_a_reason() -> None:
    untestable = [c for c in LOADED if c.kind == "untestable"]
    assert 8 * len(untestable) <= len(LOADED)
    assert all(c.missing for c in untestable)
    judged = judge_all(ONE, ResultTable({}), ResultTable({}))
    assert {v.claim.id for v in judged if v.verdict == UNTESTABLE} == {c.id for c in untestable}


@pytest.mark.parametrize("rule", TESTED, ids=lambda c: c.id)
def test_a_rule_is_well_formed(rule: Claim) -> None:
    experiment = BY_NAME[rule.experiment]
    assert {*rule.of, *rule.against, *rule.among} <= ALL_ALIASES.keys()
    assert {*rule.where, *([rule.axis] if rule.axis else [])} <= set(experiment.data.axes)
    assert math.isfinite(rule.low) or math.isfinite(rule.high)
    assert rule.low <= rule.high
    assert len(rule.against) in (0, 1, len(rule.of))
    assert bool(rule.axis) == (rule.kind in ("growth", "step"))
    assert rule.of


def test_an_unknown_key_of_a_claim_is_an_error() -> None:
    with pytest.raises(ValueError, match="lo_w"):
        Claim.from_json({"id": "x", "lo_w": 1.0})


@pytest.mark.lengthy
@given(st.lists(st.tuples(times, times), min_size=1, max_size=5), times)
def test_a_ratio_is_the_geometric_mean_and_scales_with_its_numerator(
    pairs: list[tuple[float, float]], by: float
) -> None:
    sized = dict(enumerate(pairs, 6))
    rule = claim(of=("AS7",), against=("AS1",), low=0.0)
    found = figures(
        AS7={at(1, s): [a] for s, (a, _) in sized.items()}, AS1={at(1, s): [b] for s, (_, b) in sized.items()}
    )
    (value,) = values(rule, found)
    expected = math.prod(a / b for a, b in pairs) ** (1 / len(pairs))
    assert value == pytest.approx(expected)
    larger = figures(
        AS7={at(1, s): [a * by] for s, (a, _) in sized.items()}, AS1={at(1, s): [b] for s, (_, b) in sized.items()}
    )
    assert values(rule, larger)[0] == pytest.approx(by * value)
    extremes = [values(replace(rule, over=over), found)[0] for over in ("smallest", "largest")]
    assert extremes[0] <= value * (1 + 1e-9) and value <= extremes[1] * (1 + 1e-9)


@pytest.mark.lengthy
@given(st.lists(times, min_size=1, max_size=6), times)
def test_shares_of_both_sides_of_a_limit_make_the_whole(found: list[float], limit: float) -> None:
    measured = figures(AS7={at(1, n): [v] for n, v in enumerate(found)})
    (below,) = values(claim(over="share", of=("AS7",), at_most=limit, low=0.0), measured)
    (above,) = values(claim(over="share", of=("AS7",), at_least=math.nextafter(limit, math.inf), low=0.0), measured)
    assert below + above == pytest.approx(1.0)


@pytest.mark.lengthy
@given(times, times, times)
def test_growth_is_the_quotient_of_two_rows_and_needs_both(a: float, b: float, c: float) -> None:
    rule = claim(kind="growth", of=("AS1",), axis="log2_size", first=6, last=8, low=0.0)
    assert values(rule, figures(AS1={at(1, 6): [a], at(1, 7): [c], at(1, 8): [b]})) == [pytest.approx(b / a)]
    assert values(rule, figures(AS1={at(1, 6): [a], at(2, 8): [b]})) == []
    against = replace(rule, against=("AS7",))
    both = figures(AS1={at(1, 6): [a], at(1, 8): [b]}, AS7={at(1, 6): [c], at(1, 8): [c]})
    assert values(against, both) == [pytest.approx(b / a)]


@pytest.mark.lengthy
@given(st.lists(times, min_size=14, max_size=14, unique=True))
def test_the_fastest_wins_only_if_all_were_measured(found: list[float]) -> None:
    names = [f"AS{n}" for n in range(1, 15)]
    measured = figures(**{name: {at(1, 6): [v]} for name, v in zip(names, found, strict=True)})
    best = names[found.index(min(found))]
    for name in names:
        won = claim(kind="lead", over="share", at_most=1.0, of=(name,), low=0.0)
        assert values(won, measured) == [float(name == best)]
    missing = figures(**{name: {at(1, 6): [v]} for name, v in zip(names[1:], found[1:], strict=True)})
    assert values(claim(kind="lead", of=(best,), low=0.0), missing) == []


def test_only_points_that_match_count() -> None:
    found = figures(AS1={at(1, 6): [1.0], at(1, 9): [2.0], at(2, 9): [4.0], at(3, 12): [8.0]})
    for where, expected in [
        ({"ds": 2}, 4.0), ({"ds": [1, 2], "log2_size": 9}, math.sqrt(8.0)), ({"log2_size": {"from": 12}}, 8.0),
        ({"log2_size": {"to": 6}}, 1.0), ({"ds": {"below": "log2_size"}}, math.pow(64.0, 0.25)),
    ]:  # fmt: skip
        assert values(claim(of=("AS1",), where=where, low=0.0), found) == [pytest.approx(expected)]
    assert values(claim(of=("AS1",), where={"ds": {"is": "log2_size"}}, low=0.0), found) == []


@pytest.mark.lengthy
@given(st.floats(0.1, 10.0), st.lists(st.floats(0.1, 10.0), min_size=1, max_size=8))
def test_a_verdict_needs_the_whole_interval_on_one_side(bound: float, rounds: list[float]) -> None:
    rule = claim(of=("AS7",), high=bound)
    judged = judge(rule, ONE.data, ResultTable({}), figures(AS7={at(1, 6): rounds}))
    assert judged.ours is not None
    if len(rounds) < FEWEST_ROUNDS:
        assert judged.verdict == UNDECIDED
    elif judged.verdict == HOLDS:
        assert judged.ours.high <= bound + 1e-6
    elif judged.verdict in BROKEN:
        assert judged.ours.low > bound
    else:
        assert judged.verdict == UNDECIDED
        borders = (bound, 1.0)  # the bound, and no effect
        crossed = any(judged.ours.low <= border <= judged.ours.high for border in borders)
        assert crossed or judged.doubt
    assert judged.evidence


@pytest.mark.lengthy
@given(times, times, times)
def test_a_statement_is_about_the_usual_environment_by_default(a: float, b: float, c: float) -> None:
    found = figures(AS1={at(1, 6): [a], at(1, 6, malloc="tcmalloc"): [b], at(1, 6, toolchain="clang"): [c]})
    rule = claim(of=("AS1",), low=0.0)
    assert values(rule, found) == [pytest.approx(a)]
    assert values(replace(rule, where={"malloc": ["tcmalloc", "jemalloc"]}), found) == [pytest.approx(b)]
    assert values(replace(rule, where={"toolchain": "clang"}), found) == [pytest.approx(c)]
    assert values(replace(rule, where={"toolchain": "clang", "malloc": "tcmalloc"}), found) == []
    growth = replace(rule, kind="growth", axis="malloc", first="glibc", last="tcmalloc")
    assert values(growth, found) == [pytest.approx(b / a)]
    # The first value on the command line becomes the usual one.
    asked = surrounded(ONE, toolchain=("clang", "gcc"))
    assert evaluate(rule, asked, found)[0] == [pytest.approx(c)]


def test_statements_about_failure_count_the_failed_points() -> None:
    rule = claim(kind="fails", of=("AS3",), low=1.0)
    key, other = (at(1, 6), ALL_ALIASES["AS3"]), (at(1, 7), ALL_ALIASES["AS3"])
    assert values(rule, ResultTable({}, {key: "fail"})) == [1.0]
    assert values(rule, ResultTable({other: {FIGURE: {1: 2.0}}}, {key: "fail"})) == [0.5]
    assert values(rule, ResultTable({})) == []


def test_rounds_that_not_all_figures_have_are_left_out() -> None:
    values_by = {
        (at(1, 6), ALL_ALIASES["AS7"]): {FIGURE: {1: 1.0, 2: 2.0, 3: 3.0}},
        (at(1, 7), ALL_ALIASES["AS7"]): {FIGURE: {2: 2.0, 3: 3.0}},
    }
    assert values(claim(of=("AS7",), low=0.0), ResultTable(values_by)) == [pytest.approx(2.0), pytest.approx(3.0)]


def test_a_verdict_as_data_has_both_figures_and_the_bound() -> None:
    rule = next(c for c in LOADED if c.id == "1.ds2.multipool")
    found = published_table(ONE)
    six = range(1, FEWEST_ROUNDS + 1)
    rounds = ResultTable({key: {FIGURE: dict.fromkeys(six, v[FIGURE][0])} for key, v in found.values.items()})
    judged = judge(rule, ONE.data, found, rounds)
    row = judged.claim_record().to_json()
    assert row["verdict"] == HOLDS
    assert row["published"] == pytest.approx(row["ours"]["median"])
    assert (row["low"], row["high"]) == (0.15, 0.25)
    assert row["published_satisfies"] is True
    assert row["points"] == 11 * (4 + 1)
