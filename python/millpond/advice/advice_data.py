# SPDX-License-Identifier: BSL-1.0
"""The records of an advice ("millpond.advice/1"): `document` makes them, the store keeps them, every report reads them.

Advice ─┬─ AnalysedProgram, TraceSummary    what was recorded
        ├─ Effect ── Change ── Estimate     what contenders gained: ratios and medians with their intervals
        ├─ Option, Choices, Alternative     what is advised, the choices, and the other contenders
        ├─ Row ── Arena, RowReplay, Code    each subsystem
        ├─ Replay, InputAdvice              predictions; the result for each of several inputs
        └─ CapturedReferences               where references miss, if they were captured; PredictedLayouts
"""

from __future__ import annotations

from msgspec import UNSET, UnsetType, field

from millpond.cells.metrics import speed_of
from millpond.cells.plan_file import PlanFile, PlanScope
from millpond.rounds.characterisation import (
    MissingSymbols,
    ReferenceFacts,
    SubsystemFacts,
    SubsystemReferences,
    TraceSummary,
)
from millpond.rounds.load import load_options
from millpond.rounds.noise import Spread
from millpond.rounds.recording import ProcessRow
from millpond.rounds.replay_data import ErrorNote
from millpond.statistics.humps import Hump
from millpond.statistics.order_statistics import Comparison, Summary
from millpond.system.records import NONE, NULL, Record

SCHEMA = "millpond.advice/1"
# Stands in place of a strategy where no allocator is advised.
NOTHING = "nothing"
# The strategies that a trial can run, and the metrics that replay predicts for them.
WHOLE_PLAN = "plan"
PREDICTED = {"cpu_seconds": "saves_cpu_seconds", "peak_bytes": "saves_bytes"}


class Estimate(Record, frozen=True, kw_only=True):
    """A median with its interval; n = 0 and null figures if nothing was measured."""

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
        """Makes the estimate of a summary; an empty one for None."""
        return Estimate.from_json(summary.to_json()) if summary else Estimate()

    @property
    def known(self) -> Summary | None:
        """Returns the figures as a summary, or None if nothing was measured."""
        if not self.n or self.median is None or self.low is None or self.high is None:
            return None
        return Summary(
            self.n, self.median, self.low, self.high, self.level or 0.0, self.method, self.verdict, self.humps
        )


class Change(Estimate, frozen=True, kw_only=True):
    """The ratios of one contender to another in one metric, and the saving in the metric's unit."""

    metric: str | None = None
    of_: str | None = field(name="of", default=None)
    against: str | None = None
    unit: str | None = None
    saved: Estimate | None = None
    p: float | None = None
    p_adjusted: float | None = None


class Effect(Change, frozen=True, kw_only=True):
    """A change of CPU time, with the change in the other metrics and the ids of the observations behind it."""

    why_null: str | None = None
    other_metrics: dict[str, Change] = field(default_factory=lambda: {})
    evidence: tuple[str, ...] = field(default_factory=NONE)

    @property
    def peak(self) -> Change | None:
        """Returns the change of peak memory."""
        return self.other_metrics.get("peak_bytes")


def change_of(comparison: Comparison) -> Change:
    """Makes the change of a comparison."""
    return Change.from_json(comparison.to_json())


class Option(Record, frozen=True, kw_only=True):
    """A choice: a plan, another malloc, a trade between CPU and memory, or nothing. `purpose`: CPU, throughput or
    memory. `what`: a short description; empty if the decision does not offer this choice. `of_load`: the further
    metrics of a server under a load, by metric; `unit_seconds` is the time for one unit of its work.
    """

    kind: str
    name: str = field(default_factory=str)
    what: str = ""
    command: str | None = field(default_factory=NULL)
    purpose: str | None = field(name="for", default_factory=NULL)
    cpu: Change | None = field(default_factory=NULL)
    peak: Change | None = field(default_factory=NULL)
    of_load: dict[str, Change] = field(default_factory=lambda: {})

    @property
    def changes(self) -> dict[str, Change]:
        """Returns all changes, by metric."""
        known = {"cpu_seconds": self.cpu, "peak_bytes": self.peak}
        return self.of_load | {metric: change for metric, change in known.items() if change}

    @property
    def speed(self) -> Change | None:
        """Returns the change by which a verdict on speed goes: in throughput under a load, otherwise in CPU time."""
        return self.changes.get(speed_of(self.changes))


class Alternative(Option, frozen=True, kw_only=True):
    """Another contender that was considered. `judged`: measured in fresh rounds. `why_null`: the reason if nothing was
    measured.
    """

    judged: bool = field(default_factory=bool)
    why_null: str | None = field(default_factory=NULL)


class Choices(Record, frozen=True, kw_only=True):
    """The choices of a user; null where nothing is better beyond the noise. `prefer`: cpu, memory or balanced, which
    decided the `choice` of the advice.
    """

    prefer: str
    fastest: Option | None = field(default_factory=NULL)
    leanest: Option | None = field(default_factory=NULL)
    without_source_change: Option | None = field(default_factory=NULL)
    source_change: Option | None = field(default_factory=NULL)


class AnalysedProgram(Record, frozen=True, kw_only=True):
    """The program's command line and end, and the process that was analysed."""

    argv: tuple[str, ...]
    exit: int | None = field(default_factory=NULL)
    signal: int | None = field(default_factory=NULL)
    processes: tuple[ProcessRow, ...] = field(default_factory=NONE)
    analysed: int | None = field(default_factory=NULL)


class WinkOutEstimate(Record, frozen=True, kw_only=True):
    """An estimate of the frees that dropping an arena whole would save, with their time on the program's own malloc."""

    free_calls: int
    free_seconds: float | None = field(default_factory=NULL)
    kind: str = field(default_factory=lambda: "predicted")


class Arena(Record, frozen=True, kw_only=True):
    """The counts of one run for the arena that was tried for a subsystem."""

    scope: PlanScope | None = field(default_factory=NULL)
    observed: bool
    calls: int
    outlived_calls: int
    resets: int
    winking: WinkOutEstimate


class PlanPrediction(Record, frozen=True, kw_only=True):
    """Savings that replay predicts for a plan, or for a strategy on the plan's one subsystem."""

    strategy: str
    plan: str
    saves_cpu_seconds: Estimate | None = None
    saves_bytes: Estimate | None = None
    evidence: tuple[str, ...] = field(default_factory=NONE)

    def saves(self, metric: str) -> Summary | None:
        """Returns the predicted saving in one metric of PREDICTED, in its unit."""
        found: Estimate | None = getattr(self, PREDICTED[metric])
        return found.known if found else None


class RowReplay(PlanPrediction, frozen=True, kw_only=True):
    """Replay's prediction for a subsystem's plan, and whether it agrees with the trial. `strategies`: predictions for
    strategies that no trial can run.
    """

    agrees: bool
    apart: tuple[str, ...] = field(default_factory=NONE)
    strategies: tuple[PlanPrediction, ...] = field(default_factory=NONE)


class SourceChange(Record, frozen=True, kw_only=True):
    """One change of the source, with its place: a line before and after, or instructions in words. `kind`: allocate,
    free or resize for blocks that the program's own code makes; type for a declaration.
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
    needs: str = ""  # the change of the build that it requires
    first_bytes: int | None = field(default_factory=NULL)
    first_bytes_reason: str
    size_classes: tuple[int, ...] = field(default_factory=NONE)
    size_classes_reason: str
    changes: tuple[SourceChange, ...] = field(default_factory=NONE)


class InputStatus(Record, frozen=True):
    """The effect of a subsystem's own pool on one of several inputs."""

    input: int
    status: str


class FewerBlocks(Record, frozen=True, kw_only=True):
    """A change of the source that saves blocks without an allocator: make two blocks together, reserve the final size,
    or keep a block between calls.

    `kind`: make_shared, reserve or keep. `saves_allocations`: the number of recorded allocations that it saves; the
    time that this saves was not measured.
    """

    kind: str
    what: str
    saves_allocations: int
    function: str = ""
    file: str = ""
    line: int = 0


class Row(SubsystemFacts, frozen=True, kw_only=True):
    """A subsystem of an advice: its facts, the plan that was tried, the savings, and the reason for the advice.

    `best`: the advised strategy, or NOTHING. `package`: the package of the system whose files hold the subsystem's
    code; a user of the program does not build it. `fleet_share`: its share in the fleet that ordered the trials; 0 if
    it is not in it, None without a fleet.
    """

    best: str
    package: str | None = field(default_factory=NULL)
    tried: str | None = field(default_factory=NULL)
    plan: PlanFile | None = field(default_factory=NULL)
    saves_cpu_seconds: Estimate = field(default_factory=Estimate)
    saves_bytes: Estimate = field(default_factory=Estimate)
    cpu_ratio: Change | None = field(default_factory=NULL)
    reason: str = field(default_factory=str)
    stated_warning: str | UnsetType | None = field(name="warning", default=UNSET)  # set for several inputs only
    in_inputs: tuple[InputStatus, ...] = ()
    evidence: tuple[str, ...] = field(default_factory=NONE)
    arena: Arena | None = field(default_factory=NULL)
    replay: RowReplay | None = field(default_factory=NULL)
    code: Code | None = field(default_factory=NULL)
    fewer_blocks: tuple[FewerBlocks, ...] = ()
    fleet_share: float | None = None

    @property
    def pays(self) -> bool:
        """True if an allocator of its own is advised."""
        return self.best != NOTHING

    @property
    def warning(self) -> str | None:
        """Names the inputs in which the advice holds, if it does not hold in all of them."""
        return None if isinstance(self.stated_warning, UnsetType) else self.stated_warning


class Replay(Record, frozen=True, kw_only=True):
    """All of replay's predictions for an advice. `rounds` is 0 if nothing was replayed, and `why_null` gives the
    reason.
    """

    rounds: int = field(default_factory=int)
    why_null: str | None = field(default_factory=NULL)
    assumes: str | None = field(default_factory=NULL)
    error: ErrorNote | None = field(default_factory=NULL)
    predictions: tuple[PlanPrediction, ...] = field(default_factory=NONE)

    def of_plan(self, name: str) -> PlanPrediction | None:
        """Returns the prediction for a plan that a trial can run."""
        return next((p for p in self.predictions if p.plan == name and p.strategy == WHOLE_PLAN), None)

    def strategies(self, name: str) -> tuple[PlanPrediction, ...]:
        """Returns the predictions for strategies that no trial can run, for the subsystem of a plan."""
        return tuple(p for p in self.predictions if p.plan == name and p.strategy != WHOLE_PLAN)


class CapturedSubsystem(Record, frozen=True, kw_only=True):
    """The references to one subsystem's objects."""

    name: str
    references: SubsystemReferences


class LayoutPrediction(Record, frozen=True, kw_only=True):
    """The predicted effect of a plan or a malloc on misses and on the seconds of the time model, before it is tried.

    Ratios are against the recorded run. `seconds_interval`: lower and upper bound of the ratio of CPU, from the error
    of such predictions on this machine. `dropped`: the prediction was so poor that no trial was made. `tried`: the
    result of the trial.
    """

    kind: str
    name: str
    misses: int
    seconds: float | None = field(default_factory=NULL)
    misses_ratio: float
    seconds_ratio: float | None = field(default_factory=NULL)
    seconds_interval: tuple[float, float] | None = field(default_factory=NULL)
    instructions_ratio: float
    pool: str | None = field(default_factory=NULL)  # for a plan with one pool: the pool's name
    dropped: bool = field(default_factory=bool)
    tried: Change | None = field(default_factory=NULL)


class PredictedLayouts(Record, frozen=True, kw_only=True):
    """All predicted layouts, the best first. `misses`, `seconds`: of the recorded run. `cache`: the cache that was
    simulated. `error`: the error of predicted seconds on this machine; the intervals follow from it.
    """

    seconds_taken: float
    cache: str
    misses: int
    seconds: float | None = field(default_factory=NULL)
    layouts: tuple[LayoutPrediction, ...] = field(default_factory=NONE)
    error: ErrorNote | None = field(default_factory=NULL)

    def of_plan(self, name: str) -> LayoutPrediction | None:
        """Returns the prediction for a plan, or None."""
        return next((p for p in self.layouts if p.kind == "plan" and p.name == name), None)


class CapturedReferences(Record, frozen=True, kw_only=True):
    """The references and misses of a captured run, and the cost of the capture. Without `facts`, `why_null` gives the
    reason.

    `capture_seconds` and `plain_seconds`: wall-clock time of the program under the capture tool, and without it.
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
        """Returns the ratio of the captured run's time to the plain run's."""
        if self.capture_seconds is None or not self.plain_seconds:
            return None
        return self.capture_seconds / self.plain_seconds


class InputAdvice(Record, frozen=True, kw_only=True):
    """The result for one of several inputs, with its arguments."""

    number: int
    line: int
    arguments: tuple[str, ...]
    verdict: str
    effects: dict[str, Effect]
    run: str | None = field(default_factory=NULL)
    plan: PlanFile | None = field(default_factory=NULL)


class LoadOfServer(Record, frozen=True, kw_only=True):
    """The command that drove a server in each run, and the regular expression that found its rate."""

    command: str
    rate: str | None = None

    @property
    def options(self) -> list[str]:
        """Returns the options that ask for it."""
        return load_options(self.command, self.rate)


class Advice(Record, frozen=True, kw_only=True):
    """The complete result for one program. With `inputs`, it covers several inputs and holds for all of them.

    `choices`: the choices from which `choice` was made; None for several inputs, and without a verdict. `plan`: the
    change of the source that is better than none, advised or not; `plan_tried`: the plan that was judged.
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
    load: LoadOfServer | None = None
    symbols: MissingSymbols | None = None  # the modules whose functions have no names, and how to get these

    @property
    def every_effect(self) -> dict[str, Effect]:
        """Returns effects and sums, by name."""
        return {**self.effects, **self.sums}

    @property
    def confirmed(self) -> set[str]:
        """Returns the subsystems for which an allocator of their own is advised."""
        return {row.name for row in self.subsystems if row.pays}
