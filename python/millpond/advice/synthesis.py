# SPDX-License-Identifier: BSL-1.0
"""The result of a synthesis ("millpond.synthesis/1"): classes made from some traces, and their results on all traces.

Synthesis ─┬─ ClassUse                     each class in the traces that it was made from, added up
           ├─ ShortSite                    each call site whose blocks go to the arena
           └─ TraceUse ─┬─ Census          the sizes of this trace
                        ├─ TagShare        the share of a cache line that boundary tags would take
                        ├─ SourceUse       each source of classes on this trace
                        ├─ LifetimeUse     bytes of call sites that were predicted to be short-lived
                        └─ ArenaUse        the simulated result of the arena for the predicted sites
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from msgspec import field
from msgspec.structs import replace

from millpond.advice.class_choice import CLASSES_AT_MOST, WEIGHT, ClassCount, choose, count_classes, sources
from millpond.advice.site_choice import WRONG_ONE_IN, ShortSite, is_short, merge_sites
from millpond.advice.size_tables import ArenaTrial, Census, SizeTable
from millpond.rounds.characterisation import Damage
from millpond.system.errors import Failure, Status
from millpond.system.records import NONE, NULL, Record

SCHEMA = "millpond.synthesis/1"
FREQUENT = (1, 2, 4, 8, 16, 32)
TAGS = (8, 16)
LINE_BYTES = 64
# An arena is large enough if it refuses at most this share of predicted bytes more than a larger arena.
REFUSED_SHARE = 0.01


class ClassUse(Record, frozen=True):
    """A class; `bytes` is null for requests that no class serves. `lost_share`: the share of its blocks' bytes that
    were not requested.
    """

    first_bytes: int
    bytes: int | None = field(default_factory=NULL)
    requests: int = field(default_factory=int)
    share: float = field(default_factory=float)
    lost_share: float = field(default_factory=float)
    peak_blocks: int = field(default_factory=int)


class FrequentShare(Record, frozen=True):
    """The share of all requests that the `sizes` most frequent sizes have."""

    sizes: int
    share: float


class TagShare(Record, frozen=True):
    """The tag bytes in a cache line of 64 bytes, of all blocks up to the largest class: averages over requests, and
    over blocks while they live.
    """

    tag_bytes: int
    line_bytes_by_request: float
    line_bytes_live: float


class SourceUse(Record, frozen=True):
    """One set of classes on one trace. Lost bytes are those of the classes' blocks that were not requested: of all
    blocks together, and of the live ones on average. The peak is an estimate of all memory held, including larger
    requests.
    """

    source: str
    classes: int
    requests_outside: int
    lost_share: float
    live_lost_share: float
    peak_bytes: int
    # Of a malloc of these classes, if counted: its own instructions; the misses of a replay, and its own misses.
    instructions: int | None = field(default_factory=NULL)
    misses: int | None = field(default_factory=NULL)
    allocator_misses: int | None = field(default_factory=NULL)


class LifetimeUse(Record, frozen=True):
    """Bytes by the prediction of their call sites. A site is short-lived if its bytes were, in all traces that the
    synthesis was made from, except one in `wrong_one_in`. `wrong_bytes` were wrongly predicted to be short-lived.
    Counts all sites, worthwhile or not.
    """

    bytes: int
    short_bytes: int
    predicted_bytes: int
    wrong_bytes: int
    unknown_site_bytes: int

    @property
    def wrong_share(self) -> float:
        """Returns the wrong share of the bytes that were predicted to be short-lived."""
        return _ratio(self.wrong_bytes, self.predicted_bytes)


class ArenaUse(Record, frozen=True):
    """The arena on one trace. `wrong_bytes` of the predicted ones lived longer; `refused_bytes` found no empty chunk
    and went to their classes. Pinned chunks have an object that outlived its prediction.
    """

    objects: int
    predicted_bytes: int
    predicted_share: float  # of all requested bytes
    wrong_bytes: int
    refused_bytes: int
    most_held_bytes: int
    most_pinned_bytes: int
    end_pinned_bytes: int

    @property
    def wrong_share(self) -> float:
        """Returns the wrong share of the bytes that were predicted to be short-lived."""
        return _ratio(self.wrong_bytes, self.predicted_bytes)


class TraceUse(Record, frozen=True):
    """One trace. `held_out`: the classes were not made from it."""

    path: str
    program: str
    held_out: bool
    census: Census
    frequent: tuple[FrequentShare, ...]
    tags: tuple[TagShare, ...]
    sources: tuple[SourceUse, ...]
    lifetimes: LifetimeUse
    arena: ArenaUse | None = field(default_factory=NULL)
    partial: str | None = None  # why the trace ends early
    damages: tuple[Damage, ...] = ()  # the damaged parts are left out


class Synthesis(Record, frozen=True):
    """The whole synthesis."""

    schema: str
    granule_bytes: int
    largest_bytes: int
    weight: float
    classes_at_most: int
    short_bytes: int
    classes: tuple[int, ...]
    uses: tuple[ClassUse, ...]
    traces: tuple[TraceUse, ...]
    sites: tuple[ShortSite, ...] = field(default_factory=NONE)  # has_arena: the header has an arena for them
    arena_chunks: int = 0
    has_arena: bool = False
    wrong_one_in: int = field(default_factory=int)  # of the bytes of a short-lived site; 0: none may be wrong
    written: tuple[str, ...] = field(default_factory=NONE)

    @property
    def made_from(self) -> tuple[TraceUse, ...]:
        """Returns the traces that the classes were made from."""
        return tuple(use for use in self.traces if not use.held_out)


@dataclass(frozen=True)
class ClassScore:
    """The score of one set of classes on one trace. Misses are None if references cannot be captured here."""

    instructions: int
    misses: int | None
    allocator_misses: int | None


def synthesize(
    tables: Sequence[SizeTable],
    held_out: Sequence[SizeTable],
    most: int = CLASSES_AT_MOST,
    weight: float = WEIGHT,
    sites: tuple[ShortSite, ...] = (),
    *,
    has_arena: bool = False,
    wrong_one_in: int = WRONG_ONE_IN,
) -> Synthesis:
    """Chooses classes from `tables`, and tries them on these and on `held_out`. Failure (3) without requests.

    `sites`: predicted sites, chosen with `wrong_one_in`; then the tables have an arena's trial.
    """
    classes = choose(tables, most, weight)
    first = tables[0]
    if not classes:
        raise Failure(
            Status.INPUT,
            f"no trace requests at most {first.largest_bytes} bytes, so there is nothing to make classes of; "
            "record the program longer, or raise --largest",
        )
    short = {name: is_short([site], wrong_one_in) for name, site in merge_sites(tables).items()}
    chunks = _arena_chunks([table.arena for table in tables if table.arena]) if sites else 0
    return Synthesis(
        SCHEMA, first.granule_bytes, first.largest_bytes, weight, most, first.short_bytes, classes,
        _class_uses(tables, classes),
        tuple(
            _trace_use(t, classes, short, chunks, held_out=i >= len(tables)) for i, t in enumerate([*tables, *held_out])
        ),
        sites, chunks, has_arena and bool(sites), wrong_one_in,
    )  # fmt: skip


def with_scores(found: Synthesis, scores: Sequence[Mapping[str, ClassScore]]) -> Synthesis:
    """Returns the synthesis with the scores of each set of classes on each trace, by their names."""
    traces = tuple(
        replace(trace, sources=tuple(_scored(use, of_trace[use.source]) for use in trace.sources))
        for trace, of_trace in zip(found.traces, scores, strict=True)
    )
    return replace(found, traces=traces)


def _scored(use: SourceUse, by: ClassScore) -> SourceUse:
    return replace(use, instructions=by.instructions, misses=by.misses, allocator_misses=by.allocator_misses)


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


def _class_uses(tables: Sequence[SizeTable], classes: Sequence[int]) -> tuple[ClassUse, ...]:
    """Returns each class over all traces, then the requests that no class serves."""
    requests = sum(table.census.requests for table in tables)
    uses, first = [], 1
    for counts in zip(*(count_classes(table, classes) for table in tables), strict=True):
        own, blocks = sum(c.requests for c in counts), sum(c.block_bytes for c in counts)
        lost = blocks - sum(c.requested_bytes for c in counts)
        peak = max(c.peak_blocks for c in counts)
        uses.append(ClassUse(first, counts[0].bytes, own, _ratio(own, requests), _ratio(lost, blocks), peak))
        first = (counts[0].bytes or 0) + 1
    return tuple(uses)


def _arena_chunks(trials: Sequence[ArenaTrial]) -> int:
    """Returns the smallest of the tried arenas that refuses hardly more than the largest."""
    bytes_of = sum(trial.bytes for trial in trials)
    by_chunks: list[tuple[int, int]] = sorted(
        (arenas[0].chunks, sum(arena.refused_bytes for arena in arenas))
        for arenas in zip(*(trial.arenas for trial in trials), strict=True)
    )
    most, least_refused = by_chunks[-1]
    enough = least_refused + REFUSED_SHARE * bytes_of
    return next((chunks for chunks, refused in by_chunks if refused <= enough), most)


def _arena_use(trial: ArenaTrial | None, chunks: int) -> ArenaUse | None:
    if trial is None or chunks == 0:
        return None
    arena = next(arena for arena in trial.arenas if arena.chunks == chunks)
    return ArenaUse(
        trial.objects, trial.bytes, _ratio(trial.bytes, trial.requested_bytes), trial.wrong_bytes, arena.refused_bytes,
        arena.most_held_bytes, arena.most_pinned_bytes, arena.end_pinned_bytes,
    )  # fmt: skip


def _trace_use(
    table: SizeTable, classes: tuple[int, ...], short: Mapping[str, bool], chunks: int, *, held_out: bool
) -> TraceUse:
    census = table.census
    frequent = [
        FrequentShare(k, _ratio(sum(f.requests for f in census.most_frequent[:k]), census.requests)) for k in FREQUENT
    ]
    schemes = sources(classes, table.granule_bytes, table.largest_bytes)
    return TraceUse(
        table.trace.path or "", table.process.words, held_out, census, tuple(frequent),
        tuple(_tag_share(table, tag) for tag in TAGS),
        tuple(_source_use(name, scheme, count_classes(table, scheme)) for name, scheme in schemes.items()),
        _lifetime_use(table, short), _arena_use(table.arena, chunks), table.trace.partial, table.trace.damages,
    )  # fmt: skip


def _tag_share(table: SizeTable, tag: int) -> TagShare:
    def line(weights: Sequence[float]) -> float:
        blocks = sum(weights)
        inside = sum(w * row.bytes for w, row in zip(weights, table.rows, strict=True))
        return LINE_BYTES * _ratio(tag * blocks, inside + tag * blocks)

    return TagShare(tag, line([row.requests for row in table.rows]), line([row.mean_blocks for row in table.rows]))


def _source_use(name: str, classes: Sequence[int], counts: Sequence[ClassCount]) -> SourceUse:
    served = counts[:-1]
    blocks, live = sum(c.block_bytes for c in served), sum(c.mean_block_bytes for c in served)
    return SourceUse(
        name, len(classes), counts[-1].requests,
        _ratio(blocks - sum(c.requested_bytes for c in served), blocks),
        _ratio(live - sum(c.mean_requested_bytes for c in served), live),
        sum(c.held_bytes for c in counts),
    )  # fmt: skip


def _lifetime_use(table: SizeTable, short: Mapping[str, bool]) -> LifetimeUse:
    predicted = [site for site in table.sites if short.get(site.site)]
    return LifetimeUse(
        sum(site.bytes for site in table.sites), sum(site.short_bytes for site in table.sites),
        sum(site.bytes for site in predicted), sum(site.bytes - site.short_bytes for site in predicted),
        sum(site.bytes for site in table.sites if site.site not in short),
    )  # fmt: skip
