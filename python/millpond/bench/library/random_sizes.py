# SPDX-License-Identifier: BSL-1.0
"""What bench-library says of blocks of random sizes: resident bytes against live bytes, of each contender.

random_sizes    held_by_NAME   ours, against the bytes that are live: a bar
                peer_NAME      each peer and each malloc: shown, no bar
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from millpond.bench.library.lines import Line, Rounds, label
from millpond.cells.cell import Cell

RANDOM_SIZES = "random_sizes"
HELD, PEER_HELD = "held_by_", "peer_"
_RESIDENT, _LIVE = "left_bytes", "touched_bytes"


def random_size_lines(
    parameters: Mapping[str, str], ours: Iterable[Cell], peers: Iterable[Cell], rounds: Rounds
) -> list[Line]:
    """A line for each contender of one point."""
    where = label(RANDOM_SIZES, parameters)

    def line(comparison: str, cell: Cell) -> Line:
        known: dict[str, Any] = {
            "ours_name": cell.contender.name,
            "ours": rounds.median(cell, _RESIDENT),
            "best_peer_name": "live bytes",
            "best_peer": rounds.median(cell, _LIVE),
            "to_peer": rounds.ratio(cell, cell, _RESIDENT, _LIVE),
            "note": rounds.failed.get(cell, ""),
        }
        return Line(where, RANDOM_SIZES, parameters, comparison + cell.contender.name, "bytes", **known)

    return [line(HELD, cell) for cell in ours] + [line(PEER_HELD, cell) for cell in peers]
