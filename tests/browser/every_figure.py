# SPDX-License-Identifier: BSL-1.0
"""A page with a figure of every kind, some of them large."""

from __future__ import annotations

import math
import random

import sample_store
from markupsafe import Markup

from millpond.report.figures.address_maps import heap_over_time
from millpond.report.figures.figure_html import html_of
from millpond.report.figures.icicle_figure import icicle
from millpond.report.figures.offline_page import load
from millpond.report.figures.specification import (
    INK,
    Axis,
    Cell,
    Curves,
    Figure,
    HeatMap,
    IntervalRow,
    Intervals,
    Mark,
    Multiples,
    Series,
)
from millpond.store.call_tree import CallTree

SIZES, SECONDS = Axis(name="cache size", unit="size", log=True), Axis(name="time", unit="seconds")
PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">
<title>Figures</title><style>{style}</style></head><body><main><h1>Figures</h1>{figures}</main>
<script>{script}</script></body></html>
"""


def call_tree(nodes: int, functions: int = 400) -> CallTree:
    """Returns a random tree of contexts with long names."""
    chance = random.Random(1)
    rows = [(0, 0, -1, 0, 0, 0, 0)]
    for number in range(2, nodes + 1):
        parent = chance.randrange(max(1, number // 3), number)
        count = int(chance.paretovariate(0.8))
        rows.append((parent, chance.randrange(functions), 0, count, 16 * count, count // 9, 16 * (count // 9)))
    names = ["main", *(f"shop::index<{n}, std::allocator<int>>::visit(<unnamed>)" for n in range(1, functions))]
    return CallTree(functions=tuple(names), subsystems=("shop",), nodes=tuple(rows))


def curves() -> Curves:
    """Returns curves over two logarithmic axes, one with intervals, and a zero."""
    points = [(1024.0 * 2**n, 1000.0 / 2**n if n < 9 else 0.0) for n in range(10)]
    return Curves(
        title="Misses", caption="Counted.", of_what="references", x=SIZES,
        y=Axis(name="misses", unit="share", log=True),
        series=[
            Series(name="direct-mapped", points=points, of=2000, has_dots=True),
            Series(name="8 ways", points=[(x, y / 2) for x, y in points], of=2000, colour=1, dash=1),
            Series(name="whole", points=[(x, 0.2) for x, _ in points], colour=INK, look="dots",
                   intervals=[(0.1, 0.3) for _ in points]),
        ],
        marks=[Mark(name="L1", x=32768), Mark(name="L2", x=262144)],
    )  # fmt: skip


def many_points(number: int) -> Curves:
    """Returns a long random walk."""
    chance, value, points = random.Random(2), 1e6, []
    for n in range(number):
        value = max(0.0, value + chance.gauss(0, 1e4))
        points.append((n * 1e-3, value))
    y = Axis(name="live", unit="bytes")
    return Curves(title="Live bytes", x=SECONDS, y=y, series=[Series(name="live", points=points, look="area")])


def figures() -> list[Figure]:
    """Returns a figure of every kind, and some with edge cases."""
    heap = sample_store.characterisation().heat_map
    assert heap is not None
    map_of_heap, tree = heap_over_time(heap, list(sample_store.NAMES)), icicle(call_tree(3000))
    assert map_of_heap is not None and tree is not None
    grid = [Cell(x, y, 0.5 * math.exp(0.3 * x - 0.2 * y)) for x in range(12) for y in range(8)]
    axes = {"x": Axis(name="size", names=[f"2^{n}" for n in range(12)]),
            "y": Axis(name="length", names=[f"2^{n}" for n in range(8)])}  # fmt: skip
    rows = [
        IntervalRow(name=name, median=m, low=0.97 * m, high=1.03 * m, verdict=v,
                    dots=[(m * (1 + 0.01 * (k % 5 - 2)), f"round {k}: {m:.2f}") for k in range(11)])
        for name, m, v in (("the plan", 0.82, "better"), ("the best malloc", 0.97, ""), ("huge pages", 1.2, "worse"))
    ]  # fmt: skip
    bars = Curves(title="Sizes", x=Axis(name="size", names=["16 B", "24 B", "32 B"]), y=Axis(name="n", unit="count"),
                  series=[Series(name="n", points=[(0, 1e6), (1, 3e5), (2, 2)], look="bars")])  # fmt: skip
    value = Axis(name="ns", log=True)
    return [
        curves(), HeatMap(title="A surface", **axes, value=value, cells=grid, labels=True), map_of_heap, tree,
        Intervals(title="Rounds", axis=Axis(name="CPU time", unit="change", log=True), rows=rows),
        Multiples(title="Small multiples", figures=[bars, bars, many_points(500)]), many_points(100_000),
        Curves(title="Nothing", x=SIZES, y=SECONDS, series=[]),
    ]  # fmt: skip


def page(shown: list[Figure]) -> str:
    """Returns a page with these figures."""
    basis = load("report.js", "report.css")
    html = Markup("").join(html_of(figure) for figure in shown)
    return PAGE.format(policy=basis.policy, style=basis.style, script=basis.script, figures=html)
