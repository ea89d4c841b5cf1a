# SPDX-License-Identifier: BSL-1.0
"""Uses of the heap that a change of the source avoids, and its growth over time, as millpond-characterise counts them.

LeftBlocks ─ LeftRow           blocks that are live when the trace ends
Temporaries ─ TemporaryRow     blocks that their own thread frees within a few events
Growth ─ GrowthRow             blocks that larger ones replace, as those of a vector without reserve
Trend ─ TrendRow               live bytes over the time of the trace, by subsystem

The others have the sums of the trace, and a row for each place in the source, those with most first.
"""

from __future__ import annotations

from msgspec import field

from millpond.system.records import NONE, NULL, Record


class PatternPlace(Record, frozen=True, kw_only=True):
    """A place that allocates. `file` is empty without debug information. `contexts`: the number of its call contexts;
    `stack`: the one with most, innermost first. `allocations`: all blocks of these contexts, realloc included.
    """

    subsystem: str
    function: str
    file: str = ""
    line: int = 0
    container: str | None = field(default_factory=NULL)
    contexts: int = 1
    allocations: int = 0
    stack: tuple[str, ...] = field(default_factory=NONE)


class LeftCounts(Record, frozen=True, kw_only=True):
    """Blocks that are live at the end. `quarters`: how many of them began in each quarter of the trace's events.
    `lost_objects`, `lost_bytes`: those that no pointer reached in a scan at the end (`--with scan`); null: no scan.
    """

    objects: int = 0
    bytes: int = 0
    quarters: tuple[int, int, int, int] = (0, 0, 0, 0)
    lost_objects: int | None = field(default_factory=NULL)
    lost_bytes: int | None = field(default_factory=NULL)


class LeftRow(LeftCounts, frozen=True, kw_only=True):
    """The blocks that a place left."""

    place: PatternPlace


class LeftBlocks(LeftCounts, frozen=True, kw_only=True):
    """All blocks that are live at the end. `contexts`: the number of contexts that left some."""

    contexts: int = 0
    rows: tuple[LeftRow, ...] = field(default_factory=NONE)


class TemporaryCounts(Record, frozen=True, kw_only=True):
    """Blocks that the allocating thread frees with fewer than `Temporaries.events` events of its own in between; those
    from realloc, and those that growth replaces, are not counted. `freed_next`: without an event in between.
    `fewer_than`: pairs of a number of events, and the blocks with fewer.
    """

    objects: int = 0
    bytes: int = 0
    freed_next: int = 0
    largest_bytes: int = 0
    fewer_than: tuple[tuple[int, int], ...] = field(default_factory=NONE)


class TemporaryRow(TemporaryCounts, frozen=True, kw_only=True):
    """The temporaries of a place."""

    place: PatternPlace


class Temporaries(TemporaryCounts, frozen=True, kw_only=True):
    """All temporaries. `contexts`: the number of contexts that have some."""

    events: int = 16
    contexts: int = 0
    rows: tuple[TemporaryRow, ...] = field(default_factory=NONE)


class GrowthCounts(Record, frozen=True, kw_only=True):
    """Chains of blocks, each of which a larger one replaces. A block of the final size, allocated at once, saves two
    events for each step, the `bytes` of the replaced blocks, and copies of at most `copied_bytes`.

    `resizes`: the steps by realloc; those in place copy nothing. `final_bytes`: of the last blocks of all chains
    together. `not_larger`: replacements by a block that is not larger.
    """

    chains: int = 0
    steps: int = 0
    resizes: int = 0
    bytes: int = 0
    copied_bytes: int = 0
    first_bytes_min: int = 0
    final_bytes_min: int = 0
    final_bytes_max: int = 0
    final_bytes: int = 0
    not_larger: int = 0


class GrowthRow(GrowthCounts, frozen=True, kw_only=True):
    """The growth at a place."""

    place: PatternPlace


class Growth(GrowthCounts, frozen=True, kw_only=True):
    """All growth, of contexts that have three times as many steps as other replacements."""

    contexts: int = 0
    rows: tuple[GrowthRow, ...] = field(default_factory=NONE)


class TrendRate(Record, frozen=True, kw_only=True):
    """The slope of the least-squares line through live bytes, and the ends of its 95 % interval: the error of a sample,
    and ups and downs that last for at most a tenth of the trace (lab/characterise/live_trend.hpp has the method).
    """

    bytes_per_minute: float = 0.0
    interval: tuple[float, float] = (0.0, 0.0)


class TrendRow(TrendRate, frozen=True, kw_only=True):
    """The trend of a subsystem."""

    subsystem: str


class Trend(TrendRate, frozen=True, kw_only=True):
    """The trend of all live bytes, and of the subsystems that change most. `why_null`: the reason why the trace tells
    none; then all else is empty.
    """

    why_null: str | None = field(default_factory=NULL)
    minutes: float = 0.0
    rows: tuple[TrendRow, ...] = field(default_factory=NONE)
