# SPDX-License-Identifier: BSL-1.0
"""The weights of a program's subsystems in a fleet: what is tried first is what matters to all processes, not only to
the recorded one.

    Fleet ──of(build-id)──▶ FleetWeights ──in_order──▶ the plans of the subsystems with the largest share first
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from millpond.cells.plans import Plan
from millpond.rounds.characterisation import ProcessFacts
from millpond.rounds.fleet_data import Fleet
from millpond.system.errors import Failure, Status
from millpond.system.wording import list_text, plural

# A subsystem of the fleet without a plan is told from this share on.
_TOLD_SHARE = 0.05
_TOLD_AT_MOST = 4
_BUILDS_AT_MOST = 3


@dataclass(frozen=True)
class FleetWeights:
    """The share of each subsystem in the events or the bytes of a fleet's processes of one build, the larger one."""

    processes: int
    shares: Mapping[str, float]

    @classmethod
    def of(cls, fleet: Fleet, process: ProcessFacts) -> FleetWeights:
        """Returns the weights for the build of a process. Failure (status 3) if the fleet has no process of it."""
        for build in fleet.builds:
            if build.build_id and build.build_id == process.build_id:
                return cls(len(build.processes), {s.name: s.share for s in build.subsystems})
        known = [f"{build.name} {build.build_id or 'without a build-id'}" for build in fleet.builds[:_BUILDS_AT_MOST]]
        more = len(fleet.builds) - len(known)
        known += [f"{more} more"] if more > 0 else []
        raise Failure(
            Status.INPUT,
            f"the fleet has no process of this build of {process.executable or 'the program'} (build-id "
            f"{process.build_id or 'unknown'}), only of {list_text(known) or 'none'}: advise on the build that the "
            "traces are of, or record traces of this one",
        )

    def in_order(self, plans: Sequence[Plan]) -> list[Plan]:
        """Returns the plans, those of the subsystems with the largest share first; plans of equal weight keep their
        order.
        """
        return sorted(plans, key=lambda plan: -self._weight(plan))

    def _weight(self, plan: Plan) -> float:
        names = {name for route in plan.routes for name in (route.pool, *route.subsystems)}
        return max((self.shares.get(name, 0.0) for name in names), default=0.0)

    def notes(self, planned: Collection[str]) -> tuple[str, ...]:
        """Returns a sentence on the order of the trials, and one on large subsystems of the fleet that have no plan.

        `planned`: the subsystems for which this recording gives plans.
        """
        order = f"the order of the trials follows the shares of {plural(self.processes, 'process')} of the fleet"
        missing = [
            f"{name} ({100 * share:.0f} %)"
            for name, share in sorted(self.shares.items(), key=lambda pair: -pair[1])
            if share >= _TOLD_SHARE and name not in planned
        ]
        if not missing:
            return (order,)
        more = len(missing) - _TOLD_AT_MOST
        named = [*missing[:_TOLD_AT_MOST], *([f"{more} more"] if more > 0 else [])]
        return order, (
            f"of the fleet's large subsystems, {list_text(named)} had no plan to try: too small a part of this "
            "recording, or code that cannot have a pool; an input that uses them more would tell"
        )
