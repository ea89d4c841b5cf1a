# SPDX-License-Identifier: BSL-1.0
"""Advises on one program: from the unmodified program to a verdict with its evidence.

record, characterise, bare run, scopes ─▶ RecordedProgram   preparing.py
choosing rounds                        ─▶ ScreenedProgram   choosing.py
judging rounds, fresh                  ─▶ JudgedProgram     judging.py
                                       ─▶ ProgramVerdict    verdict.py
replays of the tried plans, rows, code ─▶ Advice            document.py ─▶ store
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from millpond.advice.advice_data import Advice, Replay
from millpond.advice.advice_rounds import AdviceRounds
from millpond.advice.advice_run import AdviceRun
from millpond.advice.advice_state import AdviceState, KeptState, earlier_state
from millpond.advice.advise_options import Options
from millpond.advice.bare_run import BareRun
from millpond.advice.choosing import choose
from millpond.advice.document import document
from millpond.advice.identity import Identity, identity_of
from millpond.advice.judged_program import JudgedProgram
from millpond.advice.judging import judge
from millpond.advice.prediction import BUDGET_SHARE, agreement_note, expected_seconds, not_replayed, predict
from millpond.advice.preparing import PreparedProgram, prepare, record_and_prepare
from millpond.advice.recorded_program import RecordedProgram
from millpond.advice.screened_program import ScreenedProgram
from millpond.advice.verdict import decide
from millpond.cells.plans import Plan
from millpond.doctor.replay_error import replay_error
from millpond.rounds import schedule
from millpond.rounds.trial_rounds import Laboratory, time_limit
from millpond.store.observations import Journal
from millpond.store.round_log import RoundLog, logged
from millpond.store.store import Store
from millpond.system import machine
from millpond.system.errors import Failure, Status
from millpond.system.progress import ProgressReport, say
from millpond.system.standard_input import StandardInput
from millpond.system.temporary import temporary_folder
from millpond.system.wording import list_text, plural


def advise(program: tuple[str, ...], options: Options) -> Advice:
    """Runs the whole job and returns the advice ("millpond.advice/1"). Failure (shared statuses) if it is
    impossible.
    """
    started = time.monotonic()
    store = Store(options.store)
    store.prepare()
    with temporary_folder() as folder:
        stdin = StandardInput(folder)
        identity = _identity(program, stdin, options)
        laboratory = Laboratory(folder, program, stdin, options.seed, options.preparation, options.load)
        run = AdviceRun(program, options, stdin, folder, laboratory, started)
        earlier = earlier_state(store, program, identity, is_required=options.goes_on) if identity else None
        prepared = _prepared_again(earlier, run) if earlier else record_and_prepare(run)
        # An input that can be read only once cannot be compared by later runs.
        subject = identity.digest if identity else ""
        journal = Journal("advise", program, seed=options.seed, subject=subject)
        counted = _count(prepared.recorded, journal)
        with logged(store, journal, resume=identity is not None) as log:
            state = AdviceState.of(
                prepared.recorded, identity or Identity({}), journal.run, str(machine.this_machine())
            )  # fmt: skip
            if earlier is not None:
                state = replace(state, steps=earlier.steps, replay=earlier.replay)
            judged, replay = _tried(prepared, run, KeptState(store, state), log)
        advice = document(decide(judged), replay, counted)
        advice = replace(advice, machine=str(machine.this_machine()), run=journal.run, seed=options.seed)
        _keep(store, journal, prepared.recorded, advice)
        return advice


def _identity(program: tuple[str, ...], stdin: StandardInput, options: Options) -> Identity | None:
    """Returns the identity of program, input and machine; None if standard input is a stream, which only the first run
    can read.
    """
    if not stdin.is_stream:
        return identity_of(program, stdin, options.of_rounds(), options.load.files if options.load else [])
    if options.goes_on:
        raise Failure(
            Status.USAGE,
            "--continue needs the same input again, and standard input is a pipe; give it as a file (< FILE)",
        )
    return None


def _prepared_again(earlier: AdviceState, run: AdviceRun) -> PreparedProgram:
    """Returns an earlier run before its first round. Runs the program bare if that run was killed before it did."""
    say(f"continuing run {earlier.run}: its recording is used")
    return prepare(earlier.recorded(run), run, earlier.steps.bare_run)


def _tried(prepared: PreparedProgram, run: AdviceRun, kept: KeptState, log: RoundLog) -> tuple[JudgedProgram, Replay]:
    """Runs the rounds and the replays."""
    recorded, bare = prepared.recorded, prepared.bare
    if bare is None or recorded.why_no_trial:
        return JudgedProgram(ScreenedProgram(recorded)), not_replayed("nothing was tried")
    rounds = _rounds(recorded, bare, prepared.deadline, run, kept, log)
    try:
        judged = judge(choose(recorded, rounds), rounds)
    except BaseException:
        if not log.rounds:
            kept.forget()
        raise
    judged, replay = _replayed(judged, run, kept, log, prepared.deadline)
    if rounds.earlier:
        counts = list_text([f"{count} of {stage}" for stage, count in rounds.earlier.items()])
        judged = judged.noting(f"uses rounds of earlier runs of the same program and input: {counts}")
    return judged, replay


def _rounds(
    recorded: RecordedProgram, bare: BareRun, deadline: float, run: AdviceRun, kept: KeptState, log: RoundLog
) -> AdviceRounds:
    """Prepares the rounds. Writes the state, so that a killed run can be continued."""
    reserved = _replay_seconds(recorded, deadline - time.monotonic()) if recorded.process.trace.name else 0.0
    if bare.outcome is not None:
        log.keep(bare.outcome)
    kept.advance(bare_seconds=bare.seconds, bare_exit_status=bare.exit_status)
    laboratory = run.laboratory
    laboratory.limit_seconds = time_limit(bare.seconds)
    laboratory.expected = (bare.exit_status, 0)
    look_up = laboratory.look_up if kept.steps.chosen is None else laboratory.look_up_before_first
    look_up(list(recorded.candidates) or [_empty_plan(recorded)])
    return AdviceRounds(
        run.program, log, laboratory, kept, deadline - reserved, deadline, run.options.seed,
        schedule.seconds_of_run(bare.seconds), goes_on=run.options.goes_on,
    )  # fmt: skip


def _empty_plan(recorded: RecordedProgram) -> Plan:
    """Returns a plan that routes nothing. It tells the controls which process to measure."""
    process = recorded.process.summary.process
    return Plan("empty", process.executable or "", process.build_id or "", ())


def _replay_seconds(recorded: RecordedProgram, left_seconds: float) -> float:
    """Returns the time for replays: as much as they need, but at most a small part of the budget."""
    events = recorded.process.summary.trace.events or 0
    return min(max(left_seconds, 0.0) * BUDGET_SHARE, expected_seconds(events, len(recorded.candidates)))


def _replayed(
    judged: JudgedProgram, run: AdviceRun, kept: KeptState, log: RoundLog, deadline: float
) -> tuple[JudgedProgram, Replay]:
    """Replays the plans that were tried, the judged ones first. Keeps the predictions of an earlier run, since its
    trace is deleted.
    """
    process = judged.recorded.process
    if not process.trace.name:
        ended = "the run that recorded the program ended before its replays"
        return judged, kept.state.replay or not_replayed(ended)
    tried = sorted(judged.tried.values(), key=lambda t: not t.judged)
    trace = process.summary.trace
    if tried:
        say(f"replaying {plural(len(tried), 'plan')}")
    replay = predict(
        run.program, process.trace, [t.plan for t in tried], judged.whole, replay_error(kept.store),
        folder=run.folder, listener=ProgressReport(), deadline=deadline, seed=run.options.seed,
        events=trace.events or 0, threads=trace.threads or 1, log=log,
    )  # fmt: skip
    kept.predicted(replay)
    return judged.noting(agreement_note(replay)), replay


def _keep(store: Store, journal: Journal, recorded: RecordedProgram, advice: Advice) -> None:
    """Stores the results of the run. The advice comes last, so if it exists, everything else does."""
    if recorded.characterisation:
        store.write_contexts(journal.run, recorded.contexts)
        store.write_characterisation(journal.run, recorded.characterisation.to_json())
    store.write_document("advice", journal.run, advice.to_json())


def _count(recorded: RecordedProgram, journal: Journal) -> Mapping[str, Sequence[str]]:
    """Stores the trace's counts for each subsystem as observations; returns their ids, so that rows can refer to
    them.
    """
    counted: dict[str, list[str]] = {}
    for s in recorded.subsystems:
        counts = (
            ("events", "events", s.events),
            ("bytes", "bytes", s.bytes),
            ("peak_live_bytes", "bytes", s.peak_live_bytes),
        )
        ids = [journal.add_counted(s.name, metric, unit, value, "counted") for metric, unit, value in counts]
        for letter, d in (s.dvluc or {}).items():
            ids.append(journal.add_counted(s.name, letter, "share", d.value, d.kind or "estimated", d.why_null or ""))
        counted[s.name] = ids
    return counted
