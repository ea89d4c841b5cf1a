# SPDX-License-Identifier: BSL-1.0
"""The steps of laboratory.truth and laboratory.examples: advice on programs whose right change is known.

    millpond advise -- PROGRAM                                                  ─▶ the prediction and the advice
    fresh rounds: bare, changed by hand, on each judged malloc by hand          ─▶ the truth

    predicted CPU   of the judged plan, compared with the same change by hand      within 20 % of the effect or 2 % of
    the program
    predicted peak  of the judged plan, compared with the same change by hand      within 10 %
    best malloc     predicted CPU, compared with preloading it                     within 3 points
    following it    the advice, compared with the best that can be tried           within 3 points

A trial executes every free, so a judged arena is compared with a hand-written arena that runs destructors. A change
that no trial can make yet has no predicted figures; its row has its effect.
"""

from __future__ import annotations

from dataclasses import dataclass

from millpond.advice.advice_data import Advice
from millpond.cells.cell import Outcome
from millpond.cells.plan_file import PlanFile
from millpond.rounds.real_program import RealProgram
from millpond.system import native
from millpond_bench.claims.claims import Verdict, bar_of, missing_bar
from millpond_bench.laboratory.bench_followed import (
    AS_IT_IS,
    METRICS,
    ask,
    choice_of,
    judged_mallocs,
    malloc_row,
    measure,
    ratio,
)
from millpond_bench.laboratory.bench_rows import Bench, Step, values_of

_PROGRAM = "millpond-known_truth"
_WINKED_OUT = "an arena that is winked out"
# Changes of millpond-known_truth that need more than a pool for a subsystem.
NO_TRIAL_CAN = {
    "tree_for_each_request": _WINKED_OUT,
    "size_churn_on_two_threads": "a pool for each thread",
    "recursive_descent": _WINKED_OUT,
    "phase_after_phase": _WINKED_OUT,
}
_BY_HAND, _ARENA = "by hand", "by hand in an arena, destroyed"


@dataclass(frozen=True)
class KnownChange:
    """A program whose right change is known: its bare command line, and the one with the change made by hand.

    `arena`: with an arena that runs destructors, which a trial can be compared with. `no_trial_can`: the part of
    `by_hand` that no trial can do yet; empty if a trial can.
    """

    name: str
    as_it_is: tuple[str, ...]
    by_hand: tuple[str, ...]
    arena: tuple[str, ...] | None = None
    no_trial_can: str = ""

    def workloads(self) -> dict[str, RealProgram]:
        """The contenders by their names."""
        forms = {AS_IT_IS: self.as_it_is, _BY_HAND: self.by_hand, _ARENA: self.arena}
        return {label: RealProgram(self.name, argv) for label, argv in forms.items() if argv}

    def form_of(self, plan: PlanFile | None) -> str | None:
        """The contender that makes the change of a plan by hand; None without one."""
        if plan and plan.has_arena:
            return _ARENA if self.arena else None
        return None if self.arena or self.no_trial_can else _BY_HAND


def truth(known: KnownChange) -> Step:
    """The rows of one program."""

    def step(bench: Bench) -> list[Verdict]:
        advice, _ = ask(bench, RealProgram(known.name, known.as_it_is))
        judged = judged_mallocs(advice)
        measured = measure(bench, known.workloads(), judged)
        cpu, peak = (
            {c: ratio(rounds, measured[AS_IT_IS], metric).median for c, rounds in measured.items()}
            for metric in METRICS
        )
        rows = [_following(known, advice, cpu, peak, values_of(measured, METRICS))]
        rows += [malloc_row(known.name, advice, cpu[best], best) for best in judged[:1]]
        return rows + _predicted(known, advice, cpu, peak)

    return step


def _following(
    known: KnownChange, advice: Advice, cpu: dict[str, float], peak: dict[str, float], values: tuple[Outcome, ...]
) -> Verdict:
    """The effect of following the advice, compared with the best that can be tried, both measured by hand."""
    choice, name = choice_of(advice), known.name
    said, followed = "no verdict", AS_IT_IS
    follows = None
    if choice.kind == "plan":
        form = known.form_of(advice.plan)
        said, followed = "an arena" if advice.plan and advice.plan.has_arena else "the pools", form or AS_IT_IS
        if form is None:
            # The source has no such change, so its effect is the trial's.
            follows = advice.sums["net"].median or 1.0
            said += f", in its trial {100 * (follows - 1):+.1f} % CPU"
    elif choice.kind == "malloc":
        said = followed = choice.name
    elif choice.kind == "nothing":
        said = "do nothing"
    options = [r for c, r in cpu.items() if c != _BY_HAND or not known.no_trial_can]
    points = 100 * ((cpu[followed] if follows is None else follows) - min(options))
    hand = f"by hand {_effects(cpu, peak, _BY_HAND)}"
    if known.no_trial_can:
        hand += f", which no trial can do yet ({known.no_trial_can})"
    found = "; ".join([hand, *(f"{c} {_effects(cpu, peak, c)}" for c in cpu if c not in (AS_IT_IS, _BY_HAND))])
    return bar_of(f"{name}: what is advised, against the best that can be tried", name, "points", points,
                  3, note=f"advised: {said}; {found}", outcomes=values)  # fmt: skip


def _effects(cpu: dict[str, float], peak: dict[str, float], contender: str) -> str:
    return f"{100 * (cpu[contender] - 1):+.1f} % CPU, {100 * (peak[contender] - 1):+.1f} % peak"


def _predicted(known: KnownChange, advice: Advice, cpu: dict[str, float], peak: dict[str, float]) -> list[Verdict]:
    """The judged plan's figures, compared with the same change by hand; no row if no trial could make the change."""
    if known.no_trial_can and known.arena is None:
        return []
    words = (f"{known.name}: CPU of the plan, predicted against by hand", f"{known.name}: peak of the plan, predicted "
             "against by hand")  # fmt: skip
    net = advice.sums["net"]
    nothing = not net.n and choice_of(advice).kind == "nothing"
    plan = advice.plan_tried
    form = known.form_of(plan)
    if not net.n and (not nothing or form is None):
        return [missing_bar(w, "no plan was judged") for w in words]
    if form is None:
        judged, hand = ("pools were", "an arena") if known.arena else ("an arena was", "a pool")
        return [missing_bar(w, f"{judged} judged, and the change by hand is {hand}") for w in words]
    # Advice to do nothing that judged no plan predicts that no plan changes anything.
    cpu_ratio, bytes_ratio = 1.0, 1.0
    if not nothing:
        cpu_ratio, bytes_ratio = net.median or 1.0, net.other_metrics["peak_bytes"].median or 1.0
    effect, predicted = cpu[form] - 1, cpu_ratio - 1
    allowed = max(0.2 * abs(effect), 0.02)
    pools = ", ".join(route.pool for route in (plan.routes if plan else ())) or "none was judged"
    note = f"predicted {100 * predicted:+.1f} %, {form} {100 * effect:+.1f} %; plan: {pools}"
    error = 100 * abs(bytes_ratio / peak[form] - 1)
    peak_note = f"predicted {100 * (bytes_ratio - 1):+.1f} %, {form} {100 * (peak[form] - 1):+.1f} %"
    name = known.name
    return [
        bar_of(words[0], name, "× allowed", abs(predicted - effect) / allowed, 1, note=note),
        bar_of(words[1], name, "%", error, 10, note=peak_note),
    ]


def steps() -> dict[str, Step]:
    """One step for each program of millpond-known_truth, by its name."""
    program = str(native.find(_PROGRAM))
    found = []
    for line in native.answer(_PROGRAM, ["--list"]).splitlines():
        name, _, rest = line.partition("\t")
        argv = (program, name)
        arena = (*argv, "--by-hand=destroy") if rest.endswith("\tdestroy") else None
        found.append(KnownChange(name, argv, (*argv, "--by-hand"), arena, NO_TRIAL_CAN.get(name, "")))
    return {known.name: truth(known) for known in found}


def examples() -> dict[str, Step]:
    """One step for each example (`examples/NAME`), which is two programs: bare and changed."""
    found = []
    for name in ("request_server", "parser", "order_queues", "catalogue", "pipeline", "heat_plate"):
        as_it_is, changed = ((str(native.find(f"{name}{form}")),) for form in ("", "_changed"))
        if name in ("request_server", "parser"):
            found.append(KnownChange(name, as_it_is, (*changed, "--wink-out"), changed, _WINKED_OUT))
        else:
            # The records of `catalogue` live until the end, so an arena for them is never reset.
            why = "an arena as long as the program" if name == "catalogue" else ""
            found.append(KnownChange(name, as_it_is, changed, None, why))
    return {known.name: truth(known) for known in found}
