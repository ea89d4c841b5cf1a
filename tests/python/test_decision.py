# SPDX-License-Identifier: BSL-1.0
"""The decision over hand-made figures: the offered options, the advised one by preference, and their text."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest

from millpond.advice.advice_data import Advice, Choices
from millpond.advice.advise_options import Preference
from millpond.advice.choice_text import lines
from millpond.advice.document import document
from millpond.advice.effects import NET
from millpond.advice.judged_program import JudgedProgram
from millpond.advice.prediction import not_replayed
from millpond.advice.recorded_program import RecordedProgram
from millpond.advice.screened_program import ScreenedProgram
from millpond.advice.verdict import MALLOC, NONE, PLAN, TRADE, UNDECIDED, decide
from millpond.advice.verdict_text import sentence
from millpond.cells.plan_file import PlanRoute
from millpond.cells.plans import Plan
from millpond.rounds.characterisation import Characterisation, RecordedTrace
from millpond.rounds.mallocs import Malloc
from millpond.rounds.recording import Process, Recording
from millpond.statistics.order_statistics import MINIMUM_EFFECT, Comparison, Summary

PEAK = 100_000_000
HALF_WIDTH = 0.005
Figures = dict[str, tuple[float, float]]  # name → ratio of CPU, of peak memory


def comparison(metric: str, ratio: float) -> Comparison:
    """Returns a comparison: better or worse if its interval is beyond 1 %, otherwise not settled."""
    low, high = ratio - HALF_WIDTH, ratio + HALF_WIDTH
    verdict = "better" if high < 1 - MINIMUM_EFFECT else "worse" if low > 1 + MINIMUM_EFFECT else "not settled"
    saved = Summary(11, (1 - ratio) * PEAK, (1 - high) * PEAK, (1 - low) * PEAK, 0.98, "order statistics", verdict)
    return Comparison(
        11, ratio, low, high, 0.98, "order statistics", verdict, metric=metric, of="a", against="bare", saved=saved,
        p=0.001, p_adjusted=0.002,
    )  # fmt: skip


def comparisons(cpu: float, peak: float) -> dict[str, Comparison]:
    return {"cpu_seconds": comparison("cpu_seconds", cpu), "peak_bytes": comparison("peak_bytes", peak)}


def judged(
    mallocs: Figures, plan: tuple[float, float] | None, prefer: Preference = Preference.BALANCED
) -> JudgedProgram:
    ranked = sorted(mallocs, key=lambda name: mallocs[name][0])
    process = Process(1, Path("t"), Characterisation(trace=RecordedTrace(events=1)))
    recorded = RecordedProgram(("true",), Recording(0, 0, 1.0, ()), process, prefer=prefer)
    screened = ScreenedProgram(recorded, mallocs={name: Malloc(name, Path(f"/lib/lib{name}.so")) for name in mallocs})
    result = JudgedProgram(
        screened, rounds=11, whole={"cpu_seconds": 1.0, "peak_bytes": PEAK},
        judged_mallocs={name: comparisons(*figures) for name, figures in mallocs.items()},
        best_malloc=ranked[0] if ranked else "",
    )  # fmt: skip
    if not plan:
        return result
    pools = ("a", "b", "c", "d", "e")
    routes = tuple(PlanRoute(pool=name, strategy="multipool", subsystems=(name,)) for name in pools)
    best = mallocs[ranked[0]] if ranked else None
    return replace(
        result, chosen=Plan("together", "", "", routes), effects={NET: comparisons(*plan)},
        plan_against_malloc=comparisons(plan[0] / best[0], plan[1] / best[1]) if best else {},
    )  # fmt: skip


def advice_on(found: JudgedProgram) -> Advice:
    return document(decide(found), not_replayed(""), {})


@pytest.mark.parametrize(
    ("mallocs", "plan", "prefer", "kind", "name"),
    [
        ({"fast": (0.8, 1.0)}, None, "balanced", MALLOC, "fast"),
        ({"fast": (0.8, 1.1)}, None, "balanced", MALLOC, "fast"),
        ({"fast": (0.95, 1.2)}, None, "balanced", TRADE, ""),
        ({"fast": (0.95, 1.2)}, None, "cpu", MALLOC, "fast"),
        ({"fast": (0.95, 1.2)}, None, "memory", TRADE, ""),
        ({"lean": (1.03, 0.7)}, None, "balanced", MALLOC, "lean"),
        ({"lean": (1.03, 0.7)}, None, "cpu", TRADE, ""),
        ({"lean": (1.0, 0.7)}, None, "cpu", MALLOC, "lean"),
        ({"fast": (0.7, 1.2), "lean": (0.9, 0.8)}, None, "balanced", MALLOC, "lean"),
        ({"fast": (0.7, 1.2), "lean": (0.9, 0.8)}, None, "cpu", MALLOC, "fast"),
        ({"usual": (1.0, 1.0)}, None, "balanced", NONE, ""),
        ({"usual": (1.0, 1.0)}, (0.7, 1.019), "balanced", PLAN, "together"),
        ({"fast": (0.8, 1.0)}, (0.7, 1.0), "balanced", PLAN, "together"),
        ({"fast": (0.8, 1.0)}, (0.797, 1.0), "balanced", MALLOC, "fast"),
        ({"fast": (0.8, 1.03)}, (0.8, 1.0), "balanced", MALLOC, "fast"),  # 3 MB are no reason to change a source
        ({"fast": (0.8, 1.0)}, (0.9, 0.5), "cpu", MALLOC, "fast"),
        ({"fast": (0.8, 1.0)}, (0.9, 0.5), "balanced", PLAN, "together"),
        ({}, (1.0, 0.985), "balanced", NONE, ""),
        ({}, (1.1, 0.5), "memory", PLAN, "together"),
    ],
)  # fmt: skip
def test_the_advised_option_follows_the_preference(
    mallocs: Figures, plan: tuple[float, float] | None, prefer: str, kind: str, name: str
) -> None:
    advised = decide(judged(mallocs, plan, Preference(prefer))).advised
    assert (advised.kind, advised.name) == (kind, name)


def test_any_figures_keep_the_promises_of_a_decision() -> None:
    """For random contenders: offers are better beyond the noise, and no advice is given only if nothing is."""
    seed = random.randrange(1 << 32)
    dice = random.Random(seed)
    for _ in range(500):
        mallocs = {f"m{i}": (dice.uniform(0.5, 1.5), dice.uniform(0.5, 1.5)) for i in range(dice.randrange(4))}
        plan = (dice.uniform(0.5, 1.5), dice.uniform(0.5, 1.5)) if dice.random() < 0.7 else None
        found = judged(mallocs, plan, dice.choice(list(Preference)))
        said, context = decide(found), f"seed {seed}: {mallocs} {plan} {found.recorded.prefer}"
        beyond = 1 - MINIMUM_EFFECT - HALF_WIDTH
        everything = [*mallocs.values(), *([plan] if plan else [])]
        faster = min((cpu for cpu, _ in everything if cpu < beyond), default=None)
        assert (said.fastest.gain("cpu_seconds") if said.fastest else None) == faster, context
        in_memory = [peak for _, peak in mallocs.values() if peak < beyond]
        in_memory += [plan[1]] if plan and plan[1] < (beyond if plan[0] < beyond else 0.98) else []
        leaner = min(in_memory, default=None)
        assert (said.leanest.gain("peak_bytes") if said.leanest else None) == leaner, context
        if said.source_change is None:
            assert plan is None or plan[0] >= beyond, context
        assert (faster is None and leaner is None) == (said.advised.kind in (NONE, UNDECIDED)), context
        if said.advised.kind in (PLAN, MALLOC):
            assert said.advised.worth > 0, context
        if said.advised.kind == PLAN and said.without_source_change:
            assert said.advised.worth > said.without_source_change.worth, context


@pytest.mark.parametrize("prefer", list(Preference))
def test_each_choice_is_a_line_of_25_words_at_most(prefer: Preference) -> None:
    found = judged({"fast": (0.7, 1.25), "lean": (0.9, 0.8)}, (0.75, 1.1), prefer)
    shown = lines(advice_on(found))
    labels = [label for label, _ in shown]
    assert labels == ["fastest", "leanest", "without touching the source", "in the source", "what we would do"]
    for label, line in shown:
        assert len(f"{label}: {line}".split()) <= 25, line
    said = dict(shown)
    assert said["fastest"].startswith(
        "LD_PRELOAD=/lib/libfast.so: CPU -30.0 % (-30.5 % to -29.5 %), peak memory +25.0 %"
    )
    assert said["fastest"].endswith("(+25.0 MB)")
    assert said["in the source"].startswith("pools for a, b, c and 2 more: CPU -25.0 %")
    assert f"--prefer {prefer}" in said["what we would do"]


def test_if_nothing_is_better_each_line_says_so() -> None:
    found = judged({"usual": (1.0, 1.0)}, (1.2, 1.0))
    advice = advice_on(found)
    assert advice.choices == Choices(prefer="balanced") and advice.plan is None and advice.plan_tried is not None
    assert all("beyond the noise" in line for label, line in lines(advice) if label != "what we would do")


def test_too_few_rounds_offer_nothing() -> None:
    found = replace(judged({"fast": (0.5, 1.0)}, None), rounds=3)
    assert advice_on(found).choices is None and not lines(advice_on(found))


def test_a_trade_names_both_sides() -> None:
    said = sentence(decide(judged({"fast": (0.95, 1.2), "lean": (1.2, 0.9)}, None)), [])
    assert "libfast.so: CPU -5.0 %" in said and "liblean.so: CPU +20.0 %" in said and "--prefer cpu" in said
