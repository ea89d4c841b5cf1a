# SPDX-License-Identifier: BSL-1.0
"""The rounds behind a comparison, one ratio each, from the observations of a run. Includes computed contenders.

    observations of a run ──▶ (stage, contender, metric) → {round: value} ──▶ of / against, paired within a round

A summary condenses the rounds; with this a reader can check every one of them.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable

from msgspec import field

from millpond.cells.cell import ComputedContender
from millpond.cells.net_effect import net_rounds
from millpond.cells.plans import Plan
from millpond.store.observations import Observation
from millpond.system.records import Record


class Ratio(Record, frozen=True):
    """One round of a comparison. `stage` is choosing, combining or judging."""

    stage: str
    round: int
    value: float = field(name="ratio")


class PairedRounds:
    """The measured rounds of one run. Construction is linear in the observations, a query linear in the rounds."""

    def __init__(self, observations: Iterable[Observation] = ()) -> None:
        self._values: dict[tuple[str, str, str], dict[int, float]] = {}
        plans = set[tuple[str, str, str]]()
        for row in observations:
            if row.status != "ok" or row.value is None or not row.round or not row.stage:
                continue
            key = (row.stage, row.label, row.metric)
            self._values.setdefault(key, {})[row.round] = row.value
            if row.contender_kind == Plan.kind:
                plans.add(key)
        for stage, label, metric in plans:

            def rounds_of(role: str, metric: str, stage: str = stage, label: str = label) -> dict[int, float]:
                return self._contender(stage, label if role == "plan" else role, metric)

            net = net_rounds(rounds_of, metric)
            self._values.setdefault((stage, ComputedContender.without_look_up(label).label, metric), net)

    def __bool__(self) -> bool:
        return bool(self._values)

    def stages(self) -> list[str]:
        """Returns the stages in their order."""
        return list(dict.fromkeys(stage for stage, _, _ in self._values))

    def ratios(self, of: str, against: str, metric: str = "cpu_seconds") -> list[Ratio]:
        """Returns every round with both contenders, stage by stage. Ratios need values above zero, as in `compare`."""
        found = []
        for stage in self.stages():
            left, right = self._contender(stage, of, metric), self._contender(stage, against, metric)
            for number in sorted(left.keys() & right.keys()):
                if left[number] > 0.0 and right[number] > 0.0:
                    found.append(Ratio(stage, number, left[number] / right[number]))
        return found

    def median(self, contender: str, metric: str) -> float | None:
        """Returns the median of a contender's values over all stages; None if it never ran."""
        values = [v for stage in self.stages() for v in self._contender(stage, contender, metric).values()]
        return statistics.median(values) if values else None

    def _contender(self, stage: str, name: str, metric: str) -> dict[int, float]:
        return self._values.get((stage, name, metric), {})
