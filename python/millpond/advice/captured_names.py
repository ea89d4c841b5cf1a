# SPDX-License-Identifier: BSL-1.0
"""Names of subsystems in a captured run and in the recording of the same program.

A function without a name is called by its module's file: `libxml2.so.2!f9@BUILD-ID` where the dynamic linker names it,
`libxml2.so.2.9.14!f9@BUILD-ID` where the capturing tool follows the link. What stands behind the "!" is the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace as with_values

from msgspec.structs import replace

from millpond.cells.plans import Plan
from millpond.rounds.characterisation import Characterisation
from millpond.rounds.reference_capture import CapturedRun


def _nameless(name: str) -> str | None:
    """`f9@BUILD-ID` of a function without a name; None for any other."""
    _, mark, rest = name.partition("!")
    return rest if mark and "@" in rest else None


def names_between(one: Iterable[str], other: Iterable[str]) -> dict[str, str]:
    """The names of `one` that are others in `other`, and what they are there."""
    known = {key: name for name in other if (key := _nameless(name))}
    found = {name: known[key] for name in one if (key := _nameless(name)) and key in known}
    return {name: there for name, there in found.items() if name != there}


def as_in_recording(run: CapturedRun, recorded: Characterisation) -> tuple[CapturedRun, dict[str, str]]:
    """The captured run with the recording's names, and for each of these that differs its name in the captured run.

    Plans that name a subsystem which the recording does not have are left out, for no trial could route it.
    """
    captured = run.characterisation
    own = [s.name for s in recorded.subsystems]
    names = names_between((s.name for s in captured.subsystems), own)
    subsystems = tuple(replace(s, name=names.get(s.name, s.name)) for s in captured.subsystems)
    facts = captured.references
    if facts is not None and facts.affinity is not None:
        rows = tuple(replace(row, name=names.get(row.name, row.name)) for row in facts.affinity.rows)
        facts = replace(facts, affinity=replace(facts.affinity, rows=rows))
    plans = (renamed(plan, names) for plan in run.plans)
    known = with_values(
        run, characterisation=replace(captured, subsystems=subsystems, references=facts),
        plans=tuple(plan for plan in plans if set(plan.subsystems) <= set(own)),
    )  # fmt: skip
    return known, {there: name for name, there in names.items()}


def renamed(plan: Plan, names: Mapping[str, str]) -> Plan:
    """The plan with its subsystems, and the pools that are called as one, under other names."""
    routes = tuple(
        replace(r, subsystems=tuple(names.get(s, s) for s in r.subsystems), pool=names.get(r.pool, r.pool))
        for r in plan.routes
    )
    return with_values(plan, routes=routes)
