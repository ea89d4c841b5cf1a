# SPDX-License-Identifier: BSL-1.0
"""The advice as it travels ("millpond.advice/1"): what `document` makes, the store keeps and every report reads.

Advice ─┬─ AnalysedProgram, TraceSummary    what was recorded
        ├─ Effect ── Change ── Estimate     what contenders gained: envelopes, ratios, medians with their intervals
        ├─ Option, Choices, Alternative     what is advised, what from, and what else there was
        ├─ Row ── Arena, RowReplay, Code    each subsystem
        ├─ Replay, InputAdvice              predictions; each of several inputs
        └─ CapturedReferences               where references miss, where a run was captured for it; PredictedLayouts
"""

from __future__ import annotations

from msgspec import UNSET, UnsetType, field

from millpond.cells.plan_file import PlanFile, PlanScope
from millpond.rounds.characterisation import ReferenceFacts, SubsystemFacts, SubsystemReferences, TraceSummary
from millpond.rounds.noise import Spread
from millpond.rounds.recording import ProcessRow
from millpond.rounds.replay_data import ErrorNote
from millpond.statistics.humps import Hump
from millpond.statistics.order_statistics import Comparison, Summary
from millpond.system.records import NONE, NULL, Record

SCHEMA = "millpond.advice/1"
# In the place of a strategy: no allocator is advised.
NOTHING = "nothing"
# The strategies that the trial took, and what is predicted of them, by metric.
WHOLE_PLAN = "plan"
PREDICTED = {"cpu_seconds": "saves_cpu_seconds", "peak_bytes": "saves_bytes"}


class Estimate(Record, frozen=True, kw_only=True):
    """A median with its interval; n = 0 and no figures where nothing was measured."""

    n: int = field(default_factory=int)
    median: float | None = field(default_factory=NULL)
    low: float | None = field(default_factory=NULL)
    high: float | None = field(default_factory=NULL)
    level: float | None = field(default_factory=NULL)
    method: str = field(default_factory=lambda: "none")
    verdict: str = field(default_factory=str)
    humps: tuple[Hump, ...] | UnsetType = UNSET

    @classmethod
    def of(cls, summary: Summary | None) -> Estimate:
        """A summary, or none, as it travels."""
        return Estimate.from_json(summary.to_json()) if summary else Estimate()

    @property
    def known(self) -> Summary | None:
        """Its figures; None where nothing was measured."""
        if not self.n or self.median is None or self.low is None or self.high is None:
            return None
        return Summary(
            self.n, self.median, self.low, self.high, self.level or 0.0, self.method, self.verdict, self.humps
        )


class Change(Estimate, frozen=True, kw_only=True):
    """The ratios of one contender to another in one metric, and what that saves in the metric's unit."""

    metric: str | None = None
    of_: str | None = field(name="of", default=None)
    against: str | None = None
    unit: str | None = None
    saved: Estimate | None = None
    p: float | None = None
    p_adjusted: float | None = None


class Effect(Change, frozen=True, kw_only=True):
    """A change of CPU time, with the same contenders' change in other metrics, and the observations behind it."""

    why_null: str | None = None
    other_metrics: dict[str, Change] = field(default_factory=lambda: {})
    evidence: tuple[str, ...] = field(default_factory=NONE)

    @property
    def peak(self) -> Change | None:
        """The change of the peak memory."""
        return self.other_metrics.get("peak_bytes")


def change_of(comparison: Comparison) -> Change:
    """A comparison as it travels."""
    return Change.from_json(comparison.to_json())


class Option(Record, frozen=True, kw_only=True):
    """What is advised or could be: a plan, another malloc, a trade, nothing. `purpose`: CPU or memory.

    `what`: the same in a few words, which are empty where it is no choice of a decision.
    """

    kind: str
    name: str = field(default_factory=str)
    what: str = ""
    command: str | None = field(default_factory=NULL)
    purpose: str | None = field(name="for", default_factory=NULL)
    cpu: Change | None = field(default_factory=NULL)
    peak: Change | None = field(default_factory=NULL)


class Alternative(Option, frozen=True, kw_only=True):
    """What else there was; `judged` on fresh rounds, or why nothing was measured."""

    judged: bool = field(default_factory=bool)
    why_null: str | None = field(default_factory=NULL)


class Choices(Record, frozen=True, kw_only=True):
    """What a user may choose from; null where nothing is better beyond the noise in this way.

    `prefer`: cpu, memory or balanced, by which `choice` of the advice was made.
    """

    prefer: str
    fastest: Option | None = field(default_factory=NULL)
    leanest: Option | None = field(default_factory=NULL)
    without_source_change: Option | None = field(default_factory=NULL)
    source_change: Option | None = field(default_factory=NULL)


class AnalysedProgram(Record, frozen=True, kw_only=True):
    """The program as it was started, how it ended, and which of its processes was analysed."""

    argv: tuple[str, ...]
    exit: int | None = field(default_factory=NULL)
    signal: int | None = field(default_factory=NULL)
    processes: tuple[ProcessRow, ...] = field(default_factory=NONE)
    analysed: int | None = field(default_factory=NULL)


class WinkOutEstimate(Record, frozen=True, kw_only=True):
    """The frees that a winked-out arena would not run, and their time on the program's own malloc."""

    free_calls: int
    free_seconds: float | None = field(default_factory=NULL)
    kind: str = field(default_factory=lambda: "predicted")


class Arena(Record, frozen=True, kw_only=True):
    """What one run counted of the arena that was tried for a subsystem."""

    scope: PlanScope | None = field(default_factory=NULL)
    observed: bool
    calls: int
    outlived_calls: int
    resets: int
    winking: WinkOutEstimate


class PlanPrediction(Record, frozen=True, kw_only=True):
    """What a plan, or a strategy for its one subsystem, saves by replay."""

    strategy: str
    plan: str
    saves_cpu_seconds: Estimate | None = None
    saves_bytes: Estimate | None = None
    evidence: tuple[str, ...] = field(default_factory=NONE)

    def saves(self, metric: str) -> Summary | None:
        """What it saves in one metric of PREDICTED, in its unit."""
        found: Estimate | None = getattr(self, PREDICTED[metric])
        return found.known if found else None


class RowReplay(PlanPrediction, frozen=True, kw_only=True):
    """What replay says of a subsystem's plan: does it agree with the trial? `strategies`: those that no trial takes."""

    agrees: bool
    apart: tuple[str, ...] = field(default_factory=NONE)
    strategies: tuple[PlanPrediction, ...] = field(default_factory=NONE)


class SourceChange(Record, frozen=True, kw_only=True):
    """One change: a line before and after, or in words, with its place. `kind`: allocate, free or resize, for blocks
    that code of the program's own makes; type for a declaration.
    """

    file: str
    line: int
    before: str = field(default_factory=str)
    after: str = field(default_factory=str)
    what: str
    kind: str = "type"


class Code(Record, frozen=True, kw_only=True):
    """The code of an advised subsystem: the owner of its allocator, its sizes, and what to change."""

    owner: str
    namespace: str
    language: str = "C++"  # of the header
    needs: str = ""  # what the build must change for it
    first_bytes: int | None = field(default_factory=NULL)
    first_bytes_reason: str
    size_classes: tuple[int, ...] = field(default_factory=NONE)
    size_classes_reason: str
    changes: tuple[SourceChange, ...] = field(default_factory=NONE)


class InputStatus(Record, frozen=True):
    """What a pool of its own does for a subsystem in one of several inputs."""

    input: int
    status: str


class FewerBlocks(Record, frozen=True, kw_only=True):
    """A change of the source that needs no allocator: blocks that are made together, step by step, or again and again.

    `kind`: make_shared, reserve or keep. `saves_allocations`: of the recorded ones; what that saves in time was not
    measured.
    """

    kind: str
    what: str
    saves_allocations: int
    function: str = ""
    file: str = ""
    line: int = 0


class Row(SubsystemFacts, frozen=True, kw_only=True):
    """A subsystem of an advice: what it is, what was tried, what that saved, and the reason.

    `best`: the strategy that is advised, or NOTHING. `package`: of the system, where the subsystem's code is only in
    files of one or more; whoever runs the program does not build it then.
    """

    best: str
    package: str | None = field(default_factory=NULL)
    tried: str | None = field(default_factory=NULL)
    plan: PlanFile | None = field(default_factory=NULL)
    saves_cpu_seconds: Estimate = field(default_factory=Estimate)
    saves_bytes: Estimate = field(default_factory=Estimate)
    cpu_ratio: Change | None = field(default_factory=NULL)
    reason: str = field(default_factory=str)
    stated_warning: str | UnsetType | None = field(name="warning", default=UNSET)  # known of several inputs only
    in_inputs: tuple[InputStatus, ...] = ()
    evidence: tuple[str, ...] = field(default_factory=NONE)
    arena: Arena | None = field(default_factory=NULL)
    replay: RowReplay | None = field(default_factory=NULL)
    code: Code | None = field(default_factory=NULL)
    fewer_blocks: tuple[FewerBlocks, ...] = ()

    @property
    def pays(self) -> bool:
        """Whether an allocator of its own is advised."""
        return self.best != NOTHING

    @property
    def warning(self) -> str | None:
        """Where it is advised and does not hold in all inputs: in which it does."""
        return None if isinstance(self.stated_warning, UnsetType) else self.stated_warning


class Replay(Record, frozen=True, kw_only=True):
    """All predictions of an advice; `rounds` is 0 where nothing was replayed, and `why_null` says why."""

    rounds: int = field(default_factory=int)
    why_null: str | None = field(default_factory=NULL)
    assumes: str | None = field(default_factory=NULL)
    error: ErrorNote | None = field(default_factory=NULL)
    predictions: tuple[PlanPrediction, ...] = field(default_factory=NONE)

    def of_plan(self, name: str) -> PlanPrediction | None:
        """What was predicted for a plan as a trial takes it."""
        return next((p for p in self.predictions if p.plan == name and p.strategy == WHOLE_PLAN), None)

    def strategies(self, name: str) -> tuple[PlanPrediction, ...]:
        """What was predicted for the strategies that no trial takes, for the subsystem of a plan."""
        return tuple(p for p in self.predictions if p.plan == name and p.strategy != WHOLE_PLAN)


class CapturedSubsystem(Record, frozen=True, kw_only=True):
    """The references to one subsystem's objects."""

    name: str
    references: SubsystemReferences


class LayoutPrediction(Record, frozen=True, kw_only=True):
    """What a plan or a malloc is predicted to do to misses, and to the seconds of the time model, before it is tried.

    Ratios are against the recorded run. `seconds_interval`: lower and upper bound of the ratio of CPU, by the error of
    such predictions on this machine. `dropped`: no trial was made of it for that. `tried`: what came out.
    """

    kind: str
    name: str
    misses: int
    seconds: float | None = field(default_factory=NULL)
    misses_ratio: float
    seconds_ratio: float | None = field(default_factory=NULL)
    seconds_interval: tuple[float, float] | None = field(default_factory=NULL)
    instructions_ratio: float
    pool: str | None = field(default_factory=NULL)  # of a plan with one pool: its name
    dropped: bool = field(default_factory=bool)
    tried: Change | None = field(default_factory=NULL)


class PredictedLayouts(Record, frozen=True, kw_only=True):
    """All layouts that were predicted, the best first; `misses` and `seconds` of the recorded run, `cache`: whose.

    `error`: how far predicted seconds are off on this machine, from which the intervals come.
    """

    seconds_taken: float
    cache: str
    misses: int
    seconds: float | None = field(default_factory=NULL)
    layouts: tuple[LayoutPrediction, ...] = field(default_factory=NONE)
    error: ErrorNote | None = field(default_factory=NULL)

    def of_plan(self, name: str) -> LayoutPrediction | None:
        """What was predicted for a plan; None where nothing was."""
        return next((p for p in self.layouts if p.kind == "plan" and p.name == name), None)


class CapturedReferences(Record, frozen=True, kw_only=True):
    """What a captured run says of references and misses, and what it cost; without `facts`, why there is nothing.

    `capture_seconds` and `plain_seconds`: the program by the wall clock under the tool, and without it.
    """

    why_null: str | None = field(default_factory=NULL)
    capture_seconds: float | None = field(default_factory=NULL)
    plain_seconds: float | None = field(default_factory=NULL)
    analysis_seconds: float | None = field(default_factory=NULL)
    facts: ReferenceFacts | None = field(default_factory=NULL)
    subsystems: tuple[CapturedSubsystem, ...] = field(default_factory=NONE)
    predicted: PredictedLayouts | None = None

    @property
    def times_as_long(self) -> float | None:
        """How many times the plain run the captured one took."""
        if self.capture_seconds is None or not self.plain_seconds:
            return None
        return self.capture_seconds / self.plain_seconds


class InputAdvice(Record, frozen=True, kw_only=True):
    """One of several inputs: its arguments, and what was found for it."""

    number: int
    line: int
    arguments: tuple[str, ...]
    verdict: str
    effects: dict[str, Effect]
    run: str | None = field(default_factory=NULL)
    plan: PlanFile | None = field(default_factory=NULL)


class Advice(Record, frozen=True, kw_only=True):
    """All that was found of a program. `inputs`: the advice is on several, and holds for all of them.

    `choices`: what `choice` was made from; None on several inputs, and where there was no verdict. `plan`: the change
    of the source that is better than none, advised or not; `plan_tried`: the one that was judged.
    """

    schema: str = field(default_factory=lambda: SCHEMA)
    verdict: str
    choice: Option | None = field(default_factory=NULL)
    choices: Choices | None = None
    alternatives: tuple[Alternative, ...] = field(default_factory=NONE)
    effects: dict[str, Effect]
    sums: dict[str, Effect]
    rounds: int
    noise: dict[str, Spread] = field(default_factory=lambda: {})
    plan: PlanFile | None = field(default_factory=NULL)
    plan_tried: PlanFile | None = field(default_factory=NULL)
    program: AnalysedProgram
    trace: TraceSummary
    errors: dict[str, ErrorNote] = field(default_factory=lambda: {})
    replay: Replay | None = field(default_factory=NULL)
    subsystems: tuple[Row, ...]
    notes: tuple[str, ...]
    machine: str | None = None
    run: str | None = None
    seed: int | None = None
    inputs: tuple[InputAdvice, ...] = ()
    references: CapturedReferences | None = None

    @property
    def every_effect(self) -> dict[str, Effect]:
        """Effects and sums, by name."""
        return {**self.effects, **self.sums}

    @property
    def confirmed(self) -> set[str]:
        """The subsystems that an allocator of their own is advised for."""
        return {row.name for row in self.subsystems if row.pays}
