# SPDX-License-Identifier: BSL-1.0
"""What bench-library says of arrays beside their time: bytes, pauses, the reservation's own cost, the steps.

push_back*          peak           resident bytes of dyn_array against its elements alone
push_back_pauses    longest_pause  dyn_array's against std::vector's; a control's that never grows is subtracted
small_array_*       construction   what a fresh reservation costs, and its end; nothing is held against it
commit_steps        commit_step    nanoseconds an element for each size of the step
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from millpond.bench.library.lines import Line, Rounds, label, size_text
from millpond.cells.cell import Cell
from millpond.statistics.order_statistics import summarise

ELEMENT_BYTES = 4
OURS, CONTROL, PEER = "dyn_array", "reserved", "vector"
PEAK, PAUSE, CONSTRUCTION, STEP = "peak", "longest_pause", "construction", "commit_step"


def array_lines(benchmark: str, parameters: Mapping[str, str], cells: Mapping[str, Cell], rounds: Rounds) -> list[Line]:
    """The lines of one point; none where dyn_array does not run there."""
    ours = cells.get(OURS)
    if ours is None:
        return []
    known = {"ours_name": OURS, "note": rounds.failed.get(ours, "")}
    if benchmark == "push_back_pauses":
        found = [(PAUSE, "ns", _pauses(cells, rounds))]
    elif benchmark.startswith("push_back"):
        found = [(PEAK, "bytes", _peak(int(parameters["size"]) * ELEMENT_BYTES, ours, rounds))]
    elif benchmark == "commit_steps":
        return _steps(benchmark, parameters, ours, rounds, known)
    else:
        found = [(CONSTRUCTION, "ns an array", _construction(ours, rounds))]
    where = label(benchmark, parameters)
    return [Line(where, benchmark, parameters, name, unit, **{**known, **more}) for name, unit, more in found]


def _peak(payload: int, ours: Cell, rounds: Rounds) -> dict[str, Any]:
    ratios = [value / payload for value in rounds.by_round(ours, "resident_bytes").values()]
    return {
        "ours": rounds.median(ours, "resident_bytes"),
        "best_peer_name": "payload",
        "best_peer": float(payload),
        "to_peer": summarise(ratios) if ratios else None,
    }


def _pauses(cells: Mapping[str, Cell], rounds: Rounds) -> dict[str, Any]:
    """Medians over the rounds first: a run's longest pause is as often the system's as the array's."""
    medians = {name: rounds.median(cells[name], "pause_ns") for name in (OURS, CONTROL, PEER) if name in cells}
    control = medians.get(CONTROL)
    own, peer = (
        max(0.0, m - control) if (m := medians.get(name)) is not None and control is not None else None
        for name in (OURS, PEER)
    )
    return {
        "ours": own, "best_peer_name": PEER if PEER in cells else "", "best_peer": peer,
        "ideal_name": CONTROL if CONTROL in cells else "", "ideal": control,
        "to_peer": summarise([own / peer]) if own is not None and peer else None,
    }  # fmt: skip


def _construction(ours: Cell, rounds: Rounds) -> dict[str, Any]:
    ends = [rounds.median(ours, metric) for metric in ("before_ns", "after_ns")]
    return {"ours": sum(e for e in ends if e is not None) if any(e is not None for e in ends) else None}


def _steps(
    benchmark: str, parameters: Mapping[str, str], ours: Cell, rounds: Rounds, known: Mapping[str, Any]
) -> list[Line]:
    steps = sorted(int(m.partition(":")[2]) for m in rounds.values.get(ours, {}) if m.startswith("step_ns:"))
    return [
        Line(f"{benchmark} {size_text(step)} B", benchmark, {**parameters, "step": str(step)}, STEP, "ns an element",
             ours=rounds.median(ours, f"step_ns:{step}"), **known)
        for step in steps
    ]  # fmt: skip
