# SPDX-License-Identifier: BSL-1.0
"""The document of `millpond doctor` ("millpond.doctor/1"): what was examined, and what follows from it.

Examination ─┬─ MachineFacts                what the kernel says
             ├─ Cost, SetLatency, PageLatency, DataCache, TranslationBuffer, Ability
             │                              what millpond-probe found (ProbeResult), and what really works
             ├─ Installation ── InstalledPart, Place    what of ours is here, and what else can be used
             ├─ StoreFacts, NoiseFacts
             └─ Diagnosis                     what follows, in sentences
"""

from __future__ import annotations

from typing import Literal

from msgspec import field

from millpond.rounds.noise import Noise
from millpond.rounds.replay_data import ErrorNote
from millpond.system.machine_facts import MachineFacts, Place
from millpond.system.records import NONE, NULL, Record

Schema = Literal["millpond.doctor/1"]
SCHEMA: Schema = "millpond.doctor/1"
Level = Literal["missing", "warning", "note"]


class Cost(Record, frozen=True):
    """The cost of one basic operation; if it has no median, the reason why it was not measured."""

    n: int
    median: float | None = field(default_factory=NULL)
    low: float | None = None
    high: float | None = None
    unit: str = field(default_factory=lambda: "ns")
    why_null: str | None = field(default_factory=NULL)


class SetLatency(Cost, frozen=True):
    """The latency of one dependent load from a set of lines that is visited in random order."""

    set_bytes: int = 0


class PageLatency(Cost, frozen=True):
    """The latency of one dependent load from one line of each of many small pages. It exceeds SetLatency by the cost
    of address translation.
    """

    pages: int = 0


class DataCache(Record, frozen=True):
    """A data cache between the first processor and memory; level 1 is the innermost."""

    level: int
    bytes: int
    ways: int
    line_bytes: int


class TranslationBuffer(Record, frozen=True):
    """A buffer of address translations of 4 KiB pages (TLB)."""

    level: int
    entries: int
    ways: int


class Ability(Record, frozen=True):
    """A feature that works here, or the reason why it does not."""

    name: str
    available: bool
    why_not: str | None = field(default_factory=NULL)

    @classmethod
    def unless(cls, name: str, why_not: str) -> Ability:
        """Works if `why_not` is empty."""
        return cls(name, not why_not, why_not or None)


class ProbeResult(Record, frozen=True):
    """The output of millpond-probe ("millpond.probe/1")."""

    costs: dict[str, Cost] = field(default_factory=dict)
    latencies: tuple[SetLatency, ...] = ()
    page_latencies: tuple[PageLatency, ...] = ()
    caches: tuple[DataCache, ...] = ()
    translation_buffers: tuple[TranslationBuffer, ...] = ()
    counters: tuple[Ability, ...] = ()
    time_stamp_is_invariant: bool | None = None
    ptrace: Ability | None = None


class InstalledPart(Place, frozen=True):
    """A program or library of ours; `without`: what fails if it is absent and optional."""

    needed: bool
    without: str | None


class Installation(Record, frozen=True):
    """The installed parts of Millpond, the installed mallocs and tools, and the packages of absent mallocs."""

    programs: tuple[InstalledPart, ...]
    libraries: tuple[InstalledPart, ...]
    mallocs: tuple[Place, ...]
    missing_mallocs: dict[str, str]
    tools: tuple[Place, ...]


class StoreFacts(Record, frozen=True):
    """The writability of the store, and the free space there."""

    path: str
    exists: bool
    writable: bool
    why_not: str | None
    free_bytes: int
    temporary_free_bytes: int


class NoiseFacts(Record, frozen=True):
    """The noise of two equal contenders; if there are no rounds, the reason why."""

    rounds: int
    metrics: tuple[Noise, ...] = field(default_factory=NONE)
    why_null: str | None = field(default_factory=NULL)


class Diagnosis(Record, frozen=True):
    """A statement about the machine. `missing`: Millpond cannot work without it; `warning`: results suffer; `note`:
    good to know.
    """

    level: Level
    about: str
    sentence: str


class Examination(Record, frozen=True, kw_only=True):
    """All that was examined."""

    schema: Schema = field(default_factory=lambda: SCHEMA)
    machine: str
    fingerprint: str
    version: str
    time_utc: str
    facts: MachineFacts
    costs: dict[str, Cost] = field(default_factory=lambda: {})
    latencies: tuple[SetLatency, ...] = field(default_factory=NONE)
    page_latencies: tuple[PageLatency, ...] = field(default_factory=NONE)
    caches: tuple[DataCache, ...] = field(default_factory=NONE)
    translation_buffers: tuple[TranslationBuffer, ...] = field(default_factory=NONE)
    time_stamp_is_invariant: bool | None = field(default_factory=NULL)
    counters: tuple[Ability, ...] = field(default_factory=NONE)
    why_no_probe: str = field(default_factory=str)
    installed: Installation
    works: tuple[Ability, ...]
    store: StoreFacts
    noise: NoiseFacts
    replay_error: ErrorNote | None = None
    findings: tuple[Diagnosis, ...] = field(default_factory=NONE)
    ok: bool = field(default_factory=bool)

    def cost(self, name: str) -> float | None:
        """The median of a cost in nanoseconds; None if it was not measured."""
        found = self.costs.get(name)
        return found.median if found else None
