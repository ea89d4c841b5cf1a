# SPDX-License-Identifier: BSL-1.0
"""Steps of `millpond-bench run references`: misses and page faults predicted for other mallocs, against Cachegrind.

`rounds/predicted_misses` predicts and counts; each row of a malloc and a cache, or a size of memory, is a bar here.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from millpond.rounds.capture_tools import CacheShape
from millpond.rounds.predicted_misses import (
    MEDIAN_PERCENT,
    WORST_PERCENT,
    Prediction,
    predict_program,
)
from millpond.rounds.real_program import RealProgram
from millpond.statistics.order_statistics import summarise
from millpond_bench.claims.claims import Verdict, bar_of, missing_bar
from millpond_bench.laboratory.bench_rows import Bench, Step, observed
from millpond_bench.programs.captured_programs import ProgramMaker

_ENVIRONMENTS = {"quick": 1, "standard": 8}


def predicting(make: ProgramMaker) -> Step:
    """The errors of one program on every malloc, a row for each cache and memory; and the medians of both kinds."""

    def step(bench: Bench) -> list[Verdict]:
        workload = make(bench.inputs)
        found = predict_program(workload, bench.folder, _ENVIRONMENTS["quick" if bench.quick else "standard"])
        rows: list[Verdict] = []
        errors: dict[str, list[float]] = {"misses": [], "page faults": []}
        for name, why in found.why_not.items():
            rows.append(missing_bar(f"misses predicted of {workload.name} on {name}", why))
        for name, counts in found.counts.items():
            for cache, predictions in counts.items():
                kind = "page faults" if cache.is_memory else "misses"
                rows.append(_row(workload, name, kind, cache, predictions))
                errors[kind].append(statistics.median(abs(one.error_percent) for one in predictions))
        return [*rows, *(_median_row(workload, kind, found) for kind, found in errors.items())]

    return step


def _row(
    workload: RealProgram, malloc: str, kind: str, cache: CacheShape, predictions: Sequence[Prediction]
) -> Verdict:
    errors = [abs(one.error_percent) for one in predictions]
    truths = [one.truth for one in predictions]
    spread = 100.0 * (max(truths) - min(truths)) / (2 * max(statistics.median(truths), 1))
    note = f"Cachegrind {statistics.median(truths):.0f}, over environments ± {spread:.1f} %"
    values = tuple(
        observed(origin, number, kind.replace(" ", "_"), float(value), kind="counted")
        for number, one in enumerate(predictions, 1)
        for origin, value in (("predicted", one.predicted), ("cachegrind", one.truth))
    )
    title = f"{kind} predicted of {workload.name} on {malloc}, {cache.name}: error"
    return bar_of(title, workload.name, "%", summarise(errors), WORST_PERCENT, note=note, outcomes=values)


def _median_row(workload: RealProgram, kind: str, errors: Sequence[float]) -> Verdict:
    middle = statistics.median(errors) if errors else None
    sizes = "memories" if kind == "page faults" else "caches"
    title = f"{kind} predicted of {workload.name}: median error over mallocs and {sizes}"
    return bar_of(title, workload.name, "%", middle, MEDIAN_PERCENT, note=f"{len(errors)} rows")
