# SPDX-License-Identifier: BSL-1.0
"""The steps of laboratory.real: advice on real programs, and the effect of following it by hand.

    millpond advise -- PROGRAM  ─▶ the best malloc's figure, the advice, the time that it took
    fresh rounds: bare, on that malloc, on the advised one; `millpond try` of an advised plan  ─▶ the effect

    best malloc         predicted CPU compared with preloading it               within 3 points
    CPU, peak followed  the advice followed by hand, compared with the bare program   at most 1.01, beyond the noise
    seconds of advise   wall time of the verb                                   at most 5 % above the budget

No user can follow an advised plan without the program's source. Its trial, minus the cost of look-ups, replaces it.
Each advice is kept as results/bench/advice/NAME.json.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from millpond.advice.advice_data import Advice, Option
from millpond.cells.cell import Outcome
from millpond.cells.plan_file import PlanFile
from millpond.cells.plans import of_file
from millpond.rounds import mallocs
from millpond.rounds.fresh_process import describe
from millpond.rounds.real_program import RealProgram
from millpond.rounds.recording import read_json
from millpond.rounds.trial_data import TrialPlan, TrialResult
from millpond.statistics.order_statistics import Summary, summarise
from millpond.system import native
from millpond.system.clock import utc_now
from millpond.system.errors import Failure, Status
from millpond.system.wording import percent_text
from millpond_bench.claims.claims import Verdict, bar_of, missing_bar
from millpond_bench.laboratory.bench_advice import run_verb
from millpond_bench.laboratory.bench_rows import Bench, Round, Step, Turn, observed, values_of

TRIAL = "millpond-trial"
BUDGET_SECONDS = 120  # the default of `advise`
AS_IT_IS = "as it is"
METRICS = {"cpu_seconds": "cpu_seconds", "peak_bytes": "peak_bytes"}
# The allowed difference, in points of the program's CPU, between the best malloc's figure and that malloc preloaded.
POINTS = 3
HARM = 1.01  # no advice may make a program slower or larger than this beyond the noise
_OVERRUN = 1.05
_WORDS = {"cpu_seconds": "CPU", "peak_bytes": "peak"}
# The effect of following the advice, by metric: the ratio to the bare program.
Followed = Mapping[str, Summary]


def ask(bench: Bench, workload: RealProgram, out: Path | None = None) -> tuple[Advice, float]:
    """The advice on a workload ("millpond.advice/1"), which it also writes to `out`, and the wall seconds of `millpond
    advise`.

    With the default budget. Failure (4).
    """
    out = out or bench.folder / "advice.json"
    options = ["--budget", str(BUDGET_SECONDS), "--store", str(bench.folder / "advised"), "-o", f"json:{out}"]
    started = time.monotonic()
    run_verb(["advise", *options, "--", *workload.command], workload=workload)
    seconds = time.monotonic() - started
    return Advice.read(out), seconds


def choice_of(advice: Advice) -> Option:
    """The advised option; `undecided` if no verdict was possible."""
    return advice.choice or Option(kind="undecided")


def judged_mallocs(advice: Advice) -> list[str]:
    """The mallocs that fresh rounds of the advice judged, the one with the least CPU first."""
    return [a.name for a in advice.alternatives if a.kind == "malloc" and a.judged]


def measure(bench: Bench, workloads: Mapping[str, RealProgram], judged: Sequence[str]) -> dict[str, list[Round]]:
    """Interleaved rounds of each workload, by its name, and of the workload AS_IT_IS on each of these mallocs."""
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


def malloc_row(name: str, advice: Advice, cpu: float, best: str, values: tuple[Outcome, ...] = ()) -> Verdict:
    """The advice's figure for its best malloc, compared with `cpu`, the ratio with that malloc preloaded by hand."""
    found = next(a.cpu.known for a in advice.alternatives if a.kind == "malloc" and a.name == best and a.cpu)
    assert found is not None
    points = 100 * abs(found.median - cpu)
    predicted, low, high, by_hand = (percent_text(r) for r in (found.median, found.low, found.high, cpu))
    note = f"{best}: predicted {predicted} ({low} to {high}), preloaded by hand {by_hand}"
    return bar_of(f"{name}: the best malloc, predicted against preloaded", name, "points", points, POINTS,
               note=note, outcomes=values)  # fmt: skip


def real(name: str, make: Callable[[Path], RealProgram]) -> Step:
    """The rows of one program."""

    def step(bench: Bench) -> list[Verdict]:
        workload = make(bench.inputs)
        kept = bench.inputs.parent / "advice"
        kept.mkdir(parents=True, exist_ok=True)
        advice, seconds = ask(bench, workload, kept / f"{name}.json")
        best, advised = judged_mallocs(advice)[:1], choice_of(advice)
        wanted = [*best, *([advised.name] if advised.kind == "malloc" else [])]
        measured = measure(bench, {AS_IT_IS: workload}, list(dict.fromkeys(wanted))) if wanted else {}
        ratios = {c: {m: ratio(rounds, measured[AS_IT_IS], m) for m in METRICS} for c, rounds in measured.items()}
        rows = [
            malloc_row(name, advice, ratios[b]["cpu_seconds"].median, b, values_of(measured, METRICS)) for b in best
        ] or [missing_bar(f"{name}: the best malloc, predicted against preloaded", advice.verdict)]
        try:
            by_trial = advice.plan if advised.kind == "plan" else None
            followed = _trial(bench, workload, by_trial) if by_trial else ratios.get(advised.name)
            rows += following(name, advice, followed)
        except Failure as failure:
            rows.append(missing_bar(f"{name}: following the advice", failure.message))
        return [*rows, budget_row(name, seconds)]

    return step


def _trial(bench: Bench, workload: RealProgram, plan: PlanFile) -> Followed:
    """The effect of a plan in `millpond try`, without the look-ups that only a trial needs."""
    given, out = bench.folder / "advised.plan.json", bench.folder / "trial.json"
    of_file(plan, "advised").write(given)
    cells = [word for cell in ("bare", "looked_up", "plan:advised") for word in ("--cells", cell)]
    options = ["--plan", str(given), "--rounds", str(bench.rounds), *cells, "-o", f"json:{out}"]
    run_verb(["try", *options, "--", *workload.command], workload=workload)
    (only,) = TrialResult.read(out).plans
    return net_effects(only)


def net_effects(plan: TrialPlan) -> Followed:
    """The net effect of a plan in its trial, by metric."""
    return {m: Summary.from_json(plan.effects["net"][m].to_json()) for m in METRICS}


def following(name: str, advice: Advice, followed: Followed | None) -> list[Verdict]:
    """The effect of following the advice: a row for CPU and one for peak memory, relative to the bare program.

    A row holds unless its whole interval lies above HARM. Without a change there is nothing to measure.
    """
    advised = choice_of(advice)
    said = _said(advice)
    if advised.kind not in ("malloc", "plan"):
        followed = dict.fromkeys(METRICS, summarise([1.0]))
        said += ": the program stays as it is"
    assert followed is not None
    values = {m: (observed("followed", 1, f"{m}_ratio", r.median),) for m, r in followed.items()}
    predicted = {"cpu_seconds": advised.cpu, "peak_bytes": advised.peak}
    return [
        bar_of(f"{name}: {_WORDS[m]} with the advice followed, relative to the bare program", name, "×", found, HARM,
            note=said + (f"; predicted {p.median:.3f} ×" if (p := predicted[m]) else ""),
            outcomes=values[m], or_noise=True)
        for m, found in followed.items()
    ]  # fmt: skip


def _said(advice: Advice) -> str:
    """A phrase for the advice, and how it was followed."""
    advised = choice_of(advice)
    purpose = f" to save {advised.purpose}" if advised.purpose else ""
    if advised.kind == "malloc":
        return f"advised: {advised.name}{purpose}, preloaded by hand"
    if advised.kind == "plan" and advice.plan:
        pools = ", ".join(route.pool for route in advice.plan.routes)
        return f"advised: pools for {pools}{purpose}, by `millpond try`, without a change of the source"
    return "advised: do nothing" if advised.kind == "nothing" else f"no advice: {advice.verdict.removesuffix('.')}"


def budget_row(name: str, wall_seconds: float) -> Verdict:
    """The wall time of `advise`, compared with its budget."""
    value = observed("advise", 1, "wall_seconds", wall_seconds)
    return bar_of(f"{name}: seconds of advise", name, "s", wall_seconds, _OVERRUN * BUDGET_SECONDS,
               note=f"budget {BUDGET_SECONDS} s", outcomes=(value,))  # fmt: skip
