# SPDX-License-Identifier: BSL-1.0
"""Writes the values of a table in units for a reader: one unit for all if they lie close together, else each its own.

quantity_of("bytes", [1.07e9, 2.1e9])   heading "GB", cells 1.07 and 2.10
quantity_of("bytes", [4096, 1.07e9])    heading "bytes", cells 4.10 kB and 1.07 GB
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from millpond.system.wording import bytes_text, count_text, seconds_text

Kind = Literal["seconds", "bytes", "number"]
_UNITS: dict[Kind, tuple[tuple[float, str], ...]] = {
    "seconds": ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")),
    "bytes": ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B")),
}
_NANO = 1e-9
_LEAST = 0.01  # the smallest value that two decimals show
_LARGE = 1e5  # numbers from here on are written with k, M or G


def text_of(value: float) -> str:
    """About three digits, and no exponent."""
    for least, form in ((99.95, ".0f"), (9.995, ".1f"), (0.0995, ".2f")):
        if abs(value) >= least:
            return format(value, form)
    return f"{value:.2g}" if abs(value) >= 1e-4 or value == 0 else f"{value:.1g}"


def short_text(value: float) -> str:
    """About three digits; large numbers as `1.07 G`."""
    return count_text(value) if abs(value) >= _LARGE else text_of(value)


def kind_of(unit: str) -> tuple[Kind, float]:
    """The kind of a unit, and the factor from it to seconds or bytes."""
    if unit == "ns":
        return "seconds", _NANO
    return ("seconds" if unit.startswith("seconds") else "bytes" if unit == "bytes" else "number"), 1.0


@dataclass(frozen=True)
class Quantity:
    """The unit of a table's values, for headings, and their text. `factor`: 0 if each value has a unit of its own."""

    unit: str
    factor: float
    own_text: Callable[[float], str]

    def text(self, value: float) -> str:
        """A value as text, without the unit of the heading."""
        return text_of(value / self.factor) if self.factor else self.own_text(value)


def quantity_of(unit: str, values: Iterable[float]) -> Quantity:
    """The quantity of values in `unit`. O(values)."""
    kind, to_base = kind_of(unit)
    if kind == "number":
        return Quantity(unit.replace("_", " ") or "count", 0, short_text)
    of_what = unit.removeprefix("seconds") if kind == "seconds" and unit != "ns" else ""
    sizes = [abs(value) * to_base for value in values if value]
    most, least = max(sizes, default=to_base), min(sizes, default=to_base)
    size, name = next(((size, name) for size, name in _UNITS[kind] if most >= size), _UNITS[kind][-1])
    if least / size >= _LEAST:
        return Quantity(name + of_what, size / to_base, short_text)
    own = bytes_text if kind == "bytes" else seconds_text
    return Quantity(kind + of_what, 0, lambda value: own(value * to_base))
