# SPDX-License-Identifier: BSL-1.0
"""The decision: which of the judged contenders is advised, and for which purpose.

*Do nothing* wins whenever nothing beats it beyond the noise. Every figure is against the program as it is. A plan,
which needs a change of the source, is advised only where it beats the best malloc of this machine, which needs none.
Too few rounds give no verdict.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from millpond.advice.advice_data import Option, change_of
from millpond.advice.effects import NET, saves_memory, saves_time, verdict_of
from millpond.advice.findings import Findings
from millpond.rounds.mallocs import words_of
from millpond.rounds.schedule import VERDICT_ROUNDS
from millpond.statistics.order_statistics import Comparison
from millpond.system.wording import verdict_text

PLAN, MALLOC, NONE, UNDECIDED = "plan", "malloc", "nothing", "undecided"
# Where two were not compared in one family: by so much one has to be below the other.
_CLEARLY = 0.02
# Mallocs whose CPU is this close to the best are told apart by their memory.
_AS_FAST = 0.03
# A hundredth less CPU is worth a quarter of a hundredth more of the peak.
_PEAK_FOR_CPU = 0.25
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
        return found.ratio.median if found else 1.0

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
        helping = sorted((c for c in judged if saves(c.comparisons) and not too_large(c)), key=lambda c: c.gain(metric))
        plan = next((c for c in helping if c.kind == PLAN), None)
        best = [c for c in helping if c.kind == MALLOC]
        if plan and best and not _beats(plan, best[0], metric, found):
            plan = None
        if plan and metric == "peak_bytes" and plan.gain(metric) > 1 - _WORTH_A_CHANGE:
            plan = None
        if advised := plan or _leanest(best, metric):
            return replace(advised, purpose=purpose)
    return Choice(UNDECIDED if unsettled(found) else NONE, "", {})


def too_large(choice: Choice) -> bool:
    """Whether it takes more memory, beyond the noise, than the CPU that it saves is worth."""
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
        if cpu and cpu.ratio.high < 1.0 and verdict_text(cpu.ratio) == "not settled":
            result.append(judged)
    return result


def _leanest(helping: Sequence[Choice], metric: str) -> Choice | None:
    """Of those that are as good as the best in `metric`, the one with the least memory."""
    if not helping:
        return None
    best = helping[0].gain(metric)
    return min((c for c in helping if c.gain(metric) <= best + _AS_FAST), key=lambda c: c.gain("peak_bytes"))
