# SPDX-License-Identifier: BSL-1.0
"""The value and label of each entry in an experiment's tables: published, measured, ratio, bytes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from millpond.cells.cell import Cell
from millpond.statistics.order_statistics import summarise
from millpond.system.wording import bytes_text, plural
from millpond_bench.experiments.experiment_data import Place
from millpond_bench.experiments.quotients import Quotient
from millpond_bench.experiments.result_table import PublishedTable, quotients
from millpond_bench.tables.page_tables import Entry

_BYTES, _MB = "peak_bytes", 1e6
Value = TypeVar("Value")
NOWHERE: Place = ((), "")


def text_of(value: float) -> str:
    """About three digits, and no exponent."""
    for least, form in ((99.95, ".0f"), (9.995, ".1f"), (0.0995, ".2f")):
        if abs(value) >= least:
            return format(value, form)
    return f"{value:.2g}"


def percent_of(share: float) -> str:
    """A share in the paper's notation, with the percent sign that the paper leaves out."""
    return f"{100 * share:.0f} %"


class TableModel:
    """The table entries of an experiment: their values and their text."""

    def __init__(self, results: PublishedTable) -> None:
        self.experiment = results.experiment
        self.layout = results.experiment.table.layout
        self._results = results
        self.unit = results.experiment.data.figure.unit
        self.cells = {at: cell for at, cell in results.cells_at.items() if results.has_figure(cell)}
        self.printed = self._everywhere(results.experiment.table.printed())
        self._values = self._everywhere(results.experiment.published_values())
        self.ours = {key: found for key, cell in self.cells.items() if (found := results.figure(cell))}
        self._medians = {key: summarise(list(found.values())).median for key, found in self.ours.items()}

    def _everywhere(self, of: Mapping[Place, Value]) -> dict[Place, Value]:
        """The paper's figures in every environment of ours: all in the usual one, elsewhere those that
        ours have, too.
        """
        data = self.experiment.data
        ours = dict.fromkeys((data.around(at), data.published_point(at)) for at, _ in self.cells)
        around = dict.fromkeys(each for each, _ in ours) or {data.usual: None}
        return {
            ((*at, *each), name): value
            for (at, name), value in of.items()
            for each in around
            if each == data.usual or (each, at) in ours
        }

    def _is_share(self, key: Place) -> bool:
        return self.layout.relative and key[1] != self.experiment.data.baseline

    def _level(self, values: Mapping[Place, float], key: Place) -> float | None:
        """The value that figures draw: the figure, or its share of the baseline's."""
        value = values.get(key)
        if not self.layout.relative or value is None:
            return value
        base = values.get((key[0], self.experiment.data.baseline))
        return value / base if base and self._is_share(key) else None

    def published_level(self, key: Place) -> float | None:
        return self._level(self._values, key)

    def our_level(self, key: Place) -> float | None:
        return self._level(self._medians, key)

    def to_published(self, key: Place) -> float | None:
        """Ours / the paper's, for the values that the tables show: figures, or shares."""
        there = key[0], self.experiment.data.printed_as(key[1])
        shares = self.our_level(key), self.published_level(there)
        ours, theirs = shares if self._is_share(key) else (self._medians.get(key), self._values.get(there))
        return ours / theirs if ours is not None and theirs else None

    def published(self, key: Place) -> Entry | None:
        one = self.printed.get(key)
        return None if one is None else Entry(one.printed, one.unit)

    def here(self, key: Place) -> Entry | None:
        cell = self.cells.get(key)
        if cell is None:
            return None
        if key not in self.ours:
            why, status = self._results.why.get(cell, "not run"), self._results.failed.get(cell, "")
            return Entry(status.replace("_", " "), why)
        found = summarise(list(self.ours[key].values()))
        level = self.our_level(key)
        interval = f"{text_of(found.low)} to {text_of(found.high)}"
        title = f"{text_of(found.median)} {self.unit} ({interval}), {plural(found.n, 'round')}"
        return Entry(f"{100 * (level or 0.0):.0f}" if self._is_share(key) else text_of(found.median), title)

    def quotient(self, key: Place) -> Entry | None:
        value = self.to_published(key)
        return None if value is None else Entry(text_of(value), "of shares" if self._is_share(key) else "")

    def held(self, key: Place) -> Entry | None:
        cell = self.cells.get(key)
        values = list(self._results.by_round(cell, _BYTES).values()) if cell else []
        if not values:
            return None
        found = summarise(values)
        return Entry(text_of(found.median / _MB), f"{bytes_text(found.low)} to {bytes_text(found.high)}")


class QuotientTableModel(TableModel):
    """The same for quotients of two figures, or of two values of another metric, paired within rounds."""

    def __init__(self, results: PublishedTable, quotient: Quotient) -> None:
        super().__init__(results)
        self._quotient = quotient
        self.unit = "ratio"
        self.printed = self._everywhere(results.experiment.table.printed(quotient.printed)) if quotient.printed else {}
        self._values = {key: one.value for key, one in self.printed.items() if one.value is not None}
        values = {key: self._by_round(cell) for key, cell in self.cells.items()}
        pairs = {
            key: quotients(values[above], values[below])
            for key in values
            if (above := self._place(quotient.above, key)) in values
            and (below := self._place(quotient.below, key)) in values
        }
        self.ours = {key: found for key, found in pairs.items() if found}
        self._medians = {key: summarise(list(found.values())).median for key, found in self.ours.items()}

    def _place(self, of: Callable[[Place, str], Place | None], key: Place) -> Place:
        """The other place of a quotient; a place without a figure if it does not exist."""
        return of(key, self.experiment.data.baseline) or NOWHERE

    def _by_round(self, cell: Cell) -> Mapping[int, float]:
        quotient = self._quotient
        values = self._results.values_of(cell, quotient.metric or self.experiment.data.figure.name)
        if not quotient.other_metric:
            return values
        return quotients(values, self._results.values_of(cell, quotient.other_metric))

    def here(self, key: Place) -> Entry | None:
        return super().here(key) if key in self.ours else None

    def held(self, key: Place) -> Entry | None:
        return None
