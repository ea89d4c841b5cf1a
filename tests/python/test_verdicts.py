# SPDX-License-Identifier: BSL-1.0
"""Verdicts: the interval's place against the bound, the number of rounds needed, and the rate of chance verdicts."""

from __future__ import annotations

import dataclasses
import math
import random
import statistics
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from millpond.rounds.interleaved_rounds import WHOLE
from millpond_bench.claims.claim_rules import judge, judge_all
from millpond_bench.claims.claims import (
    ABSENT,
    BROKEN,
    HOLDS,
    NOT_MEASURED,
    OPPOSITE,
    STRONGER,
    UNDECIDED,
    UNTESTABLE,
    WEAKER,
    Claim,
    Verdict,
    load,
)
from millpond_bench.claims.verdicts import FEWEST_ROUNDS, RATE, controlled, region_of, regions
from millpond_bench.experiments.experiment_data import Point
from millpond_bench.experiments.result_table import FIGURE, PlaceTable, ResultTable
from millpond_bench.runs.experiment_run import RunRequest
from millpond_bench.runs.published_run import PublishedRun, judge_together
from millpond_bench.suites.p0089 import EXPERIMENTS
from millpond_bench.suites.p0089_strategies import ALL_ALIASES
from millpond_bench.tables.terminal_table import claims_line

ONE = EXPERIMENTS[0]
SEED = 20260705
_NONE = ResultTable[Any]({})


def at(size: int) -> Point:
    return (("ds", 1), ("log2_size", size), *ONE.data.usual)


def figures(**found: dict[int, list[float]]) -> PlaceTable:
    """Returns rounds by alias and size."""
    return ResultTable({
        (at(size), ALL_ALIASES[alias]): {FIGURE: dict(enumerate(rounds, 1))}
        for alias, by_size in found.items() for size, rounds in by_size.items()
    })  # fmt: skip


def claim(**given: Any) -> Claim:
    return Claim(**{"id": "x", "experiment": ONE.name, "statement": "s.", "kind": "ratio", "of": ("AS7",), **given})


def around(value: float, rounds: int = FEWEST_ROUNDS) -> list[float]:
    """Returns rounds that scatter by 0.5 %."""
    return [value * (1.0 + 0.005 * math.sin(2.0 * n)) for n in range(rounds)]


def verdict(rule: Claim, **found: dict[int, list[float]]) -> Verdict:
    return judge(rule, ONE.data, _NONE, figures(**found))


@pytest.mark.parametrize(
    ("low", "high", "value", "expected"),
    [
        (1.5, 3.0, 2.0, HOLDS), (1.5, 3.0, 4.0, STRONGER), (1.5, 3.0, 1.3, WEAKER), (1.5, 3.0, 0.8, OPPOSITE),
        (1.5, 3.0, 1.0, ABSENT), (1.5, 3.0, 3.0, UNDECIDED), (0.6, 0.9, 0.7, HOLDS), (0.6, 0.9, 0.5, STRONGER),
        (0.6, 0.9, 0.95, WEAKER), (0.6, 0.9, 1.2, OPPOSITE), (0.6, 0.9, 1.0, ABSENT), (0.6, 0.9, 0.9, UNDECIDED),
        (-math.inf, 1.0, 0.9, HOLDS), (-math.inf, 1.0, 1.1, OPPOSITE), (-math.inf, 1.0, 1.0, ABSENT),
        (0.95, 1.05, 1.0, HOLDS), (0.95, 1.05, 1.2, OPPOSITE), (0.95, 1.05, 0.8, OPPOSITE),
        (-math.inf, 3.0, 1.0, HOLDS), (-math.inf, 3.0, 4.0, OPPOSITE),
    ],
)  # fmt: skip
def test_a_verdict_says_how_a_statement_fails(low: float, high: float, value: float, expected: str) -> None:
    judged = verdict(claim(low=low, high=high), AS7={6: around(value)})
    assert judged.verdict == expected
    assert judged.holds == (None if expected == UNDECIDED else expected == HOLDS)
    assert (judged.verdict in BROKEN) == (judged.holds is False)


bounds = st.tuples(st.floats(0.1, 10.0), st.floats(0.1, 10.0)).map(sorted)


@pytest.mark.lengthy
@given(bounds, st.sampled_from([-math.inf, 0.0]), st.floats(0.01, 100.0), st.floats(0.01, 100.0))
def test_regions_leave_no_gap_and_only_absent_overlaps(
    bound: list[float], cut: float, value: float, factor: float
) -> None:
    low, high = bound[0] if cut == 0.0 else -math.inf, bound[1]
    rule = claim(low=low, high=high)
    own = [one for one in regions(rule) if one.verdict != ABSENT]
    edges = {edge for one in own for edge in (one.low, one.high)}
    if all(abs(value - edge) > 1e-6 for edge in edges):
        assert sum(one.contains(value, value) for one in own) == 1
    ends = sorted((value, value * factor))
    found = region_of(rule, *ends)
    assert found is None or found.contains(*ends)
    assert (found is not None and found.verdict == HOLDS) == (rule.accepts(ends[0]) and rule.accepts(ends[1]))


@pytest.mark.parametrize("rounds", range(1, FEWEST_ROUNDS + 1))
def test_below_six_rounds_there_is_no_verdict_except_on_counts(rounds: int) -> None:
    rule, found = claim(low=2.0), around(4.0, rounds)
    judged = verdict(rule, AS7={6: found})
    assert judged.verdict == (HOLDS if rounds == FEWEST_ROUNDS else UNDECIDED)
    assert ("a verdict needs 6" in judged.note) == (rounds < FEWEST_ROUNDS)
    assert verdict(replace(rule, exact=True), AS7={6: found}).verdict == HOLDS


def test_one_clear_violation_breaks_a_statement_on_every_point() -> None:
    rule = claim(over="every", high=1.0)
    good = {size: around(0.5) for size in range(6, 16)}
    assert verdict(rule, AS7=good).verdict == HOLDS
    judged = verdict(rule, AS7={**good, 16: around(1.5)})
    assert judged.verdict == OPPOSITE
    assert "log2_size 16" in judged.worst and judged.note == "10 of 11 hold"
    assert verdict(replace(rule, over="mean"), AS7={**good, 16: around(1.5)}).verdict == HOLDS
    assert verdict(rule, AS7={**good, 16: around(1.0)}).verdict == ABSENT
    assert verdict(rule, AS7={**good, 16: [0.9, 1.1, 0.95, 1.05, 1.0, 1.0]}).verdict == UNDECIDED


def test_opposite_effects_do_not_cancel_where_no_difference_is_stated() -> None:
    rule = claim(of=("AS8", "AS10"), against=("AS7", "AS9"), over="every", low=0.95, high=1.05)
    found = {"AS7": around(1.0), "AS8": around(1.3)[::-1], "AS9": around(1.0), "AS10": around(1 / 1.3)[::-1]}
    table = {name: {6: rounds} for name, rounds in found.items()}
    assert verdict(rule, **table).verdict == OPPOSITE
    assert verdict(replace(rule, over="mean"), **table).verdict == HOLDS


def test_a_step_is_looked_for_where_it_is_greatest() -> None:
    rule = claim(kind="step", over="every", axis="log2_size", low=1.5)
    rising = {size: around(1.0 if size < 11 else 2.0) for size in range(6, 16)}
    judged = verdict(rule, AS7=rising)
    assert judged.verdict == HOLDS
    assert "log2_size 10" in judged.worst and "log2_size 11" in judged.worst
    level = {size: around(1.0) for size in range(6, 16)}
    assert verdict(rule, AS7=level).verdict in BROKEN
    falls = replace(rule, low=-math.inf, high=0.7)
    assert verdict(falls, AS7={-size + 30: rounds for size, rounds in rising.items()}).verdict == HOLDS


def test_statements_on_most_points_count_only_clear_points() -> None:
    rule = claim(over="share", at_most=1.0, low=0.75)
    good, bad, open_one = around(0.5), around(2.0), [0.9, 1.1, 0.9, 1.1, 0.9, 1.1]
    sixteen = dict.fromkeys(range(16), good)
    assert verdict(rule, AS7={**sixteen, 15: bad, 14: bad}).verdict == HOLDS
    assert verdict(rule, AS7={**sixteen, **dict.fromkeys(range(8), bad)}).verdict == WEAKER
    judged = verdict(rule, AS7={**sixteen, **dict.fromkeys(range(6), open_one)})
    assert judged.verdict == UNDECIDED
    assert judged.ours is not None and (judged.ours.low, judged.ours.high) == (10 / 16, 1.0)


def test_equality_is_judged_by_the_spread() -> None:
    rule = claim(over="spread", high=1.2)
    assert verdict(rule, AS7={6: around(1.0), 7: around(1.1), 8: around(1.05)}).verdict == HOLDS
    assert verdict(rule, AS7={6: around(1.0), 7: around(1.4), 8: around(1.05)}).verdict == OPPOSITE


def test_up_to_is_judged_by_the_largest_point() -> None:
    rule = claim(over="largest", low=1.8, high=2.5)
    assert verdict(rule, AS7={6: around(1.0), 7: around(2.0)}).verdict == HOLDS
    assert verdict(rule, AS7={6: around(1.0), 7: around(3.0)}).verdict == STRONGER
    assert verdict(rule, AS7={6: around(1.0), 7: around(1.5)}).verdict == WEAKER
    noisy = [0.5, 4.0, 0.6, 3.0, 0.5, 2.9]
    assert verdict(rule, AS7={6: noisy, 7: around(2.0)}).verdict == UNDECIDED


def test_the_same_statement_can_be_asked_of_other_strategies() -> None:
    rule = claim(against=("AS1",), high=0.5)
    own = figures(AS1={6: around(1.0)}, AS7={6: around(0.8)}, AS3={6: around(0.3)})
    assert judge(rule, ONE.data, _NONE, own).verdict == WEAKER
    others = {"AS7": ALL_ALIASES["AS3"], "AS1": ALL_ALIASES["AS1"]}
    assert judge(rule, ONE.data, _NONE, own, names=others.__getitem__).verdict == HOLDS


@pytest.mark.lengthy
def test_threads_beyond_the_cores_do_not_count() -> None:
    four = EXPERIMENTS[3]
    rule = next(c for c in load(four.claims) if c.id == "4.threads")
    names = [four.data.canonical(name) for name in rule.of]
    usual = dict(four.data.usual)
    points = [tuple((name, {"threads": threads}.get(name, usual.get(name, 6))) for name in four.data.axes)
              for threads in (1, 8)]  # fmt: skip
    found = ResultTable({(p, name): {FIGURE: dict(enumerate(around(1.0), 1))} for p in points for name in names})
    by_cores = {
        cores: next(v for v in judge_all(four, _NONE, found, cores=cores) if v.claim.id == rule.id) for cores in (2, 8)
    }
    assert by_cores[2].verdict == UNTESTABLE and "this machine has 2" in by_cores[2].claim.missing
    assert by_cores[8].verdict == HOLDS
    unmeasured = {v.claim.id: v.verdict for v in judge_all(four, _NONE, _NONE, cores=2)}
    assert (unmeasured["4.threads"], unmeasured["4.threads.two"]) == (UNTESTABLE, NOT_MEASURED)


Noise = Callable[[random.Random], float]


def _normal(rng: random.Random) -> float:
    return rng.gauss(0.0, 0.03)


def _heavy(rng: random.Random) -> float:
    """Returns noise of Student's t with three degrees of freedom: some rounds are far off."""
    return 0.03 * rng.gauss(0.0, 1.0) / math.sqrt(sum(rng.gauss(0.0, 1.0) ** 2 for _ in range(3)) / 3.0)


def _document(rng: random.Random, noise: Noise, truths: list[float], rounds: int) -> list[Verdict]:
    """Judges statements `AS7 / AS1 >= 1.2` together, one at each size, all against one baseline."""
    base = [math.exp(noise(rng)) for _ in range(rounds)]
    rule = claim(against=("AS1",), low=1.2)
    judged = []
    for size, truth in enumerate(truths):
        own = [truth * math.exp(noise(rng)) for _ in range(rounds)]
        judged.append(verdict(replace(rule, where={"log2_size": size}), AS1={size: base}, AS7={size: own}))
    return controlled(judged)


@pytest.mark.more
@pytest.mark.parametrize("noise", [_normal, _heavy])
@pytest.mark.parametrize("rounds", [FEWEST_ROUNDS, 11])
def test_chance_makes_no_more_false_verdicts_than_stated(noise: Noise, rounds: int) -> None:
    """At the bound, any verdict counts as false. With true effects among them, the share of false ones is limited."""
    rng, documents = random.Random(SEED), 150
    print(f"seed {SEED}")
    border, clear = [1.2] * 20, [2.0] * 10
    alone = [any(v.holds is not None for v in _document(rng, noise, border, rounds)) for _ in range(documents)]
    beside = []
    for _ in range(documents):
        found = [v.holds is not None for v in _document(rng, noise, [*border, *clear], rounds)]
        beside.append(sum(found[: len(border)]) / max(1, sum(found)))
    slack = 3.0 * math.sqrt(RATE * (1.0 - RATE) / documents)
    assert statistics.fmean(alone) <= RATE + slack
    assert statistics.fmean(beside) <= RATE + slack


@pytest.mark.lengthy
def test_true_effects_are_found_among_many_statements_in_six_rounds() -> None:
    rng = random.Random(SEED)
    found = [v for _ in range(20) for v in _document(rng, _normal, [2.0] * 10 + [1.2] * 20, FEWEST_ROUNDS)[:10]]
    assert statistics.fmean(v.verdict == HOLDS for v in found) > 0.9
    assert all(v.p_adjusted is not None for v in found)


def test_a_doubtful_verdict_among_many_is_undecided_and_says_so() -> None:
    rule = claim(low=1.0)
    doubtful = [1.01, 1.03, 1.02, 1.05, 1.02, 1.03]
    alone = verdict(rule, AS7={6: doubtful})
    assert alone.verdict == HOLDS
    nothing = verdict(rule, AS7={6: [0.9, 1.1, 0.95, 1.05, 1.0, 1.0]})
    together = controlled([alone, *[nothing] * 60])
    assert together[0].verdict == UNDECIDED and "among 61 statements" in together[0].doubt
    assert controlled(together) == together
    assert controlled(together[:1])[0].verdict == HOLDS


def test_the_summary_counts_how_statements_fail() -> None:
    judged = [verdict(claim(low=1.5), AS7={6: around(value)}) for value in (2.0, 1.2, 0.5, 1.5)]
    assert claims_line(judged) == "1 of 4 statements hold; 2 do not: weaker 1, opposite 1; undecided 1"
    short = verdict(claim(low=1.5), AS7={6: around(2.0, 3)})
    assert claims_line([short]) == "0 of 1 statement hold; undecided 1 (3 rounds, a verdict needs 6)"


def test_all_statements_of_a_paper_are_judged_together() -> None:
    request = RunRequest("quick", 6, 1, WHOLE, None, 2**34)
    runs = [PublishedRun(spec, [], request) for spec in EXPERIMENTS[:3]]
    doubtful = verdict(claim(low=1.0), AS7={6: [1.01, 1.03, 1.02, 1.05, 1.02, 1.03]})
    nothing = verdict(claim(low=1.0), AS7={6: [0.9, 1.1, 0.95, 1.05, 1.0, 1.0]})
    twice = dataclasses.replace(nothing, on_documents=nothing)
    runs[0].claims, runs[1].claims, runs[2].claims = [doubtful], [twice] * 30, []
    assert judge_together(runs) == {"p0089": runs[:2]}
    assert [v.verdict for v in runs[0].claims] == [UNDECIDED]
    assert [len(run.claims) for run in runs] == [1, 30, 0]
    assert "among 61 statements" in runs[0].claims[0].doubt
    assert all(v.on_documents is not None and v.on_documents.p_adjusted == 1.0 for v in runs[1].claims)
    assert judge_together(runs[:1]) == {}
