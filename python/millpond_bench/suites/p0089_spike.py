# SPDX-License-Identifier: BSL-1.0
"""p0089.anomalies.spike: Benchmark II with subsystems of one link, with cells that separate the candidate causes.

    walk lists              a visit takes every link of the list, af times, as the paper says
    walk links              a visit takes af × |S| links, from the end back to the first, as the authors' program
    counts
    walk links_unbranched   the same, without a branch that depends on the data
    chained 1               a visit waits for the value that the last one read, so that they cannot overlap
    subtracted 1            the time of as many visits without a link is subtracted, as in the paper

The questions and their candidates are data: claims/p0089_anomalies.toml.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from millpond_bench.experiments.experiment_data import Parameters, Part, points
from millpond_bench.experiments.paper_tables import PublishedFigure, Tables
from millpond_bench.suites.p0089 import BENCHMARK_2, OPEN_2, SHUFFLES, TRAVERSALS
from millpond_bench.suites.p0089_strategies import ALIASES

_HOW = ("walk", "chained", "subtracted")
_How = tuple[str, int, int]
_AS_THE_AUTHORS: _How = ("links", 0, 1)
# Also with |S| = 8, for a comparison with |S| = 1.
_BESIDE: tuple[_How, ...] = (_AS_THE_AUTHORS, ("links", 0, 0), ("lists", 0, 0))
_ALONE: tuple[_How, ...] = (("links_unbranched", 0, 0), ("links", 1, 0))
_ONE_LINK, _EIGHT_LINKS = 0, 3
_TWICE_AND_ONCE = (2, 1)


def _published(row: Mapping[str, str]) -> PublishedFigure | None:
    found = BENCHMARK_2.table.read(row)
    if found is None or found.strategy != ALIASES["AS1"]:
        return None
    at = dict(found.point)
    if at["log2_s"] not in (_ONE_LINK, _EIGHT_LINKS) or at["af"] not in _TWICE_AND_ONCE:
        return None
    walk, chained, subtracted = _AS_THE_AUTHORS
    return replace(found, point=(*found.point, ("walk", walk), ("chained", chained), ("subtracted", subtracted)))


def _visits(log2_g: int, product: int) -> tuple[Parameters, ...]:
    """Each way to visit, after shuffling and before. `product`: about the number of visits to a link in all."""
    return tuple(
        made
        for how in (*_BESIDE, *_ALONE)
        for log2_s in ((_ONE_LINK, _EIGHT_LINKS) if how in _BESIDE else (_ONE_LINK,))
        for af in _TWICE_AND_ONCE
        for made in points(
            log2_g=[log2_g], log2_s=[log2_s], af=[af], sf=[SHUFFLES, -SHUFFLES], rf=[product // af],
            **{name: [value] for name, value in zip(_HOW, how, strict=True)},
        )
    )  # fmt: skip


def _title(at: Mapping[str, int | str]) -> str:
    chained = ", each visit after the last" if at["chained"] else ""
    timed = ", empty visits subtracted" if at["subtracted"] else ""
    return f"|G| = 2^{at['log2_g']}, by {str(at['walk']).replace('_', ', ')}{chained}{timed}"


EXPERIMENT = replace(
    OPEN_2, name="p0089.anomalies.spike", title="What the document leaves open: a subsystem of one link",
    measured="Time to visit the lists after shuffling / before it, with one thing changed that may be the cause of the "
             "spike at |S| = 1",
    data=replace(
        OPEN_2.data, axes=("log2_g", "log2_s", "af", "sf", *_HOW), strategies=(ALIASES["AS1"],),
        parts={
            "quick": (Part(_visits(15, 4)),),
            "standard": (Part(_visits(18, 8)),),
            "paper": (Part(_visits(21, TRAVERSALS)), Part(_visits(25, TRAVERSALS))),
        },
    ),
    table=replace(
        OPEN_2.table, read=_published,
        layout=Tables(("log2_g", *_HOW), ("log2_s",), "af", "|S|", titles=_title, own_rows=True,
                      labels=BENCHMARK_2.table.layout.labels),
    ),
    notes=("The document says that a visit takes a list af times. Its authors' published program takes af × |S| links, "
           "whatever the list's length is by then; its figures are next to those of that walk.",),
)  # fmt: skip
