# SPDX-License-Identifier: BSL-1.0
"""Conditions of a gate: `peak_bytes > +5%`, `cpu_seconds > +20ms`, `page_faults > +1000`.

METRIC   >  +LIMIT    breached by an increase beyond LIMIT
METRIC   <  -LIMIT    breached by a decrease beyond LIMIT
         LIMIT: N%, or N with a unit of the metric: B kB MB GB KiB MiB GiB, s ms us ns, none for counts
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from millpond.statistics.order_statistics import MINIMUM_EFFECT
from millpond.statistics.unpaired import UnpairedChange
from millpond.system.errors import Failure, Status
from millpond.system.wording import bytes_text, count_text, percent_text, seconds_text

_SHAPE = re.compile(r"\s*((?:new )?\w+)\s*([<>])\s*([+-]?)\s*(\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)\s*([%A-Za-zµ]*)\s*")
_SCALES = {
    "bytes": {"B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30},
    "seconds": {"s": 1, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9},
}
_USAGE = 'a condition looks like "peak_bytes > +5%", "cpu_seconds > +20ms" or "page_faults > +1000"'


@dataclass(frozen=True)
class Condition:
    """One limit for the change of one metric. `limit` is signed; a share of the old value if `unit` is "%"."""

    text: str
    metric: str
    increase: bool
    limit: float
    unit: str

    def limit_in(self, unit: str) -> float:
        """The limit as a share (for "%"), or in the metric's own unit. Failure (status 2) for a unit of another
        quantity.
        """
        if self.unit == "%":
            return self.limit / 100.0
        scales = _SCALES.get(unit, {"": 1.0})
        if self.unit not in scales:
            known = ", ".join(["%", *(scales if unit in _SCALES else [])])
            bare = "" if unit in _SCALES else ", or a number without a unit"
            what = f"{self.unit!r} is not a unit of it" if self.unit else "the limit needs a unit"
            raise Failure(Status.USAGE, f"--fail-if {self.text!r}: {self.metric} is in {unit}; {what} ({known}{bare})")
        return self.limit * scales[self.unit]

    def breached_by(self, found: UnpairedChange, unit: str) -> bool:
        """True if the change is more than noise, in the direction of the condition, and beyond its limit."""
        if found.verdict != ("worse" if self.increase else "better"):
            return False
        limit = self.limit_in(unit)
        amount = _amount(found, relative=self.unit == "%")
        return amount > limit if self.increase else amount < limit

    @property
    def below_noise(self) -> bool:
        """True if the limit is smaller than the least change of a measured value that stands out from noise."""
        return self.unit == "%" and abs(self.limit) < 100.0 * MINIMUM_EFFECT

    def limit_text(self) -> str:
        sign = "+" if self.increase else "-"
        return f"{sign}{abs(self.limit):g}{' %' if self.unit == '%' else self.unit and f' {self.unit}'}"


def _amount(found: UnpairedChange, *, relative: bool) -> float:
    if not relative:
        return found.difference.median
    if found.ratio is not None:
        return found.ratio.median - 1.0
    # A change from zero to anything exceeds every share of zero.
    before, more = found.a.median, found.difference.median
    return more / before if before > 0 else float("inf") * (1 if more > 0 else -1)


def parse(text: str) -> Condition:
    """The condition in `text`. Failure (status 2) that names the error."""
    match = _SHAPE.fullmatch(text)
    if match is None:
        raise Failure(Status.USAGE, f"--fail-if {text!r} is not a condition; {_USAGE}")
    metric, relation, sign, number, unit = match.groups()
    increase = relation == ">"
    if sign and (sign == "+") != increase:
        meant = f"{metric} {'<' if increase else '>'} {sign}{number}{unit}"
        raise Failure(Status.USAGE, f"--fail-if {text!r} would be breached without any change; did you mean {meant!r}?")
    if not sign and not increase and float(number) != 0.0:
        raise Failure(Status.USAGE, f"--fail-if {text!r}: write a decrease as {metric} < -{number}{unit}")
    limit = float(number)
    return Condition(text.strip(), metric, increase, limit if increase else -limit, unit)


def value_text(value: float, unit: str) -> str:
    """A value of an observation with its unit."""
    if unit == "seconds":
        return seconds_text(value)
    if unit == "bytes":
        return bytes_text(value)
    return f"{value:.3g}" if unit in ("share", "ratio") else count_text(value)


def change_text(found: UnpairedChange, unit: str) -> str:
    """`12.3 MB → 13.5 MB, +9.8 % (+9.1 % to +10.2 %)`."""
    before, after = value_text(found.a.median, unit), value_text(found.b.median, unit)
    if found.a.median == found.b.median and found.exact:
        return f"{after}, unchanged"
    if found.ratio is None:
        low, high = value_text(found.difference.low, unit), value_text(found.difference.high, unit)
        return f"{before} → {after} ({low} to {high} more)"
    change = percent_text(found.ratio.median)
    if found.exact:
        return f"{before} → {after}, {change} (counted)"
    return f"{before} → {after}, {change} ({percent_text(found.ratio.low)} to {percent_text(found.ratio.high)})"
