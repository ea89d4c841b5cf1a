# SPDX-License-Identifier: BSL-1.0
"""The document's own tables, from this package's data: point by point, in the units of our figures."""

from __future__ import annotations

import csv
from functools import cache
from importlib.resources import files
from io import StringIO

from millpond.bench.experiment import Point, Published, PublishedSpec

PERCENT = "percent_of_AS1"
FOLDER = "paper"


@cache
def printed(experiment: PublishedSpec, metric: str = "") -> dict[tuple[Point, str], Published]:
    """Every figure of the experiment's tables as it was printed, by point and strategy; or every value of a metric."""
    if not experiment.table:
        return {}
    text = (files("millpond.bench.suites") / FOLDER / experiment.table).read_text(encoding="utf-8")
    read = (experiment.published(row) for row in csv.DictReader(StringIO(text)))
    return {(one.point, one.strategy): one for one in read if one is not None and one.metric == metric}


@cache
def values(experiment: PublishedSpec, metric: str = "") -> dict[tuple[Point, str], float]:
    """The figures that are numbers, shares of the baseline turned into what they are shares of."""
    found = printed(experiment, metric)
    result = {}
    for key, one in found.items():
        base = found.get((one.point, experiment.baseline))
        if one.value is None:
            continue
        if one.unit != PERCENT:
            result[key] = one.value
        elif base is not None and base.value is not None:
            result[key] = one.value / 100.0 * base.value
    return result
