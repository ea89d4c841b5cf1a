# SPDX-License-Identifier: BSL-1.0
"""Selects contenders for fresh rounds from a few noisy rounds of many contenders.

    choosing rounds ── screen ──▶ helpful ── substantial ──▶ plans to judge
                          └──▶ best_mallocs ──▶ mallocs to judge

None of these figures is reported as an effect, unless it is marked as from the choosing rounds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from millpond.advice.effects import METRICS_COMPARED, compare_cells, compare_net, control_cell, malloc_cell, speed_in
from millpond.cells.cell import Malloc, Outcome
from millpond.cells.plans import Plan
from millpond.statistics.order_statistics import Comparison, judge_family


def screen(
    outcomes: Sequence[Outcome], program: Sequence[str], candidates: Sequence[Plan], mallocs: Sequence[str] = ()
) -> tuple[dict[str, dict[str, Comparison]], dict[str, dict[str, Comparison]]]:
    """Returns the net effect of each candidate and each malloc against the unchanged program in the choosing rounds.

    Both are by name and metric; all are judged together.
    """
    bare = control_cell(program, "bare")
    plans: dict[str, dict[str, Comparison]] = {}
    others: dict[str, dict[str, Comparison]] = {}
    for metric in METRICS_COMPARED:
        family: dict[tuple[str, str], Comparison] = {}
        for plan in candidates:
            found = compare_net(outcomes, program, plan, metric)
            if found is not None:
                family["plan", plan.name] = found
        for name in mallocs:
            found = compare_cells(outcomes, malloc_cell(program, Malloc(name)), bare, metric)
            if found is not None:
                family["malloc", name] = found
        for (kind, name), comparison in judge_family(family).items():
            (plans if kind == "plan" else others).setdefault(name, {})[metric] = comparison
    return plans, others


def helpful(screened: Mapping[str, Mapping[str, Comparison]]) -> list[str]:
    """Returns the contenders that looked better while choosing, the most helpful first.

    The test is weaker than a verdict's, because it only selects contenders for fresh rounds. A contender that saves
    memory counts if it does not look slower.
    """
    chosen: list[tuple[float, str]] = []
    for name, by_metric in screened.items():
        speed, peak = speed_in(by_metric), by_metric.get("peak_bytes")
        if speed is None:
            continue
        faster = speed.median <= 0.99 and _not_by_chance(speed)
        smaller = peak is not None and peak.median <= 0.98 and _not_by_chance(peak) and speed.median <= 1.01
        if faster or smaller:
            chosen.append((speed.median, name))
    return [name for _, name in sorted(chosen)]


def best_mallocs(
    screened: Mapping[str, Mapping[str, Comparison]], always: Sequence[str] = (), count: int = 2
) -> list[str]:  # fmt: skip
    """Returns the mallocs to judge: the fastest while choosing, helpful or not, the best first; then
    `always`.

    The last place of `count` goes to the one with the least memory, if no other saves any and it does not look slower.
    `always`, if measured, is judged in any case, and comes before the second best.
    """
    speeds = _speeds(screened)
    ranked = sorted(speeds, key=lambda name: speeds[name])
    best = ranked[:count]

    def peak(name: str) -> float:
        found = screened[name].get("peak_bytes")
        return found.median if found else 1.0

    lean = [n for n in ranked if peak(n) <= 0.98 and speeds[n] <= 1.01]
    if lean and not set(lean) & set(best):
        best[-1] = min(lean, key=peak)
    return list(dict.fromkeys([*best[:1], *(name for name in always if name in ranked), *best[1:]]))


def substantial(screened: Mapping[str, Mapping[str, Comparison]], helpers: Sequence[str]) -> list[str]:
    """Returns the helpers that gain at least a quarter of the best one's gain, in speed or in bytes.

    A plan should be the smallest that gives the gain: a pool whose small gain may be luck would stay in it unnoticed.
    """

    def gain(name: str) -> float:
        compared = (speed_in(screened[name]), screened[name].get("peak_bytes"))
        ratios = (comparison.median for comparison in compared if comparison)
        return 1 - min(ratios, default=1.0)

    best = max((gain(name) for name in helpers), default=0.0)
    return [name for name in helpers if gain(name) >= best / 4]


def _not_by_chance(comparison: Comparison) -> bool:
    """True if the effect is unlikely to be chance. With fewer than five rounds no p-value is small, so a large effect
    in most of them counts.
    """
    if comparison.n < 5:
        return comparison.median <= 0.95 or comparison.high < 1.0
    return comparison.p <= 0.15


def most_promising(screened: Mapping[str, Mapping[str, Comparison]]) -> str | None:
    """Returns the fastest plan while choosing, helpful or not; None if none was measured."""
    speeds = _speeds(screened)
    return min(speeds, key=lambda name: speeds[name]) if speeds else None


def _speeds(screened: Mapping[str, Mapping[str, Comparison]]) -> dict[str, float]:
    """Returns the median ratio of the contenders whose speed was measured."""
    return {name: found.median for name, by_metric in screened.items() if (found := speed_in(by_metric))}
