# SPDX-License-Identifier: BSL-1.0
"""Figures are well-formed, stay inside their box, and show every given number."""

from __future__ import annotations

import math
from collections import Counter
from itertools import pairwise
from xml.etree import ElementTree

import pytest
import sample_store
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from millpond.report.figures import flat_figures, heap_figures, round_figures
from millpond.report.paired_rounds import PairedRounds, Ratio
from millpond.rounds.characterisation import AddressMap
from millpond.statistics.order_statistics import Summary
from millpond.store.observations import Observation
from millpond.system.wording import bytes_text, count_text, seconds_text

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


@pytest.mark.lengthy
@given(st.lists(st.floats(min_value=0, max_value=1e15), max_size=40))
def test_bars_are_as_tall_as_their_values(values: list[float]) -> None:
    svg = flat_figures.bars([(str(i), v) for i, v in enumerate(values)], count_text, "objects", "a < label")
    drawn = [e for e in ElementTree.fromstring(svg).iter() if e.get("class") == "bar"]
    assert len(drawn) == len(values)
    top = flat_figures.nice_ceiling(max(values, default=0))
    for element, value in zip(drawn, values, strict=True):
        assert abs(float(element.get("height", "")) - max(96 * value / top, 1.0 if value else 0.0)) < 0.1


@pytest.mark.lengthy
@given(st.floats(min_value=1e-9, max_value=1e18))
def test_the_top_of_an_axis_is_above_the_value_and_not_far_above(value: float) -> None:
    top = flat_figures.nice_ceiling(value)
    assert value <= top * (1 + 1e-9) and top <= 1.6 * value


def test_curves_go_from_edge_to_edge() -> None:
    svg = flat_figures.curves([0.0, 1.0, 4.0], [("live", "x", [0, 5, 10])], bytes_text, seconds_text, "label")
    points = next(e.get("points", "") for e in ElementTree.fromstring(svg).iter() if e.tag == "polyline")
    xs = [float(p.split(",")[0]) for p in points.split()]
    assert xs == [0, 250, 1000]


def test_the_heap_map_and_its_table_cover_every_cell_once() -> None:
    data = sample_store.characterisation().heat_map
    names = list(sample_store.NAMES)
    assert data is not None
    found = heap_figures.heat_map(data, names)
    assert found is not None
    columns = len(data.columns)
    covered = Counter[str]()
    for element in ElementTree.fromstring(found.svg).iter("rect"):
        covered[str(element.get("class")).split()[0]] += round(float(element.get("width", "")[:-1]) * columns / 100)
    cells = Counter(cell[2] for cell in data.cells)
    by_class = {kind: name for _, kind, name, _ in found.legend}
    assert {by_class[kind]: n for kind, n in covered.items()} == {names[s]: n for s, n in cells.items()}
    assert len(found.rows) == len(data.rows) and found.gaps == 1
    assert all(len(row[2]) == len(found.moments) for row in found.rows)


def test_a_map_without_cells_is_not_drawn() -> None:
    assert heap_figures.heat_map(AddressMap(), []) is None


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
