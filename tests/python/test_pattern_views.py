# SPDX-License-Identifier: BSL-1.0
"""Blocks alive at the end, temporaries and growth: the rows name the code and say what to do about it."""

from __future__ import annotations

import random

import msgspec
import pytest
from rich.console import Console

from millpond.report import markdown, page, terminal
from millpond.report.answer_text import LINES_AT_MOST
from millpond.report.views.pattern_view import pattern_sections, trend_text
from millpond.report.views.run_view import ANSWER, PAGE, characterisation_section
from millpond.rounds.characterisation import Characterisation, RecordedTrace, Subsystem
from millpond.rounds.pattern_data import (
    Growth,
    GrowthRow,
    LeftBlocks,
    LeftRow,
    PatternPlace,
    Temporaries,
    TemporaryRow,
    Trend,
    TrendRate,
    TrendRow,
)


def place(function: str, line: int, container: str | None = None, allocations: int = 500) -> PatternPlace:
    return PatternPlace(
        subsystem="shop", function=function, file="/src/shop.cpp", line=line, container=container,
        allocations=allocations, stack=(function, "main"),
    )  # fmt: skip


def left(quarters: tuple[int, int, int, int], number: int = 1) -> LeftRow:
    objects = sum(quarters)
    where = place(f"shop::open_{number}", number, None, 2 * objects)
    return LeftRow(place=where, objects=objects, bytes=100 * objects, quarters=quarters)


def temporary(container: str | None = None, largest: int = 61) -> TemporaryRow:
    where = place("shop::format", 40, container)
    return TemporaryRow(place=where, objects=500, bytes=500 * largest, largest_bytes=largest, freed_next=400)


def growth(container: str | None = "std::vector<int>", resizes: int = 0, first: int = 4, last: int = 4096) -> GrowthRow:
    return GrowthRow(
        place=place("shop::fill", 52, container), chains=80, steps=800, resizes=resizes, bytes=80 * 4092,
        copied_bytes=80 * 4092, first_bytes_min=first, final_bytes_min=last, final_bytes_max=4096,
    )  # fmt: skip


def shown(
    lefts: tuple[LeftRow, ...] = (), temporaries: tuple[TemporaryRow, ...] = (), growths: tuple[GrowthRow, ...] = (),
    subsystems: int = 0,
) -> Characterisation:  # fmt: skip
    return Characterisation(
        trace=RecordedTrace(allocations=1000, reallocations=0, bytes=3_273_600, events=2000, named_share=1.0),
        subsystems=tuple(
            Subsystem(name=f"shop::part_{i}", kind="type", bytes=i, events=i) for i in range(subsystems)
        ),
        left=LeftBlocks(objects=sum(r.objects for r in lefts), bytes=sum(r.bytes for r in lefts), rows=lefts),
        temporaries=Temporaries(objects=500, bytes=30_500, freed_next=400, rows=temporaries),
        growth=Growth(chains=80, steps=800, bytes=80 * 4092, copied_bytes=80 * 4092, rows=growths),
    )  # fmt: skip


def text_of(data: Characterisation, width: int = 200) -> str:
    console = Console(record=True, width=width)
    for one in pattern_sections(data, 10):
        terminal.print_section(one, console)
    return console.export_text()


def test_lost_bytes_are_shown_and_ordered_if_a_scan_knows_them() -> None:
    lefts = [msgspec.structs.replace(left((80, 0, 0, 0), n), lost_objects=n, lost_bytes=100 * n) for n in (0, 3, 2)]
    found = LeftBlocks(objects=240, bytes=24_000, lost_objects=5, lost_bytes=500, rows=tuple(lefts))
    text = text_of(msgspec.structs.replace(shown(), left=found))
    assert "23.5 kB reachable, 500 B lost" in text
    assert [text.index(f"shop::open_{n}") for n in (3, 2, 0)] == sorted(text.index(f"shop::open_{n}") for n in range(4)
                                                                     if n != 1)  # fmt: skip
    assert "lost" not in text_of(shown((left((80, 0, 0, 0)),)))


@pytest.mark.parametrize(
    ("quarters", "words"),
    [
        ((20, 21, 19, 20), "every quarter: it grows"),
        ((80, 0, 0, 0), "first quarter: kept from the start"),
        ((0, 0, 0, 80), "last quarter: perhaps in use"),
        ((40, 0, 40, 0), "quarters 1, 3 of 4"),
        ((0, 80, 0, 0), "quarter 2 of 4"),
        ((77, 1, 1, 1), "quarters 1, 2, 3, 4 of 4"),
    ],
)
def test_left_blocks_say_when_they_began(quarters: tuple[int, int, int, int], words: str) -> None:
    text = text_of(shown((left(quarters),)))
    assert words in text
    assert "shop::open_1" in text
    assert "shop.cpp:1" in text
    assert "80 of 160" in text


@pytest.mark.parametrize(
    ("rate", "ends", "words"),
    [
        (1.2e6, (1.1e6, 1.3e6), "grows by 1.20 MB/min (1.10 to 1.30)"),
        (1.2e6, (0.9e6, 1.5e6), "grows by 1.20 MB/min (900 kB to 1.50 MB)"),
        (-3000, (-4000, -2000), "shrinks by 3.00 kB/min (2.00 to 4.00)"),
        (500, (-1000, 2000), "neither grows nor shrinks for certain (−1.00 kB to 2.00 kB per min)"),
    ],
)
def test_a_trend_says_how_fast_and_how_surely(rate: float, ends: tuple[float, float], words: str) -> None:
    assert trend_text(TrendRate(bytes_per_minute=rate, interval=ends)) == words


def test_growth_over_time_has_a_row_for_each_subsystem() -> None:
    rows = tuple(TrendRow(subsystem=f"part_{i}", bytes_per_minute=1e6, interval=(9e5, 1.1e6)) for i in range(12))
    known = Trend(minutes=10, bytes_per_minute=2e6, interval=(1e6, 3e6), rows=rows)
    text = text_of(msgspec.structs.replace(shown(), trend=known))
    assert "Growth over time" in text
    assert "part_9" in text
    assert "part_10" not in text
    assert "10 of 12" in text


def test_a_trace_without_a_trend_says_why() -> None:
    text = text_of(msgspec.structs.replace(shown(), trend=Trend(why_null="the trace is shorter than 10 s")))
    assert "Not known: the trace is shorter than 10 s." in text


def test_places_that_grow_come_first() -> None:
    text = text_of(shown((left((900, 0, 0, 0), 1), left((9, 0, 9, 9), 2), left((1, 1, 1, 1), 3))))
    assert text.index("shop::open_3") < text.index("shop::open_1") < text.index("shop::open_2")


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (temporary("std::string"), "61 B at most: keep the container, clear() it"),
        (temporary(), "61 B at most: a buffer on the stack"),
        (temporary("std::map<int, int>", 4000), "4.00 kB at most: one block kept for all calls"),
    ],
)
def test_temporaries_say_what_replaces_them(row: TemporaryRow, words: str) -> None:
    text = text_of(shown(temporaries=(row,)))
    assert words in text
    assert "50 %" in text
    assert "400 by the next event" in text


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (growth(), "reserve() 4.10 kB at once: saves 10 allocations, 4.09 kB of copies; 80 times"),
        (growth(None, 800), "allocate 4.10 kB at once: saves 10 resizes, 4.09 kB of copies; 80 times"),
        (growth(last=64), "reserve() 64 B to 4.10 kB at once"),
        (growth("std::map<int, int>"), "allocate 4.10 kB at once"),
    ],
)
def test_growth_says_what_the_right_size_saves(row: GrowthRow, words: str) -> None:
    text = text_of(shown(growths=(row,)))
    assert words in text
    assert "1.60 k" in text, "two events a step"
    assert "10 %" in text


def test_a_trace_without_them_has_no_section() -> None:
    assert pattern_sections(Characterisation(), 10) == []
    assert pattern_sections(shown(), 10) == []


@pytest.mark.parametrize("width", [80, 120, 200])
def test_the_answer_reads_in_forty_lines(width: int) -> None:
    dice = random.Random(width)
    data = shown(
        tuple(left((dice.randrange(9), dice.randrange(9), 1, dice.randrange(9)), i) for i in range(40)),
        tuple(temporary("std::vector<std::map<std::string, shop::order>>") for _ in range(30)),
        tuple(growth() for _ in range(50)), subsystems=60,
    )  # fmt: skip
    console = Console(record=True, width=width)
    terminal.print_fitting((characterisation_section(data, rows) for rows in ANSWER), console)
    lines = console.export_text().rstrip().splitlines()
    assert len(lines) <= LINES_AT_MOST
    for title in ("Alive at the end", "Temporaries", "Growth step by step", "shop::part_0"):
        assert any(title in line for line in lines), title


def test_page_and_markdown_have_all_rows() -> None:
    data = shown(tuple(left((1, 1, 1, 1), i) for i in range(40)), (temporary(),), (growth(),))
    section = characterisation_section(data, PAGE)
    html, text = page.render_fitting([section], "Memory use"), markdown.render_section(section)
    for one in range(40):
        assert f"shop::open_{one}" in html
        assert f"shop::open\\_{one}" in text
