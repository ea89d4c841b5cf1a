# SPDX-License-Identifier: BSL-1.0
"""The requested sizes of traces ("millpond.sizes/1"), written by `millpond-characterise --sizes`.

SizeTable ─┬─ RecordedTrace, ProcessFacts     what was recorded
           ├─ Census ── Frequency             exact sizes, the most frequent first
           ├─ SizeRow                         a size, rounded up: requests, and the most live blocks of each moment
           ├─ LargerRequests                  requests above the largest size
           ├─ Site                            a call site with the bytes that are freed soon
           └─ ArenaTrial ── TriedArena        the simulated result of an arena for predicted sites
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from millpond.rounds.characterisation import ProcessFacts, RecordedTrace
from millpond.rounds.recording import CHARACTERISE, read_json
from millpond.system import native, output
from millpond.system.records import Record, decode
from millpond.system.temporary import temporary_folder

Series = npt.NDArray[np.int64]


class Frequency(Record, frozen=True):
    """One exact size."""

    bytes: int
    requests: int


class Census(Record, frozen=True):
    """All requests of a trace."""

    requests: int
    requested_bytes: int
    distinct_sizes: int
    most_frequent: tuple[Frequency, ...]


class SizeRow(Record, frozen=True):
    """The requests that round up to `bytes`. Means are over events; `live` has the most live blocks of each moment."""

    bytes: int
    requests: int
    requested_bytes: int
    peak_blocks: int
    mean_blocks: float
    mean_bytes: float
    live: tuple[int, ...]


class LargerRequests(Record, frozen=True):
    """The requests above the largest size."""

    requests: int
    requested_bytes: int
    peak_blocks: int
    peak_bytes: int


class Site(Record, frozen=True):
    """A call site: the innermost frames of its stack and its size, rounded up."""

    site: str
    objects: int
    bytes: int
    short_bytes: int
    frames: tuple[str, ...] = ()
    size: int = 0


class TriedArena(Record, frozen=True):
    """An arena of a given number of chunks. A chunk is pinned while an object in it lives longer than predicted."""

    chunks: int
    chunk_bytes: int
    objects: int
    bytes: int
    refused_bytes: int
    most_held_bytes: int
    most_pinned_bytes: int
    end_pinned_bytes: int


class ArenaTrial(Record, frozen=True):
    """The objects of predicted sites in one trace; `wrong_bytes` lived longer."""

    requested_bytes: int
    objects: int
    bytes: int
    wrong_bytes: int
    arenas: tuple[TriedArena, ...]


class SizeTable(Record, frozen=True, dict=True):
    """The table of one trace."""

    schema: str
    trace: RecordedTrace
    process: ProcessFacts
    granule_bytes: int
    largest_bytes: int
    short_bytes: int
    moments: int
    census: Census
    rows: tuple[SizeRow, ...]
    larger: LargerRequests
    sites: tuple[Site, ...] = ()
    arena: ArenaTrial | None = None

    @cached_property
    def live(self) -> Series:
        """Returns the most live blocks: a row for each size, a column for each moment."""
        return np.array([row.live for row in self.rows], dtype=np.int64).reshape(len(self.rows), self.moments)


def read_tables(traces: Sequence[Path], *options: str, short_sites: Sequence[str] = ()) -> list[SizeTable]:
    """Returns the tables of traces, in their order; with `short_sites` an arena is tried. Failure if a trace is
    unreadable.
    """
    with temporary_folder() as folder:
        out, sites = folder / "sizes.json", folder / "sites.json"
        if short_sites:
            output.write_json(list(short_sites), str(sites))
            options = (*options, "--short-sites", str(sites))
        sys.stderr.write(
            native.require(CHARACTERISE, ["--sizes", *options, "--json", str(out), "--", *map(str, traces)])
        )
        data: Any = read_json(out)
    return decode(list[SizeTable], data)
