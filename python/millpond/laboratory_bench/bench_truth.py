# SPDX-License-Identifier: BSL-1.0
"""The rows of `bench_lab --truth`: programs for which the right change is known, what advice says of them, what is so.

    millpond advise -- millpond-known_truth NAME  ─▶ predicted: the plan net, the mallocs, what is advised
    fresh rounds: as it is, changed by hand, on each judged malloc by hand  ─▶ what is so

predicted CPU   of the pools against the same change by hand            within 20 % of the effect or 2 % of the program
predicted peak  of the pools against the same change by hand            within 10 %
best malloc     predicted CPU against preloading it                     within 3 points
following it    what is advised against the best of what can be tried   within 3 points

A change that no trial can make yet has no predicted figures; its row says what it would give.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from millpond.cells.plans import has_arena
from millpond.execution.bench_inputs import Workload
from millpond.execution.results import Row, Value
from millpond.laboratory_bench.bench_followed import (
    AS_IT_IS,
    METRICS,
    ask,
    judged_mallocs,
    malloc_row,
    measure,
    ratio,
    values_of,
)
from millpond.laboratory_bench.bench_rows import Bench
from millpond.statistics.order_statistics import summarise
from millpond.system import native

_PROGRAM = "millpond-known_truth"
# Changes that need more than a pool for a subsystem.
NO_TRIAL_CAN = {
    "tree_for_each_request": "an arena that is winked out",
    "many_instances": "a pool for each instance",
    "size_churn_on_two_threads": "a pool for each thread",
    "recursive_descent": "an arena that is winked out",
    "phase_after_phase": "an arena that is winked out",
}
_BY_HAND = "by hand"


def truth(name: str) -> Callable[[Bench], list[Row]]:
    """The rows of one program."""

    def step(bench: Bench) -> list[Row]:
        argv = (str(native.find(_PROGRAM)), name)
        advice = ask(bench, Workload(name, argv)).advice
        judged = judged_mallocs(advice)
        workloads = {AS_IT_IS: Workload(name, argv), _BY_HAND: Workload(name, (*argv, "--by-hand"))}
        measured = measure(bench, workloads, judged)
        cpu, peak = (
            {c: ratio(rounds, measured[AS_IT_IS], metric).median for c, rounds in measured.items()}
            for metric in METRICS
        )
        rows = [_following(name, advice, cpu, peak, values_of(measured))]
        rows += [malloc_row(name, advice, cpu[best], best) for best in judged[:1]]
        return rows + (_pools(name, advice, cpu, peak) if name not in NO_TRIAL_CAN else [])

    return step


def _following(
    name: str, advice: dict[str, Any], cpu: dict[str, float], peak: dict[str, float], values: tuple[Value, ...]
) -> Row:
    """What the user has who follows the advice, against the best of what can be tried, both as measured by hand."""
    choice = advice["choice"]
    followed = {"plan": _BY_HAND, "malloc": choice["name"]}.get(choice["kind"], AS_IT_IS)
    options = {c: r for c, r in cpu.items() if c != _BY_HAND or name not in NO_TRIAL_CAN}
    is_arena = has_arena(advice["plan"])
    # No source was changed for an arena, so what follows from one is what its trial gave.
    follows = advice["sums"]["net"]["median"] if is_arena else cpu[followed]
    points = 100 * (follows - min(options.values()))
    said = {
        "plan": f"an arena, in its trial {100 * (follows - 1):+.1f} % CPU" if is_arena else "the pools",
        "malloc": choice["name"],
        "nothing": "do nothing",
    }.get(choice["kind"], "no verdict")
    hand = f"by hand {_effects(cpu, peak, _BY_HAND)}"
    if name in NO_TRIAL_CAN:
        hand += f", which no trial can do yet ({NO_TRIAL_CAN[name]})"
    found = "; ".join(f"{c} {_effects(cpu, peak, c)}" for c in cpu if c not in (AS_IT_IS, _BY_HAND))
    return Row(f"{name}: what is advised, against the best that can be tried", name, "points", summarise([points]), 3,
               note=f"advised: {said}; {hand}; {found}", values=values)  # fmt: skip


def _effects(cpu: dict[str, float], peak: dict[str, float], contender: str) -> str:
    return f"{100 * (cpu[contender] - 1):+.1f} % CPU, {100 * (peak[contender] - 1):+.1f} % peak"


def _pools(name: str, advice: dict[str, Any], cpu: dict[str, float], peak: dict[str, float]) -> list[Row]:
    words = (f"{name}: CPU of the pools, predicted against by hand", f"{name}: peak of the pools, predicted against "
             "by hand")  # fmt: skip
    net = advice["sums"]["net"]
    if not net["n"]:
        return [Row.missing(w, "no plan was judged") for w in words]
    if has_arena(advice["plan_tried"]):
        return [Row.missing(w, "an arena was judged, and the change by hand is a pool") for w in words]
    effect, predicted = cpu[_BY_HAND] - 1, net["median"] - 1
    allowed = max(0.2 * abs(effect), 0.02)
    plan = ", ".join(r["pool"] for r in advice["plan_tried"]["routes"])
    note = f"predicted {100 * predicted:+.1f} %, by hand {100 * effect:+.1f} %; pools: {plan}"
    bytes_ratio = net["other_metrics"]["peak_bytes"]["median"]
    error = 100 * abs(bytes_ratio / peak[_BY_HAND] - 1)
    peak_note = f"predicted {100 * (bytes_ratio - 1):+.1f} %, by hand {100 * (peak[_BY_HAND] - 1):+.1f} %"
    return [
        Row(words[0], name, "× allowed", summarise([abs(predicted - effect) / allowed]), 1, note=note),
        Row(words[1], name, "%", summarise([error]), 10, note=peak_note),
    ]


def steps() -> list[tuple[str, Callable[[Bench], list[Row]]]]:
    """One step a program, by its name."""
    listed = native.answer(_PROGRAM, ["--list"]).splitlines()
    names = [line.partition("\t")[0] for line in listed]
    return [(name, truth(name)) for name in names]
