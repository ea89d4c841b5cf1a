# SPDX-License-Identifier: BSL-1.0
"""The characterisation of a trace ("millpond.characterisation/1"), as millpond-characterise writes it.

Characterisation ─┬─ RecordedTrace, ProcessFacts                      what was recorded
                  ├─ Subsystem ─┬─ SubsystemFacts             what rows of an advice copy
                  │             └─ Size, LivePoint, Context   what only details of a report show
                  ├─ AddressMap, Pins                         the heap over time
                  └─ ReferenceFacts, of a subsystem SubsystemReferences    a trace with references to memory
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Self

from msgspec import convert, field

from millpond.system.records import NONE, NULL, Record
from millpond.system.wording import plural

Schema = Literal["millpond.characterisation/1"]
SCHEMA: Schema = "millpond.characterisation/1"
# The words of "legality" (lab/characterise/legality_record.cpp).
NOT_DISPROVED = "not disproved"
ALIVE_AT_END = "alive at the end"  # never freed after the scope had ended: legal only if nobody touches it
NOT_DECIDED = "not decided"  # the trace was cut or damaged
OUTERMOST = "legal for the outermost call"
Number = int | float


class Aliasing(Record, frozen=True):
    """How many sampled contexts were attributed to a wrong stack."""

    sampled: int | None = None
    differed: int | None = None
    share: float | None = field(default_factory=NULL)


class Damage(Record, frozen=True):
    """A damaged place of a trace."""

    offset: int
    what: str


def whole_words(partial: str | None, damages: Sequence[Damage]) -> list[str]:
    """Why figures of a trace are not those of the whole run, a line each; empty where they are."""
    found = [f"partial: {partial}"] if partial else []
    if damages:
        first = damages[0]
        found.append(
            f"damaged in {plural(len(damages), 'place')}, the first at offset {first.offset}: {first.what}; "
            "what was there is left out"
        )
    return found


class TraceSummary(Record, frozen=True):
    """What is known of every trace, and what an advice keeps of it; None is unknown."""

    events: int | None = field(default_factory=NULL)
    bytes: int | None = field(default_factory=NULL)
    lost: int | None = field(default_factory=NULL)
    aliasing: Aliasing | None = field(default_factory=NULL)
    named_share: float | None = field(default_factory=NULL)
    contexts: int | None = field(default_factory=NULL)
    damages: tuple[Damage, ...] = field(default_factory=NONE)
    clean: bool | None = field(default_factory=NULL)
    stopped_early: bool | int | None = field(default_factory=NULL)  # of several traces: in how many
    partial: str | None = field(default_factory=NULL)  # why the trace ends early
    duration_seconds: float | None = field(default_factory=NULL)
    cpu_seconds: float | None = field(default_factory=NULL)
    threads: int | None = field(default_factory=NULL)
    peak_live_bytes: int | None = field(default_factory=NULL)
    end_live_bytes: int | None = field(default_factory=NULL)


class NamelessModule(Record, frozen=True):
    """A module without symbols."""

    path: str
    why: str = ""


class RecordedTrace(TraceSummary, frozen=True):
    """A trace and what its analysis counted."""

    path: str | None = None
    allocations: int | None = None
    frees: int | None = None
    reallocations: int | None = None
    failed: int | None = None
    ended: bool | None = None
    unmatched_frees: int | None = None
    frees_not_seen: int | None = None
    mended_hand_offs: int | None = None
    frees_are_placed: bool | None = None
    recorder_seconds: float | None = None
    peak_live_objects: int | None = None
    end_live_objects: int | None = None
    modules_without_names: tuple[NamelessModule, ...] | None = None

    @classmethod
    def of(cls, summary: TraceSummary) -> Self:
        """A trace of which no more is known."""
        return convert(summary, cls, from_attributes=True)

    @property
    def summary(self) -> TraceSummary:
        """What an advice keeps of it."""
        return convert(self, TraceSummary, from_attributes=True)


class ProcessFacts(Record, frozen=True):
    """The recorded process."""

    pid: int | None = None
    parent_pid: int | None = None
    executable: str | None = None
    build_id: str | None = None
    argv: tuple[str, ...] | None = None
    exit_status: int | None = field(default_factory=NULL)  # -1 where nobody has seen it end
    signal: int | None = field(default_factory=NULL)
    malloc_provider: str | None = None

    @property
    def words(self) -> str:
        """Its command line, or its file where that is unknown."""
        return " ".join(self.argv or [self.executable or "?"])


class LifetimeBin(Record, frozen=True):
    """Objects with a lifetime below 2^below_ns_log2 ns, and not below half of it."""

    below_ns_log2: int
    count: int


class Lifetimes(Record, frozen=True):
    """Percentiles in seconds; None where nothing was freed."""

    p10: float | None = field(default_factory=NULL)
    p50: float | None = field(default_factory=NULL)
    p90: float | None = field(default_factory=NULL)
    max: float | None = field(default_factory=NULL)
    histogram: tuple[LifetimeBin, ...] = field(default_factory=NONE)


class Dimension(Record, frozen=True):
    """One of D, V, L, U and C: its value in [0, 1], or why there is none; the figures that it is made of.

    `method`: of D, where its instructions come from: `references` (counted) or `CPU time` (known within a factor of
    1.5, or null).
    """

    value: float | None = field(default_factory=NULL)
    kind: str | None = None
    absolute: dict[str, Number | None] | None = None
    why_null: str | None = None
    method: str | None = None


class AllocationPlace(Record, frozen=True, kw_only=True):
    """Where the source asks for the memory of a container. `language` and `standard` ("C", "C17") are those that its
    file was compiled by; empty where the debug information does not say.
    """

    function: str | None = None
    file: str = field(default_factory=str)
    line: int = field(default_factory=int)
    language: str = ""
    standard: str = ""
    bytes: int | None = None


class FreeingCall(Record, frozen=True, kw_only=True):
    """A call that frees or resizes blocks of a subsystem: how many of it, and how many of all others."""

    function: str
    file: str = ""
    line: int = 0
    language: str = ""
    standard: str = ""
    frees: int = 0
    resizes: int = 0
    of_others: int = 0

    @property
    def own(self) -> int:
        """The subsystem's blocks that pass here."""
        return self.frees + self.resizes


class FreeingPlace(FreeingCall, frozen=True, kw_only=True):
    """The innermost such call in code that is not the library's. `through`: the library's function between it and the
    free, such as std::default_delete. `callers`: who calls its function for it, with most blocks first.
    """

    through: str | None = field(default_factory=NULL)
    callers: tuple[FreeingCall, ...] = field(default_factory=NONE)


class Member(Record, frozen=True, kw_only=True):
    """A member or variable that a container may be."""

    name: str
    kind: str
    type: str
    holds: str = ""
    named_in_call: bool = field(default_factory=bool)
    file: str = field(default_factory=str)
    line: int = field(default_factory=int)


class Container(Record, frozen=True):
    """A container that a subsystem allocates for; without a type it is none, and `why_null` says why."""

    type: str | None = field(default_factory=NULL)
    element_of: str | None = field(default_factory=NULL)
    call: str | None = field(default_factory=NULL)
    why_null: str | None = field(default_factory=NULL)
    bytes: int = field(default_factory=int)
    share: float = field(default_factory=float)
    allocations: int = field(default_factory=int)
    places: tuple[AllocationPlace, ...] = field(default_factory=NONE)
    members: tuple[Member, ...] = field(default_factory=NONE)
    why_no_members: str | None = None


class Witness(Record, frozen=True):
    """An object that outlives a scope."""

    stack: tuple[str, ...] = field(default_factory=NONE)
    thread: int | None = None
    bytes: int | None = None
    allocated_seconds: float | None = None
    ended: str | None = None


class InstanceBytes(Record, frozen=True):
    """What one activation of a scope allocates: percentiles; None where none was observed."""

    p50: Number | None = field(default_factory=NULL)
    p95: Number | None = field(default_factory=NULL)
    max: Number | None = field(default_factory=NULL)


class ScopeLegality(Record, frozen=True, kw_only=True):
    """Whether a scope could own an arena for a subsystem; `legality` is unknown to older recordings."""

    scope: str
    name: str
    legality: str | None = None
    legal: bool
    observed: bool | None = None
    method: str | None = field(default_factory=NULL)
    why_not_observed: str | None = field(default_factory=NULL)
    outliving: int | None = None
    outliving_outermost: int | None = None
    alive_at_end: int | None = None  # never freed, although the scope had ended
    running_at_end: int | None = None  # alive when the trace ended within the scope
    total: int | None = None
    share: float | None = None
    activations: int | None = field(default_factory=NULL)
    calls: int | None = field(default_factory=NULL)
    instance_bytes: InstanceBytes | None = None
    first_empty_seconds: float | None = field(default_factory=NULL)
    freed_by_other_threads: int | None = None
    witnesses: tuple[Witness, ...] = field(default_factory=NONE)
    file: str = ""
    line: int = 0

    @property
    def words(self) -> str:
        """`function parse`."""
        return f"{self.scope} {self.name}"


class AllocatorWork(Record, frozen=True):
    """What the allocator executed for calls that allocate, free or change objects of a subsystem."""

    calls: int = field(default_factory=int)
    instructions: int = field(default_factory=int)
    references: int = field(default_factory=int)
    misses: int = field(default_factory=int)


class CountedMisses(Record, frozen=True, kw_only=True):
    """References and misses of a simulated cache; `indirect` are those of them on lines that the allocator evicted.
    A line that is fetched has `useful_bytes` that are accessed before it is evicted.
    """

    references: int = field(default_factory=int)
    misses: int = field(default_factory=int)
    cold: int = field(default_factory=int)
    capacity: int = field(default_factory=int)
    conflict: int = field(default_factory=int)
    indirect: int = field(default_factory=int)
    fetched_bytes: int = field(default_factory=int)
    useful_bytes: int = field(default_factory=int)


class SubsystemReferences(CountedMisses, frozen=True, kw_only=True):
    """The program's references to objects of one subsystem. L = I / (I + M · T): I is `references`, M `lines`, T
    `transitions`. `lines` are those that touched bytes of live objects lay on when they were most, `lines_packed` those
    that the same bytes need when nothing lies between them, `lines_touched` all of the run.
    """

    transitions: int = field(default_factory=int)
    lines: int = field(default_factory=int)
    lines_packed: int = field(default_factory=int)
    lines_touched: int = field(default_factory=int)
    locality: float | None = field(default_factory=NULL)
    ratio: float | None = field(default_factory=NULL)  # I / (M · T), as P0089R0 has it; None where T is 0
    miss_share: float | None = field(default_factory=NULL)  # of all misses
    useful_share: float | None = field(default_factory=NULL)  # of the bytes fetched
    instruction_share: float | None = field(default_factory=NULL)  # the allocator's for it, of all of the run
    allocator: AllocatorWork = field(default_factory=AllocatorWork)


class SubsystemFacts(Record, frozen=True, kw_only=True):
    """What a row of an advice copies of a subsystem; None is unknown. The letters: W threads work in it, N is the CPU
    time of its threads, and of a recording with references their instructions.
    """

    name: str
    kind: str | None = None
    named: bool | None = None
    events: int | None = None
    allocations: int | None = None
    frees: int | None = None
    reallocations: int | None = None
    bytes: int | None = None
    end_live_bytes: int | None = None
    peak_live_bytes: int | None = None
    peak_live_objects: int | None = None
    lifetimes: Lifetimes | None = None
    effective_sizes: float | None = None
    N: dict[str, float | None] | None = None
    W: int | None = None
    freed_by_other_threads: int | None = None
    dvluc: dict[str, Dimension] | None = None
    legality: tuple[ScopeLegality, ...] = field(default_factory=NONE)
    containers: tuple[Container, ...] | None = None
    freed_at: tuple[FreeingPlace, ...] = ()  # without frees where their places were not recorded
    freed_elsewhere: int = 0  # frees and resizes at places that are not listed
    modules: tuple[str, ...] = ()  # the files that its own functions lie in

    def dimension(self, letter: str) -> Dimension:
        """One of its dimensions; unknown where it was not looked for."""
        return (self.dvluc or {}).get(letter) or Dimension()


class Size(Record, frozen=True):
    """Allocations in one size class."""

    bytes: int
    count: int


class LivePoint(Record, frozen=True):
    """Live bytes and the pages that they touch, at one moment."""

    time_seconds: float
    live_bytes: Number
    page_bytes: Number
    ratio: float | None = field(default_factory=NULL)


class Context(Record, frozen=True):
    """A call stack that allocates much."""

    share: float | None = None
    allocations: int | None = None
    bytes: int | None = None
    stack: tuple[str, ...] = field(default_factory=NONE)


class OwnerWord(Record, frozen=True):
    """A word that tells which instance an object belongs to."""

    word: str
    owners: int
    samples: int


class Subsystem(SubsystemFacts, frozen=True, kw_only=True):
    """A subsystem with all its details."""

    end_live_objects: int | None = None
    first_seconds: float | None = None
    last_seconds: float | None = None
    sizes: tuple[Size, ...] = ()
    contexts: int | None = None
    threads: int | None = None
    operation_seconds: float | None = None
    free_seconds: float | None = None
    diffusion: tuple[LivePoint, ...] = ()
    first_empty_seconds: float | None = field(default_factory=NULL)
    empty_from_seconds: float | None = field(default_factory=NULL)
    owners: tuple[str | OwnerWord, ...] | None = None
    references: SubsystemReferences | None = field(default_factory=NULL)
    top_contexts: tuple[Context, ...] = ()


class AddressRow(Record, frozen=True):
    """A range of addresses; `gap_bytes` below it were never used."""

    offset_bytes: int = field(default_factory=int)
    bytes: int = field(default_factory=int)
    gap_bytes: int = field(default_factory=int)


class Moment(Record, frozen=True):
    """A column of the map."""

    time_seconds: float = field(default_factory=float)
    live_bytes: int = field(default_factory=int)


class AddressMap(Record, frozen=True):
    """Which subsystem's objects lie where, over time. A cell: row, column, subsystem, its share of the touched pages,
    the share of pages that are touched.
    """

    granule_bytes: int | None = None
    rows: tuple[AddressRow, ...] = field(default_factory=NONE)
    columns: tuple[Moment, ...] = field(default_factory=NONE)
    cells: tuple[tuple[int, int, int, float, float], ...] = field(default_factory=NONE)


class PinnedPair(Record, frozen=True):
    """Dead bytes of one subsystem on pages that survivors of another keep."""

    by: str
    of: str
    bytes: int
    pages: int


class Pins(Record, frozen=True):
    """Who keeps whose dead pages."""

    time_seconds: float | None = None
    peak_seconds: float | None = None
    dead_bytes: int | None = None
    pairs: tuple[PinnedPair, ...] = field(default_factory=NONE)


class SimulatedCache(Record, frozen=True):
    """The cache whose misses are counted."""

    description: str
    bytes: int
    sets: int
    ways: int
    line_bytes: int
    replacement: str


class ReferencePlace(CountedMisses, frozen=True, kw_only=True):
    """References to one kind of place: heap, stack, global or unknown memory by the program; `allocator` and `system`
    are what the allocator and system calls access, wherever it lies.
    """

    place: str


class ReferenceRow(Record, frozen=True):
    """A range of addresses that references touch; `gap_bytes` below it were not, and `place` has most of its
    references.
    """

    first: int = field(default_factory=int)
    bytes: int = field(default_factory=int)
    gap_bytes: int = field(default_factory=int)
    place: str = field(default_factory=str)


class ReferenceMap(Record, frozen=True):
    """References by address and time. A cell: row, column, references, misses; cells without references are left out.
    A column covers `column_instructions` instructions.
    """

    granule_bytes: int = field(default_factory=int)
    column_instructions: int = field(default_factory=int)
    columns: int = field(default_factory=int)
    rows: tuple[ReferenceRow, ...] = field(default_factory=NONE)
    cells: tuple[tuple[int, int, int, int], ...] = field(default_factory=NONE)


class AffinityRow(Record, frozen=True):
    """A subsystem of an affinity matrix, and how many visits its objects had."""

    name: str
    visits: int


class Affinity(Record, frozen=True):
    """Which subsystems are accessed together. A visit is a reference to an object that was not among the last
    `window_objects` of its thread. A cell: row, other row, visits of the row that met one of the other, those of them
    whose object was allocated within `near_bytes` of the other's; cells without visits are left out.
    """

    window_objects: int = field(default_factory=int)
    near_bytes: int = field(default_factory=int)
    rows: tuple[AffinityRow, ...] = field(default_factory=NONE)
    cells: tuple[tuple[int, int, int, int], ...] = field(default_factory=NONE)

    @property
    def strengths(self) -> dict[tuple[int, int], float]:
        """Of each two rows: the share of their visits that met a near object of the other; of a row with itself: the
        share that met another near object of its own, which is a traversal in the order of allocation.
        """
        near = {(row, other): count for row, other, _, count in self.cells}
        found = {}
        for row, other in near:
            visits = self.rows[row].visits + self.rows[other].visits
            found[row, other] = (near[row, other] + near.get((other, row), 0)) / visits if visits else 0.0
        return found


class ReferenceFacts(Record, frozen=True, kw_only=True):
    """All references of a run. `instruction_share` is the allocator's share of the run's instructions."""

    references: int
    instructions: int
    allocator_instructions: int
    instructions_not_captured: int = field(default_factory=int)
    instruction_share: float | None = field(default_factory=NULL)
    cache: SimulatedCache
    misses: dict[str, int]  # of program, allocator and system; `indirect` are some of the program's
    places: tuple[ReferencePlace, ...]
    allocator: AllocatorWork  # calls whose owner is unknown
    affinity: Affinity | None = field(default_factory=NULL)
    map: ReferenceMap | None = field(default_factory=NULL)
    damages: tuple[Damage, ...] = field(default_factory=NONE)
    notes: tuple[str, ...] = field(default_factory=NONE)


class Window(Record, frozen=True):
    """The part of a trace over which the dimensions are measured. `text`: as it was asked for; events count from 1."""

    text: str
    first_event: int
    last_event: int
    from_seconds: float
    to_seconds: float


class Characterisation(Record, frozen=True):
    """One trace characterised; of a summary only the first three are known."""

    schema: str = field(default_factory=lambda: SCHEMA)
    trace: RecordedTrace = field(default_factory=RecordedTrace)
    process: ProcessFacts = field(default_factory=ProcessFacts)
    subsystems: tuple[Subsystem, ...] = field(default_factory=NONE)
    heat_map: AddressMap | None = None
    pins: Pins | None = field(default_factory=NULL)
    references: ReferenceFacts | None = field(default_factory=NULL)
    notes: tuple[str, ...] = ()
    window: Window | None = field(default_factory=NULL)  # null: each subsystem's own, while its objects are alive
