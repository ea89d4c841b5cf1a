# SPDX-License-Identifier: BSL-1.0
"""The rounds behind a comparison, one ratio each, from the observations of a run.

    observations of a run ──▶ (stage, contender, metric) → {round: value} ──▶ of / against, paired within a round

A summary says what the rounds amount to; a reader who doubts it wants to see every one of them.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

_WITHOUT_LOOK_UP = " without look-up"  # how advice/effects.py names the contender that is computed and never ran


@dataclass(frozen=True)
class Ratio:
    """One round of a comparison. `stage` is choosing, combining or judging."""

    stage: str
    round: int
    value: float

    def to_json(self) -> dict[str, Any]:
        """As plain data."""
        return {"stage": self.stage, "round": self.round, "ratio": self.value}


class PairedRounds:
    """The measured rounds of one run. Building it is linear in the observations, a question linear in the rounds."""

    def __init__(self, observations: Iterable[Mapping[str, Any]] = ()) -> None:
        self._values: dict[tuple[str, str, str], dict[int, float]] = {}
        for row in observations:
            if row.get("status") != "ok" or row.get("value") is None or not row.get("round"):
                continue
            if not row.get("stage"):
                continue
            kind, name = str(row["contender_kind"]), str(row["contender"])
            label = f"{kind}:{name}" if kind in ("plan", "malloc") else name  # as cells/cell.py labels it
            key = (str(row["stage"]), label, str(row["metric"]))
            self._values.setdefault(key, {})[int(row["round"])] = float(row["value"])

    def __bool__(self) -> bool:
        return bool(self._values)

    def stages(self) -> list[str]:
        """The stages in the order in which they were run."""
        return list(dict.fromkeys(stage for stage, _, _ in self._values))

    def ratios(self, of: str, against: str, metric: str = "cpu_seconds") -> list[Ratio]:
        """Every round that has both contenders, stage by stage. Ratios need values above zero, as in `compare`."""
        found = []
        for stage in self.stages():
            left, right = self._contender(stage, of, metric), self._contender(stage, against, metric)
            for number in sorted(left.keys() & right.keys()):
                if left[number] > 0.0 and right[number] > 0.0:
                    found.append(Ratio(stage, number, left[number] / right[number]))
        return found

    def median(self, contender: str, metric: str) -> float | None:
        """The median over all stages of what a contender took; None where it never ran."""
        values = [v for stage in self.stages() for v in self._contender(stage, contender, metric).values()]
        return statistics.median(values) if values else None

    def _contender(self, stage: str, name: str, metric: str) -> dict[int, float]:
        if not name.endswith(_WITHOUT_LOOK_UP):
            return self._values.get((stage, name, metric), {})
        plan = self._contender(stage, name.removesuffix(_WITHOUT_LOOK_UP), metric)
        looked_up, bare = (self._contender(stage, control, metric) for control in ("looked_up", "bare"))
        rounds = plan.keys() & looked_up.keys() & bare.keys()
        return {n: plan[n] - looked_up[n] + bare[n] for n in rounds}
