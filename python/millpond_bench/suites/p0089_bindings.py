# SPDX-License-Identifier: BSL-1.0
"""Open questions of P0089R0 about its two bindings, with cells that separate the candidate causes.

    p0089.anomalies.virtual   the multipool is faster through the abstract base than directly, in DS4 and DS12
    p0089.anomalies.clang     with Clang the base takes two to three times as long, in vectors of containers, DS5 to
    DS8

    type_called, type_padded, type_written   type with one thing changed   (lab/suites/p0089/tried_bindings.hpp)
    base_may_throw, base_copied              base with one thing changed
    short_by 1   the outer vector is reserved for one element too few, and grows at the last, as in the authors'
    program
    counted 1    the program also counts the blocks of one structure: `blocks_each`

The questions and their candidates are data: claims/p0089_anomalies.toml.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from millpond.cells.cell import TOOLCHAIN
from millpond_bench.experiments.experiment import surrounded
from millpond_bench.experiments.experiment_data import Parameters, Part
from millpond_bench.experiments.paper_tables import PublishedFigure, Tables
from millpond_bench.suites.p0089 import (
    AROUND,
    BENCHMARK_1,
    OPEN_1,
    STRUCTURES,
    point,
    structures_at,
)
from millpond_bench.suites.p0089_strategies import ALIASES, ALL_ALIASES, LOCKED

_TOOLCHAINS = AROUND[TOOLCHAIN]
_OTHERS = ("clang", "clang-libc++")
_ALL_SIZES = tuple(range(6, 17))


def _at(ds: int, sizes: tuple[int, ...], leaves: int, **more: tuple[int | str, ...]) -> tuple[Parameters, ...]:
    return structures_at((ds,), sizes, leaves, **more)


def _title(at: Mapping[str, int | str]) -> str:
    short = ", reserved for one too few" if at.get("short_by") else ""
    return f"DS{at['ds']}, {STRUCTURES[int(at['ds']) - 1]}{short}"


# --- virtual ----------------------------------------------------------------------------------------------------------

_DIRECT, _DIRECT_WINKED, _VIRTUAL, _VIRTUAL_WINKED = (ALIASES[f"AS{n}"] for n in (7, 8, 9, 10))
_OF_ONE_THING = tuple(f"multipool:type_{what}" for what in ("called", "padded", "written"))
_DESTROYED = (
    _DIRECT, _DIRECT_WINKED, _VIRTUAL, _VIRTUAL_WINKED, *(f"{name}:destroy" for name in _OF_ONE_THING),
    "multipool_2015:type:destroy", "multipool_2015:base:destroy", LOCKED["AS7s"], LOCKED["AS9s"],
)  # fmt: skip
# The direct one that is destroyed is the baseline everywhere.
_WINKED = (
    _DIRECT, _DIRECT_WINKED, _VIRTUAL_WINKED, *(f"{name}:wink" for name in _OF_ONE_THING),
    "multipool_2015:type:wink", "multipool_2015:base:wink",
)  # fmt: skip
_TABLED = {4: (_DIRECT, _DIRECT_WINKED, _VIRTUAL_WINKED), 12: _DESTROYED[:4]}


def _published_virtual(row: Mapping[str, str]) -> PublishedFigure | None:
    found = BENCHMARK_1.table.read(row)
    return found if found and found.strategy in _TABLED.get(int(dict(found.point)["ds"]), ()) else None


def _virtual(sizes: tuple[int, ...], leaves: int) -> tuple[Part, ...]:
    return Part(_at(4, sizes, leaves), _WINKED), Part(_at(12, sizes, leaves), _DESTROYED)


def _virtual_elsewhere(size: int, leaves: int) -> tuple[Part, ...]:
    return tuple(Part(_at(ds, (size,), leaves, toolchain=_OTHERS), names) for ds, names in _TABLED.items())


VIRTUAL = surrounded(replace(
    OPEN_1, name="p0089.anomalies.virtual", title="What the document leaves open: virtual calls that are faster",
    measured="CPU seconds to build, write once and drop sets of texts again and again, for 2^27 leaf elements in all, "
             "with one thing changed that may be the cause",
    data=replace(
        OPEN_1.data, axes=("ds", "log2_size"), aliases=ALL_ALIASES,
        strategies=tuple(dict.fromkeys((*_DESTROYED, *_WINKED))),
        parts={
            "quick": _virtual((9,), 16),
            "standard": (*_virtual((9, 11), 18), *_virtual_elsewhere(9, 18)),
            "paper": (*_virtual(_ALL_SIZES, 27), *_virtual_elsewhere(12, 27)),
        },
    ),
    table=replace(
        OPEN_1.table, read=_published_virtual,
        layout=Tables(("ds",), ("log2_size",), "strategy", "elements", titles=_title,
                      labels=BENCHMARK_1.table.layout.labels),
    ),
    notes=("Both bindings have a handle of one pointer here: containers are of the same size either way. Instructions "
           "are counted with --counters or --counters=simulated.",),
), toolchain=_TOOLCHAINS)  # fmt: skip

# --- clang ------------------------------------------------------------------------------------------------------------

_BASES = tuple(f"multipool:{name}:destroy" for name in ("base_may_throw", "base_copied"))
_OF_VECTORS = (5, 6, 7, 8)


def _published_clang(row: Mapping[str, str]) -> PublishedFigure | None:
    """The figures of gcc: the paper printed no table for Clang."""
    found = BENCHMARK_1.table.read(row)
    if found is None or found.strategy not in (_DIRECT, _VIRTUAL) or dict(found.point)["ds"] not in _OF_VECTORS:
        return None
    return replace(found, point=(*found.point, *point(short_by=0)))


def _clang(structures: tuple[int, ...], sizes: tuple[int, ...], leaves: int) -> tuple[Part, ...]:
    # A number takes a hundredth of the time of a text, an element of a set somewhat less than a text.
    more = {5: 4, 6: 0, 7: 1, 8: 0} if leaves < 27 else dict.fromkeys(_OF_VECTORS, 0)
    axes = {"short_by": (0, 1), "counted": (1,)}
    return tuple(
        Part(tuple(made for around in ({}, {TOOLCHAIN: _OTHERS})
                   for made in _at(ds, sizes, leaves + more[ds], **axes, **around)))
        for ds in structures
    )  # fmt: skip


CLANG = surrounded(replace(
    OPEN_1, name="p0089.anomalies.clang", title="What the document leaves open: Clang through the base",
    measured="CPU seconds to build, write once and drop vectors of containers again and again, for 2^27 leaf elements "
             "in all, with one thing changed that may be the cause",
    data=replace(
        OPEN_1.data, extra_metrics=(*BENCHMARK_1.data.extra_metrics, "blocks_each"),
        axes=("ds", "log2_size", "short_by"), free=(*BENCHMARK_1.data.free, "counted"),
        strategies=(_DIRECT, _VIRTUAL, *_BASES),
        parts={
            "quick": _clang((6, 7), (6,), 14),
            "standard": _clang(_OF_VECTORS, (8,), 17),
            "paper": _clang(_OF_VECTORS, _ALL_SIZES, 27),
        },
    ),
    table=replace(
        OPEN_1.table, read=_published_clang,
        layout=Tables(("ds", "short_by"), ("log2_size",), "strategy", "elements", titles=_title,
                      labels=BENCHMARK_1.table.layout.labels),
    ),
    notes=("Where clang, or libc++, is not there (`make bench-toolchains`), cells by it are left out, and statements "
           "about it cannot be tested.",),
), toolchain=_TOOLCHAINS)  # fmt: skip

EXPERIMENTS = (VIRTUAL, CLANG)
