# SPDX-License-Identifier: BSL-1.0
"""Advice and the same changes made by hand: what the tables of known truth and of real programs share.

millpond advise -- PROGRAM                                   ─▶ the advice, and how long it took
fresh interleaved rounds: as it is, on a malloc, changed     ─▶ ratios paired within a round
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from millpond.bench.bars import Bar
from millpond.bench.laboratory.bench_advice import run_verb
from millpond.bench.laboratory.bench_rounds import PADDING_LIMIT_BYTES, Contender, Round, interleave, observed
from millpond.bench.laboratory.bench_rows import Bench
from millpond.cells.cell import Outcome
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
METRICS = ("cpu_seconds", "peak_bytes")
# Points of the program's CPU between the figure of the best malloc and the same malloc preloaded by hand.
POINTS = 3


@dataclass(frozen=True)
class Asked:
    """An advice ("millpond.advice/1") and the wall time of the verb that gave it."""

    advice: dict[str, Any]
    wall_seconds: float


def ask(bench: Bench, workload: RealProgram, out: Path | None = None) -> Asked:
    """Runs `millpond advise` on a workload with the default budget; the advice is left in `out`. Failure (4)."""
    out = out or bench.folder / "advice.json"
    options = ["--budget", str(BUDGET_SECONDS), "--store", str(bench.folder / "advised"), f"--json={out}"]
    started = time.monotonic()
    run_verb(["advise", *options, "--", *workload.command], workload=workload)
    seconds = time.monotonic() - started
    advice = read_json(out)
    assert isinstance(advice, dict)
    return Asked(advice, seconds)


def judged_mallocs(advice: Mapping[str, Any]) -> list[str]:
    """The mallocs that fresh rounds of the advice judged, the one with the least CPU first."""
    return [str(a["name"]) for a in advice["alternatives"] if a["kind"] == "malloc" and a["judged"]]


def measure(bench: Bench, workloads: Mapping[str, RealProgram], judged: Sequence[str]) -> dict[str, list[Round]]:
    """Interleaved rounds of each workload, by its name, and of the one called AS_IT_IS on each of these mallocs."""
    settings = {m.name: m.setting for m in mallocs.contenders()[0]}
    contenders = [_contender(bench, name, workload) for name, workload in workloads.items()]
    contenders += [_contender(bench, name, workloads[AS_IT_IS], settings[name]) for name in judged]
    return interleave(contenders, bench.rounds, bench.rng)


def _contender(bench: Bench, name: str, workload: RealProgram, setting: str = "") -> Contender:
    result = bench.folder / "by_hand.json"
    given = [f"{k}={v}" for k, v in workload.environment.items()] + ([setting] if setting else [])
    streams = ["--stdin", str(workload.stdin or "/dev/null"), "--stdout", "/dev/null", "--stderr", "/dev/null"]
    options = ["--result", str(result), *streams, *(word for one in given for word in ("--set", one))]

    def run() -> Round:
        pad = ["--pad", str(bench.rng.randrange(PADDING_LIMIT_BYTES))]
        native.require(TRIAL, ["--round", "bare", *pad, *options, "--", *workload.command])
        found = read_json(result)
        ended = int(found.get("exit_status") or 0), int(found.get("signal") or 0)
        if ended != (0, 0):
            raise Failure(Status.ENVIRONMENT, f"{workload.name}, {name}: a round by hand {describe(*ended)}")
        return Round(found["cpu_seconds"], 0.0, found["wall_seconds"], found["peak_bytes"], utc_now())

    return Contender(name, run)


def ratio(of: Sequence[Round], against: Sequence[Round], metric: str) -> Summary:
    """The ratios paired within a round."""
    pairs = zip(of, against, strict=True)
    return summarise([float(getattr(a, metric)) / float(getattr(b, metric)) for a, b in pairs])


def values_of(measured: Mapping[str, Sequence[Round]]) -> tuple[Outcome, ...]:
    """Every value of rounds by hand."""
    return tuple(
        observed(contender, number, metric, float(getattr(found, metric)), time_utc=found.time_utc)
        for contender, rounds in measured.items()
        for number, found in enumerate(rounds, 1)
        for metric in METRICS
    )


def malloc_row(name: str, advice: Mapping[str, Any], cpu: float, best: str, values: tuple[Outcome, ...] = ()) -> Bar:
    """The advice's figure for its best malloc against `cpu`, the ratio with that malloc preloaded by hand."""
    found = next(a["cpu"] for a in advice["alternatives"] if a["kind"] == "malloc" and a["name"] == best)
    points = 100 * abs(found["median"] - cpu)
    predicted, low, high, by_hand = (percent_text(r) for r in (found["median"], found["low"], found["high"], cpu))
    note = f"{best}: predicted {predicted} ({low} to {high}), preloaded by hand {by_hand}"
    return Bar(f"{name}: the best malloc, predicted against preloaded", name, "points", summarise([points]), POINTS,
               note=note, outcomes=values)  # fmt: skip
