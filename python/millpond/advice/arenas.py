# SPDX-License-Identifier: BSL-1.0
"""What a row says of an arena: how its scope was seen to end, what capped it, and what winking it out would save."""

from __future__ import annotations

from millpond.advice.advice_data import Arena, Winking
from millpond.advice.findings import ArenaCounts, Findings
from millpond.advice.rows import Tried
from millpond.cells.plans import Route
from millpond.rounds.characterisation import Subsystem
from millpond.system.wording import bytes_text, count_text, plural, seconds_text


def arena_of(found: Findings, subsystem: Subsystem, tried: Tried | None) -> Arena | None:
    """What one run counted of the arena that was tried for the subsystem; None where a pool was tried, or nothing."""
    route = _arena_route(tried, subsystem)
    if route is None:
        return None
    counts = found.arenas.get(route.pool, ArenaCounts())
    return Arena(
        scope=route.scope.file if route.scope else None, observed=counts.calls > 0, calls=counts.calls,
        outlived_calls=counts.outlived_calls, resets=counts.resets, winking=_winking(subsystem),
    )  # fmt: skip


def arena_text(found: Findings, subsystem: Subsystem, tried: Tried | None) -> str:
    """The same as the end of a row's reason, or why an arena is not proposed."""
    text = _barred(found, subsystem)
    route = _arena_route(tried, subsystem)
    if route is None or route.scope is None:
        return text
    counts = found.arenas.get(route.pool, ArenaCounts())
    if not counts.may_be_proposed:
        return text
    if counts.calls:
        text += f"; {plural(counts.calls, 'call')} observed, each with its own arena"
    elif route.scope.kind == "function":
        text += "; its calls were not observed in the trial, so the arena was reset whenever nothing in it was alive"
    saved = _winking(subsystem)
    if saved.free_calls:
        seconds = f" ({seconds_text(saved.free_seconds)} in this run)" if saved.free_seconds is not None else ""
        text += (
            f"; winking out is predicted to save {count_text(saved.free_calls)} frees{seconds} and their destructors"
        )
    return text


def _arena_route(tried: Tried | None, subsystem: Subsystem) -> Route | None:
    """The arena of the plan that was tried for a subsystem."""
    routes = tried.plan.arenas if tried else ()
    return next((r for r in routes if subsystem.name in r.subsystems), None)


def _winking(subsystem: Subsystem) -> Winking:
    return Winking(free_calls=subsystem.frees or 0, free_seconds=subsystem.free_seconds)


def _barred(found: Findings, subsystem: Subsystem) -> str:
    """Why an arena, or a pool for each instance, is not proposed: what it would have held, or calls ended too early."""
    for route in (r for plan in found.candidates for r in plan.special):
        counts = found.arenas.get(route.pool, ArenaCounts())
        if counts.may_be_proposed or subsystem.name not in route.subsystems:
            continue
        why = (
            f"it would have held {bytes_text(counts.held_bytes)} for {bytes_text(counts.live_bytes)} alive in it"
            if counts.capped
            else f"{count_text(counts.outlived_calls)} of {plural(counts.calls, 'call')} ended before all their objects"
        )
        kept = _kept_by(subsystem) if route.scope else ""
        return f"; {route.own} is not proposed: {why}{kept}"
    return ""


def _kept_by(subsystem: Subsystem) -> str:
    """The objects that keep an arena from being reset: those that outlive the scope that most others do not."""
    scopes = [(s.outliving, s) for s in subsystem.legality if s.outliving and s.witnesses]
    if not scopes:
        return ""
    outliving, scope = min(scopes, key=lambda pair: pair[0])
    witness = scope.witnesses[0]
    return (
        f", kept by {plural(outliving, 'object')} that outlive {scope.words}, such as {bytes_text(witness.bytes)} from "
        f"{' ← '.join(witness.stack[:3])}"
    )
