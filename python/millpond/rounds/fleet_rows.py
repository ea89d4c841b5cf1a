# SPDX-License-Identifier: BSL-1.0
"""Collects the figures of many traces as columns of numbers, and turns them into a fleet or a table.

    TraceFigures ──add──▶ FleetRows ─┬─ a row for the process, one for each of its subsystems ──▶ table, for Parquet
                                 ├─ sums, distributions, outliers                               ──▶ Fleet
                                 └─ histograms, added up at once

A row takes 120 bytes, so a thousand processes of a hundred subsystems take 12 MB.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from millpond.rounds.characterisation import LifetimeBin, Size
from millpond.rounds.fleet_data import Fleet, FleetBuild, FleetProcess, FleetSubsystem, FleetUse, Outlier
from millpond.rounds.fleet_use import COUNTS, LETTERS, SubsystemUse, TraceFigures, UnusableTrace, UseCounts
from millpond.statistics.distribution import Distribution, Values
from millpond.store.column_table import NUMBER, TEXT, WHOLE, Columns, ColumnTable

# Facts of a process; null in the rows of subsystems, so that their sums are right.
_PROCESS_FACTS: Columns = {"threads": WHOLE, "cpu_seconds": NUMBER, "duration_seconds": NUMBER, "lost": WHOLE}
# The columns of the table. A row without a subsystem is its whole process.
COLUMNS: Columns = {
    "build_id": TEXT, "executable": TEXT, "trace": TEXT, "pid": WHOLE, "subsystem": TEXT, "kind": TEXT,
    **dict.fromkeys(COUNTS, WHOLE), **dict.fromkeys(LETTERS, NUMBER), **_PROCESS_FACTS,
}  # fmt: skip
# Figures of which outliers are looked for: a process that allocates, holds or keeps more or less than the others.
OUTLIER_FIGURES = ("allocations", "bytes", "peak_live_bytes", "end_live_bytes")
# The distance of an outlier from the median is at least this share of the figure of a usual whole process.
OUTLIER_SHARE = 0.01
OUTLIERS_AT_MOST = 10  # of one figure of one subsystem
_WHOLE = -1
Places = npt.NDArray[np.intp]


@dataclass
class _SubsystemSums:
    """The parts of a subsystem that are added up at once."""

    kind: str
    near: str | None
    sizes: Counter[int] = field(default_factory=Counter)
    lifetimes: Counter[int] = field(default_factory=Counter)

    def add(self, use: SubsystemUse) -> None:
        for size in use.sizes:
            self.sizes[size.bytes] += size.count
        for each in use.lifetimes.histogram:
            self.lifetimes[each.below_ns_log2] += each.count


class BuildRows:
    """The rows of the processes of one build. Not thread-safe."""

    def __init__(self, build_id: str) -> None:
        self._build_id = build_id
        self._named_events = 0.0
        self._processes: list[FleetProcess] = []
        self._subsystems: dict[str, _SubsystemSums] = {}
        self._numbers: dict[str, int] = {}
        self._process, self._subsystem = array("q"), array("q")
        self._counts = {name: array("q") for name in COUNTS}
        self._letters = {letter: array("d") for letter in LETTERS}

    def add(self, use: TraceFigures) -> None:
        """Adds a process with its subsystems. O(subsystems and bins of their histograms)."""
        trace, facts = use.trace, use.process
        self._named_events += (trace.named_share or 0.0) * trace.events
        self._add_row(_WHOLE, trace, {})
        for one in use.subsystems:
            number = self._numbers.setdefault(one.name, len(self._numbers))
            self._add_row(number, one, {letter: found.value for letter, found in one.dvluc.items()})
            self._subsystems.setdefault(one.name, _SubsystemSums(one.kind, one.near)).add(one)
        self._processes.append(FleetProcess(
            trace=trace.path, executable=facts.executable or "", pid=facts.pid, argv=facts.argv or (),
            threads=trace.threads, cpu_seconds=trace.cpu_seconds, duration_seconds=trace.duration_seconds,
            lost=trace.lost, limits=trace.limits, **{name: getattr(trace, name) for name in COUNTS},
        ))  # fmt: skip

    def _add_row(self, subsystem: int, counts: UseCounts, letters: Mapping[str, float | None]) -> None:
        self._process.append(len(self._processes))
        self._subsystem.append(subsystem)
        for name, column in self._counts.items():
            column.append(getattr(counts, name))
        for letter, known in self._letters.items():
            value = letters.get(letter)
            known.append(np.nan if value is None else value)

    def build(self) -> FleetBuild:
        """Returns the sums, the distributions and the outliers. O(rows · log(rows))."""
        figures = _BuildFigures.of(self._process, self._subsystem, self._counts, self._letters, self._processes)
        whole = FleetUse(**figures.use_of(_WHOLE))
        subsystems = [self._subsystem_of(name, figures, whole) for name in self._numbers]
        return FleetBuild(
            build_id=self._build_id, executables=tuple(dict.fromkeys(one.executable for one in self._processes)),
            named_share=self._named_events / whole.events if whole.events else None, whole=whole,
            subsystems=tuple(sorted(subsystems, key=lambda s: (-s.share, s.name))), processes=tuple(self._processes),
        )  # fmt: skip

    def _subsystem_of(self, name: str, figures: _BuildFigures, whole: FleetUse) -> FleetSubsystem:
        sums, number = self._subsystems[name], self._numbers[name]
        use = figures.use_of(number)
        shares = [use[key] / total for key, total in (("events", whole.events), ("bytes", whole.bytes)) if total]
        return FleetSubsystem(
            name=name, kind=sums.kind, near=sums.near, processes=len(figures.rows[number]),
            share=max(shares, default=0.0), sizes=tuple(Size(*pair) for pair in sorted(sums.sizes.items())),
            lifetimes=tuple(LifetimeBin(*pair) for pair in sorted(sums.lifetimes.items())), **use,
        )  # fmt: skip

    def table(self) -> ColumnTable:
        """Returns the rows as a table with COLUMNS. O(rows)."""
        process, subsystem = self._process, self._subsystem
        names, kinds = list(self._numbers), [sums.kind for sums in self._subsystems.values()]

        def column(name: str) -> Values | list[Any]:
            if name in COUNTS:
                return np.array(self._counts[name])
            if name in LETTERS:
                letters = np.array(self._letters[name])
                return np.ma.MaskedArray(letters, np.isnan(letters))
            if name == "build_id":
                return [self._build_id] * len(process)
            if name in ("subsystem", "kind"):
                texts = names if name == "subsystem" else kinds
                return [None if number == _WHOLE else texts[number] for number in subsystem]
            values = [getattr(one, name) for one in self._processes]
            if name in _PROCESS_FACTS:
                return [values[p] if s == _WHOLE else None for p, s in zip(process, subsystem, strict=True)]
            return [values[p] for p in process]

        return ColumnTable.of(COLUMNS, {name: column(name) for name in COLUMNS})


@dataclass(frozen=True)
class _BuildFigures:
    """The columns of a build, with the places of each subsystem's rows. `usual`: of each outlier's figure, the median
    of the whole processes.
    """

    process: Places
    counts: Mapping[str, Values]
    letters: Mapping[str, Values]
    rows: Mapping[int, Places]
    processes: Sequence[FleetProcess]

    @classmethod
    def of(
        cls, process: array[int], subsystem: array[int], counts: Mapping[str, array[int]],
        letters: Mapping[str, array[float]], processes: Sequence[FleetProcess],
    ) -> _BuildFigures:  # fmt: skip
        numbers = np.array(subsystem)
        order = np.argsort(numbers, kind="stable")
        found, starts = np.unique(numbers[order], return_index=True)
        parts = np.split(order, starts[1:])
        return cls(
            np.array(process), {name: np.array(column) for name, column in counts.items()},
            {letter: np.array(column) for letter, column in letters.items()},
            {int(number): rows for number, rows in zip(found, parts, strict=True)}, processes,
        )  # fmt: skip

    def use_of(self, number: int) -> dict[str, Any]:
        """Returns the fields of a FleetUse. O(processes · log(processes))."""
        rows = self.rows[number]
        by_process = {name: self._by_process(rows, name) for name in COUNTS}
        letters = {letter: values[rows][~np.isnan(values[rows])] for letter, values in self.letters.items()}
        distributions = {
            name: found for name, values in {**by_process, **letters}.items() if (found := Distribution.of(values))
        }
        outliers = [list(self._outliers(name, by_process[name], distributions[name])) for name in OUTLIER_FIGURES]
        return {
            **{name: int(self.counts[name][rows].sum()) for name in COUNTS},
            "distributions": distributions,
            "outliers": tuple(one for found in outliers for one in found[:OUTLIERS_AT_MOST]),
            "outliers_left_out": sum(max(0, len(found) - OUTLIERS_AT_MOST) for found in outliers),
        }

    def _by_process(self, rows: Places, name: str) -> Values:
        values = np.zeros(len(self.processes))
        values[self.process[rows]] = self.counts[name][rows]
        return values

    def _outliers(self, name: str, values: Values, distribution: Distribution) -> Iterator[Outlier]:
        usual = float(np.median(self._by_process(self.rows[_WHOLE], name)))
        for place in distribution.far_outside(values, max(1.0, OUTLIER_SHARE * usual)):
            value = float(values[place])
            times = value / distribution.median if distribution.median else None
            yield Outlier(trace=self.processes[place].trace, figure=name, value=value, times=times)


class FleetRows:
    """The rows of all processes, by build. Not thread-safe: one thread adds the results of all tasks."""

    def __init__(self) -> None:
        self._builds: dict[tuple[str, str], BuildRows] = {}

    def __len__(self) -> int:
        """Returns the number of builds."""
        return len(self._builds)

    def add(self, use: TraceFigures) -> None:
        """Adds a process to its build: that of its build-id or, without one, of its executable's path."""
        build_id = use.process.build_id or ""
        key = (build_id, "" if build_id else use.process.executable or "")
        self._builds.setdefault(key, BuildRows(build_id)).add(use)

    def fleet(self, unusable: Sequence[UnusableTrace] = ()) -> Fleet:
        """Returns the merged characterisation. O(rows · log(rows))."""
        builds = [rows.build() for rows in self._builds.values()]
        ordered = sorted(builds, key=lambda b: (-b.whole.events, b.build_id, b.executables))
        return Fleet(builds=tuple(ordered), unusable=tuple(unusable))

    def table(self) -> ColumnTable:
        """Returns the rows of all builds as a table with COLUMNS. O(rows)."""
        return ColumnTable.joined(COLUMNS, [rows.table() for rows in self._builds.values()])
