# SPDX-License-Identifier: BSL-1.0
"""Formats numbers and summaries for readers: three digits, a unit, an interval, a plain verdict."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from msgspec import UnsetType

_BYTES = ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"))
_COUNTS = ((1e9, "G"), (1e6, "M"), (1e3, "k"))
_SECONDS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))


def _digits(value: float) -> str:
    size = abs(value)
    return f"{value:.0f}" if size >= 99.95 else f"{value:.1f}" if size >= 9.995 else f"{value:.2f}"


def _scaled(value: float | None, units: tuple[tuple[float, str], ...], unscaled: str) -> str:
    """Uses the largest unit that the value reaches; below the smallest, a whole number followed by `unscaled`."""
    if value is None:
        return "–"
    for unit, name in units:
        if abs(value) >= unit:
            return f"{_digits(value / unit)} {name}"
    return f"{value:.0f}{unscaled}"


def bytes_text(value: float | None) -> str:
    """`12.3 MB` (powers of ten); a dash for an unknown value."""
    return _scaled(value, _BYTES, " B")


def count_text(value: float | None) -> str:
    """`1.20 M`."""
    return _scaled(value, _COUNTS, "")


def within_text(ends: tuple[float, float | None] | None, show: Callable[[float | None], str]) -> str:
    """`1.10 MB to 1.30 MB` for an interval, `above 3.10 ms` for one without an upper end; empty for none."""
    if ends is None:
        return ""
    return f"above {show(ends[0])}" if ends[1] is None else f"{show(ends[0])} to {show(ends[1])}"


def seconds_text(value: float | None) -> str:
    """`1.25 s`, `3.10 ms`, `12.0 ns`."""
    if value is None:
        return "–"
    for unit, name in _SECONDS:
        if abs(value) >= unit:
            return f"{_digits(value / unit)} {name}"
    return "0 s" if value == 0 else f"{_digits(value / 1e-9)} ns"


def share_text(value: float | None) -> str:
    """`0.312` for a value in [0, 1]; a dash for an unknown value."""
    return "–" if value is None else f"{value:.2f}"


def percent_text(ratio: float) -> str:
    """A ratio as the change that it means: `-12.3 %`."""
    return f"{100.0 * (ratio - 1.0):+.1f} %"


class SomeRounds(Protocol):
    """A part of the rounds, whose ratios lie together."""

    @property
    def rounds(self) -> int: ...
    @property
    def median(self) -> float: ...


class Interval(Protocol):
    """A median with its interval and a verdict; None and n = 0 if nothing was measured."""

    @property
    def n(self) -> int: ...
    @property
    def median(self) -> float | None: ...
    @property
    def low(self) -> float | None: ...
    @property
    def high(self) -> float | None: ...
    @property
    def verdict(self) -> str: ...
    @property
    def humps(self) -> Sequence[SomeRounds] | UnsetType: ...


def _figures(found: Interval | None) -> tuple[float, float, float] | None:
    """The median and both ends; None if nothing was measured."""
    if found is None or not found.n or found.median is None or found.low is None or found.high is None:
        return None
    return found.median, found.low, found.high


def interval_text(found: Interval | None) -> str:
    """`-14.0 % to -11.2 %` for a summary of ratios; one round has no interval."""
    figures = _figures(found)
    if found is not None and found.n == 1:
        return "one round"
    return f"{percent_text(figures[1])} to {percent_text(figures[2])}" if figures else "–"


def change_text(found: Interval | None) -> str:
    """`+12.3 % (+11.2 % to +14.0 %)`, without the verdict; `comes and goes: -53.0 % in 7 rounds, -2.3 % in 4`."""
    figures = _figures(found)
    if found is not None and not isinstance(found.humps, UnsetType) and found.humps:
        first, second = found.humps
        return (
            f"comes and goes: {percent_text(first.median)} in {plural(first.rounds, 'round')}, "
            f"{percent_text(second.median)} in {second.rounds}"
        )
    return f"{percent_text(figures[0])} ({interval_text(found)})" if figures else "–"


def effect_text(found: Interval | None) -> str:
    """`-12.3 % (-14.0 % to -11.2 %), better`."""
    figures = _figures(found)
    if found is None or figures is None:
        return "not measured"
    return f"{change_text(found)}, {found.verdict}"


def saved_text(found: Interval | None, unit: str) -> str:
    """`0.12 s (0.10 s to 0.14 s)`; no figure if the saving is within the noise (JSON has it)."""
    figures = _figures(found)
    if found is None or figures is None:
        return "–"
    median, low, high = figures
    if found.verdict not in ("better", "worse"):
        return found.verdict
    show = seconds_text if unit == "seconds" else bytes_text
    return f"{show(median)} ({show(low)} to {show(high)})"


def yes_or_no_text(truth: bool | None) -> str:
    """`yes`, `no`; a dash if unknown."""
    return "–" if truth is None else "yes" if truth else "no"


def list_text(names: list[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def plural(number: int, word: str) -> str:
    """`1 round`, `2 rounds`, `2 processes`."""
    ending = "" if number == 1 else "es" if word.endswith("s") else "s"
    return f"{number} {word}{ending}"
