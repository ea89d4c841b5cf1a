# SPDX-License-Identifier: BSL-1.0
"""p0089.shuffles: Table 15 of P0089R0 (section 8): the effect of each shuffle, by numbers of links.

Its runs are named by numbers, not by powers of 2: `10000000 1000 10 +5 1` is |G| = 10^7 links, |S| = 1000, af = 10, sf
= 5, rf = 1. The table was a picture, of which only sentences are left.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from millpond_bench.experiments.experiment import ROUNDS
from millpond_bench.experiments.experiment_data import Part, points, thousands
from millpond_bench.experiments.paper_tables import Tables
from millpond_bench.suites.p0089 import BENCHMARK_2, CLAIMS, OPEN_2
from millpond_bench.suites.p0089_strategies import ALIASES

_LINKS, _ACCESSES, _VISITS = 10**7, 10, 1
_ALL_SHUFFLES = (1, 2, 3, 4, 5, 6, 8, 10)


def table_15(links: int, sizes: Iterable[int], shuffles: Iterable[int] = _ALL_SHUFFLES) -> tuple[Part, ...]:
    """Rows of subsystems with that many links, columns with that many shuffles, each with its twin before the
    shuffles.
    """
    signed = [sf for times in shuffles for sf in (times, -times)]
    return (Part(points(links=[links], links_each=sizes, af=[_ACCESSES], sf=signed, rf=[_VISITS])),)


def powers_of_ten(links: int) -> tuple[int, ...]:
    """The table's rows: from one link to all of them in one subsystem."""
    return tuple(10**power for power in range(len(str(links))))


EXPERIMENT = replace(
    OPEN_2, name="p0089.shuffles", title="Benchmark II, table 15: shuffle effects",
    measured="Time to traverse the lists after shuffling / before it, by the number of shuffles, ten traversals of "
             "each subsystem",
    data=replace(
        OPEN_2.data, axes=("links", "links_each", "sf"), free=("af", "rf"), strategies=(ALIASES["AS1"],),
        parts={
            "quick": table_15(10**5, (10**4, 10**2), (1, 5)),
            "standard": table_15(10**6, powers_of_ten(10**6), (1, 2, 5, 8)),
            "shape": table_15(_LINKS, powers_of_ten(_LINKS)),
            "paper": table_15(_LINKS, powers_of_ten(_LINKS)),
        },
    ),
    table=replace(
        OPEN_2.table, file="",
        layout=Tables(("links",), ("links_each",), "sf", "|S|", own_rows=True,
                      titles=lambda at: f"|G| = {thousands('', at['links'])} links, without local allocators",
                      labels=lambda name, value: f"{value} ×" if name == "sf" else thousands(name, value)),
        notation=BENCHMARK_2.table.notation,
    ),
    claims=CLAIMS, rounds={**ROUNDS, "standard": 6, "shape": 3},
    notes=("Table 15 was a picture: only its sentences are left. Its first column, no shuffles, is 1 by definition.",
           "Lists have as many links as the row says before they are shuffled, and on average after it."),
)  # fmt: skip
