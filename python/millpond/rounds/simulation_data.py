# SPDX-License-Identifier: BSL-1.0
"""The document of `millpond trace simulate` ("millpond.simulation/1"): the counts of the simulators on one stream of
references.

    Simulation ─┬─ SimulationInput, SimulationRules     the input, and the rules of counting
                ├─ Simulator ── Count (WholeRun), Time, curve   misses by cache, I + (M x P) x D, exact LRU distances
                └─ LevelTime ── TimePart                the time with all levels, if latencies were given
    LayoutComparison ── NamedSimulation                 one recording by itself and on other allocators
"""

from __future__ import annotations

from typing import Literal

from msgspec import field

from millpond.rounds.characterisation import Damage
from millpond.system.records import NONE, Record

Schema = Literal["millpond.simulation/1"]
SCHEMA: Schema = "millpond.simulation/1"
LAYOUTS_SCHEMA: Literal["millpond.layouts/1"] = "millpond.layouts/1"


class MovedReferences(Record, frozen=True):
    """The references that were moved to the layout of another allocator, that allocator's own references, and all of
    them.
    """

    played: str
    calls: int
    moved_references: int
    beside_objects: int
    unplaced_references: int
    left_out_references: int
    allocator_references: int
    allocator_instructions: int


class SimulationInput(Record, frozen=True):
    """The stream; without instructions there are no times. A sampled recording has its bursts and the gaps between
    them; another allocator's layout has the moved references; a recording that stopped before its program has the
    reason.
    """

    path: str
    format: str
    instructions: int
    references: int
    loads: int
    stores: int
    modifications: int
    allocator_instructions: int | None = None
    bursts: int | None = None
    instructions_not_captured: int | None = None
    layout: MovedReferences | None = None
    partial: str | None = None  # why the recording ends early
    damages: tuple[Damage, ...] = ()  # of the recording; the damaged parts are left out


class SimulationRules(Record, frozen=True):
    """The rules for straddling accesses, modifications and flushes."""

    straddling_access: str
    modification: str
    access_bytes_max: int
    flush_references: int
    flush_instructions: int


class WholeRun(Record, frozen=True):
    """Misses of a whole run, estimated from its bursts; also as if each burst had begun with empty caches."""

    value: int
    low: int
    high: int
    level: float
    with_empty_caches: int


class Count(Record, frozen=True, kw_only=True):
    """One count, and its scope; fields that do not apply are None."""

    metric: str
    unit: str
    value: int
    level: int | None = None
    cache_bytes: int | None = None
    sets: int | None = None
    ways: int | None = None
    line_bytes: int | None = None
    origin: str | None = None
    subject: int | None = None
    whole: WholeRun | None = None


class Time(Record, frozen=True, kw_only=True):
    """Cycles of the whole run, if each miss of one cache costs this many."""

    metric: str
    unit: str
    value: float
    miss_penalty_cycles: float
    level: int | None = None
    cache_bytes: int | None = None
    sets: int | None = None
    ways: int | None = None
    line_bytes: int | None = None
    origin: str | None = None
    subject: int | None = None


class Simulator(Record, frozen=True):
    """One simulator's counts. `curve`: (LRU distance in lines or pages, references), ascending."""

    description: str
    metrics: tuple[Count, ...]
    curve: tuple[tuple[int, int], ...] = ()
    time: tuple[Time, ...] = ()

    @property
    def kind(self) -> str:
        """The first word of the description."""
        return self.description.partition(":")[0]

    def count(self, metric: str) -> int:
        """The sum of a metric over its scope; 0 without it."""
        return sum(row.value for row in self.metrics if row.metric == metric and row.subject is None)


# Suffix for the part of a level's references that were prefetched: these wait for the second level.
FORESEEN = ", foreseen"


class TimePart(Record, frozen=True):
    """A part of a time: so many instructions, hits or walks at so many nanoseconds each."""

    part: str
    count: int
    ns_each: float
    value: float


class LevelTime(Record, frozen=True, kw_only=True):
    """The time if every reference waits for the level that has its line, or for the second level if the line was
    prefetched.
    """

    metric: str
    unit: str
    value: float
    cycles: float
    simulator: str
    translation: str | None
    latencies: str
    cycle_ns: float
    cycles_per_instruction: float
    parts: tuple[TimePart, ...]
    assumptions: tuple[str, ...]


class Simulation(Record, frozen=True):
    """One stream of references, simulated."""

    schema: Schema
    input: SimulationInput
    rules: SimulationRules
    simulators: tuple[Simulator, ...]
    level_times: tuple[LevelTime, ...] = field(default_factory=NONE)


class NamedSimulation(Record, frozen=True):
    """One layout of a recorded program: "recorded", or the allocator's name."""

    name: str
    simulation: Simulation


class LayoutComparison(Record, frozen=True):
    """The document of `millpond trace layout`: one recording by itself, then on other allocators."""

    schema: Literal["millpond.layouts/1"]
    layouts: tuple[NamedSimulation, ...]
