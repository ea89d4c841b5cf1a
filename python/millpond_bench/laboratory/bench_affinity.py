# SPDX-License-Identifier: BSL-1.0
"""Steps of `millpond-bench run references`: plans by joint access, compared with the plan by subsystem.

    program ──capture──▶ recording ──characterise──▶ plans ──layouts──▶ predicted misses, time
                                                       └─────trial────▶ CPU, net

Each row is the CPU of a plan in its trial, with the prediction in the note. There are no bars.
"""

from __future__ import annotations

from pathlib import Path

from millpond.advice.advice_data import LayoutPrediction, PredictedLayouts
from millpond.advice.effects import NET
from millpond.advice.layout_prediction import LayoutPredictor, predicted_text
from millpond.cells import plans as plans_of
from millpond.rounds.layouts import CAPTURE
from millpond.rounds.real_program import RealProgram
from millpond.rounds.trial_data import TrialPlan, TrialResult
from millpond.statistics.order_statistics import Summary
from millpond.system import native
from millpond_bench.claims.claims import Verdict, bar_of, missing_bar
from millpond_bench.laboratory.bench_advice import run_verb
from millpond_bench.laboratory.bench_rows import Bench, Step, observed
from millpond_bench.programs.captured_programs import ProgramMaker

# Plans of `millpond trace show -o plans/`, by the name of their file, with their names in rows.
PLANS = {"all": "by subsystem", "affinity": "affinity", "affinity-in-order": "affinity, in order"}


def comparing_affinity(make: ProgramMaker) -> Step:
    """A row for each plan from the program's recording; a single row that says so if no subsystems are joined."""

    def step(bench: Bench) -> list[Verdict]:
        workload = make(bench.inputs)
        paths = _plans(workload, bench)
        if not paths:
            return [missing_bar(f"affinity plan of {workload.name}", "no subsystem is worth a pool")]
        predictor = LayoutPredictor(bench.trace, bench.folder, float("inf"))
        predicted = predictor.predict([plans_of.read(path) for path in paths], {})
        bench.trace.unlink()
        rows = _tried(workload, paths, predicted, bench)
        if len(rows) == 1:
            title = f"affinity plan of {workload.name}: groups of subsystems"
            rows.append(bar_of(title, workload.name, "groups", 0, note="it is the plan by subsystem"))
        return rows

    return step


def _plans(workload: RealProgram, bench: Bench) -> list[Path]:
    bench.run([str(native.find(CAPTURE)), "-o", str(bench.trace), "--", *workload.command], workload)
    folder = bench.folder / f"plans of {workload.name}"
    out = str(bench.folder / "characterised.json")
    native.require("millpond-characterise", ["--json", out, "--plan-out", str(folder), str(bench.trace)])
    return [path for name in PLANS if (path := folder / f"{name}{plans_of.SUFFIX}").exists()]


def _tried(workload: RealProgram, paths: list[Path], predicted: PredictedLayouts, bench: Bench) -> list[Verdict]:
    out = bench.folder / "trial.json"
    words = ["--rounds", str(bench.rounds), "--store", str(bench.folder / "tried"), "-o", f"json:{out}"]
    plans = [word for path in paths for word in ("--plan", str(path))]
    run_verb(["try", *words, *plans, "--", *workload.command], workload=workload)
    return [_row(workload, plan, predicted.of_plan(plan.name)) for plan in TrialResult.read(out).plans]


def _row(workload: RealProgram, plan: TrialPlan, predicted: LayoutPrediction | None) -> Verdict:
    title = f"affinity: plan {PLANS[plan.name]} of {workload.name}: CPU, net"
    cpu = plan.effects.get(NET, {}).get("cpu_seconds")
    if cpu is None:
        return missing_bar(title, "the trial has no comparison")
    note = f"predicted {predicted_text(predicted)}" if predicted else "its layout was not predicted"
    figure = Summary(cpu.n, cpu.median, cpu.low, cpu.high, cpu.level, cpu.method)
    value = observed(plan.name, 1, "cpu_ratio", cpu.median)
    return bar_of(title, workload.name, "×", figure, note=note, outcomes=(value,))
