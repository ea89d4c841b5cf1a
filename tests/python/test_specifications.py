# SPDX-License-Identifier: BSL-1.0
"""A figure on a page is its caption, its specification as data, and its values as a table; without the script, too."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millpond.report.figures import offline_page
from millpond.report.figures.figure_html import ROWS_AT_MOST, html_of
from millpond.report.figures.specification import (
    Axis,
    Cell,
    Curves,
    HeatMap,
    Icicle,
    IntervalRow,
    Intervals,
    Mark,
    Multiples,
    Node,
    Series,
)

HOSTILE = "</template></script><script>alert(1)</script>&amp;"
SIZES, SECONDS, COUNT = Axis(name="size", unit="size", log=True), Axis(name="time", unit="seconds"), Axis(name="n")
CURVES = Curves(
    title="Curves", x=SIZES, y=Axis(name="misses", unit="share", log=True), of_what="references",
    series=[
        Series(name="a", points=[(1024, 4), (2048, 2)], of=8),
        Series(name="b", points=[(2048, 3)], of=8),
        Series(name="c", points=[(1024, 0.5)], intervals=[(0.25, 0.75)], look="dots"),
    ],
    marks=[Mark(name="L1", x=1024)],
)  # fmt: skip
HEAT = HeatMap(
    title="Heat", x=Axis(name="moment", names=["begin", "end"]), y=Axis(name="place", names=["low", "high"]),
    value=Axis(name="share", unit="share"), cells=[Cell(0, 0, 0.25, columns=2, more=0.5), Cell(1, 1, 1.0, 1)],
    kinds=[("index", 0), ("cache", 1)], more=Axis(name="touched", unit="share"),
)  # fmt: skip
ICICLE = Icicle(
    title="Tree", measures=[Axis(name="bytes", unit="bytes"), Axis(name="events", unit="count")],
    names=["main", "grow"], nodes=[Node(-1, 0, (3e6, 20)), Node(0, 1, (1e6, 20))],
)  # fmt: skip
ROW = IntervalRow(name="net", median=0.9, low=0.8, high=0.95, dots=[(0.9, "round 1")], verdict="better")
INTERVALS = Intervals(title="Rounds", axis=Axis(name="change", unit="change", log=True), rows=[ROW])
ALL = [CURVES, HEAT, ICICLE, INTERVALS, Multiples(title="Small", figures=[CURVES])]


def cells(text: str) -> list[list[str]]:
    """Returns the cells of the rows of a figure's table, with its headings."""
    rows = re.findall(r"<tr>(.*?)</tr>", text)
    return [[html.unescape(cell) for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row)] for row in rows]


@pytest.mark.parametrize("figure", ALL, ids=lambda figure: figure.title)
def test_the_specification_survives_the_page(figure: Curves) -> None:
    text = html_of(figure)
    data = re.search(r"<template>(.*?)</template>", text)
    assert data and not re.search(r"[<>&]", data[1])
    found = json.loads(data[1])
    assert found["title"] == figure.title and found["figure"] == figure.__struct_config__.tag
    assert f'data-figure="{found["figure"]}"' in text and " style=" not in text


def test_a_table_has_the_exact_values_of_every_kind() -> None:
    assert cells(html_of(CURVES)) == [
        ["size", "a", "b", "c"],
        ["1 KiB", "4 (50 %)", "", "50 % (25 % to 75 %)"],
        ["2 KiB", "2 (25 %)", "3 (37.5 %)", ""],
    ]
    assert cells(html_of(HEAT)) == [
        ["place", "begin", "end"], ["high", "", "cache: 100 %"], ["low", "index: 25 %", "index: 25 %"],
    ]  # fmt: skip
    assert cells(html_of(ICICLE))[1:] == [["main", "3.00 MB", "20"], ["grow", "1.00 MB", "20"]]
    assert cells(html_of(INTERVALS))[1] == ["net", "-10.0 %", "-20.0 %", "-5.0 %", "1"]
    assert "<table" not in html_of(CURVES, table=False)


@given(st.lists(st.integers(1, 1 << 40), min_size=1, max_size=3 * ROWS_AT_MOST, unique=True))
def test_a_long_table_keeps_both_ends_and_tells_what_is_left_out(xs: list[int]) -> None:
    ordered = sorted(xs)
    figure = Curves(title="", x=COUNT, y=COUNT, series=[Series(name="s", points=[(x, x) for x in ordered])])
    text = html_of(figure)
    rows = cells(text)[1:]
    assert len(rows) == min(len(xs), ROWS_AT_MOST)
    assert rows[0][0] == f"{ordered[0]:,}".replace(",", " ") and rows[-1][0] == f"{ordered[-1]:,}".replace(",", " ")
    omitted = re.search(r"(\d+) more rows", text)
    assert (int(omitted[1]) if omitted else 0) == len(xs) - len(rows)


def test_hostile_names_stay_text() -> None:
    series = [Series(name=HOSTILE, points=[(1, 1)])]
    text = html_of(Curves(title=HOSTILE, caption=HOSTILE, x=COUNT, y=COUNT, series=series))
    assert "<script" not in text and text.count("</template>") == 1
    data = re.search(r"<template>(.*?)</template>", text)
    assert data and json.loads(data[1])["series"][0]["name"] == HOSTILE


def test_a_page_has_the_script_of_figures_and_only_one() -> None:
    page = offline_page.load("report.js", "report.css")
    assert offline_page.BUNDLE.is_file(), "scripts/bundle makes it; scripts/setup test runs that"
    assert page.script.startswith(offline_page.BUNDLE.read_text(encoding="utf-8"))
    assert "</script" not in page.script and "</style" not in page.style
    assert not re.search(r"\beval\(|new Function\b|https?://", page.script)
    assert "Apache License 2.0" in page.script[:300], "its licence goes with it"


def test_a_tree_without_the_script_makes_pages_with_tables(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(offline_page, "BUNDLE", tmp_path / "figures.js")
    page = offline_page.load.__wrapped__("report.js", "report.css")
    assert 0 < len(page.script) < 5000
