# SPDX-License-Identifier: BSL-1.0
"""Adds a captured run to an advice: its facts, its cost, and the counted D and L of each subsystem."""

from __future__ import annotations

from dataclasses import replace as with_values

from msgspec.structs import replace

from millpond.advice.advice_data import CapturedReferences, CapturedSubsystem
from millpond.rounds.characterisation import Characterisation, Dimension, Subsystem
from millpond.rounds.reference_capture import CapturedRun

_LETTERS = ("D", "L")


def not_captured(why: str) -> CapturedReferences:
    """Returns an empty result with the reason."""
    return CapturedReferences(why_null=why)


def of_run(run: CapturedRun) -> CapturedReferences:
    """Returns the results of a captured run, the subsystems with most misses first."""
    known = [
        CapturedSubsystem(name=s.name, references=s.references) for s in run.characterisation.subsystems if s.references
    ]
    return CapturedReferences(
        capture_seconds=run.seconds,
        plain_seconds=run.plain_seconds,
        analysis_seconds=run.analysis_seconds,
        facts=run.characterisation.references,
        subsystems=tuple(sorted(known, key=lambda s: (-s.references.misses, -s.references.references))),
    )


def routable(run: CapturedRun, recorded: Characterisation) -> CapturedRun:
    """Returns the captured run without plans for subsystems that the recording lacks: no trial can route them."""
    own = {s.name for s in recorded.subsystems}
    return with_values(run, plans=tuple(plan for plan in run.plans if set(plan.subsystems) <= own))


def counted(recorded: Characterisation, captured: Characterisation) -> Characterisation:
    """Returns the recording's characterisation with D and L from the captured run, subsystem by subsystem.

    Keeps the inputs of the estimate of D, because the share of the CPU time comes from them.
    """
    found = {s.name: s for s in captured.subsystems}
    subsystems = [_with_counted(s, found[s.name]) if s.name in found else s for s in recorded.subsystems]
    return replace(recorded, subsystems=tuple(subsystems))


def _with_counted(recorded: Subsystem, captured: Subsystem) -> Subsystem:
    dvluc = dict(recorded.dvluc or {})
    for letter in _LETTERS:
        one = captured.dimension(letter)
        if one.kind == "counted" and one.value is not None:
            known = recorded.dimension(letter).absolute or {}
            dvluc[letter] = Dimension(one.value, one.kind, {**known, **(one.absolute or {})}, method=one.method)
    return replace(recorded, dvluc=dvluc, references=captured.references)
