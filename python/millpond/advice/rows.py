# SPDX-License-Identifier: BSL-1.0
"""A row for each subsystem: what it is, what is legal there, what was tried, what that saved, and the reason."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from millpond.advice.advice_data import NOTHING, Estimate, Row, change_of
from millpond.advice.container_words import mostly
from millpond.advice.effects import saves_memory, saves_time
from millpond.cells.plans import OWN_POOL, Plan
from millpond.rounds.characterisation import NOT_DISPROVED, OUTERMOST, ScopeLegality, Subsystem, SubsystemFacts
from millpond.statistics.order_statistics import Comparison
from millpond.system.wording import count_text, percent_text, plural, seconds_text


@dataclass(frozen=True)
class Tried:
    """A pool of its own for one subsystem: the plan, and what it gives net against the program as it is, by metric.

    `judged`: on fresh rounds, so that it may be advised; otherwise the comparison only served to choose.
    """

    plan: Plan
    comparisons: Mapping[str, Comparison]
    evidence: list[str]
    judged: bool

    def pays(self) -> bool:
        """Advised: faster beyond the noise on fresh rounds, or smaller beyond the noise and not slower."""
        return self.judged and (saves_time(self.comparisons) or saves_memory(self.comparisons))


def saved_by(comparison: Comparison | None) -> Estimate:
    """What a comparison saves; n = 0 where nothing was measured."""
    return Estimate.of(comparison.saved if comparison else None)


def legality_text(scopes: Sequence[ScopeLegality]) -> str:
    """Where an arena could be owned, in a few words. Only what was observed is called legal."""
    if not scopes:
        return "unknown"
    if legal := [s for s in scopes if s.legal]:
        return "legal: " + ", ".join(s.words for s in legal[:2]) + (" …" if len(legal) > 2 else "")
    if outermost := [s for s in scopes if s.legality == OUTERMOST]:
        return f"{OUTERMOST}: {outermost[0].words}"
    if unknown := [s for s in scopes if s.legality == NOT_DISPROVED]:
        return f"not disproved, not observed: {unknown[0].words}"
    fewest = min(scopes, key=lambda s: s.outliving or 0)
    return f"illegal everywhere: ≥ {count_text(fewest.outliving)} outlive {fewest.words}"


def row(
    subsystem: Subsystem,
    tried: Tried | None,
    why_untried: str,
    counted: list[str],
    *,
    large: bool,
    advised: bool,
    in_plan: bool,
) -> Row:
    """The row of one subsystem, without its arena, its replay and its code.

    `large`: it was a candidate. `advised`: pools by subsystem pay at all (a plan that does not has no helpers).
    `in_plan`: the plan that was judged has a pool for it, so it is advised unless its own fresh rounds say no.
    """
    pays = advised and tried is not None and (tried.pays() or (in_plan and not tried.judged))
    comparisons: Mapping[str, Comparison] = tried.comparisons if tried else {}
    return Row(
        **{name: getattr(subsystem, name) for name in SubsystemFacts.__struct_fields__},
        best=_strategy(tried.plan, subsystem.name) if tried and pays else NOTHING,
        tried=own_allocator(tried.plan) if tried else None,
        plan=tried.plan.file if tried and pays else None,
        saves_cpu_seconds=saved_by(comparisons.get("cpu_seconds")),
        saves_bytes=saved_by(comparisons.get("peak_bytes")),
        cpu_ratio=change_of(comparisons["cpu_seconds"]) if "cpu_seconds" in comparisons else None,
        reason=_reason(tried, why_untried, advised, in_plan)
        + (_legal_note(subsystem.legality, pays, tried) if large else "")
        + (mostly(subsystem) if pays else ""),
        evidence=(*(tried.evidence if tried else ()), *counted),
    )


def _strategy(plan: Plan, subsystem: str) -> str:
    """By the route that names the subsystem."""
    return next((r.strategy for r in plan.routes if subsystem in r.subsystems), plan.routes[0].strategy)


def own_allocator(plan: Plan) -> str:
    """What a plan for one pool gives its subsystems, in words."""
    return plan.special[0].own if plan.special else OWN_POOL


def _reason(tried: Tried | None, why_untried: str, advised: bool, in_plan: bool) -> str:
    cpu = tried.comparisons.get("cpu_seconds") if tried else None
    if tried is None or cpu is None:
        return why_untried or "not tried: no round of it ended as the bare program does"
    change = f"{percent_text(cpu.ratio.median)} CPU ({percent_text(cpu.ratio.low)} to {percent_text(cpu.ratio.high)})"
    if (peak := tried.comparisons.get("peak_bytes")) is not None:
        change += f", {percent_text(peak.ratio.median)} peak memory"
    where = "" if tried.judged else " while choosing"
    own = own_allocator(tried.plan)
    if tried.pays() and advised:
        saved = cpu.saved
        if cpu.verdict != "better":
            return f"{own} makes the program smaller, and not slower: {change}"
        return f"{own} saves {seconds_text(saved.median)} of CPU: {change}, {cpu.ratio.n} fresh rounds"
    if advised and in_plan and not tried.judged:
        return f"part of the plan that fresh rounds have judged; alone it was measured while choosing: {change}"
    if tried.pays():
        return f"{own} gains ({change}), but no more than what is advised"
    if cpu.verdict == "worse":
        return f"{own} costs time{where}: {change}; objects that are used together are pulled apart"
    if cpu.verdict == "better":
        return f"{own} looked better{where} ({change}), but no fresh round has confirmed it"
    if not cpu.ratio.low <= 1.0 <= cpu.ratio.high:
        return f"not settled{where}: {own} gave {change} in {plural(cpu.ratio.n, 'round')}"
    return f"{own} changes nothing beyond the noise{where}: {change}, {cpu.ratio.n} rounds"


def _legal_note(scopes: Sequence[ScopeLegality], pays: bool, tried: Tried | None) -> str:
    """What the source could do beyond a pool that lives as long as the process."""
    is_arena = tried is not None and bool(tried.plan.arenas)
    if not scopes:
        return ""
    first = next((s for s in scopes if s.legal), None)
    if first is not None:
        return f"; an arena owned by {first.words} would be legal too" if pays and not is_arena else ""
    if any(s.legality in (NOT_DISPROVED, OUTERMOST) for s in scopes):
        return ""
    kept = "; only a pool that lives as long as the process is legal here" if pays else ""
    return f"; an allocator owned by any scope would be illegal: objects outlive every one of them{kept}"
