# SPDX-License-Identifier: BSL-1.0
"""The result of an experiment in one sentence: its lowest strategy against the baseline, here and published."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from millpond_bench.experiments.bench_document import PublishedRow
from millpond_bench.experiments.result_table import PublishedTable
from millpond_bench.tables.quantities import text_of


def finding(results: PublishedTable) -> str:
    """`Here AS7 is lowest, at 0.35 of AS1 …`; empty if no other strategy has a ratio to the baseline. O(figures)."""
    data = results.experiment.data
    ratios: dict[str, list[PublishedRow]] = {}
    for row in results.summary():
        if row.metric == data.figure.name and row.ratio_to_baseline and row.strategy != data.baseline:
            ratios.setdefault(row.strategy, []).append(row)
    if not ratios:
        return ""
    means = {name: _mean([row.ratio_to_baseline or 0.0 for row in rows]) for name, rows in ratios.items()}
    name = min(means, key=means.__getitem__)
    both = [row for row in ratios[name] if row.published_ratio]
    theirs = f"; published {text_of(_mean([row.published_ratio or 0.0 for row in both]))}" if both else ""
    base, label = data.alias(data.baseline) or data.baseline, data.alias(name) or name
    count = len(ratios[name])
    mean = f"the geometric mean of {count} cells" if count > 1 else "one cell"
    return f"Here {label} is lowest: {text_of(means[name])} times {base} ({mean}{theirs})."


def _mean(ratios: Sequence[float]) -> float:
    return math.exp(statistics.fmean(map(math.log, ratios)))
