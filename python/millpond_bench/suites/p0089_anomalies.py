# SPDX-License-Identifier: BSL-1.0
"""p0089.anomalies: unexplained results of P0089R0, with cells that separate the candidate causes.

    on_stack 1   a structure that is winked out lies on the stack: without the allocator's block for it
    kept 1       the process's malloc never returns memory to the system, and maps no large blocks separately

The questions and their candidates are data: claims/p0089_anomalies.toml.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from millpond_bench.experiments.experiment_data import Parameters, Part
from millpond_bench.experiments.paper_tables import PublishedFigure, Tables
from millpond_bench.suites.p0089 import BENCHMARK_1, OPEN_1, point, structures_at
from millpond_bench.suites.p0089_strategies import ALIASES

_AXES = ("ds", "log2_size", "on_stack", "kept")
_WINKED = tuple(name for name in ALIASES.values() if not name.startswith("new_delete"))
_GLOBAL = (ALIASES["AS1"], ALIASES["AS2"])
# Structures whose time through the global allocator rises with their size, and falls again.
_PEAKED = (6, 7, 8, 10, 11, 12)
_ALL_SIZES = tuple(range(6, 17))


def _published(row: Mapping[str, str]) -> PublishedFigure | None:
    found = BENCHMARK_1.table.read(row)
    if found is None:
        return None
    ds = dict(found.point)["ds"]
    if (ds == 1 and found.strategy != ALIASES["AS2"]) or (ds in _PEAKED and found.strategy in _GLOBAL):
        return replace(found, point=(*found.point, *point(on_stack=0, kept=0)))
    return None


def _at(
    structures: tuple[int, ...], sizes: tuple[int, ...], leaves: int, **more: Iterable[int]
) -> tuple[Parameters, ...]:
    axes: dict[str, Iterable[int]] = {"on_stack": [0], "kept": [0], **more}
    return structures_at(structures, sizes, leaves, **axes)


def _winks(sizes: tuple[int, ...], leaves: int) -> Part:
    return Part(_at((1,), sizes, leaves, on_stack=[0, 1]), (ALIASES["AS1"], *_WINKED))


def _peaks(
    structures: tuple[int, ...], sizes: tuple[int, ...], leaves: int, strategies: tuple[str, ...] = _GLOBAL
) -> Part:
    return Part(_at(structures, sizes, leaves, kept=[0, 1]), strategies)


EXPERIMENT = replace(
    OPEN_1, name="p0089.anomalies", title="What the document leaves open",
    measured="CPU seconds to build, write once and drop a structure again and again, for 2^27 leaf elements in all, "
             "with one thing changed that may be the cause",
    data=replace(
        OPEN_1.data, axes=_AXES, strategies=(ALIASES["AS1"], *_WINKED, ALIASES["AS2"]),
        parts={
            "quick": (_winks((8, 11), 22), _peaks((7,), (6, 12), 21)),
            # The largest structure takes longest by far, so it is measured once.
            "standard": (_winks((6, 8, 10, 12), 22), _peaks((7, 11), (6, 9, 12), 21),
                         _peaks((6, 8), (12,), 20, _GLOBAL[:1]), _peaks((7,), (16,), 21, _GLOBAL[:1])),
            "paper": (_winks(_ALL_SIZES, 27), _peaks(_PEAKED, _ALL_SIZES, 27)),
        },
    ),
    table=replace(
        OPEN_1.table, read=_published,
        layout=Tables(("ds",), ("log2_size",), "strategy", "elements", titles=BENCHMARK_1.table.layout.titles,
                      labels=BENCHMARK_1.table.layout.labels),
    ),
    notes=("A statement here is a candidate cause: it holds, fails to hold, or is undecided, as the rounds of this run "
           "go. What the document saw and does not appear here needs no cause.",
           "on_stack 1: a structure that is winked out lies on the stack. kept 1: glibc's malloc keeps all memory "
           "(no trimming, no maps for large blocks)."),
)  # fmt: skip
