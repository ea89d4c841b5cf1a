# SPDX-License-Identifier: BSL-1.0
"""The steps of laboratory.real: advice on real programs, and the same advice followed by hand.

    millpond advise -- PROGRAM  ─▶ the best malloc's figure, what is advised, how long it took
    fresh rounds: as it is, on that malloc, on the advised one; `millpond trial` of an advised plan  ─▶ what it gives

best malloc         predicted CPU against preloading it                     within 3 points
CPU, peak followed  what is advised, by hand, against the program as it is  not above 1.01 beyond the noise
seconds of advise   wall time of the verb                                   at most 5 % above the budget

No user can follow an advised plan without the program's source. Its trial, without what look-ups cost, stands for it.
Each advice is kept as results/bench/advice/NAME.json.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from millpond.bench.bars import Bar
from millpond.bench.laboratory.bench_advice import run_verb
from millpond.bench.laboratory.bench_rows import Bench, Round, Step, Turn, observed, values_of
from millpond.cells.cell import Outcome
from millpond.cells.plans import from_json
from millpond.rounds import mallocs
from millpond.rounds.fresh_process import describe
from millpond.rounds.real_programs import RealProgram
from millpond.rounds.recording import read_json
from millpond.statistics.order_statistics import Summary, summarise
from millpond.system import native
from millpond.system.clock import utc_now
from millpond.system.errors import Failure, Status
from millpond.system.wording import percent_text

TRIAL = "millpond-trial"
BUDGET_SECONDS = 120  # the default of `advise`
AS_IT_IS = "as it is"
METRICS = {"cpu_seconds": "cpu_seconds", "peak_bytes": "peak_bytes"}
# Points of the program's CPU between the figure of the best malloc and the same malloc preloaded by hand.
POINTS = 3
HARM = 1.01  # no advice may make a program slower or larger than this beyond the noise
_OVERRUN = 1.05
_WORDS = {"cpu_seconds": "CPU", "peak_bytes": "peak"}
# What follows, by metric: the ratio to the program as it is.
Followed = Mapping[str, Summary]


def ask(bench: Bench, workload: RealProgram, out: Path | None = None) -> tuple[dict[str, Any], float]:
    """The advice on a workload ("millpond.advice/1"), also left in `out`, and the wall seconds of `millpond advise`.

    With the default budget. Failure (4).
    """
    out = out or bench.folder / "advice.json"
    options = ["--budget", str(BUDGET_SECONDS), "--store", str(bench.folder / "advised"), f"--json={out}"]
    started = time.monotonic()
    run_verb(["advise", *options, "--", *workload.command], workload=workload)
    seconds = time.monotonic() - started
    advice = read_json(out)
    assert isinstance(advice, dict)
    return advice, seconds


def judged_mallocs(advice: Mapping[str, Any]) -> list[str]:
    """The mallocs that fresh rounds of the advice judged, the one with the least CPU first."""
    return [str(a["name"]) for a in advice["alternatives"] if a["kind"] == "malloc" and a["judged"]]


def measure(bench: Bench, workloads: Mapping[str, RealProgram], judged: Sequence[str]) -> dict[str, list[Round]]:
    """Interleaved rounds of each workload, by its name, and of the one called AS_IT_IS on each of these mallocs."""
    settings = {m.name: m.setting for m in mallocs.contenders()[0]}
    turns = {name: _by_hand(bench, name, workload) for name, workload in workloads.items()}
    turns |= {name: _by_hand(bench, name, workloads[AS_IT_IS], settings[name]) for name in judged}
    return bench.interleave(turns)


def _by_hand(bench: Bench, name: str, workload: RealProgram, setting: str = "") -> Turn:
    result = bench.folder / "by_hand.json"
    given = [f"{k}={v}" for k, v in workload.environment.items()] + ([setting] if setting else [])
    streams = ["--stdin", str(workload.stdin or "/dev/null"), "--stdout", "/dev/null", "--stderr", "/dev/null"]
    options = ["--result", str(result), *streams, *(word for one in given for word in ("--set", one))]

    def run() -> Round:
        native.require(TRIAL, ["--round", "bare", *bench.padding.option(), *options, "--", *workload.command])
        found = read_json(result)
        ended = int(found.get("exit_status") or 0), int(found.get("signal") or 0)
        if ended != (0, 0):
            raise Failure(Status.ENVIRONMENT, f"{workload.name}, {name}: a round by hand {describe(*ended)}")
        return Round(found["cpu_seconds"], 0.0, found["wall_seconds"], found["peak_bytes"], utc_now())

    return run


def ratio(of: Sequence[Round], against: Sequence[Round], metric: str) -> Summary:
    """The ratios paired within a round."""
    pairs = zip(of, against, strict=True)
    return summarise([float(getattr(a, metric)) / float(getattr(b, metric)) for a, b in pairs])


def malloc_row(name: str, advice: Mapping[str, Any], cpu: float, best: str, values: tuple[Outcome, ...] = ()) -> Bar:
    """The advice's figure for its best malloc against `cpu`, the ratio with that malloc preloaded by hand."""
    found = next(a["cpu"] for a in advice["alternatives"] if a["kind"] == "malloc" and a["name"] == best)
    points = 100 * abs(found["median"] - cpu)
    predicted, low, high, by_hand = (percent_text(r) for r in (found["median"], found["low"], found["high"], cpu))
    note = f"{best}: predicted {predicted} ({low} to {high}), preloaded by hand {by_hand}"
    return Bar(f"{name}: the best malloc, predicted against preloaded", name, "points", summarise([points]), POINTS,
               note=note, outcomes=values)  # fmt: skip


def real(name: str, make: Callable[[Path], RealProgram]) -> Step:
    """The rows of one program."""

    def step(bench: Bench) -> list[Bar]:
        workload = make(bench.inputs)
        kept = bench.inputs.parent / "advice"
        kept.mkdir(parents=True, exist_ok=True)
        advice, seconds = ask(bench, workload, kept / f"{name}.json")
        best, advised = judged_mallocs(advice)[:1], advice["choice"]
        wanted = [*best, *([advised["name"]] if advised["kind"] == "malloc" else [])]
        measured = measure(bench, {AS_IT_IS: workload}, list(dict.fromkeys(wanted))) if wanted else {}
        ratios = {c: {m: ratio(rounds, measured[AS_IT_IS], m) for m in METRICS} for c, rounds in measured.items()}
        rows = [
            malloc_row(name, advice, ratios[b]["cpu_seconds"].median, b, values_of(measured, METRICS)) for b in best
        ] or [Bar.missing(f"{name}: the best malloc, predicted against preloaded", advice["verdict"])]
        try:
            followed = (
                _trial(bench, workload, advice["plan"]) if advised["kind"] == "plan" else ratios.get(advised["name"])
            )
            rows += following(name, advice, followed)
        except Failure as failure:
            rows.append(Bar.missing(f"{name}: following the advice", failure.message))
        return [*rows, budget_row(name, seconds)]

    return step


def _trial(bench: Bench, workload: RealProgram, plan: dict[str, Any]) -> Followed:
    """What a plan gives by `millpond trial`, without the look-ups that only a trial pays."""
    given, out = bench.folder / "advised.plan.json", bench.folder / "trial.json"
    from_json(plan, "advised").write(given)
    cells = [word for cell in ("bare", "looked_up", "plan:advised") for word in ("--cells", cell)]
    options = ["--plan", str(given), "--rounds", str(bench.rounds), *cells, f"--json={out}"]
    run_verb(["trial", *options, "--", *workload.command], workload=workload)
    found = read_json(out)
    assert isinstance(found, dict)
    return net_effects(found)


def net_effects(trial: Mapping[str, Any]) -> Followed:
    """The net effect of the only plan of a trial ("millpond.trial/1"), by metric."""
    (plan,) = trial["plans"]
    fields = ("n", "median", "low", "high", "level", "method", "verdict")
    return {m: Summary(**{f: plan["effects"]["net"][m][f] for f in fields}) for m in METRICS}


def following(name: str, advice: Mapping[str, Any], followed: Followed | None) -> list[Bar]:
    """What the user has who follows the advice: a row for CPU and one for peak memory, against the program as it is.

    A row holds unless its whole interval lies above HARM. Without a change there is nothing to measure.
    """
    advised = advice["choice"]
    said = _said(advice)
    if advised["kind"] not in ("malloc", "plan"):
        followed = {m: summarise([1.0]) for m in METRICS}
        said += ": nothing to follow, so the program stays as it is"
    assert followed is not None
    values = {m: (observed("followed", 1, f"{m}_ratio", r.median),) for m, r in followed.items()}
    predicted = {"cpu_seconds": advised["cpu"], "peak_bytes": advised["peak"]}
    return [
        Bar(f"{name}: {_WORDS[m]} with the advice followed, against as it is", name, "×", found, HARM,
            note=said + (f"; predicted {predicted[m]['median']:.3f} ×" if predicted[m] else ""),
            outcomes=values[m], kept=found.low <= HARM)
        for m, found in followed.items()
    ]  # fmt: skip


def _said(advice: Mapping[str, Any]) -> str:
    """What is advised, and how it was followed."""
    advised = advice["choice"]
    purpose = f" to save {advised['for']}" if advised["for"] else ""
    if advised["kind"] == "malloc":
        return f"advised: {advised['name']}{purpose}, preloaded by hand"
    if advised["kind"] == "plan":
        pools = ", ".join(r["pool"] for r in advice["plan"]["routes"])
        return f"advised: pools for {pools}{purpose}, by `millpond trial`, for no source was changed"
    return (
        "advised: do nothing" if advised["kind"] == "nothing" else f"no advice: {advice['verdict'].removesuffix('.')}"
    )


def budget_row(name: str, wall_seconds: float) -> Bar:
    """The wall time of `advise` against its budget."""
    value = observed("advise", 1, "wall_seconds", wall_seconds)
    return Bar(f"{name}: seconds of advise", name, "s", summarise([wall_seconds]), _OVERRUN * BUDGET_SECONDS,
               note=f"budget {BUDGET_SECONDS} s", outcomes=(value,))  # fmt: skip
