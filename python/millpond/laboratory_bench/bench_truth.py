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

from collections.abc import Callable, Sequence
from typing import Any

from millpond.execution import mallocs
from millpond.execution.recording import read_json
from millpond.execution.results import Row, Value
from millpond.laboratory_bench.bench_advice import run_verb
from millpond.laboratory_bench.bench_rounds import Contender, Round, interleave
from millpond.laboratory_bench.bench_rows import Bench
from millpond.statistics.order_statistics import summarise
from millpond.store.observations import utc_now
from millpond.system import native

_PROGRAM = "millpond-known_truth"
_TRIAL = "millpond-trial"
_BUDGET_SECONDS = 120  # the default of `advise`
# Changes that need more than a pool for a subsystem.
NO_TRIAL_CAN = {
    "tree_for_each_request": "an arena for a scope",
    "many_instances": "a pool for each instance",
    "size_churn_on_two_threads": "a pool for each thread",
    "recursive_descent": "an arena for a scope",
    "phase_after_phase": "an arena for a scope",
}
_AS_IT_IS, _BY_HAND = "as it is", "by hand"


def truth(name: str) -> Callable[[Bench], list[Row]]:
    """The rows of one program."""

    def step(bench: Bench) -> list[Row]:
        argv = [str(native.find(_PROGRAM)), name]
        advice = _advise(bench, argv)
        judged = [a["name"] for a in advice["alternatives"] if a["kind"] == "malloc" and a["judged"]]
        measured = _by_hand(bench, argv, judged)
        cpu = {c: _ratio(rounds, measured[_AS_IT_IS], "cpu_seconds") for c, rounds in measured.items()}
        peak = {c: _ratio(rounds, measured[_AS_IT_IS], "peak_bytes") for c, rounds in measured.items()}
        values = tuple(
            Value(contender, n, metric, unit, float(getattr(r, metric)), time_utc=r.time_utc)
            for contender, rounds in measured.items()
            for n, r in enumerate(rounds, 1)
            for metric, unit in (("cpu_seconds", "seconds"), ("peak_bytes", "bytes"))
        )
        rows = [_following(name, advice, cpu, peak, values)]
        rows += [_malloc(name, advice, cpu, best) for best in judged[:1]]
        return rows + (_pools(name, advice, cpu, peak) if name not in NO_TRIAL_CAN else [])

    return step


def _advise(bench: Bench, argv: Sequence[str]) -> dict[str, Any]:
    out = bench.folder / "advice.json"
    options = ["--budget", str(_BUDGET_SECONDS), "--store", str(bench.folder / "advised"), f"--json={out}"]
    run_verb(["advise", *options, "--", *argv])
    advice = read_json(out)
    assert isinstance(advice, dict)
    return advice


def _by_hand(bench: Bench, argv: Sequence[str], judged: Sequence[str]) -> dict[str, list[Round]]:
    """Rounds of the program as it is, changed by hand, and on each malloc, in turns."""
    settings = {m.name: m.setting for m in mallocs.contenders()[0]}
    contenders = [_contender(bench, _AS_IT_IS, argv), _contender(bench, _BY_HAND, [*argv, "--by-hand"])]
    contenders += [_contender(bench, n, argv, settings[n]) for n in judged]
    return interleave(contenders, bench.rounds, bench.rng)


def _contender(bench: Bench, name: str, argv: Sequence[str], setting: str = "") -> Contender:
    result = bench.folder / "truth.json"
    files = ["--stdin", "/dev/null", "--stdout", "/dev/null", "--stderr", "/dev/null"]
    options = ["--round", "bare", "--result", str(result), *files, *(["--set", setting] if setting else [])]

    def run() -> Round:
        native.require(_TRIAL, [*options, "--", *argv])
        found = read_json(result)
        return Round(found["cpu_seconds"], 0.0, found["wall_seconds"], found["peak_bytes"], utc_now())

    return Contender(name, run)


def _ratio(of: list[Round], against: list[Round], metric: str) -> float:
    """The median of the paired ratios."""
    pairs = zip(of, against, strict=True)
    return summarise([float(getattr(a, metric)) / float(getattr(b, metric)) for a, b in pairs]).median


def _following(
    name: str, advice: dict[str, Any], cpu: dict[str, float], peak: dict[str, float], values: tuple[Value, ...]
) -> Row:
    """What the user has who follows the advice, against the best of what can be tried, both as measured by hand."""
    choice = advice["choice"]
    followed = {"plan": _BY_HAND, "malloc": choice["name"]}.get(choice["kind"], _AS_IT_IS)
    options = {c: r for c, r in cpu.items() if c != _BY_HAND or name not in NO_TRIAL_CAN}
    points = 100 * (cpu[followed] - min(options.values()))
    said = {"plan": "the pools", "malloc": choice["name"], "nothing": "do nothing"}.get(choice["kind"], "no verdict")
    hand = f"by hand {_effects(cpu, peak, _BY_HAND)}"
    if name in NO_TRIAL_CAN:
        hand += f", which no trial can do yet ({NO_TRIAL_CAN[name]})"
    found = "; ".join(f"{c} {_effects(cpu, peak, c)}" for c in cpu if c not in (_AS_IT_IS, _BY_HAND))
    return Row(f"{name}: what is advised, against the best that can be tried", name, "points", summarise([points]), 3,
               note=f"advised: {said}; {hand}; {found}", values=values)  # fmt: skip


def _effects(cpu: dict[str, float], peak: dict[str, float], contender: str) -> str:
    return f"{100 * (cpu[contender] - 1):+.1f} % CPU, {100 * (peak[contender] - 1):+.1f} % peak"


def _malloc(name: str, advice: dict[str, Any], cpu: dict[str, float], best: str) -> Row:
    found = next(a for a in advice["alternatives"] if a["kind"] == "malloc" and a["name"] == best)
    predicted = found["cpu"]["median"]
    points = 100 * abs(predicted - cpu[best])
    note = f"{best}: predicted {100 * (predicted - 1):+.1f} %, preloaded by hand {100 * (cpu[best] - 1):+.1f} %"
    return Row(f"{name}: the best malloc, predicted against preloaded", name, "points", summarise([points]), 3,
               note=note)  # fmt: skip


def _pools(name: str, advice: dict[str, Any], cpu: dict[str, float], peak: dict[str, float]) -> list[Row]:
    words = (f"{name}: CPU of the pools, predicted against by hand", f"{name}: peak of the pools, predicted against "
             "by hand")  # fmt: skip
    net = advice["sums"]["net"]
    if not net["n"]:
        return [Row.missing(w, "no plan was judged") for w in words]
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
