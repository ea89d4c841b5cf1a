# SPDX-License-Identifier: BSL-1.0
"""Rounds may end at several looks: the error rate is that of one look, and decided questions end the rounds."""

from __future__ import annotations

import random

import pytest

from millpond.advice.effects import AGAINST_MALLOC, NET, Effects, is_decided
from millpond.rounds.schedule import LOOKS, VERDICT_ROUNDS
from millpond.statistics.order_statistics import ALPHA, Comparison, compare, level_of_look


def compared(values: list[float], looks: int = len(LOOKS)) -> Comparison:
    found = compare("cpu_seconds", "a", "b", values, [1.0] * len(values), looks)
    assert found is not None
    return found


@pytest.mark.parametrize("drift", [0.0, 0.02])
def test_several_looks_keep_the_error_rate_of_one(drift: float, seed: int) -> None:
    """Ending at the first look that shows a difference still errs in at most 5 % of runs."""
    source = random.Random(seed)
    wrong = 0
    for _ in range(600):
        values: list[float] = []
        level = 0.0
        for n in LOOKS:
            while len(values) < n:
                level += source.gauss(0.0, drift)
                values.append(max(0.1, 1.0 + source.gauss(0.0, 0.05) * (1.0 + abs(level))))
            if compared(values).verdict in ("better", "worse"):
                wrong += 1
                break
    assert wrong <= 600 * ALPHA


def test_the_true_ratio_lies_in_the_intervals_of_all_looks(seed: int) -> None:
    source = random.Random(seed)
    missed = 0
    for _ in range(600):
        values = [source.lognormvariate(0.0, 0.2) for _ in range(LOOKS[-1])]
        found = [compared(values[:n]) for n in LOOKS]
        assert all(each.level >= level_of_look(len(LOOKS)) for each in found)
        missed += any(not each.low <= 1.0 <= each.high for each in found)
    assert missed <= 600 * ALPHA


def test_the_first_look_needs_no_wider_interval() -> None:
    values = [0.8 + 0.01 * n for n in range(VERDICT_ROUNDS)]
    one, several = compared(values, looks=1), compared(values)
    assert (one.low, one.high, one.level) == (several.low, several.high, several.level)
    assert several.p == pytest.approx(min(1.0, len(LOOKS) * one.p))
    assert several.verdict == "better"


def measured(median: float, half: float, verdict: str) -> Comparison:
    found = compared([median] * VERDICT_ROUNDS)
    return Comparison(
        n=11, median=median, low=median - half, high=median + half, level=found.level, method=found.method,
        verdict=verdict, metric="cpu_seconds", of="a", against="b", saved=found.saved, p=0.5, p_adjusted=0.5,
    )  # fmt: skip


FAST = {"cpu_seconds": measured(0.7, 0.02, "better"), "peak_bytes": measured(1.0, 0.001, "no difference")}
SAME = {"cpu_seconds": measured(1.0, 0.005, "no difference"), "peak_bytes": measured(1.0, 0.001, "no difference")}
UNCLEAR = {"cpu_seconds": measured(0.95, 0.1, "not settled"), "peak_bytes": measured(1.0, 0.001, "no difference")}
NEAR = {"cpu_seconds": measured(0.98, 0.05, "not settled")}


@pytest.mark.parametrize(
    ("effects", "single", "decided"),
    [
        ({NET: FAST}, {"m": SAME}, True),
        ({}, {"m": SAME}, True),
        ({}, {"m": UNCLEAR}, False),
        ({NET: UNCLEAR}, {"m": SAME}, False),
        ({NET: UNCLEAR}, {"m": FAST}, True),  # it cannot be the best
        ({NET: FAST}, {"m": FAST, AGAINST_MALLOC: NEAR}, False),  # open which of the two is better
        ({NET: FAST}, {"m": FAST, AGAINST_MALLOC: FAST}, True),
        ({}, {}, False),
    ],
)
def test_rounds_end_when_more_would_not_change_the_choice(effects: Effects, single: Effects, decided: bool) -> None:
    assert is_decided(effects, single) is decided
