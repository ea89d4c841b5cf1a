# SPDX-License-Identifier: BSL-1.0
"""The state from which `advise` continues an earlier advise of the same program ("millpond.advice_state/1").

    advise            record ─▶ state ─▶ choose ─▶ state ─▶ judge ─▶ state      a document of its run, with its rounds
    advise again      the same program, input, libraries, machine? ─▶ state and rounds are used; only the rest is run
                      anything else ─▶ the new run prints what changed, and starts with a recording

The rounds lie in the store as they came (`round_log`), so a run that was killed can be continued, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from msgspec import field
from msgspec.structs import replace

from millpond.advice.advice_data import CapturedReferences, Replay
from millpond.advice.advice_run import AdviceRun
from millpond.advice.bare_run import BareRun
from millpond.advice.identity import Identity
from millpond.advice.looks import Looks
from millpond.advice.recorded_program import RecordedProgram
from millpond.cells.cell import PoolCounts
from millpond.cells.plan_file import PlanFile
from millpond.cells.plans import Plan, of_file
from millpond.rounds.characterisation import Characterisation
from millpond.rounds.recording import Process, Recording
from millpond.store.call_tree import CallTree
from millpond.store.store import Store
from millpond.system.errors import Failure, Status
from millpond.system.progress import say
from millpond.system.records import NONE, Record
from millpond.system.wording import list_text

SCHEMA = "millpond.advice_state/1"
KIND = "advice_state"


class NamedPlan(Record, frozen=True):
    """A plan with its display name."""

    name: str
    plan: PlanFile

    @classmethod
    def of(cls, plan: Plan) -> NamedPlan:
        """Packs a plan for the store."""
        return cls(plan.name, plan.file)

    @property
    def unpacked(self) -> Plan:
        """Returns the plan."""
        return of_file(self.plan, self.name)


class RecordedRun(Record, frozen=True, kw_only=True):
    """The recorded run: how the program ended, its cost, and its processes; `chosen` is the analysed one's number."""

    exit_status: int
    signal: int
    seconds: float
    cpu_seconds: float
    chosen: int
    processes: tuple[Characterisation, ...]


class Steps(Record, frozen=True, kw_only=True):
    """The progress of the rounds.

    `bare_*`: the run that showed how the program ends. `candidates` were tried in `choosing_rounds` rounds; `chosen`
    plans and `mallocs` follow from these. `judged` contenders are judged. `looks`: how often a judgement with a verdict
    was continued and examined again. `spent`: the looks that the latest verdict counts for, on `judged_rounds` rounds.
    """

    bare_seconds: float | None = None
    bare_exit_status: int = 0
    candidates: int | None = None
    choosing_rounds: int | None = None
    chosen: tuple[NamedPlan, ...] | None = None
    mallocs: tuple[str, ...] = ()
    unjudged: str = ""
    arenas: tuple[PoolCounts, ...] = ()
    judged: int | None = None
    looks: int = 0
    spent: float | None = None
    judged_rounds: int = 0
    decided: bool = False

    @property
    def bare_run(self) -> BareRun | None:
        """Returns the bare run, or None if there was none."""
        return None if self.bare_seconds is None else BareRun(self.bare_seconds, self.bare_exit_status)

    def further_looks(self, rounds: int, *, goes_on: bool) -> Looks:
        """Returns the looks of a judgement that has this many rounds already."""
        return Looks(
            spent=self.spent, judged=self.judged_rounds, made=self.looks, there=rounds, decided=self.decided,
            goes_on=goes_on,
        )  # fmt: skip


class AdviceState(Record, frozen=True, kw_only=True):
    """A recording with everything derived from it, and the progress of the rounds. `program`: its argv."""

    schema: str = field(default_factory=lambda: SCHEMA)
    run: str
    machine: str
    program: dict[str, tuple[str, ...]]
    identity: Identity
    recording: RecordedRun
    characterisation: Characterisation | None = None
    contexts: CallTree = field(default_factory=CallTree)
    candidates: tuple[NamedPlan, ...] = field(default_factory=NONE)
    lasting: tuple[NamedPlan, ...] = ()
    dropped: tuple[NamedPlan, ...] = ()
    references: CapturedReferences | None = None
    replay: Replay | None = None
    notes: tuple[str, ...] = ()
    steps: Steps = field(default_factory=Steps)

    @classmethod
    def of(cls, recorded: RecordedProgram, identity: Identity, run: str, machine: str) -> AdviceState:
        """Makes the state before the first round."""
        recording = recorded.recording
        return cls(
            run=run, machine=machine, program={"argv": recorded.program}, identity=identity,
            recording=RecordedRun(
                exit_status=recording.exit_status, signal=recording.signal, seconds=recording.seconds,
                cpu_seconds=recording.cpu_seconds, chosen=recorded.process.number,
                processes=tuple(process.summary for process in recording.processes),
            ),
            characterisation=recorded.characterisation, contexts=recorded.contexts,
            candidates=_kept(recorded.candidates), lasting=_kept(recorded.lasting), dropped=_kept(recorded.dropped),
            references=recorded.references, notes=recorded.notes,
        )  # fmt: skip

    def recorded(self, run: AdviceRun) -> RecordedProgram:
        """Returns the recorded program as it was before the first round, for another run of advise. The traces are
        deleted, so their paths name no files.
        """
        kept = self.recording
        processes = tuple(Process(n, Path(), summary) for n, summary in enumerate(kept.processes, 1))
        recording = Recording(
            kept.exit_status, kept.signal, kept.seconds, processes, cpu_seconds=kept.cpu_seconds
        )  # fmt: skip
        return RecordedProgram(
            run.program, recording, processes[kept.chosen - 1],
            characterisation=self.characterisation, contexts=self.contexts,
            candidates=_unpacked(self.candidates), dropped=_unpacked(self.dropped), lasting=_unpacked(self.lasting),
            references=self.references, budget_seconds=run.budget_seconds, prefer=run.options.prefer, notes=self.notes,
            fleet=run.weights_of(processes[kept.chosen - 1].summary.process), load=run.options.load,
        )  # fmt: skip


def _kept(plans: Sequence[Plan]) -> tuple[NamedPlan, ...]:
    return tuple(NamedPlan.of(plan) for plan in plans)


def _unpacked(plans: Sequence[NamedPlan]) -> tuple[Plan, ...]:
    return tuple(plan.unpacked for plan in plans)


@dataclass
class KeptState:
    """The state of a run, written to the store with each step. Not thread-safe."""

    store: Store
    state: AdviceState

    def write(self) -> None:
        """Writes the state, if later runs could recognise it. Failure (status 4) if it cannot be written."""
        if not self.state.identity.parts:
            return
        self.store.write_document(KIND, self.state.run, self.state.to_json())

    @property
    def steps(self) -> Steps:
        return self.state.steps

    def advance(self, **steps: object) -> None:
        """Updates these fields of the steps and writes the state."""
        self.state = replace(self.state, steps=replace(self.state.steps, **steps))
        self.write()

    def predicted(self, replay: Replay) -> None:
        """Stores replay's predictions."""
        self.state = replace(self.state, replay=replay)
        self.write()

    def forget(self) -> None:
        """Deletes the state of a run without a result."""
        self.store.remove_document(KIND, self.state.run)


def earlier_state(store: Store, program: Sequence[str], identity: Identity, *, is_required: bool) -> AdviceState | None:
    """Returns the state of the latest advise of the same program, input and machine, or None.

    Prints what changed since the latest advise of this command line. `is_required`: Failure (status 3) if this store
    has no advise of this command line.
    """
    changed: list[str] | None = None
    for _, state in store.records(KIND, AdviceState.from_json):
        if tuple(state.program.get("argv", ())) != tuple(program):
            continue
        if state.identity == identity:
            return state
        changed = changed if changed is not None else state.identity.changed(identity)
    if changed is not None:
        say(f"starting again, not from the earlier advise: {list_text(_words(changed))} changed since then")
    elif is_required:
        raise Failure(
            Status.INPUT,
            f"there is nothing to continue: the store {store.folder} has no advise of this command line; omit "
            "--continue to start one, or name the store of the earlier one with --store",
        )
    return None


def _words(parts: Sequence[str]) -> list[str]:
    return [part if part == "Millpond" else f"the {part}" for part in parts]
