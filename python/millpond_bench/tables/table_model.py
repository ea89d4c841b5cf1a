# SPDX-License-Identifier: BSL-1.0
"""The value and label of each entry in an experiment's tables: published, measured, ratio, bytes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TypeVar

from millpond.cells.cell import Cell
from millpond.statistics.order_statistics import Summary, summarise
from millpond.system.wording import plural
from millpond_bench.experiments.experiment_data import Place
from millpond_bench.experiments.quotients import Quotient
from millpond_bench.experiments.result_table import PublishedTable, quotients
from millpond_bench.tables.page_tables import Entry
from millpond_bench.tables.quantities import Quantity, quantity_of, text_of

_BYTES = "peak_bytes"
Value = TypeVar("Value")
NOWHERE: Place = ((), "")


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

    @cached_property
    def quantity(self) -> Quantity:
        """The unit of all figures, published and ours, that are not shares of the baseline."""
        known = [value for of in (self._values, self._medians) for key, value in of.items() if not self._is_share(key)]
        return quantity_of(self.unit, known)

    def unit_of(self, key: Place) -> str:
        """The unit of an entry."""
        data = self.experiment.data
        return f"% of {data.alias(data.baseline) or data.baseline}" if self._is_share(key) else self.quantity.unit

    def our_interval(self, key: Place) -> tuple[float, float]:
        """The interval of our figure; of a share, by the baseline's median."""
        found, value, level = summarise(list(self.ours[key].values())), self._medians[key], self.our_level(key)
        scale = level / value if level is not None and value else 1.0
        return found.low * scale, found.high * scale

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
        if one is None:
            return None
        value = self._values.get(key)
        if self._is_share(key) or value is None or self.quantity.factor == 1:
            return Entry(one.printed)
        return Entry(self.quantity.text(value), f"{one.printed} {one.unit}")

    def here(self, key: Place) -> Entry | None:
        cell = self.cells.get(key)
        if cell is None:
            return None
        if key not in self.ours:
            why, status = self._results.why.get(cell, "not run"), self._results.failed.get(cell, "")
            return Entry(status.replace("_", " "), why)
        found = summarise(list(self.ours[key].values()))
        level = self.our_level(key)
        text, unit = self.quantity.text, f" {self.quantity.unit}" if self.quantity.factor else ""
        interval = f"{text(found.low)} to {text(found.high)}"
        title = f"{text(found.median)}{unit} ({interval}), {plural(found.n, 'round')}"
        return Entry(f"{100 * (level or 0.0):.0f}" if self._is_share(key) else text(found.median), title)

    def quotient(self, key: Place) -> Entry | None:
        value = self.to_published(key)
        return None if value is None else Entry(text_of(value))

    @cached_property
    def _peaks(self) -> dict[Place, Summary]:
        if self.experiment.data.figure.metric == _BYTES:
            return {}  # the figure itself
        found = {key: list(self._results.by_round(cell, _BYTES).values()) for key, cell in self.cells.items()}
        return {key: summarise(values) for key, values in found.items() if values}

    @cached_property
    def peak_quantity(self) -> Quantity:
        """The unit of all peaks."""
        return quantity_of("bytes", [found.median for found in self._peaks.values()])

    def held(self, key: Place) -> Entry | None:
        found, text = self._peaks.get(key), self.peak_quantity.text
        return None if found is None else Entry(text(found.median), f"{text(found.low)} to {text(found.high)}")


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
