# SPDX-License-Identifier: BSL-1.0
"""The characterisation of a trace ("millpond.characterisation/1"), as millpond-characterise writes it.

Characterisation ─┬─ RecordedTrace, ProcessFacts                      what was recorded
                  ├─ Subsystem ─┬─ SubsystemFacts             what rows of an advice copy
                  │             └─ Size, LivePoint, Context   what only details of a report show
                  ├─ AddressMap, Pins                         the heap over time
                  ├─ LeftBlocks, Temporaries, Growth          what a change of the source avoids (pattern_data)
                  └─ ReferenceFacts, of a subsystem SubsystemReferences    a trace with references to memory
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Self

from msgspec import convert, field

from millpond.rounds.pattern_data import Growth, LeftBlocks, Temporaries, Trend
from millpond.statistics.difference_interval import Ends
from millpond.system.records import NONE, NULL, Record
from millpond.system.wording import plural

Schema = Literal["millpond.characterisation/1"]
SCHEMA: Schema = "millpond.characterisation/1"
# The values of "legality" (lab/characterise/legality_record.cpp).
NOT_DISPROVED = "not disproved"
ALIVE_AT_END = "alive at the end"  # not freed by the end, although the scope had ended: legal only if no code uses it
NOT_DECIDED = "not decided"  # the trace was cut off or damaged
OUTERMOST = "legal for the outermost call"
Number = int | float


class AliasCounts(Record, frozen=True):
    """The number of sampled contexts that were attributed to a wrong stack."""

    sampled: int | None = None
    differed: int | None = None
    share: float | None = field(default_factory=NULL)


class Damage(Record, frozen=True):
    """A damaged place of a trace."""

    offset: int
    what: str


def partial_reasons(partial: str | None, damages: Sequence[Damage]) -> list[str]:
    """The reasons why figures of a trace do not describe the whole run, a line each; empty if they do."""
    found = [f"partial: {partial}"] if partial else []
    if damages:
        first = damages[0]
        found.append(
            f"damaged in {plural(len(damages), 'place')}, the first at offset {first.offset}: {first.what}; "
            "the damaged part is left out"
        )
    return found


class HiddenModule(Record, frozen=True, kw_only=True):
    """A module whose missing symbols hide the names of functions that allocate: their events and bytes. `share`: of the
    trace's events. `near_events`: those of functions that are shown by a neighbour with a symbol. `why`: where the
    symbols could be.
    """

    path: str
    build_id: str = ""
    events: int = 0
    share: float | None = None
    bytes: int = 0
    near_events: int = 0
    why: str = ""


class ModuleSymbols(HiddenModule, frozen=True, kw_only=True):
    """A module without symbols. `package`: the package that it belongs to, if any. `command`: installs its symbols;
    empty if no package has them.
    """

    package: str = ""
    command: str = ""


class MissingSymbols(Record, frozen=True, kw_only=True):
    """The modules without symbols, the one that hides most events first. `sentence`: the share, and how to get names.
    `command`: for the modules that matter; empty if no package has their symbols. `share`: of the events, of all these
    modules; `named_by_command`: of the modules in the command.
    """

    sentence: str
    command: str = ""
    share: float
    named_by_command: float = 0.0
    modules: tuple[ModuleSymbols, ...]


class TraceSummary(Record, frozen=True):
    """The summary of a trace, which an advice keeps of it; None is unknown."""

    events: int | None = field(default_factory=NULL)
    bytes: int | None = field(default_factory=NULL)
    lost: int | None = field(default_factory=NULL)
    aliasing: AliasCounts | None = field(default_factory=NULL)
    named_share: float | None = field(default_factory=NULL)
    contexts: int | None = field(default_factory=NULL)
    damages: tuple[Damage, ...] = field(default_factory=NONE)
    clean: bool | None = field(default_factory=NULL)
    stopped_early: bool | int | None = field(default_factory=NULL)  # of several traces: the number of those
    partial: str | None = field(default_factory=NULL)  # why the trace ends early
    duration_seconds: float | None = field(default_factory=NULL)
    cpu_seconds: float | None = field(default_factory=NULL)
    threads: int | None = field(default_factory=NULL)
    peak_live_bytes: int | None = field(default_factory=NULL)
    end_live_bytes: int | None = field(default_factory=NULL)
    near_share: float | None = None  # of events: functions without a symbol that lie close to one with a symbol
    modules_without_symbols: tuple[HiddenModule, ...] = ()


class SampledIntervals(Record, frozen=True):
    """The 95 % intervals of figures that are estimated from a sample of the allocations."""

    events: Ends | None = None
    allocations: Ends | None = None
    frees: Ends | None = None
    reallocations: Ends | None = None
    bytes: Ends | None = None
    end_live_bytes: Ends | None = None
    end_live_objects: Ends | None = None
    peak_live_bytes: Ends | None = None
    peak_live_objects: Ends | None = None


class LifetimeIntervals(Record, frozen=True):
    """The 95 % intervals of percentiles, in seconds."""

    p10: Ends
    p50: Ends
    p90: Ends


class NamelessModule(Record, frozen=True):
    """A module whose file cannot be read, or is another build than the recorded one."""

    path: str
    why: str = ""


class RecordedTrace(TraceSummary, frozen=True):
    """A trace and the counts of its analysis."""

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
    sample_bytes: int | None = None  # of a sampled trace: bytes for each one chosen
    sampled_objects: int | None = None
    intervals: SampledIntervals | None = None  # None: every event is known
    recorder_seconds: float | None = None
    peak_live_objects: int | None = None
    end_live_objects: int | None = None
    modules_without_names: tuple[NamelessModule, ...] | None = None

    @classmethod
    def of(cls, summary: TraceSummary) -> Self:
        """A trace of which only the summary is known."""
        return convert(summary, cls, from_attributes=True)

    @property
    def summary(self) -> TraceSummary:
        """The part that an advice keeps."""
        return convert(self, TraceSummary, from_attributes=True)


class ProcessFacts(Record, frozen=True):
    """The recorded process."""

    pid: int | None = None
    parent_pid: int | None = None
    executable: str | None = None
    build_id: str | None = None
    argv: tuple[str, ...] | None = None
    exit_status: int | None = field(default_factory=NULL)  # -1 if the recorder did not see it end
    signal: int | None = field(default_factory=NULL)
    malloc_provider: str | None = None

    @property
    def words(self) -> str:
        """The command line, or the file if that is unknown."""
        return " ".join(self.argv or [self.executable or "?"])


class LifetimeBin(Record, frozen=True):
    """The number of objects that lived less than 2^below_ns_log2 ns, and at least half of that."""

    below_ns_log2: int
    count: int


class Lifetimes(Record, frozen=True):
    """Percentiles in seconds; None if nothing was freed."""

    p10: float | None = field(default_factory=NULL)
    p50: float | None = field(default_factory=NULL)
    p90: float | None = field(default_factory=NULL)
    max: float | None = field(default_factory=NULL)
    histogram: tuple[LifetimeBin, ...] = field(default_factory=NONE)
    intervals: LifetimeIntervals | None = None  # of a sampled trace


class Dimension(Record, frozen=True):
    """One of the scores D, V, L, U and C: its value in [0, 1], or the reason why it has no value; and its inputs.

    `method`: for D, the source of its instructions: `references` (counted) or `CPU time` (known within a factor of
    1.5, or null).
    """

    value: float | None = field(default_factory=NULL)
    kind: str | None = None
    absolute: dict[str, Number | None] | None = None
    why_null: str | None = None
    method: str | None = None


class AllocationPlace(Record, frozen=True, kw_only=True):
    """The source line that asks for the memory of a container. `language` and `standard` ("C", "C17") are those of the
    compiled file; empty if the debug information does not tell.
    """

    function: str | None = None
    file: str = field(default_factory=str)
    line: int = field(default_factory=int)
    language: str = ""
    standard: str = ""
    bytes: int | None = None


class FreeingCall(Record, frozen=True, kw_only=True):
    """A call that frees or resizes blocks of a subsystem: the number of its blocks, and of all others."""

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
        """The number of the subsystem's blocks that are freed or resized here."""
        return self.frees + self.resizes


class FreeingPlace(FreeingCall, frozen=True, kw_only=True):
    """The innermost such call in code outside the library. `through`: the library's function between it and the free,
    such as std::default_delete. `callers`: the callers of its function, those with most blocks first.
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
    """A container that a subsystem allocates for. Without a type, none was found, and `why_null` tells the reason."""

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
    """Percentiles of the bytes that one activation of a scope allocates; None if no activation was observed."""

    p50: Number | None = field(default_factory=NULL)
    p95: Number | None = field(default_factory=NULL)
    max: Number | None = field(default_factory=NULL)


class ScopeLegality(Record, frozen=True, kw_only=True):
    """Tells if a scope could own an arena for a subsystem; `legality` is unknown in older recordings."""

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
    """The allocator's work for calls that allocate, free or change objects of a subsystem."""

    calls: int = field(default_factory=int)
    instructions: int = field(default_factory=int)
    references: int = field(default_factory=int)
    misses: int = field(default_factory=int)


class CountedMisses(Record, frozen=True, kw_only=True):
    """References and misses of a simulated cache; `indirect` are the misses on lines that the allocator evicted.
    `useful_bytes` are the bytes of a fetched line that are accessed before it is evicted.
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
    """The program's references to objects of one subsystem.

    L = I / (I + M · T): I is `references`, M `lines`, T `transitions`. `lines`: the most cache lines at any moment
    that held touched bytes of live objects; `lines_packed`: the lines that these bytes would need without gaps;
    `lines_touched`: all lines of the run.
    """

    transitions: int = field(default_factory=int)
    lines: int = field(default_factory=int)
    lines_packed: int = field(default_factory=int)
    lines_touched: int = field(default_factory=int)
    locality: float | None = field(default_factory=NULL)
    ratio: float | None = field(default_factory=NULL)  # I / (M · T), as in P0089R0; None if T is 0
    miss_share: float | None = field(default_factory=NULL)  # of all misses
    useful_share: float | None = field(default_factory=NULL)  # of the bytes fetched
    instruction_share: float | None = field(default_factory=NULL)  # the allocator's for it, of the run's
    allocator: AllocatorWork = field(default_factory=AllocatorWork)


class SubsystemFacts(Record, frozen=True, kw_only=True):
    """The facts about a subsystem that a row of an advice copies; None is unknown. The letters: W is the number of
    threads that work in it; N is the CPU time of its threads, or with references their instructions.
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
    freed_at: tuple[FreeingPlace, ...] = ()  # empty if the recording has no places of frees
    freed_elsewhere: int = 0  # frees and resizes at places that are not listed
    modules: tuple[str, ...] = ()  # the files that hold its own functions
    near: str | None = None  # if it is a function without a symbol: the closest function with one

    @property
    def label(self) -> str:
        """The name for people: it says where a function without a symbol lies. Plans and documents have `name`."""
        return f"near {self.near} ({self.name})" if self.near else self.name

    def dimension(self, letter: str) -> Dimension:
        """One of its dimensions; unknown if it was not computed."""
        return (self.dvluc or {}).get(letter) or Dimension()


class Size(Record, frozen=True):
    """Allocations in one size class."""

    bytes: int
    count: int


class LivePoint(Record, frozen=True):
    """Live bytes and the pages that they touch at one moment."""

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
    intervals: SampledIntervals | None = None


class OwnerWord(Record, frozen=True):
    """A word that identifies the instance that an object belongs to."""

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
    sampled_objects: int | None = None
    intervals: SampledIntervals | None = None  # None: every event is known


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
    """The places of each subsystem's objects over time. A cell: row, column, subsystem, its share of the touched
    pages, the share of pages that are touched.
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
    """The pairs of subsystems in which one keeps the other's dead pages."""

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
    """References to one kind of place. The program's are to heap, stack, global or unknown memory; `allocator` and
    `system` are the accesses of the allocator and of system calls, to any memory.
    """

    place: str


class ReferenceRow(Record, frozen=True):
    """A range of addresses that references touch; the `gap_bytes` below it were not touched, and `place` has most of
    its references.
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
    """A subsystem of an affinity matrix, and the number of visits to its objects."""

    name: str
    visits: int


class Affinity(Record, frozen=True):
    """Shows which subsystems are accessed together.

    A visit is a reference to an object that was not among the last `window_objects` of its thread. A cell: row, other
    row, the row's visits that found an object of the other row in the window, and the number of these whose object was
    allocated within `near_bytes` of the other's. Cells without visits are left out.
    """

    window_objects: int = field(default_factory=int)
    near_bytes: int = field(default_factory=int)
    rows: tuple[AffinityRow, ...] = field(default_factory=NONE)
    cells: tuple[tuple[int, int, int, int], ...] = field(default_factory=NONE)

    @property
    def strengths(self) -> dict[tuple[int, int], float]:
        """For each pair of rows, the share of their visits that found a near object of the other row. For a row with
        itself, the share that found another near object of its own: this means a traversal in the order of allocation.
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
    misses: dict[str, int]  # of program, allocator and system; `indirect` are part of the program's
    places: tuple[ReferencePlace, ...]
    allocator: AllocatorWork  # for calls whose owner is unknown
    affinity: Affinity | None = field(default_factory=NULL)
    map: ReferenceMap | None = field(default_factory=NULL)
    damages: tuple[Damage, ...] = field(default_factory=NONE)
    notes: tuple[str, ...] = field(default_factory=NONE)


class Window(Record, frozen=True):
    """The part of a trace over which the dimensions are measured. `text`: the window as requested; events count from
    1.
    """

    text: str
    first_event: int
    last_event: int
    from_seconds: float
    to_seconds: float


class PhaseShare(Record, frozen=True):
    """The objects of one subsystem that began in a phase. `ended_within`, `running_at_end`: those that ended, or were
    alive at the end of the trace, in the stretch in which they began; `outliving`: all others. `stretch_bytes_max`:
    allocated in one stretch, at most. `peak_live_bytes`: of the subsystem, after its allocations in this phase.
    """

    name: str
    objects: int
    bytes: int
    peak_live_bytes: int
    ended_within: int
    running_at_end: int
    outliving: int
    stretch_bytes_max: int


class Phase(Record, frozen=True):
    """A phase: its stretches of the trace together. `name`: of a mark, empty outside marks and for a phase that was
    found. `first_event` counts from 1. Live bytes at the begin of the first stretch, and at the end of the last.
    """

    name: str
    stretches: int
    first_event: int
    events: int
    allocations: int
    bytes: int
    seconds: float
    begin_live_bytes: int
    end_live_bytes: int
    peak_live_bytes: int
    subsystems: tuple[PhaseShare, ...] = field(default_factory=NONE)  # those that allocated most in it


class Phases(Record, frozen=True):
    """The phases of a trace. `method`: `marks` of the program, or `change points` of its events."""

    method: str
    phases: tuple[Phase, ...]

    @property
    def labels(self) -> tuple[str, ...]:
        """The names for people, without control characters, which a mark may have."""
        if self.method != "marks":
            return tuple(f"phase {i}" for i in range(1, len(self.phases) + 1))
        shown = ("".join(c if c.isprintable() else "\ufffd" for c in phase.name) for phase in self.phases)
        return tuple(name or "(no phase)" for name in shown)


class Characterisation(Record, frozen=True):
    """The characterisation of one trace; for a summary only the first three fields are known."""

    schema: str = field(default_factory=lambda: SCHEMA)
    trace: RecordedTrace = field(default_factory=RecordedTrace)
    process: ProcessFacts = field(default_factory=ProcessFacts)
    subsystems: tuple[Subsystem, ...] = field(default_factory=NONE)
    heat_map: AddressMap | None = None
    pins: Pins | None = field(default_factory=NULL)
    phases: Phases | None = field(default_factory=NULL)  # null: one phase only
    left: LeftBlocks | None = None
    temporaries: Temporaries | None = None
    growth: Growth | None = None
    trend: Trend | None = None
    references: ReferenceFacts | None = field(default_factory=NULL)
    notes: tuple[str, ...] = ()
    window: Window | None = field(default_factory=NULL)  # null: each subsystem's own lifetime
    symbols: MissingSymbols | None = None  # added by `millpond trace show`
