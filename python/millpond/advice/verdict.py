# SPDX-License-Identifier: BSL-1.0
"""The decision, and its sentence: which of the judged contenders is advised, for which purpose, and in which words.

*Do nothing* wins whenever nothing beats it beyond the noise. Every figure is against the program as it is. A plan,
which needs a change of the source, is advised only where it beats the best malloc of this machine, which needs none.
Too few rounds give no verdict.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from millpond.advice.advice_data import Option, Row, change_of
from millpond.advice.container_words import named_with_container
from millpond.advice.effects import NET, saves_memory, saves_time, verdict_of
from millpond.advice.findings import Findings
from millpond.cells.plan_file import REST, PlanRoute
from millpond.cells.plans import Plan
from millpond.rounds.characterisation import ALIVE_AT_END, NOT_DECIDED, NOT_DISPROVED, OUTERMOST
from millpond.rounds.fresh_process import describe
from millpond.rounds.mallocs import words_of
from millpond.rounds.schedule import VERDICT_ROUNDS
from millpond.statistics.order_statistics import Comparison
from millpond.system.wording import list_text, percent_text, plural, seconds_text, verdict_text

PLAN, MALLOC, NONE, UNDECIDED = "plan", "malloc", "nothing", "undecided"
# Where two were not compared in one family: by so much one has to be below the other.
_CLEARLY = 0.02
# Mallocs whose CPU is this close to the best are told apart by their memory.
_AS_FAST = 0.03
# A hundredth less CPU is worth a quarter of a hundredth more of the peak.
_PEAK_FOR_CPU = 0.25
# Less than this, in bytes or as a share of the peak, is no reason against a gain of CPU.
_FEW_BYTES = 4 << 20
_SMALL_SHARE = 0.02
# Nobody changes a source for less of the peak.
_WORTH_A_CHANGE = 0.02


@dataclass(frozen=True)
class Choice:
    """What is advised, or could have been: a plan, another malloc, or to leave the program as it is.

    `comparisons`: against the program as it is, by metric. `purpose`: what it is chosen for, CPU or memory.
    """

    kind: str
    name: str
    comparisons: Mapping[str, Comparison]
    command: str = ""
    purpose: str = ""

    def gain(self, metric: str) -> float:
        """The median ratio in one metric; 1 where it was not measured."""
        found = self.comparisons.get(metric)
        return found.median if found else 1.0

    @property
    def option(self) -> Option:
        """As it travels: both metrics as ratios."""
        cpu, peak = (self.comparisons.get(metric) for metric in ("cpu_seconds", "peak_bytes"))
        return Option(
            kind=self.kind, name=self.name, command=self.command or None, purpose=self.purpose or None,
            cpu=change_of(cpu) if cpu else None, peak=change_of(peak) if peak else None,
        )  # fmt: skip


def judged_choices(found: Findings) -> list[Choice]:
    """What fresh rounds have judged: the plan and the mallocs, the one with the least CPU first."""
    result = [
        Choice(MALLOC, name, comparisons, words_of(found.mallocs[name]))
        for name, comparisons in found.judged_mallocs.items()
    ]
    if found.chosen is not None and NET in found.effects:
        result.append(Choice(PLAN, found.chosen.name, found.effects[NET]))
    return sorted(result, key=lambda c: c.gain("cpu_seconds"))


def choice(found: Findings) -> Choice:
    """The best of what was judged. Time comes before memory; a plan has to beat the best malloc beyond the noise.

    A malloc needs no change of the source, so a plan that only equals it is not worth the work.
    """
    if found.why_no_trial or found.rounds < VERDICT_ROUNDS:
        return Choice(UNDECIDED, "", {})
    judged = judged_choices(found)
    for purpose, metric, saves in (("CPU", "cpu_seconds", saves_time), ("memory", "peak_bytes", saves_memory)):
        helping = sorted(
            (c for c in judged if saves(c.comparisons) and not too_large(c, found)), key=lambda c: c.gain(metric)
        )
        plan = next((c for c in helping if c.kind == PLAN), None)
        best = [c for c in helping if c.kind == MALLOC]
        if plan and best and not _beats(plan, best[0], metric, found):
            plan = None
        if plan and metric == "peak_bytes" and plan.gain(metric) > 1 - _WORTH_A_CHANGE:
            plan = None
        if advised := plan or _leanest(best, metric):
            return replace(advised, purpose=purpose)
    return Choice(UNDECIDED if unsettled(found) else NONE, "", {})


def too_large(choice: Choice, found: Findings) -> bool:
    """Whether it takes more memory, beyond the noise, than the CPU that it saves is worth, and not just a little."""
    more = choice.gain("peak_bytes") - 1
    if more < _SMALL_SHARE or more * found.whole.get("peak_bytes", math.inf) < _FEW_BYTES:
        return False
    allowed = 1 + _PEAK_FOR_CPU * max(0.0, 1 - choice.gain("cpu_seconds"))
    return verdict_of(choice.comparisons, "peak_bytes") == "worse" and choice.gain("peak_bytes") > allowed


def _beats(plan: Choice, malloc: Choice, metric: str, found: Findings) -> bool:
    """Whether a plan is better than the malloc that is best in `metric`; a leaner one would be too easy to beat."""
    beyond = found.plan_against_malloc.get(metric) if malloc.name == found.best_malloc else None
    return beyond.verdict == "better" if beyond else plan.gain(metric) < malloc.gain(metric) - _CLEARLY


def unsettled(found: Findings) -> list[Choice]:
    """What looks faster, its interval without *no change*, though too many were judged for that to be certain."""
    result = []
    for judged in judged_choices(found):
        cpu = judged.comparisons.get("cpu_seconds")
        if cpu and cpu.high < 1.0 and verdict_text(cpu) == "not settled":
            result.append(judged)
    return result


def _leanest(helping: Sequence[Choice], metric: str) -> Choice | None:
    """Of those that are as good as the best in `metric`, the one with the least memory."""
    if not helping:
        return None
    best = helping[0].gain(metric)
    return min((c for c in helping if c.gain(metric) <= best + _AS_FAST), key=lambda c: c.gain("peak_bytes"))


# Above so many times the bare program's CPU or memory, a trial's look-ups distort what they measure.
DISTORTED = 1.3


def sentence(found: Findings, rows: Sequence[Row]) -> str:
    """The verdict in words."""
    crash = ""
    if found.recording.signal:
        crash = f"The program {describe(found.recording.exit_status, found.recording.signal)}. "
    if not found.process.summary.trace.events:
        return f"{crash}Nothing to advise: the program has no heap events."
    if found.why_no_trial:
        return f"No verdict: {found.why_no_trial.removeprefix('not tried: ')}."
    if found.rounds < VERDICT_ROUNDS:
        return _not_enough(found)
    chosen = choice(found)
    measured = f"{plural(found.rounds, 'round')} against the program as it is"
    if chosen.kind == UNDECIDED:
        return f"{_not_settled(found)} ({measured}).{_doubts(found)}"
    if chosen.kind == NONE:
        return f"Do nothing: {_nothing_helps(found)} ({measured}).{_doubts(found)}"
    text = _advised(found, chosen, rows)
    others = [c for c in judged_choices(found) if c.name != chosen.name or c.kind != chosen.kind]
    if others:
        text += "; of the others, " + "; ".join(f"{_described(found, c)}: {_both(c.comparisons)}" for c in others)
    return f"{text} ({measured}).{_doubts(found)}"


def _doubts(found: Findings) -> str:
    """What qualifies a verdict, in sentences behind it."""
    return f"{_distortion(found)}{_unjudged(found)}{_untried(found)}"


def _advised(found: Findings, chosen: Choice, rows: Sequence[Row]) -> str:
    why = "" if chosen.purpose == "CPU" else "To save memory: "
    if chosen.kind == MALLOC:
        return f"{why}{chosen.command}: {_both(chosen.comparisons)}, without a change of the source"
    pools = pooled(found.chosen)
    confirmed = {r.name for r in rows if r.pays}
    silent = [name for name in pools if confirmed and name not in confirmed]
    overlap = _overlap(found)
    return f"{why}Give {_given(found)}: {_both(chosen.comparisons)}{_with_silent(silent)}{overlap}"


def _described(found: Findings, other: Choice) -> str:
    if other.kind == MALLOC:
        return other.command
    special = [r.own for r in found.chosen.special] if found.chosen else []
    pools = _in_pools(found.chosen)
    own = [f"{'pools' if len(pools) > 1 else 'a pool'} for {list_text(pools)}"] if pools else []
    own += [f"one pool for {list_text(list(names))}" for names in (found.chosen.sharing if found.chosen else ())]
    return list_text([*own, *special])


def _in_pools(plan: Plan | None) -> list[str]:
    """The subsystems that a plan gives pools of their own which live as long as the process."""
    own = [r for r in plan.routes if r not in plan.special and len(r.subsystems) == 1] if plan else []
    return [name for r in own for name in r.subsystems if name != REST]


def _named(found: Findings, subsystem: str) -> str:
    """A subsystem with the container that most of its bytes are for."""
    return named_with_container(subsystem, found.subsystems)


def _given(found: Findings) -> str:
    """What the advised plan gives to which subsystems."""
    pools = [_named(found, name) for name in _in_pools(found.chosen)]
    parts = [f"{list_text(pools)} {'a pool of its own' if len(pools) == 1 else 'a pool each'}"] if pools else []
    for shared in found.chosen.sharing if found.chosen else ():
        parts.append(f"{list_text([_named(found, name) for name in shared])} one pool together")
    for route in found.chosen.special if found.chosen else ():
        names = list_text([_named(found, name) for name in route.subsystems])
        parts.append(f"{names} {route.own}{_legality(found, route) if route.scope else ''}")
    return list_text(parts)


def _legality(found: Findings, route: PlanRoute) -> str:
    """How far it is known that no object outlives an arena's scope; of one without, how often it was reset."""
    if route.scope and route.scope.kind == "phase":
        times = found.arenas[route.pool].resets if route.pool in found.arenas else 0
        return f" ({plural(times, 'reset')} in one run)" if times else ""
    function = route.scope.function if route.scope else ""
    known = {
        scope.legality
        for subsystem in found.subsystems
        if subsystem.name in route.subsystems
        for scope in subsystem.legality
        if scope.scope == "function" and scope.name == function
    }
    if ALIVE_AT_END in known:
        return " (objects of it are never freed: check that nothing uses them after its end)"
    if NOT_DECIDED in known or NOT_DISPROVED in known:
        return " (that no object outlives it was not observed)"
    return f" ({OUTERMOST})" if OUTERMOST in known else " (no object outlived it)"


def _both(comparisons: Mapping[str, Comparison]) -> str:
    """`CPU -32.0 % (-34.0 % to -30.0 %), peak memory +3.0 %`."""
    cpu, peak = comparisons.get("cpu_seconds"), comparisons.get("peak_bytes")
    parts = []
    if cpu is not None:
        low, high = percent_text(cpu.low), percent_text(cpu.high)
        parts.append(f"CPU {percent_text(cpu.median)} ({low} to {high})")
    if peak is not None:
        parts.append(f"peak memory {percent_text(peak.median)}")
    return ", ".join(parts) or "not measured"


def _nothing_helps(found: Findings) -> str:
    judged = judged_choices(found)
    figures = "; ".join(f"{_described(found, c)}: {_both(c.comparisons)}" for c in judged)
    if any(saves_time(c.comparisons) and too_large(c, found) for c in judged):
        return f"what is faster takes more memory than that is worth; {figures}"
    tried = f"none of {plural(len(found.mallocs), 'malloc')} of this machine"
    tried = tried if found.unjudged else f"no pool and {tried}"
    little = any(c.kind == PLAN and saves_memory(c.comparisons) for c in judged)
    enough = " by enough to change a source" if little else ""
    return f"{tried} beats the program as it is beyond the noise{enough}; {figures}"


def _not_settled(found: Findings) -> str:
    """What looks better in as many rounds as there were, and would have to be seen in more."""
    looks_better = unsettled(found)
    rest = [c for c in judged_choices(found) if c not in looks_better]
    named = "; ".join(f"{_described(found, c)}: {_both(c.comparisons)}" for c in looks_better)
    others = "".join(f"; {_described(found, c)}: {_both(c.comparisons)}" for c in rest)
    return f"Not settled, more --budget may settle it: {named}{others}"


def _not_enough(found: Findings) -> str:
    need = seconds_text(found.verdict_seconds)
    so_far = (
        "; ".join(f"{_described(found, c)}: {_both(c.comparisons)}" for c in judged_choices(found))
        or "nothing was measured"
    )
    return (
        f"Not enough time for a verdict: {VERDICT_ROUNDS} rounds would take {need}, and {found.rounds} "
        f"{'was' if found.rounds == 1 else 'were'} possible; so far {so_far}.{_enough(found)}{_unjudged(found)}"
    )


def _enough(found: Findings) -> str:
    """The budget with which there would have been time, a tenth more than it seems: machines are busier at times."""
    seconds = 1.1 * (found.budget_seconds + max(found.verdict_lacks_seconds, 0.0))
    return f" --budget {10 * math.ceil(seconds / 10)} should be enough." if found.budget_seconds else ""


def _unjudged(found: Findings) -> str:
    """What was left out so that the mallocs could be judged."""
    if not found.unjudged:
        return ""
    tried = found.tried[found.unjudged]
    return (
        f" No pool looked better while choosing (the best, for {list_text(pooled(tried.plan))}: "
        f"{_both(tried.comparisons)}), so the time went to the mallocs; with more --budget one is judged too."
    )


def _distortion(found: Findings) -> str:
    """What is said where look-ups change the program so much that a trial's figures are doubtful."""
    cpu = found.effects.get("look_up", {}).get("cpu_seconds")
    peak = found.effects.get("look_up", {}).get("peak_bytes")
    parts = []
    if cpu is not None and cpu.median > DISTORTED:
        parts.append(f"takes {cpu.median:.1f} times the CPU")
    if peak is not None and peak.median > DISTORTED:
        parts.append(f"takes {peak.median:.1f} times the memory")
    if not parts:
        return ""
    return f" Pools were judged in a distorted program: with every call stack looked up it {' and '.join(parts)}."


def _untried(found: Findings) -> str:
    """What no trial can show yet, though it may be better: said with every verdict about a program with subsystems."""
    if not found.candidates:
        return ""
    return (
        " Not tried, because no trial can: an arena that is winked out, without its destructors and frees; the rows "
        "say what that is predicted to save."
    )


def _overlap(found: Findings) -> str:
    """Said where what single pools save adds up to more than the plan saves."""
    total = found.effects.get(NET, {}).get("cpu_seconds")
    pools = set(pooled(found.chosen))
    singles = [t.comparisons["cpu_seconds"] for t in found.tried.values()
               if t.plan.alone in pools and "cpu_seconds" in t.comparisons]  # fmt: skip
    if total is None or len(singles) < 2 or any(c.verdict != "better" for c in singles):
        return ""
    alone = sum(c.saved.median for c in singles)
    if alone <= 1.1 * total.saved.median:
        return ""
    sums = f"alone they save {seconds_text(alone)} in sum, together {seconds_text(total.saved.median)}"
    return f" ({sums}: these overlap)"


def _with_silent(silent: list[str]) -> str:
    """Pools that the judged plan had and that alone showed nothing: the figures are of a plan that has them too."""
    if not silent:
        return ""
    show = "shows" if len(silent) == 1 else "show"
    return f" (measured with {list_text(silent)} in a pool too, which alone {show} nothing)"


def pooled(plan: Plan | None) -> list[str]:
    """The subsystems that a plan gives pools of their own."""
    return [name for r in plan.routes for name in r.subsystems if name != REST] if plan else []


def quick_estimate(
    plans: Mapping[str, Mapping[str, Comparison]], others: Mapping[str, Mapping[str, Comparison]]
) -> str:
    """What the choosing rounds make probable, in one line; empty where they measured nothing."""
    best = []
    for kind, screened in (("malloc", others), ("pool", plans)):
        cpu = {name: m["cpu_seconds"] for name, m in screened.items() if "cpu_seconds" in m}
        if cpu:
            name = min(cpu, key=lambda n: cpu[n].median)
            low, high = percent_text(cpu[name].low), percent_text(cpu[name].high)
            best.append(f"best {kind} {name} {percent_text(cpu[name].median)} CPU ({low} to {high})")
    return "; ".join(best)
