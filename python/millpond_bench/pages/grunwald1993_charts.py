# SPDX-License-Identifier: BSL-1.0
"""The tables of Grunwald 1993 in the paper's layout, published and measured here: several numbers for each program.

tables 2, 3   a row for each program, a column for each of its figures under FIRSTFIT
tables 4, 5   a row for each allocator, a column for each program: total / miss seconds
table 6       a row for each figure, a column for each program
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from millpond.statistics.order_statistics import summarise
from millpond_bench.experiments.experiment_data import Place
from millpond_bench.experiments.result_table import FIGURE, PlaceTable, PublishedTable, published_table
from millpond_bench.pages.charts import HERE, PUBLISHED, Chart
from millpond_bench.tables.page_tables import Entry, PageTable, page_table
from millpond_bench.tables.quantities import text_of

Value = Callable[[PlaceTable, str, str], Entry | None]
_COLUMNS_2 = {
    "instructions_executed": ("instructions", "millions", 1e6), FIGURE: ("data references", "millions", 1.0),
    "heap_bytes": ("heap", "KB", 1024.0), "objects_allocated": ("objects allocated", "thousands", 1e3),
    "objects_freed": ("objects freed", "thousands", 1e3),
}  # fmt: skip
_ROWS_6 = (
    ("miss rate with tags, %", "gnu_local_padded", FIGURE),
    ("penalty with tags, % of the time without", "gnu_local_padded", "miss_penalty"),
    ("miss rate without tags, %", "gnu_local", FIGURE),
    ("penalty without tags, %", "gnu_local", "miss_penalty"),
    ("penalty due to tags, %", "gnu_local_padded", "tag_penalty"),
    ("miss rate with real tags, %", "gnu_local_tagged", FIGURE),
    ("penalty due to real tags, %", "gnu_local_tagged", "tag_penalty"),
)


def tables_2_and_3(results: PublishedTable) -> list[Chart]:
    """Figures of each program and input under FIRSTFIT."""

    def value(of: PlaceTable, program: str, metric: str) -> Entry | None:
        return _entry(of, ((("program", program),), "first_fit"), metric, _COLUMNS_2[metric][2])

    columns = [(heading, metric) for metric, (heading, *_) in _COLUMNS_2.items()]
    units, title = [unit for _, unit, _ in _COLUMNS_2.values()], "Tables 2 and 3: the programs under FIRSTFIT"
    return [_chart(title, "program", results, _programs(results), columns, units, value)]


def tables_4_and_5(results: PublishedTable) -> list[Chart]:
    """Total and miss seconds of each program on each allocator."""
    found = []
    strategies = [one for one in results.experiment.data.strategies if any(one == name for _, name in results.cells_at)]
    for number, size in ((4, 16), (5, 64)):

        def value(of: PlaceTable, strategy: str, program: str, size: int = size) -> Entry | None:
            place = (("program", program), ("cache", size)), strategy
            total, misses = _entry(of, place, FIGURE), _entry(of, place, "miss_seconds")
            return Entry(f"{total.text}/{misses.text}", total.title) if total and misses else None

        rows = [(results.experiment.data.alias(one) or one, one) for one in strategies]
        columns = [(program, program) for _, program in _programs(results)]
        title = f"Table {number}: estimated seconds in all / waiting for misses, {size} KB direct-mapped"
        found.append(_chart(title, "allocator", results, rows, columns, ["s / s"], value))
    return found


def table_6(results: PublishedTable) -> list[Chart]:
    """Miss rates and penalties with tags and without."""

    def value(of: PlaceTable, row: str, program: str) -> Entry | None:
        strategy, metric = next((strategy, metric) for name, strategy, metric in _ROWS_6 if name == row)
        return _entry(of, ((("program", program),), strategy), metric)

    rows = [(name, name) for name, *_ in _ROWS_6]
    columns = [(program, program) for _, program in _programs(results)]
    title = "Table 6: GNU LOCAL with tags and without, 64 KB direct-mapped"
    return [_chart(title, "figure", results, rows, columns, ["%"], value)]


def _programs(results: PublishedTable) -> list[tuple[str, str]]:
    """Label and name of each program, in the order of the cells; only the paper's programs if nothing ran."""
    names = dict.fromkeys(str(dict(at)["program"]) for at, _ in results.cells_at)
    return [(results.experiment.table.layout.labels("program", name), name) for name in names]


def _chart(
    title: str, corner: str, results: PublishedTable, rows: Sequence[tuple[str, str]],
    columns: Sequence[tuple[str, str]], units: Sequence[str], value: Value,
) -> Chart:  # fmt: skip
    tables: list[PageTable] = []
    for caption, of in ((PUBLISHED, published_table(results.experiment)), (HERE, results.by_place())):
        filled = [(label, [value(of, row, column) for _, column in columns]) for label, row in rows]
        headings = [(heading, "") for heading, _ in columns]
        tables.append(page_table(caption, corner, headings, [row for row in filled if any(row[1])], units))
    return Chart(title, [table for table in tables if not table.empty], [])


def _entry(of: PlaceTable, place: Place, metric: str, unit: float = 1.0) -> Entry | None:
    values = list(of.by_round(place, metric).values())
    if not values:
        return None
    found = summarise(values)
    return Entry(text_of(found.median / unit), f"{text_of(found.low / unit)} to {text_of(found.high / unit)}")
