# SPDX-License-Identifier: BSL-1.0
"""The document of `millpond-bench` ("millpond.bench/1"): results that a run makes and its JSON file holds.

BenchDocument ─┬─ ExperimentRecord ── SuiteRecord    what ran
               ├─ JudgedBar ── JudgedRow             figures against limits
               ├─ JudgedClaim ── Rule                statements of a paper
               ├─ SummaryRow                         PublishedRow, ComparisonRow or StepRow: a value at a point
               └─ ObservationRow                     every value of every round
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

import msgspec
from msgspec import UNSET, Meta, UnsetType, field

from millpond.statistics.order_statistics import Summary
from millpond.store.observations import Observation
from millpond.system.records import Record

SCHEMA = "millpond.bench/1"
Number = int | float
Kind = Literal["ratio", "growth", "step", "lead", "rank", "fails", "each", "untestable"]
Over = Literal["mean", "every", "largest", "smallest", "share", "spread"]


class BenchRecord(Record, frozen=True, kw_only=True, omit_defaults=False):
    """A part of the document: all of its fields are written."""


class SuiteRecord(BenchRecord, frozen=True, kw_only=True):
    """A suite's program, and the environment in which it ran."""

    name: str
    compiler: str
    standard_library: str
    toolchain: str
    malloc: str
    malloc_library: str | None
    kept: bool


class ExperimentRecord(BenchRecord, frozen=True, kw_only=True):
    """One experiment that ran. `figure` and `baseline`: only for a published one."""

    name: str
    title: str
    section: str
    measured: str
    run: str
    rounds: int
    suite: SuiteRecord | None
    programs: tuple[SuiteRecord, ...]
    figure: str | UnsetType = UNSET
    baseline: str | UnsetType = UNSET


class Peer(BenchRecord, frozen=True, kw_only=True):
    """A contender that ours are compared with."""

    name: str
    kind: str
    version: str | None
    package: str | None
    path: str | None


class JudgedRow(BenchRecord, frozen=True, kw_only=True):
    """A comparison at one point under a bar."""

    workload: str
    comparison: str
    ours_name: str
    best_peer_name: str | None
    figure: Summary | None
    ratio_to_ideal: float | None
    holds: bool | None
    note: str


class JudgedBar(BenchRecord, frozen=True, kw_only=True):
    """A figure with its limit, and the rows of which it is the worst."""

    name: str
    limit: Number | None
    at_least: bool
    unit: str
    also: str
    figure: Summary | None
    holds: bool | None
    note: str
    worst: str
    lines_that_hold: int
    lines: tuple[JudgedRow, ...]


class Rule(Record, frozen=True, kw_only=True):
    """The rule of a statement: the value that is compared with its bound; see claim_rules."""

    kind: Kind
    over: Over = "mean"
    no_effect: Number | None = None
    metric: str = ""
    other_metric: str = ""
    of: tuple[str, ...] = ()
    against: tuple[str, ...] = ()
    among: tuple[str, ...] = ()
    where: dict[str, Any] = field(default_factory=dict)
    axis: str = ""
    first: int | str = 0
    last: int | str = 0
    at_least: Number | None = None
    at_most: Number | None = None


class JudgedOnDocuments(BenchRecord, frozen=True, kw_only=True):
    """The verdict on a statement for allocators that are built as the paper's were; fields as in `JudgedClaim`."""

    figure: Summary | None
    verdict: str
    p_adjusted: float | None
    worst: str | None
    note: str | None
    missing: str | None
    points: int
    evidence: tuple[str, ...]


class JudgedClaim(BenchRecord, frozen=True, kw_only=True):
    """A statement with the paper's figure and ours; the bound's absent side is null.

    `p_adjusted`: the chance of this verdict by noise only, after all statements judged together; null for exact
    counts. `worst`: the point that decides, if each counts. `note`: why it is undecided, how many points hold.
    `on_documents`: null if the statement names no allocator that the paper had built otherwise than ours. `premise`:
    what it supposes of the program, with the conditions that are measured, or `none`; null in older results.
    """

    id: str
    experiment: str
    section: str
    statement: str
    rule: Rule
    low: Number | None
    high: Number | None
    published: float | None
    published_satisfies: bool | None
    paper_disagrees: str | None
    published_lost: str | None
    ours: Summary | None
    verdict: str
    p_adjusted: float | None
    worst: str | None
    note: str | None
    missing: str | None
    points: int
    evidence: tuple[str, ...]
    on_documents: JudgedOnDocuments | None = None
    premise: str | None = None


class SummaryRow(BenchRecord, frozen=True, kw_only=True):
    """A value at a point; each kind of experiment has rows of its own."""


class PublishedRow(SummaryRow, frozen=True, kw_only=True):
    """A metric of one cell of a published experiment, next to the paper's value."""

    experiment: str
    workload: str
    parameters: dict[str, int | str]
    strategy: str
    alias: str | None
    heap_state: str
    toolchain: str
    malloc: str
    compiler: str | None
    page_policy: str
    metric: str
    unit: str
    n: int
    median: float | None
    low: float | None
    high: float | None
    level: float | None
    status: str
    why_null: str | None
    published: float | str | None
    published_unit: str | None
    published_value: float | None
    published_ratio: float | None
    ratio_to_baseline: float | None
    ratio_to_baseline_low: float | None
    ratio_to_baseline_high: float | None
    cell: str


class ComparisonRow(SummaryRow, frozen=True, kw_only=True):
    """Ours compared with the best peer and the ideal: medians, ratios paired within rounds, and their intervals."""

    workload: str
    comparison: str
    ours: float | None
    ours_name: str | None
    best_peer: float | None
    best_peer_name: str | None
    ideal: float | None
    ideal_name: str | None
    unit: str
    ratio_to_best_peer: float | None
    ratio_to_best_peer_low: float | None
    ratio_to_best_peer_high: float | None
    ratio_to_ideal: float | None
    ratio_to_ideal_low: float | None
    ratio_to_ideal_high: float | None
    best_peer_ratio_to_ideal: float | None
    best_peer_ratio_to_ideal_low: float | None
    best_peer_ratio_to_ideal_high: float | None
    cold_ratio_to_best_peer: float | None
    cold_ratio_to_best_peer_low: float | None
    cold_ratio_to_best_peer_high: float | None
    rounds: int
    level: float | None
    benchmark: str
    parameters: dict[str, str]
    note: str


class StepRow(SummaryRow, frozen=True, kw_only=True):
    """The figure of one bar of a step; without figures if it could not be measured."""

    workload: str
    comparison: str
    n: int | UnsetType = UNSET
    median: float | UnsetType = UNSET
    low: float | UnsetType = UNSET
    high: float | UnsetType = UNSET
    level: float | UnsetType = UNSET
    method: str | UnsetType = UNSET
    verdict: str | UnsetType = UNSET


_, _ROWS = msgspec.json.schema_components([PublishedRow, ComparisonRow, StepRow])
AnyRow = Annotated[SummaryRow, Meta(extra_json_schema={"anyOf": list(_ROWS.values())})]


class ObservationRow(Observation, frozen=True, kw_only=True):
    """An observation whose parameters are plain data."""

    parameters: dict[str, str]  # type: ignore[assignment]

    def __post_init__(self) -> None:
        """Skips the checks of `Observation`: the store has already made them."""


class BenchDocument(BenchRecord, frozen=True, kw_only=True):
    """The results of one experiment or several."""

    schema: Literal["millpond.bench/1"]
    run: str
    machine: str
    version: str
    time_utc: str
    seed: int
    experiments: tuple[ExperimentRecord, ...]
    peers: tuple[Peer, ...]
    notes: tuple[str, ...]
    bars: tuple[JudgedBar, ...]
    claims: tuple[JudgedClaim, ...]
    summary: tuple[AnyRow, ...]
    observations: tuple[ObservationRow, ...]

    @classmethod
    def from_json(cls, data: object) -> Self:
        """The document in plain data. ValueError, which names the place, if the data do not fit."""
        found = super().from_json(data)
        assert isinstance(data, Mapping)
        return msgspec.structs.replace(found, summary=tuple(_row(row) for row in data["summary"]))


def _row(row: Mapping[str, Any]) -> SummaryRow:
    """A row of the kind that its fields indicate."""
    kind = PublishedRow if "strategy" in row else ComparisonRow if "ours_name" in row else StepRow
    return kind.from_json(row)
