# SPDX-License-Identifier: BSL-1.0
"""Figures are well-formed, stay inside their box, and show every given number."""

from __future__ import annotations

import math
from itertools import pairwise
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from millpond.report.figures import round_figures
from millpond.report.paired_rounds import PairedRounds, Ratio
from millpond.statistics.order_statistics import Summary
from millpond.store.observations import Observation

ratios = st.floats(min_value=0.05, max_value=20)


def summary(low: float, median: float, high: float) -> Summary:
    return Summary(11, median, low, high, 0.98, "order statistics", "better")


def fractions(svg: str) -> list[float]:
    """Returns all horizontal positions, in per cent."""
    found = []
    for element in ElementTree.fromstring(svg).iter():
        for name in ("x", "cx", "x1", "x2"):
            value = element.get(name, "")
            found += [float(value[:-1])] if value.endswith("%") else []
    return found


@pytest.mark.lengthy
@given(st.lists(ratios, min_size=1, max_size=60))
def test_every_round_lies_on_the_axis_and_no_change_does_too(values: list[float]) -> None:
    rounds = [Ratio("judging", i, v) for i, v in enumerate(values, 1)]
    low, high = min(values), max(values)
    found = summary(low, math.sqrt(low * high), high)
    axis = round_figures.axis_of([found], rounds)
    assert 0 < axis.place(1.0) < 1
    svg = round_figures.strip(axis, found, rounds)
    assert svg.count("<circle") == len(values)
    assert all(0 <= f <= 100 for f in fractions(svg))
    ticks = axis.ticks()
    assert 0 in ticks and ticks == sorted(ticks)
    places = [axis.place(1 + t / 100) for t in ticks]
    assert all(b - a > 0.1 for a, b in pairwise(places)), "labels would run into one another"


def test_rounds_without_a_partner_are_left_out() -> None:
    def row(variant: str, number: int, value: float | None, status: str = "ok") -> Observation:
        return Observation(
            id="r:0", run="r", experiment="advise", contender_kind="control", contender=variant, parameters="{}",
            stage="judging", metric="cpu_seconds", unit="seconds", value=value, status=status, kind="measured",
            round=number, time_utc="2026-01-02T03:04:05+00:00",
        )  # fmt: skip

    rounds = PairedRounds([
        row("a", 0, 9.0), row("b", 0, 1.0), row("a", 1, 2.0), row("b", 1, 4.0), row("a", 2, 3.0), row("b", 3, 3.0),
        row("a", 4, 1.0), row("b", 4, 1.0, "killed"), row("a", 5, None), row("b", 5, 2.0),
        replace(row("a", 1, 7.0), stage=None),
    ])  # fmt: skip
    assert rounds.ratios("a", "b") == [Ratio("judging", 1, 0.5)]
    assert rounds.ratios("a", "missing") == []
    assert rounds.median("b", "cpu_seconds") == 3.0
