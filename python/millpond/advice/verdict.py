# SPDX-License-Identifier: BSL-1.0
"""Decides: the fastest and the leanest contender, the best with and without a change of the source, and the advice.

    judged contenders ──better beyond the noise, in CPU or in peak memory──┬─▶ fastest, leanest
                                                                           ├─▶ without touching the source
                                                                           ├─▶ in the source
                                                                           └─▶ advised: the best by `--prefer`

Every figure is against the unchanged program. A change of the source is advised only if it beats the best malloc of
this machine, which needs no change. *Do nothing* is advised only if nothing is better in either dimension.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from millpond.advice.advice_data import Option, change_of
from millpond.advice.advise_options import Preference
from millpond.advice.effects import NET, saves_memory, saves_time, verdict_of
from millpond.advice.judged_program import JudgedProgram
from millpond.advice.metric_words import metric_name
from millpond.cells.metrics import OF_A_LOAD, speed_of
from millpond.rounds.mallocs import setting_text
from millpond.rounds.schedule import FEWEST_VERDICT_ROUNDS
from millpond.statistics.order_statistics import MINIMUM_EFFECT, NOT_SETTLED, Comparison

PLAN, MALLOC, NONE, UNDECIDED = "plan", "malloc", "nothing", "undecided"
# Better in one dimension, but its cost in the other outweighs that.
TRADE = "trade"
PEAK = "peak_bytes"

# The weights of one per cent of CPU and of one per cent of the peak. The small weights decide between equals.
_WEIGHTS = {Preference.CPU: (1.0, 0.01), Preference.MEMORY: (0.01, 1.0), Preference.BALANCED: (1.0, 1.0)}
# The required lead of one contender over another if the two were not compared in one family.
_CLEARLY = 0.02
# Contenders this close to the best are ranked by the other dimension.
_AS_GOOD = 0.03
# An increase of fewer bytes than this, or of a smaller share of the peak, does not count against a gain of CPU.
_FEW_BYTES = 4 << 20
_SMALL_SHARE = 0.02
# The smallest saving of peak memory that justifies changing the source.
_WORTH_A_CHANGE = 0.02


@dataclass(frozen=True)
class Choice:
    """A contender that is or could be advised: a plan, another malloc, or the unchanged program.

    `comparisons`: against the unchanged program, by metric. `purpose`: the metric for which it is chosen, CPU or
    memory. `worth`: its gain less its cost, weighed by the user's preference; 0.01 is one per cent.
    """

    kind: str
    name: str
    comparisons: Mapping[str, Comparison]
    command: str = ""
    purpose: str = ""
    worth: float = 0.0

    @property
    def speed_metric(self) -> str:
        """Returns the metric by which its speed is judged: CPU time, or a load's."""
        return speed_of(self.comparisons)

    @property
    def slowness(self) -> float:
        """Returns the median ratio of its CPU time, or of the time for a unit of a load's work."""
        return self.gain(self.speed_metric)

    def gain(self, metric: str) -> float:
        """Returns the median ratio in one metric; 1 if it was not measured."""
        found = self.comparisons.get(metric)
        return found.median if found else 1.0

    @property
    def is_better(self) -> bool:
        """True if it is better beyond the noise in CPU or in peak memory, at any cost in the other; a plan must gain
        enough for a change of the source.
        """
        if saves_time(self.comparisons):
            return True
        enough = 1 - _WORTH_A_CHANGE if self.kind == PLAN else 1.0
        return verdict_of(self.comparisons, PEAK) == "better" and self.gain(PEAK) <= enough

    @property
    def option(self) -> Option:
        """Returns the choice for the advice, with its metrics as ratios."""
        cpu, peak = (self.comparisons.get(metric) for metric in ("cpu_seconds", PEAK))
        of_load = {m: change_of(found) for m in OF_A_LOAD if (found := self.comparisons.get(m))}
        return Option(
            kind=self.kind, name=self.name, command=self.command or None, purpose=self.purpose or None,
            cpu=change_of(cpu) if cpu else None, peak=change_of(peak) if peak else None, of_load=of_load,
        )  # fmt: skip


@dataclass(frozen=True)
class ProgramVerdict:
    """The fourth value of an advice: the user's choices and the advised one; None where nothing is better beyond the
    noise.

    `contenders`: all that fresh rounds judged, the one with the least CPU first. `unsettled`: those that look faster by
    their own interval, but not after the correction for the number judged. `is_reached`: there were enough rounds.
    """

    judged: JudgedProgram
    advised: Choice
    contenders: tuple[Choice, ...] = ()
    unsettled: tuple[Choice, ...] = ()
    fastest: Choice | None = None
    leanest: Choice | None = None
    without_source_change: Choice | None = None
    source_change: Choice | None = None

    @property
    def is_reached(self) -> bool:
        """Returns whether enough rounds were run for a verdict."""
        return not self.judged.why_no_trial and self.judged.rounds >= FEWEST_VERDICT_ROUNDS


def _contenders(judged: JudgedProgram) -> tuple[Choice, ...]:
    """Returns the contenders judged by fresh rounds: the plan and the mallocs, the one with the least CPU first."""
    result = [
        Choice(MALLOC, name, comparisons, setting_text(judged.screened.mallocs[name]))
        for name, comparisons in judged.judged_mallocs.items()
    ]
    if judged.chosen is not None and NET in judged.effects:
        result.append(Choice(PLAN, judged.chosen.name, judged.effects[NET]))
    return tuple(sorted(result, key=lambda c: c.slowness))


def decide(judged: JudgedProgram) -> ProgramVerdict:
    """Reaches the verdict, in time linear in the judged contenders. Without enough rounds nothing is decided, except
    for programs that allocate too little.
    """
    contenders = _contenders(judged)
    unsettled = tuple(c for c in contenders if _looks_faster(c))
    undecided = ProgramVerdict(judged, Choice(UNDECIDED, "", {}), contenders, unsettled)
    if judged.recorded.bound and not judged.rounds:
        return replace(undecided, advised=Choice(NONE, "", {}))
    if not undecided.is_reached:
        return undecided
    better = [replace(c, worth=_worth(c, judged)) for c in contenders if c.is_better]
    mallocs = [c for c in better if c.kind == MALLOC]
    plan = next((c for c in better if c.kind == PLAN and _is_no_loss(c)), None)
    leaner = [c for c in better if verdict_of(c.comparisons, PEAK) == "better"]
    return ProgramVerdict(
        judged, _advised(undecided, better, plan), contenders, unsettled,
        fastest=min((c for c in better if saves_time(c.comparisons)), key=lambda c: c.slowness, default=None),
        leanest=min(leaner, key=lambda c: c.gain(PEAK), default=None),
        without_source_change=max(mallocs, key=lambda c: c.worth, default=None),
        source_change=plan,
    )  # fmt: skip


def _advised(so_far: ProgramVerdict, better: Sequence[Choice], plan: Choice | None) -> Choice:
    """Returns the best contender whose gain exceeds its cost; of mallocs that are about equal, the leaner or faster
    one.
    """
    worthy = sorted((c for c in better if c.kind == MALLOC and c.worth > 0), key=lambda c: -c.worth)
    # Compares with the best malloc, not with the leaner one, which would be too easy to beat.
    if plan and plan.worth > 0 and (not worthy or _beats(plan, worthy[0], so_far.judged)):
        return _for_purpose(plan)
    if worthy:
        faster = so_far.judged.recorded.prefer is Preference.MEMORY
        as_good = [c for c in worthy if c.worth >= worthy[0].worth - _AS_GOOD]
        return _for_purpose(min(as_good, key=lambda c: c.slowness if faster else c.gain(PEAK)))
    return Choice(TRADE if better else UNDECIDED if so_far.unsettled else NONE, "", {})


def _for_purpose(advised: Choice) -> Choice:
    return replace(advised, purpose=metric_name(advised.speed_metric) if saves_time(advised.comparisons) else "memory")


def _worth(choice: Choice, judged: JudgedProgram) -> float:
    """Returns the gain in CPU and in peak memory beyond the noise, less the cost, weighed by the preference."""
    weights = _WEIGHTS[judged.recorded.prefer]
    gains = []
    for metric in (choice.speed_metric, PEAK):
        is_beyond = verdict_of(choice.comparisons, metric) in ("better", "worse")
        gains.append(1 - choice.gain(metric) if is_beyond else 0.0)
    if _is_little(choice, judged):
        gains[1] = 0.0
    return sum(weight * gain for weight, gain in zip(weights, gains, strict=True))


def _is_little(choice: Choice, judged: JudgedProgram) -> bool:
    """True if it takes more memory, but too little more to matter."""
    more = choice.gain(PEAK) - 1
    return more > 0 and (more < _SMALL_SHARE or more * judged.whole.get(PEAK, math.inf) < _FEW_BYTES)


def _is_no_loss(plan: Choice) -> bool:
    """True if a better plan is worth a change: it saves time, or memory without time, or the preference accepts it."""
    return saves_time(plan.comparisons) or saves_memory(plan.comparisons) or plan.worth > 0


def _beats(plan: Choice, malloc: Choice, judged: JudgedProgram) -> bool:
    """True if a plan beats a malloc, which needs no change of the source, beyond the noise."""
    against = judged.plan_against_malloc if malloc.name == judged.best_malloc else {}
    ahead = plan.worth - malloc.worth
    if not against:
        return ahead > _CLEARLY
    return ahead >= MINIMUM_EFFECT and any(
        verdict_of(against, metric) == "better" for metric in (speed_of(against), PEAK)
    )


def _looks_faster(choice: Choice) -> bool:
    speed = choice.comparisons.get(choice.speed_metric)
    return bool(speed and speed.verdict == NOT_SETTLED and speed.high < 1.0 and speed.median <= 1.0 - MINIMUM_EFFECT)
