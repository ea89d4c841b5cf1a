# SPDX-License-Identifier: BSL-1.0
"""The steps before the first round: record the program, derive the candidate plans, and set the budget.

record ─▶ the process that allocated most ─▶ characterise ─▶ candidate plans
       ─▶ a bare run, for the duration of a run ─▶ a second recording, scopes observed
       ─▶ with --references: a captured run ─▶ misses predicted for each candidate, their order
       ─▶ with a fleet: the order of its weights
"""

from __future__ import annotations

import platform
import time
from dataclasses import dataclass, replace

from msgspec import structs

from millpond.advice.advice_run import AdviceRun
from millpond.advice.allocation_bound import bound_of, first_estimate
from millpond.advice.bare_run import BareRun, run_bare
from millpond.advice.captured_references import counted, not_captured, of_run, routable
from millpond.advice.lasting_arenas import split_lasting
from millpond.advice.layout_prediction import LayoutPredictor, in_order
from millpond.advice.recorded_program import RecordedProgram
from millpond.doctor.references_error import references_error
from millpond.rounds import mallocs, recording, schedule
from millpond.rounds.fresh_process import describe
from millpond.rounds.reference_capture import CapturedRun, capture
from millpond.rounds.served_run import END_SECONDS
from millpond.store.store import Store
from millpond.system.errors import Failure
from millpond.system.progress import say
from millpond.system.wording import bytes_text, plural, seconds_text

# The recording's share of the budget. Finishing it takes as long again, so after a longer recording the rest would not
# suffice for a verdict.
RECORDING_SHARE = 0.4
# The least time for the recording, so that `--budget 0` shows the allocations of a short program.
RECORDING_SECONDS_MIN = 2.0


@dataclass(frozen=True)
class PreparedProgram:
    """A recorded program before its first round. `bare`: None if nothing is tried. `deadline`: the end of the budget,
    of `time.monotonic`.
    """

    recorded: RecordedProgram
    bare: BareRun | None
    deadline: float


def record_and_prepare(run: AdviceRun) -> PreparedProgram:
    """Records the program and runs every step before the first round.

    The bare run comes before scopes are observed, since its duration decides whether there is time for that.
    """
    prepared = prepare(_record(run), run)
    recorded, deadline = _with_scopes(prepared, run), prepared.deadline
    if run.options.references and recorded.characterisation:
        before = time.monotonic()
        recorded = _with_references(recorded, run)
        deadline += time.monotonic() - before
    recorded = tried_here(recorded)
    candidates, lasting = split_lasting(recorded.candidates, recorded.subsystems)
    recorded = replace(recorded, candidates=tuple(candidates), lasting=tuple(lasting))
    return PreparedProgram(_weighted(recorded), prepared.bare, deadline)


def tried_here(recorded: RecordedProgram) -> RecordedProgram:
    """Without the candidates that no trial on this machine can take: some need x86-64."""
    kept = tuple(plan for plan in recorded.candidates if not any(route.needs_x86 for route in plan.routes))
    left_out = len(recorded.candidates) - len(kept)
    if platform.machine() == "x86_64" or not left_out:
        return recorded
    return replace(recorded, candidates=kept).noting(
        f"{plural(left_out, 'candidate')} with arenas for each call or pools for each instance left out: x86-64 only"
    )


def _weighted(recorded: RecordedProgram) -> RecordedProgram:
    """Orders the candidates by the weights of the fleet, if there is one, and notes what it has no plan for."""
    if recorded.fleet is None:
        return recorded
    planned = {name for plan in recorded.candidates for r in plan.routes for name in (r.pool, *r.subsystems)}
    ordered = replace(recorded, candidates=tuple(recorded.fleet.in_order(recorded.candidates)))
    return ordered.noting(*recorded.fleet.notes(planned))


def prepare(recorded: RecordedProgram, run: AdviceRun, bare: BareRun | None = None) -> PreparedProgram:
    """Bounds the gain, runs the program bare unless an earlier advise did, and sets the budget."""
    budget_follows = run.options.budget_seconds is None
    if budget_follows:
        recorded = _with_bound(recorded)
    if bare is None and not recorded.why_no_trial:
        deadline = run.started + recorded.budget_seconds
        bare, why_not = run_bare(
            recorded.program, recorded.recording, run.laboratory, deadline, is_server=run.options.load is not None
        )
        recorded = replace(recorded, why_no_trial=why_not)
    if bare and bare.outcome and recorded.characterisation and not recorded.characterisation.trace.stopped_early:
        say(first_estimate(recorded.characterisation, bare.outcome.values.get("cpu_seconds", bare.seconds)))
    if bare and budget_follows:
        recorded = _with_budget(recorded, bare.seconds, run.spent_seconds)
    return PreparedProgram(recorded, bare, run.started + recorded.budget_seconds)


def _record(run: AdviceRun) -> RecordedProgram:
    bounds = recording.Bounds(
        max(RECORDING_SHARE * run.budget_seconds, RECORDING_SECONDS_MIN),
        run.options.trace_bytes or recording.trace_bytes_in(run.folder),
    )
    recorded = recording.record(run.program, run.folder, run.stdin, run.options.preparation, bounds, run.options.load)
    if recorded.was_interrupted:
        say("the program was interrupted; what was recorded is shown (Ctrl-C again stops)")
    chosen = recording.choose(recorded.processes, run.options.process)
    result = RecordedProgram(
        run.program, recorded, chosen, budget_seconds=run.budget_seconds, prefer=run.options.prefer,
        fleet=run.weights_of(chosen.summary.process), load=run.options.load,
    )  # fmt: skip
    if recorded.was_killed:
        result = result.noting(
            f"the server did not end {END_SECONDS:.0f} s after SIGTERM and was killed; what it does at its end is "
            "in no figure"
        )
    if not chosen.summary.trace.events:
        return replace(result, why_no_trial="not tried: the program has no heap events")
    characterisation, contexts, candidates = recording.characterise(chosen, run.folder)
    result = replace(result, characterisation=characterisation, contexts=contexts, candidates=tuple(candidates))
    if chosen.summary.trace.stopped_early:
        result = result.noting(
            f"the recording reached {bytes_text(bounds.trace_bytes)} (--max-trace) and stopped there; figures of the "
            "trace cover the time before"
        )
    if why_not := _why_no_trial(recorded, bounds.seconds):
        return replace(result, why_no_trial=why_not)
    return result if candidates else result.noting("no subsystem is large enough to be tried by itself")


def _why_no_trial(recorded: recording.Recording, limit_seconds: float) -> str:
    """Returns why runs like the recorded one cannot be compared; empty if they can."""
    if recorded.was_interrupted:
        return (
            "not tried: the program was ended by Ctrl-C, and runs that do not end by themselves cannot be compared; "
            "use an input with which it ends"
        )
    if recorded.was_stopped:
        return (
            f"not tried: the program had not ended after {seconds_text(limit_seconds)} of recording, its share of the "
            "budget, and was stopped; runs that do not end cannot be compared: use an input with which it ends, or "
            "a larger --budget (`--load COMMAND` advises on a server, which never ends)"
        )
    if recorded.signal:
        how = describe(recorded.exit_status, recorded.signal)
        return f"not tried: the program {how}, so its runs cannot be compared"
    return ""


def _with_bound(recorded: RecordedProgram) -> RecordedProgram:
    """Checks whether the recording shows that no allocator can matter; then nothing is tried, or only huge pages."""
    if not recorded.characterisation or recorded.why_no_trial:
        return recorded
    bound = bound_of(recorded.characterisation.trace, recorded.recording.cpu_seconds)
    if bound is None or (bound.huge_pages_may_matter and mallocs.HUGE in _names_of_mallocs()):
        return replace(recorded, bound=bound)
    why_not = f"not tried: {bound.words}; to try anyway, give --budget SECONDS"
    return replace(recorded, bound=bound, why_no_trial=why_not)


def _names_of_mallocs() -> list[str]:
    return [malloc.name for malloc in mallocs.contenders()[0]]


def _with_budget(recorded: RecordedProgram, bare_seconds: float, spent_seconds: float) -> RecordedProgram:
    """Sets the budget that a verdict on this program needs, and prints it."""
    run_seconds = schedule.seconds_of_run(bare_seconds)
    contenders = len(recorded.candidates) + len(_names_of_mallocs()) + 2
    budget_seconds = schedule.budget(spent_seconds, run_seconds, contenders)
    if bound := recorded.bound:
        rounds = schedule.seconds_of_judgement(run_seconds, schedule.JUDGED_WITHOUT_PLAN, schedule.FEW_VERDICT_ROUNDS)
        budget_seconds = spent_seconds + max(rounds, schedule.BUDGET_WITHOUT_PLAN_SECONDS)
        recorded = recorded.noting(
            f"only huge pages were tried: {bound.words}; to try everything, give --budget SECONDS"
        )
    say(
        f"a run takes {seconds_text(bare_seconds)}: at most {seconds_text(budget_seconds)} in all, less if it "
        "is decided earlier (--budget SECONDS)"
    )
    return replace(recorded, budget_seconds=budget_seconds)


def _with_scopes(prepared: PreparedProgram, run: AdviceRun) -> RecordedProgram:
    """Makes a second recording that observes the candidate scopes. Without it no function is called legal.

    Leaves it out if its share of the remaining time would cost the verdict.
    """
    recorded, bare = prepared.recorded, prepared.bare
    if recorded.recording.signal or recorded.bound or not recording.scopes_file(run.folder).is_file():
        return recorded
    left_seconds = prepared.deadline - time.monotonic()
    seconds = schedule.observing(left_seconds, bare.seconds, recorded.recording.seconds) if bare else 0.0
    observed = None
    if bare is None:
        why_not = "nothing is tried"
    elif seconds == 0:
        why_not = "the verdict needed the time; a larger --budget observes them"
    else:
        observed, why_not = recording.observe(
            run.program, recorded.recording, recorded.process, run.folder, run.stdin, seconds, run.options.preparation,
            run.options.load,
        )  # fmt: skip
    if observed is None:
        return recorded.noting(f"no scope was observed, so none is called legal: {why_not}")
    characterisation, candidates = observed
    return replace(recorded, characterisation=characterisation, candidates=tuple(candidates))


def _with_references(recorded: RecordedProgram, run: AdviceRun) -> RecordedProgram:
    """Captures references in one run under the tool, before any round. If that fails, the advice gives the reason."""
    try:
        captured = capture(run.program, recorded.process.number, run.folder, run.stdin, run.options.preparation)
    except Failure as failure:
        none = not_captured(str(failure))
        return replace(recorded, references=none).noting(f"no references were captured: {none.why_null}")
    if recorded.characterisation:
        captured = routable(captured, recorded.characterisation)
        counts = counted(recorded.characterisation, captured.characterisation)
        recorded = replace(recorded, characterisation=counts)
    recorded = replace(recorded, references=of_run(captured))
    return recorded if recorded.why_no_trial else _ranked(recorded, captured, run)


def _ranked(recorded: RecordedProgram, captured: CapturedRun, run: AdviceRun) -> RecordedProgram:
    """Predicts the candidates from the captured run; keeps those that are worth a trial, the best first."""
    # If time is short, the captured run's own plans come first.
    candidates = [*captured.plans, *recorded.candidates]
    recorded = replace(recorded, candidates=tuple(candidates))
    inner = run.folder.absolute() / "predicted"
    inner.mkdir(exist_ok=True)
    if captured.trace is None or not recorded.references:
        return recorded
    error = references_error(Store(run.options.store))
    predictor = LayoutPredictor(captured.trace, inner, time.monotonic() + recorded.budget_seconds, error=error)
    paths = {m.name: m.path for m in mallocs.contenders()[0] if m.path is not None}
    try:
        predicted = predictor.predict(candidates, paths)
    except Failure as failure:
        return recorded.noting(f"no layout was predicted: {failure}")
    kept = in_order(candidates, predicted)
    return replace(
        recorded,
        references=structs.replace(recorded.references, predicted=predicted),
        dropped=tuple(p for p in candidates if p not in kept),
        candidates=tuple(kept),
    ).noting(*predictor.notes)
