# SPDX-License-Identifier: BSL-1.0
"""Page faults of memories of all sizes, from the LRU distances of a program's pages (section 4.1 of Grunwald 1993)."""

from __future__ import annotations

import math
from collections.abc import Mapping

from millpond.rounds.simulation_data import Simulator
from millpond.system.model_page import MODEL_PAGE_BYTES

# Memories whose page faults are counted: powers of two and the middle between them.
MEMORIES_KIBIBYTES = tuple(sorted({2**i for i in range(6, 17)} | {3 * 2**i for i in range(5, 15)}))
# Faults between these shares of all touched pages make the slope.
_SLOPE_FROM, _SLOPE_TO = 1 / 8, 7 / 8


def faults_of(simulators: tuple[Simulator, ...]) -> Mapping[str, float]:
    """Page faults of memories, first touches among them, and the steepness of their rise if memory is short.

    Empty if no distances were simulated.
    """
    pages = next((one for one in simulators if one.kind == "distances"), None)
    if pages is None:
        return {}
    distinct = pages.count("distinct")
    found: dict[str, float] = {"pages": distinct}
    for size in MEMORIES_KIBIBYTES:
        found[f"faults_{size}"] = _faults(pages, size * 1024 // MODEL_PAGE_BYTES)
    slope = fault_slope({room: _faults(pages, room) for room in _rooms(distinct)})
    return found if slope is None else {**found, "fault_slope": slope}


def _faults(pages: Simulator, room: int) -> int:
    """The faults of a memory with room for so many pages: references beyond this LRU distance, and first touches."""
    return pages.count("cold") + sum(count for distance, count in pages.curve if distance >= room)


def _rooms(distinct: int) -> list[int]:
    """Sixteen memories between an eighth and seven eighths of the touched pages, evenly on a logarithmic axis."""
    low, high = max(1.0, _SLOPE_FROM * distinct), max(1.0, _SLOPE_TO * distinct)
    return sorted({round(low * (high / low) ** (i / 15)) for i in range(16)})


def fault_slope(faults: Mapping[int, int]) -> float | None:
    """The resiliency of section 4.1 as a number: −d ln(faults) / d ln(memory), by least squares; None without a spread.

    2: with half the memory, four times the faults. A smaller number degrades less where memory is short.
    """
    points = [(math.log(room), math.log(count)) for room, count in faults.items() if count > 0]
    if len(points) < 2:
        return None
    x_mean = sum(x for x, _ in points) / len(points)
    y_mean = sum(y for _, y in points) / len(points)
    spread = sum((x - x_mean) ** 2 for x, _ in points)
    return -sum((x - x_mean) * (y - y_mean) for x, y in points) / spread if spread else None
