# SPDX-License-Identifier: BSL-1.0
"""Advises on one program: from the unmodified program to a verdict with its evidence.

record ─▶ the process that allocated most ─▶ characterise ─▶ candidate plans ─▶ a bare run ─▶ scopes observed
       ─▶ with references: a captured run ─▶ where references miss, misses predicted for each candidate, their order
       ─▶ choosing rounds: each large subsystem by itself ─▶ those that helped, together
       ─▶ judging rounds, fresh: every control, the chosen plan, each helper ─▶ verdict ─▶ store
"""

from __future__ import annotations

import time
from pathlib import Path

from msgspec.structs import replace

from millpond.advice.advice_data import Advice
from millpond.advice.advice_rounds import AdviceRounds
from millpond.advice.advice_state import AdviceState, KeptState, earlier_state
from millpond.advice.advise_options import Options
from millpond.advice.bare_run import BareRun, run_bare
from millpond.advice.document import document
from millpond.advice.findings import Findings
from millpond.advice.identity import Identity, identity_of
from millpond.advice.prediction import BUDGET_SHARE, agreement_note, expected_seconds, not_replayed, predict
from millpond.advice.recorded_findings import find_bound, follow_program, found_now
from millpond.doctor.replay_error import replay_error
from millpond.rounds import schedule
from millpond.rounds.trial_rounds import Laboratory
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
        earlier = earlier_state(store, program, identity, is_required=options.goes_on) if identity else None
        laboratory = Laboratory(folder, program, stdin, options.seed, options.preparation)
        if earlier is not None:
            found, bare, deadline = _found_earlier(earlier, laboratory, options, started)
        else:
            found, bare, deadline = found_now(program, folder, stdin, options, started, laboratory)
        # An input that can be read only once cannot be compared by later runs.
        subject = identity.digest if identity else ""
        journal = Journal("advise", program, seed=options.seed, subject=subject)
        _note_counts(found, journal)
        with logged(store, journal, resume=identity is not None) as log:
            if bare and not found.why_no_trial:
                state = AdviceState.of(found, identity or Identity({}), journal.run, str(machine.this_machine()))
                if earlier is not None:
                    state = replace(state, steps=earlier.steps, replay=earlier.replay)
                kept = KeptState(store, state)
                _try(found, bare, kept, log, laboratory, deadline, options)
                _replay(found, kept, log, folder, deadline, options.seed)
        _say_earlier(found)
        advice = replace(document(found), machine=str(machine.this_machine()), run=journal.run, seed=options.seed)
        _keep(store, journal, found, advice)
        return advice


def _identity(program: tuple[str, ...], stdin: StandardInput, options: Options) -> Identity | None:
    """Returns the identity of program, input and machine; None if standard input is a stream, which only the first run
    can read.
    """
    if not stdin.is_stream:
        return identity_of(program, stdin, options.of_rounds())
    if options.goes_on:
        raise Failure(
            Status.USAGE,
            "--continue needs the same input again, and standard input is a pipe; give it as a file (< FILE)",
        )
    return None


def _found_earlier(
    earlier: AdviceState, laboratory: Laboratory, options: Options, started: float
) -> tuple[Findings, BareRun | None, float]:
    """Returns the findings of an earlier run before its first round, its bare run, and the end of this run's budget."""
    say(f"continuing run {earlier.run}: its recording is used")
    found = earlier.findings(options.prefer)
    found.budget_seconds = schedule.BUDGET_MOST_SECONDS
    if options.budget_seconds is None:
        find_bound(found)
    else:
        found.budget_seconds = options.budget_seconds
    bare = earlier.steps.bare_run
    if bare is None and not found.why_no_trial:  # the earlier run was killed before it
        bare = run_bare(found, laboratory, started + found.budget_seconds)
    if bare and options.budget_seconds is None:
        follow_program(found, bare.seconds, 0.0)
        found.notes = list(dict.fromkeys(found.notes))
    return found, bare, started + found.budget_seconds


def _try(
    found: Findings, bare: BareRun, kept: KeptState, log: RoundLog, laboratory: Laboratory, deadline: float,
    options: Options,
) -> None:  # fmt: skip
    """Runs the rounds. Writes the state from the start, so that a killed run can be continued."""
    left = deadline - time.monotonic()
    reserved = _replay_seconds(found, left) if found.process.trace.name else 0.0
    if bare.outcome is not None:
        log.keep(bare.outcome)
    kept.advance(bare_seconds=bare.seconds, bare_exit_status=bare.exit_status)
    try:
        AdviceRounds(
            found, log, laboratory, deadline - reserved, deadline, options.seed, kept, goes_on=options.goes_on
        ).run(bare)
    except BaseException:
        if not log.rounds:
            kept.forget()
        raise


def _replay(found: Findings, kept: KeptState, log: RoundLog, folder: Path, deadline: float, seed: int) -> None:
    """Predicts the tried plans from the trace. Keeps the predictions of an earlier run, since its trace is deleted."""
    if found.process.trace.name:
        _predict(found, log, folder, kept.store, deadline, seed)
        kept.predicted(found.replay)
    elif kept.state.replay is not None:
        found.replay = kept.state.replay
    else:
        found.replay = not_replayed("the run that recorded the program ended before its replays")


def _say_earlier(found: Findings) -> None:
    """Notes the number of rounds that come from earlier runs."""
    if found.earlier:
        counts = list_text([f"{count} of {stage}" for stage, count in found.earlier.items()])
        found.notes.append(f"uses rounds of earlier runs of the same program and input: {counts}")


def _replay_seconds(found: Findings, left_seconds: float) -> float:
    """Returns the time for replays: as much as they need, but at most a small part of the budget."""
    events = found.process.summary.trace.events or 0
    return min(max(left_seconds, 0.0) * BUDGET_SHARE, expected_seconds(events, len(found.candidates)))


def _predict(found: Findings, log: RoundLog, folder: Path, store: Store, deadline: float, seed: int) -> None:
    """Replays the plans that were tried, the judged ones first."""
    tried = sorted(found.tried.values(), key=lambda t: not t.judged)
    trace = found.process.summary.trace
    if tried:
        say(f"replaying {plural(len(tried), 'plan')}")
    found.replay = predict(
        found.program, found.process.trace, [t.plan for t in tried], found.whole, replay_error(store),
        folder=folder, listener=ProgressReport(), deadline=deadline, seed=seed, events=trace.events or 0,
        threads=trace.threads or 1, log=log,
    )  # fmt: skip
    found.notes.append(agreement_note(found.replay))


def _keep(store: Store, journal: Journal, found: Findings, advice: Advice) -> None:
    """Stores the results of the run. The advice comes last, so if it exists, everything else does."""
    if found.characterisation:
        store.write_contexts(journal.run, found.contexts)
        store.write_characterisation(journal.run, found.characterisation.to_json())
    store.write_document("advice", journal.run, advice.to_json())


def _note_counts(found: Findings, journal: Journal) -> None:
    """Stores the trace's counts for each subsystem as observations, so that rows can refer to them."""
    for s in found.subsystems:
        counts = (
            ("events", "events", s.events),
            ("bytes", "bytes", s.bytes),
            ("peak_live_bytes", "bytes", s.peak_live_bytes),
        )
        ids = [journal.add_counted(s.name, metric, unit, value, "counted") for metric, unit, value in counts]
        for letter, d in (s.dvluc or {}).items():
            ids.append(journal.add_counted(s.name, letter, "share", d.value, d.kind or "estimated", d.why_null or ""))
        found.counted[s.name] = ids
