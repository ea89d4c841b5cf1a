# SPDX-License-Identifier: BSL-1.0
"""What bench-library says of blocks of one size: times of slots, bytes held by them, sets of numbers.

slots               slots_allocate        against the best peer
                    slots_returned_*      frees, and odd ones with their return, against the best peer that gives back
                                          more than half of what it had when everything is freed; where none does,
                                          against the one that has least left
                    slots_kept_*          frees against the best that keeps it
                    slots_full, _freed    resident bytes against those of the numbers alone
slots_sparse        slots_sparse          resident bytes against the pages that the live slots touch
slots_pairs         slots_pair            a pair against multipool's with 1000 live slots, in the same process
set_of_numbers      set_*                 inserts, traversal, against the best peer; bytes an element
instructions_slots  instructions_of_pairs of the most live slots against those of the fewest
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from millpond.bench.library.lines import Line, Rounds, label
from millpond.cells.cell import Cell
from millpond.statistics.order_statistics import Summary, summarise

SLOT_BYTES = 8
SLOTS = ("slots", "slots_sparse", "slots_pairs", "set_of_numbers")
COUNTED_PAIRS = "instructions_slots"
POOL, SET = "compact_pool", "suballocator"
# The operations of `slots`, by the metric that has their time.
FREES = {"before_ns": "last_first", "after_ns": "first_last", "warm_ns": "odd_and_back"}
ALLOCATE, FULL, FREED, SPARSE, PAIR = "slots_allocate", "slots_full", "slots_freed", "slots_sparse", "slots_pair"
INSERTS, TRAVERSAL, ELEMENT = "set_inserts", "set_traversal", "set_element_bytes"
RETURNED, KEPT = "slots_returned_", "slots_kept_"


def slot_lines(
    benchmark: str, parameters: Mapping[str, str], cells: Mapping[str, Cell], peers: Sequence[Cell], rounds: Rounds
) -> list[Line]:
    """The lines of one point; none where our contender does not run there."""
    ours = cells.get(SET if benchmark == "set_of_numbers" else POOL)
    if ours is None:
        return []
    size = int(parameters["size"])
    note = rounds.failed.get(ours, "")
    known = {"ours_name": ours.contender.name, "note": note}
    against = _Against(ours, rounds)
    if benchmark == "slots":
        found = _slots(against, peers, size * SLOT_BYTES)
    elif benchmark == "slots_sparse":
        found = [(SPARSE, "bytes", against.itself("left_bytes", "touched_bytes", "pages of live slots"))]
    elif benchmark == "slots_pairs":
        found = [(PAIR, "ns a pair", against.itself("after_ns", "before_ns", "multipool, 1000 live"))]
    else:
        found = [
            (INSERTS, "ns an element", against.best(peers, "cold_ns")),
            (TRAVERSAL, "ns an element", against.best(peers, "after_ns")),
            (ELEMENT, "bytes an element", against.number("resident_bytes", size)),
        ]
    where = label(benchmark, parameters)
    return [Line(where, benchmark, parameters, name, unit, **{**known, **more}) for name, unit, more in found]


def _slots(against: _Against, peers: Sequence[Cell], payload: int) -> list[tuple[str, str, dict[str, Any]]]:
    found = [(ALLOCATE, "ns a slot", against.best(peers, "cold_ns"))]
    returning = [p for p in peers if against.gives_back(p)] or against.leanest(peers)
    keeping = [p for p in peers if p not in returning]
    for metric, name in FREES.items():
        found.append((RETURNED + name, "ns a slot", against.best(returning, metric)))
        if metric != "warm_ns":
            found.append((KEPT + name, "ns a slot", against.best(keeping, metric)))
    found.append((FULL, "bytes", against.payload("resident_bytes", payload)))
    found.append((FREED, "bytes", against.payload("left_bytes", payload)))
    return found


class _Against:
    """One cell of ours, and what its values are held against."""

    def __init__(self, ours: Cell, rounds: Rounds) -> None:
        self._ours = ours
        self._rounds = rounds

    def best(self, peers: Iterable[Cell], metric: str) -> dict[str, Any]:
        rounds = self._rounds
        peer = rounds.least(peers, metric)
        return {
            "ours": rounds.median(self._ours, metric),
            "best_peer_name": peer.contender.name if peer else "",
            "best_peer": rounds.median(peer, metric) if peer else None,
            "to_peer": rounds.ratio(self._ours, peer, metric),
        }

    def itself(self, metric: str, other: str, name: str) -> dict[str, Any]:
        """One metric of ours against another one of the same process."""
        rounds = self._rounds
        return {
            "ours": rounds.median(self._ours, metric),
            "best_peer_name": name,
            "best_peer": rounds.median(self._ours, other),
            "to_peer": rounds.ratio(self._ours, self._ours, metric, other),
        }

    def payload(self, metric: str, payload: int) -> dict[str, Any]:
        return {**self.number(metric, payload), "ours": self._rounds.median(self._ours, metric),
                "best_peer_name": "payload", "best_peer": float(payload)}  # fmt: skip

    def number(self, metric: str, divisor: int) -> dict[str, Any]:
        values = [value / divisor for value in self._rounds.by_round(self._ours, metric).values()]
        figure = summarise(values) if values else None
        return {"ours": figure.median if figure else None, "to_peer": figure}

    def gives_back(self, peer: Cell) -> bool:
        full, left = (self._rounds.median(peer, metric) for metric in ("resident_bytes", "left_bytes"))
        return full is not None and left is not None and left < full / 2

    def leanest(self, peers: Sequence[Cell]) -> list[Cell]:
        """Or a bar that no peer can be held to would hold: mallocs that give memory back do it later, by a clock."""
        peer = self._rounds.least(peers, "left_bytes")
        return [peer] if peer else []


def growth_of_instructions(cells: Sequence[Cell], rounds: Rounds) -> Summary | None:
    """Instructions of a pair with the most live slots against those with the fewest; None where not both were asked."""
    counts = {
        int(dict(cell.parameters)["size"]): rounds.median(cell, "instructions")
        for cell in cells
        if cell.subject.words[0] == COUNTED_PAIRS
    }
    first, last = (counts[pick(counts)] for pick in (min, max)) if len(counts) > 1 else (None, None)
    return summarise([last / first]) if first and last is not None else None


def is_of(*comparisons: str) -> Callable[[Line], bool]:
    return lambda line: line.comparison in comparisons
