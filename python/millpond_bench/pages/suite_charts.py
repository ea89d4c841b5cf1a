# SPDX-License-Identifier: BSL-1.0
"""Tables of the values of a round next to the experiment's figure: operations, memory, latencies, dimensions.

five_operations   suballocator.2     a row for each allocator: five operations; memory at three moments
latencies         reserve_commit.3   a row for each array: its appends by duration, with DTrace's histogram
dials             p0089.dials        a row for each setting: the dial, and the five measured dimensions
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from millpond.cells.cell import Cell
from millpond.report.figures.specification import COLOURS, Axis, Curves, Figure, HeatCell, HeatMap, Series, Unit
from millpond.statistics.order_statistics import Summary, summarise
from millpond.system.wording import count_text, seconds_text
from millpond_bench.experiments.experiment_data import Place, Point, thousands
from millpond_bench.experiments.result_table import PlaceTable, PublishedTable, published_table
from millpond_bench.pages.charts import DASH_OF, HERE, PUBLISHED, Chart
from millpond_bench.tables.page_tables import Entry, PageTable, page_table
from millpond_bench.tables.quantities import text_of

_MB = 1e6
# The histogram that the paper prints as text: probe, the least microseconds of a bucket, its count.
Probes = Iterable[tuple[str, int, int]]


@dataclass(frozen=True)
class _Column:
    """A column of a table by metric: its heading, and the factor of its values."""

    heading: str
    metric: str
    scale: float = 1.0


@dataclass(frozen=True)
class _Unit:
    """The unit of a table's columns: its name and size, and the axes of its figure."""

    name: str
    size: float
    axis: Unit
    x: str
    y: str


_NS = _Unit("ns", 1e-9, "seconds", "operation", "CPU time")
_MEGABYTES = _Unit("MB", _MB, "bytes", "moment", "resident")
# The five operations, each with its metric of all numbers (none: the experiment's figure, of one number).
OPERATIONS = (
    ("allocate", ""), ("free, last to first", "free_from_last_seconds"),
    ("free, first to last", "free_from_first_seconds"), ("free every second", "free_odd_seconds"),
    ("free every second, allocate again", "free_and_allocate_odd_seconds"),
)  # fmt: skip
MOMENTS = (
    ("all allocated", "elements_bytes"), ("all freed", "freed_bytes"),
    ("array of pointers deleted", "array_gone_bytes"),
)  # fmt: skip


def five_operations(results: PublishedTable) -> list[Chart]:
    """The paper's two graphs for each length of the array: nanoseconds per element, and resident megabytes."""
    found = []
    for point in _points(results):
        count = int(dict(point)["count"])
        each = 1e9 / count
        around = [str(value) for _, value in results.experiment.data.around(point)]
        numbers = ", ".join([f"{thousands('', count)} numbers", *around])
        times = [
            _Column(heading, metric or results.experiment.data.figure.name, each if metric else 1.0)
            for heading, metric in OPERATIONS
        ]
        moments = [_Column(heading, metric, 1 / _MB) for heading, metric in MOMENTS]
        found += _by_metric(f"{numbers}: CPU time of each operation, for each number of the array",
                            results, point, times, _NS)  # fmt: skip
        found += _by_metric(f"{numbers}: resident memory at three moments, without the array of pointers",
                            results, point, moments, _MEGABYTES)  # fmt: skip
    return found


def _by_metric(
    title: str, results: PublishedTable, point: Point, columns: Sequence[_Column], unit: _Unit
) -> list[Chart]:
    """One chart with the paper's values and ours; none if there are no values of ours."""
    published, ours = published_table(results.experiment), results.by_place()
    strategies = [name for name in results.experiment.data.strategies if (point, name) in results.cells_at]

    def drawn(caption: str, of: PlaceTable, every_row: bool) -> PageTable:
        rows = [
            (results.experiment.data.alias(name) or name, [_entry(of, (point, name), column) for column in columns])
            for name in strategies
        ]
        headings = [(column.heading, column.metric) for column in columns]
        kept = [row for row in rows if every_row or any(row[1])]
        return page_table(caption, "allocator", headings, kept, [unit.name])

    here = drawn(HERE, ours, True)
    tables = [table for table in (drawn(PUBLISHED, published, False), here) if not table.empty]
    return [Chart(title, tables, _dots(results, point, columns, strategies, unit))] if here in tables else []


def _dots(
    results: PublishedTable, point: Point, columns: Sequence[_Column], strategies: Sequence[str], unit: _Unit
) -> list[Figure]:
    """The values of a chart as dots: a colour for each allocator, with our intervals."""
    series = []
    for kind, of in ((PUBLISHED, published_table(results.experiment)), (HERE, results.by_place())):
        for number, name in enumerate(strategies):
            found = [(at, _summary(of, (point, name), column.metric)) for at, column in enumerate(columns)]
            known = [
                (at, value, columns[at].scale * unit.size)
                for at, value in found
                if value is not None and value.median > 0
            ]
            alias = results.experiment.data.alias(name) or name
            if known:
                series.append(
                    Series(
                        name=f"{alias}, {kind}", group=alias, kind=kind, look="dots", colour=number % COLOURS,
                        dash=DASH_OF[kind], points=[(at, value.median * scale) for at, value, scale in known],
                        intervals=[(v.low * scale, v.high * scale) for _, v, scale in known] if kind == HERE else [],
                    )
                )  # fmt: skip
    if not series:
        return []
    x = Axis(name=unit.x, names=[column.heading for column in columns])
    title = "Published and here" if any(one.kind == PUBLISHED for one in series) else "Here"
    return [Curves(title=title, x=x, y=Axis(name=unit.y, unit=unit.axis, log=True), series=series)]


def _entry(of: PlaceTable, place: Place, column: _Column) -> Entry | None:
    found = _summary(of, place, column.metric)
    if found is None:
        return Entry(of.failed[place].replace("_", " ")) if place in of.failed else None
    low, value, high = (end * column.scale for end in (found.low, found.median, found.high))
    return Entry(text_of(value), f"{text_of(low)} to {text_of(high)}")


def _summary(of: PlaceTable, place: Place, metric: str) -> Summary | None:
    values = list(of.by_round(place, metric).values())
    return summarise(values) if values else None


def latencies(results: PublishedTable, probes: Probes) -> list[Chart]:
    """The numbers of appends by their duration, the shortest and the longest, for each point; DTrace's after the last
    of each.

    A bucket holds the appends that took at least its nanoseconds, and less than twice that. O(values).
    """
    published = _of_probes(probes)
    found = []
    points = _points(results)
    last = {dict(point)["element"]: point for point in points}
    for point in points:
        at = dict(point)
        rows = [
            (results.experiment.data.alias(name) or name, results.cells_at[point, name])
            for name in results.experiment.data.strategies
            if (point, name) in results.cells_at
        ]
        counts, ends = _histograms(results, rows)
        tables, own = [_histogram_table(HERE, "array", counts, ends)], dict[str, dict[int, float]]()
        if last[at["element"]] == point and any(f"append_{at['element']}" == probe for probe in published):
            own = {name: counts for name, counts in published.items() if name in (f"append_{at['element']}", *_CALLS)}
            tables.insert(0, _histogram_table(f"{PUBLISHED}, by DTrace on Windows", "probe", own, {}))
        appends = f"{thousands('', at['length'])} appends of {at['element']}, -O{at['optimisation']}"
        title = f"{appends}: how long each took"
        kept = [table for table in tables if not table.empty]
        found += [Chart(title, kept, _durations(own, counts))] if not tables[-1].empty else []
    return found


# The calls by which the paper's array gets memory.
_CALLS = ("VirtualAlloc", "NtAllocateVirtualMemory")
_FIRST, _LAST = "shortest", "longest"


def _of_probes(probes: Probes) -> dict[str, dict[int, float]]:
    """Counts by the least nanoseconds of a bucket: a microsecond of the paper is 1024 of them; 0 is below one."""
    found: dict[str, dict[int, float]] = defaultdict(dict)
    for probe, at_least_us, count in probes:
        if count:
            found[probe][1024 * at_least_us] = float(count)
    return found


def _histograms(
    results: PublishedTable, rows: Sequence[tuple[str, Cell]]
) -> tuple[dict[str, dict[int, float]], dict[str, tuple[float, float]]]:
    """The counts of each array by the least nanoseconds of a bucket; its shortest and longest append."""
    counts: dict[str, dict[int, float]] = {}
    ends: dict[str, tuple[float, float]] = {}
    for label, cell in rows:
        own = {
            int(name.partition(":")[2]): summarise(list(results.by_round(cell, name).values())).median
            for name in results.values.get(cell, {})
            if name.startswith("appends:")
        }
        shortest, longest = (results.median(cell, f"{end}_ns") for end in (_FIRST, _LAST))
        counts[label] = own
        if shortest is not None and longest is not None:
            ends[label] = shortest, longest
    return counts, ends


def _durations(published: Mapping[str, Mapping[int, float]], here: Mapping[str, Mapping[int, float]]) -> list[Figure]:
    """The share of a row's appends in each bucket; a bucket below a microsecond has half of one."""
    series = []
    for kind, rows in ((PUBLISHED, published), (HERE, here)):
        for number, (label, own) in enumerate(rows.items()):
            of, points = sum(own.values()), [(bucket or 512, count) for bucket, count in sorted(own.items())]
            if of > 0:
                series.append(
                    Series(
                        name=f"{label}, {kind}", group=label, kind=kind, colour=number % COLOURS, dash=DASH_OF[kind],
                        points=[(bucket * 1e-9, count) for bucket, count in points], of=of, has_dots=True,
                    )
                )  # fmt: skip
    if not series:
        return []
    x, y = Axis(name="took at least", unit="seconds", log=True), Axis(name="appends", unit="share", log=True)
    return [Curves(title="Appends by their duration", x=x, y=y, series=series, of_what="all")]


def _histogram_table(
    caption: str, corner: str, counts: Mapping[str, Mapping[int, float]], ends: Mapping[str, tuple[float, float]]
) -> PageTable:
    """A row for each array or probe, a column for each bucket that occurs."""
    buckets = sorted({bucket for own in counts.values() for bucket in own})
    rows = []
    for label, own in counts.items():
        all_of_row = sum(own.values())
        cells: list[Entry | None] = [
            Entry(count_text(own[bucket]), f"{own[bucket] / all_of_row:.2g} of all")
            if bucket in own else None
            for bucket in buckets
        ]  # fmt: skip
        shortest, longest = ends.get(label, (None, None))
        if ends:
            cells = [_time(shortest), *cells, _time(longest)]
        rows.append((label, cells))
    headings = [(_duration(bucket), "or more, and less than twice that") for bucket in buckets]
    if ends:
        headings = [(_FIRST, "of all"), *headings, (_LAST, "of all")]
    units = ["time", *["count"] * (len(headings) - 2), "time"] if ends else ["count"]
    return page_table(caption, corner, headings, [row for row in rows if any(row[1])], units)


def _time(ns: float | None) -> Entry | None:
    return None if ns is None else Entry(seconds_text(ns * 1e-9) if ns >= 1000 else f"{ns:.0f} ns", f"{ns:.0f} ns")


def _duration(ns: int) -> str:
    """`32 ns`, `4 µs`; a thousand is 1024 here, so that buckets are whole."""
    for power, name in ((30, "s"), (20, "ms"), (10, "µs")):
        if ns >= 1 << power:
            return f"{ns / (1 << power):.3g} {name}"
    return f"{ns} ns" if ns else "< 1 µs"


def dials(names: Sequence[str], centre: Mapping[str, int], results: PublishedTable) -> list[Chart]:
    """A row for each setting of each dial, under the baseline: the setting and the measured dimensions, in percent."""
    ours, base = results.by_place(), results.experiment.data.baseline
    rows = []
    for name in names:
        for point in sorted(_points(results), key=lambda point: int(dict(point)[name])):
            at = {key: int(value) for key, value in point if key in (*names, "threads")}
            turned = all(at[other] == centre[other] for other in names if other != name)
            if turned and at["threads"] == (2 if name == "contention" else 1):
                cells = [_percent(ours, (point, base), f"measured_{out}") for out in names]
                rows.append((f"{name} {at[name] / 10:g} %", cells))
    kept = [row for row in rows if any(row[1])]
    table = page_table(HERE, "dial", [(name, f"measured {name}, %") for name in names], kept, ["%"])
    title = "Dials in, dimensions out: what is measured of the recorded program, in percent"
    return [Chart(title, [table], _dial_map(table))] if not table.empty else []


def _dial_map(table: PageTable) -> list[Figure]:
    """The same as a heat map: a dial that turns only its own dimension has one bright block."""
    rows = list(reversed(table.rows))
    cells = [
        HeatCell(column, height, float(entry.text) / 100)
        for height, (_, entries) in enumerate(rows)
        for column, entry in enumerate(entries)
        if entry.text
    ]
    x = Axis(name="measured dimension", names=[heading for heading, _ in table.headings])
    y = Axis(name=table.corner, names=[label for label, _ in rows])
    value = Axis(name="measured", unit="share")
    height = 22 * len(rows) + 70
    return [HeatMap(title=HERE, x=x, y=y, value=value, cells=cells, low=0.0, high=1.0, labels=True, height=height)]


def _percent(of: PlaceTable, place: Place, metric: str) -> Entry | None:
    found = _summary(of, place, metric)
    return None if found is None else Entry(text_of(100 * found.median), "%")


def _points(results: PublishedTable) -> list[Point]:
    """The points that have cells, in their order."""
    return list(dict.fromkeys(at for at, _ in results.cells_at))
