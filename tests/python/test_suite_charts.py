# SPDX-License-Identifier: BSL-1.0
"""Pages show all results of the rounds: operations, memory, latencies, quotients, dimensions, and the littered heap."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from fakes.fake_p0089_suite import FakeP0089

from millpond.cells.cell import LITTER, Cell, Outcome
from millpond.report.figures.figure_html import share_text
from millpond.report.figures.specification import Curves, HeatMap
from millpond.system import native
from millpond.system.errors import Status
from millpond_bench.bench_cli import main
from millpond_bench.experiments.experiment import PublishedSpec
from millpond_bench.experiments.experiment_data import Place
from millpond_bench.experiments.quotients import on_fresh_heap
from millpond_bench.experiments.result_table import PublishedTable
from millpond_bench.pages import suite_charts, suite_figures
from millpond_bench.pages.charts import PUBLISHED, Chart, charts
from millpond_bench.runs import extra_runs
from millpond_bench.runs.extra_runs import HEAP_PICTURE, RECORDED
from millpond_bench.runs.published_run import cells_of
from millpond_bench.suites.p0089 import ALIASES
from millpond_bench.suites.p0089_dials import CENTRE, DIALS
from millpond_bench.suites.p0089_dials import EXPERIMENT as DIALLED
from millpond_bench.suites.reserve_commit import LATENCY, dtrace
from millpond_bench.suites.suballocator import ALIASES as ALLOCATORS
from millpond_bench.suites.suballocator import FIVE_OPERATIONS
from millpond_bench.suites.unique_chars import COUNTING, LITTERED, QUOTIENTS, RELATIVE
from millpond_bench.tables.table_model import QuotientTableModel

Use = Callable[..., FakeP0089]
Values = Mapping[str, float]


def table(spec: PublishedSpec, cells: Sequence[Cell], values: Callable[[Cell], Values]) -> PublishedTable:
    """Returns results in which every cell has its values in each of two rounds."""
    return PublishedTable(spec, cells, [Outcome(c, "bench", n, dict(values(c))) for n in (1, 2) for c in cells])


def texts(chart: Chart, caption: str) -> dict[str, list[str]]:
    (found,) = [one for one in chart.tables if one.caption == caption]
    return {label: [entry.text for entry in cells] for label, cells in found.rows}


# --- five operations, three moments -----------------------------------------------------------------------------------

OPERATIONS = ("allocate", "free_from_last", "free_from_first", "free_odd", "free_and_allocate_odd")


def five(cell: Cell) -> Values:
    count = float(dict(cell.parameters)["count"])
    seconds = {f"{name}_seconds": n * count * 1e-9 for n, name in enumerate(OPERATIONS, 10)}
    return {**seconds, "units": count, "elements_bytes": 8e8, "freed_bytes": 4e8, "array_gone_bytes": 1e6}


def test_five_operations_and_moments_appear_with_published_rows() -> None:
    cells = cells_of(FIVE_OPERATIONS.data, "paper", "")
    shown = suite_charts.five_operations(table(FIVE_OPERATIONS, cells, five))
    assert len(shown) == 2 * 3, "times and memory of each length"
    times, memory = shown[-2:]
    assert texts(times, "here")["suballocator64"] == ["10.0", "11.0", "12.0", "13.0", "14.0"]
    assert texts(times, PUBLISHED)["std::allocator"] == ["31.2"]
    assert texts(memory, "here")["std::allocator"] == ["800", "400", "1.00"]
    assert texts(memory, PUBLISHED)["std::allocator"][0] != "", "the document's 50 million elements"
    assert PUBLISHED not in {one.caption for one in shown[0].tables}, "it has no million"


def test_failed_allocators_have_a_row_and_missing_ones_none() -> None:
    cells = [c for c in cells_of(FIVE_OPERATIONS.data, "quick", "") if "fast_pool" not in c.contender.name]
    found = table(FIVE_OPERATIONS, cells, five)
    bad = next(c for c in cells if c.contender.name == ALLOCATORS["mt_allocator"])
    outcomes = [*(o for o in found.outcomes if o.cell != bad), Outcome.failed(bad, "bench", 1, "bad_alloc", "no room")]
    times, *_ = suite_charts.five_operations(PublishedTable(FIVE_OPERATIONS, cells, outcomes))
    rows = texts(times, "here")
    assert rows["mt_allocator"] == ["bad alloc"] * 5
    assert "boost::fast_pool_allocator" not in rows


# --- latencies --------------------------------------------------------------------------------------------------------


def late(cell: Cell) -> Values:
    length = int(dict(cell.parameters)["length"])
    return {
        "appends:16": length - 3.0,
        "appends:2048": 3.0,
        "shortest_ns": 17.0,
        "longest_ns": 2_500_000.0,
        "units": length,
    }


def test_every_append_falls_into_a_bucket() -> None:
    cells = cells_of(LATENCY.data, "standard", "")
    shown = suite_charts.latencies(table(LATENCY, cells, late), dtrace())
    assert len(shown) == len({LATENCY.data.point_of(c) for c in cells})
    row = texts(shown[0], "here")["std::vector"]
    assert row == ["17 ns", "997", "3", "2.50 ms"]
    (here,) = [one for one in shown[0].tables if one.caption == "here"]
    assert [heading for heading, _ in here.headings] == ["shortest", "16 ns", "2 µs", "longest"]


def test_published_histograms_appear_with_the_longest_arrays() -> None:
    cells = cells_of(LATENCY.data, "standard", "")
    shown = suite_charts.latencies(table(LATENCY, cells, late), dtrace())
    beside = [chart for chart in shown if len(chart.tables) == 2]
    assert [chart.title.split(",")[0] for chart in beside] == [
        "10 000 000 appends of int",
        "10 000 000 appends of unique_ptr",
    ]
    for chart, probe in zip(beside, ("append_int", "append_unique_ptr"), strict=True):
        published = chart.tables[0]
        assert published.caption.startswith(PUBLISHED)
        assert {label for label, _ in published.rows} == {probe, "VirtualAlloc", "NtAllocateVirtualMemory"}
        filled = {label: sum(entry.text != "" for entry in cells) for label, cells in published.rows}
        assert filled == {name: sum(1 for own, _, n in dtrace() if own == name and n) for name in filled}


def test_without_histograms_nothing_is_drawn_of_them() -> None:
    cells = cells_of(LATENCY.data, "quick", "")
    assert suite_charts.latencies(table(LATENCY, cells, lambda _: {"longest_ns": 1.0}), dtrace()) == []


# --- quotients --------------------------------------------------------------------------------------------------------


def counted(cell: Cell) -> Values:
    """Returns ns of a string: 10 × its length for std::set, half for others; three times that on a littered heap."""
    given = dict(cell.parameters)
    ns = 10.0 * int(given["length"]) * (1 if cell.contender.name == COUNTING.data.baseline else 0.5)
    loads = 100.0 if cell.contender.name == COUNTING.data.baseline else 60.0
    return {
        "cpu_seconds": (3 if LITTER in given else 1) * ns * 1e-9,
        "units": 1.0,
        "l1d_loads": loads,
        "l1d_misses": 6.0,
    }


def test_quotients_are_paired_within_rounds_in_own_tables() -> None:
    found = table(COUNTING, cells_of(COUNTING.data, "quick", ""), counted)
    relative, littered = QuotientTableModel(found, RELATIVE), QuotientTableModel(found, LITTERED)
    assert {round(level, 9) for key in relative.ours if (level := relative.our_level(key))} == {0.5}
    assert COUNTING.data.baseline not in {name for _, name in relative.ours}
    assert {round(level, 9) for key in littered.ours if (level := littered.our_level(key))} == {3.0}
    assert {dict(at)[LITTER] for at, _ in littered.ours} == {50}
    titles = [chart.title for chart in charts(found)]
    assert "fresh heap: run time relative to std::set (1.1)" in titles
    assert "heap littered, 50 % of it freed: run time, littered / fresh" in titles
    assert not any("stalled" in title for title in titles), "what was not counted is not drawn"


def test_counters_are_relative_too_and_misses_are_shares_of_loads() -> None:
    found = table(COUNTING, cells_of(COUNTING.data, "quick", ""), counted)
    loads, misses = (QuotientTableModel(found, QUOTIENTS[n]) for n in (2, 3))
    assert {level for key in loads.ours if (level := loads.our_level(key))} == {0.6}
    assert {level for key in misses.ours if (level := misses.our_level(key))} == {(6 / 60) / (6 / 100)}


def test_fresh_heaps_have_no_quotient_to_a_fresh_heap() -> None:
    littered: Place = ((("length", 16), (LITTER, 50)), "bitset")
    fresh: Place = ((("length", 16), (LITTER, 0)), "bitset")
    assert on_fresh_heap(littered, "") == fresh and on_fresh_heap(fresh, "") is None


def test_curves_over_the_length_have_every_contender_and_state() -> None:
    found = table(COUNTING, cells_of(COUNTING.data, "quick", ""), counted)
    figures = suite_figures.unique_characters(found)
    titles = [figure.title for figure in figures]
    assert sum("run time relative" in title for title in titles) == 2, "fresh and littered"
    assert sum("littered / fresh" in title for title in titles) == 1
    first = figures[0]
    assert isinstance(first, Curves) and len({one.name for one in first.series}) == len(COUNTING.data.strategies) - 1


def test_shares_above_one_are_written_out() -> None:
    assert [share_text(share) for share in (0.0137, 1, 10.0)] == ["1.37 %", "100 %", "1000 %"]


# --- extra runs -------------------------------------------------------------------------------------------------------


@pytest.mark.lengthy
def test_a_littered_heap_is_pictured_line_by_line() -> None:
    cells = [c for c in cells_of(COUNTING.data, "quick", "") if c.contender.name == COUNTING.data.baseline]
    lines = {f"heap_taken:{64 * n}": float(n % 2) for n in range(1024)}
    found = table(COUNTING, cells, lambda cell: lines if LITTER in dict(cell.parameters) else {})
    (figure,) = suite_figures.heap_pictures(found)
    assert "64 KiB in the middle" in figure.caption and "50% of all bytes" in figure.caption
    assert isinstance(figure, HeatMap) and len({(cell.x, cell.y) for cell in figure.cells}) == 1024
    assert sum(cell.value for cell in figure.cells) == 512 and (figure.low, figure.high) == (0, 1)
    assert suite_figures.heap_pictures(table(COUNTING, cells, lambda _: {})) == []


def test_dials_in_and_dimensions_out_stand_side_by_side() -> None:
    cells = cells_of(DIALLED.data, "standard", "")

    def measured(cell: Cell) -> Values:
        given = dict(cell.parameters)
        return (
            {f"measured_{dial}": int(given[dial]) / 1000 for dial in DIALS}
            if cell.contender.name == ALIASES["AS1"]
            else {}
        )

    (chart,) = suite_charts.dials(DIALS, CENTRE, table(DIALLED, cells, measured))
    rows = texts(chart, "here")
    assert [row for row in rows if row.startswith("density")] == [f"density {n} %" for n in (5, 20, 40, 70, 95)]
    assert rows["utilization 90 %"] == ["40.0", "80.0", "50.0", "90.0", "0"]
    assert rows["contention 16 %"][-1] == "16.0" and len(rows) == 5 * len(DIALS)


@pytest.mark.lengthy
def test_extra_runs_use_the_baseline_once_after_all_rounds(p0089: Use) -> None:
    fake = p0089()
    words = ("--scale=quick", "--rounds=2", "-o", "out.json", "-o", "out.html")
    assert (
        main(["run", "unique_chars", "p0089.dials", "--cells=*length=16/*", "--cells=dials/*/contention=0/*", *words])
        == Status.OK
    )
    names = [Path(argv[0]).name for argv in fake.looks]
    assert names.count("millpond-unique_chars-suite") == 1, "one littered point"
    assert names.count("millpond-record") == len({argv for argv in fake.looks if "millpond-record" in argv[0]}) > 3
    assert not any("--picture-heap" in argv for argv in fake.calls)
    text = Path("out.html").read_text(encoding="utf-8")
    assert "Dials in, dimensions out" in text and "in the middle of the littered heap" in text


def test_a_forecast_has_the_extra_runs_too(p0089: Use, capsys: pytest.CaptureFixture[str]) -> None:
    p0089()
    words = ("--scale=quick", "--rounds=1", "--dry-run", "--cells=*length=16/*/set:new_delete:type:destroy")
    assert main(["run", "unique_chars", *words]) == Status.OK
    assert "3 runs" in capsys.readouterr().out, "fresh, littered, and the picture"


@pytest.mark.parametrize("printed", ["", "no json", "[]", "{}", '{"metrics": {}}'])
def test_failed_extra_runs_have_a_reason_and_are_not_failures(printed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def capture(*_: Any, **__: Any) -> native.ProgramOutput:
        return native.ProgramOutput(0, printed, "said")

    monkeypatch.setattr(native, "capture", capture)
    monkeypatch.setattr(extra_runs.native, "find", lambda name: Path("/nowhere") / name)
    cell = cells_of(COUNTING.data, "quick", "0.5")[0]
    for extra in (HEAP_PICTURE, RECORDED):
        outcome = extra.runner({cell: ["suite"]}, {cell: 1.0}).run(cell, extra.stage, 1)
        assert outcome.status == "ok" and not outcome.values
        assert outcome.absent and all(outcome.absent.values())
