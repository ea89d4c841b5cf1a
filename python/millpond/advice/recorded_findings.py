# SPDX-License-Identifier: BSL-1.0
"""Prepares the findings before the first round: records the program and derives the candidate plans.

record ─▶ the process that allocated most ─▶ characterise ─▶ candidate plans
       ─▶ a bare run, for the duration of a run ─▶ a second recording, scopes observed
       ─▶ with references: a captured run ─▶ misses predicted for each candidate, their order
"""

from __future__ import annotations

import time
from pathlib import Path

from msgspec.structs import replace

from millpond.advice.advise_options import Options
from millpond.advice.allocation_bound import bound_of
from millpond.advice.bare_run import BareRun, run_bare
from millpond.advice.captured_references import counted, not_captured, of_run, routable
from millpond.advice.findings import Findings
from millpond.advice.lasting_arenas import split_lasting
from millpond.advice.layout_prediction import LayoutPredictor, in_order
from millpond.doctor.references_error import ReferencesError, references_error
from millpond.rounds import mallocs, recording, schedule
from millpond.rounds.fresh_process import describe
from millpond.rounds.preparation import Preparation
from millpond.rounds.reference_capture import CapturedRun, capture
from millpond.rounds.trial_rounds import Laboratory
from millpond.store.store import Store
from millpond.system.errors import Failure
from millpond.system.progress import say
from millpond.system.standard_input import StandardInput
from millpond.system.wording import bytes_text, seconds_text

# The recording's share of the budget. Finishing it takes as long again, so after a longer recording the rest would not
# suffice for a verdict.
RECORDING_SHARE = 0.4
# The least time for the recording, so that `--budget 0` shows the allocations of a short program.
RECORDING_SECONDS_MIN = 2.0


def found_now(
    program: tuple[str, ...], folder: Path, stdin: StandardInput, options: Options, started: float,
    laboratory: Laboratory,
) -> tuple[Findings, BareRun | None, float]:  # fmt: skip
    """Records the program and returns the findings, a bare run of it, and the end of the budget.

    Makes no bare run if nothing is tried. The bare run comes before scopes are observed, since its duration decides
    whether there is time for that.
    """
    say(f"recording {program[0]}")
    found = _record(program, folder, stdin, options)
    if options.budget_seconds is None:
        find_bound(found)
    deadline = started + found.budget_seconds
    bare = None if found.why_no_trial else run_bare(found, laboratory, deadline)
    if bare and options.budget_seconds is None:
        follow_program(found, bare.seconds, time.monotonic() - started)
        deadline = started + found.budget_seconds
    _observe(found, bare, folder, stdin, deadline - time.monotonic(), options.preparation)
    if options.references and found.characterisation:
        before = time.monotonic()
        _capture(found, folder, stdin, options)
        deadline += time.monotonic() - before
    found.candidates, found.lasting = split_lasting(found.candidates, found.subsystems)
    return found, bare, deadline


def _record(program: tuple[str, ...], folder: Path, stdin: StandardInput, options: Options) -> Findings:
    budget_seconds = schedule.BUDGET_MOST_SECONDS if options.budget_seconds is None else options.budget_seconds
    bounds = recording.Bounds(
        max(RECORDING_SHARE * budget_seconds, RECORDING_SECONDS_MIN),
        options.trace_bytes or recording.trace_bytes_in(folder),
    )
    recorded = recording.record(program, folder, stdin, options.preparation, bounds)
    chosen = recording.choose(recorded.processes, options.process)
    found = Findings(program, recorded, chosen, budget_seconds=budget_seconds, prefer=options.prefer)
    if not chosen.summary.trace.events:
        found.why_no_trial = "not tried: the program has no heap events"
        return found
    found.characterisation, found.contexts, found.candidates = recording.characterise(chosen, folder)
    if chosen.summary.trace.stopped_early:
        found.notes.append(
            f"the recording reached {bytes_text(bounds.trace_bytes)} (--max-trace) and stopped there; figures of the "
            "trace cover the time before"
        )
    if recorded.was_stopped:
        found.why_no_trial = (
            f"not tried: the program had not ended after {seconds_text(bounds.seconds)} of recording, its share of the "
            "budget, and was stopped; runs that do not end cannot be compared: use an input with which it ends, or "
            "a larger --budget (`millpond trace record --for SECONDS` records a program that never ends)"
        )
    elif recorded.signal:
        how = describe(recorded.exit_status, recorded.signal)
        found.why_no_trial = f"not tried: the program {how}, so its runs cannot be compared"
    elif not found.candidates:
        found.notes.append("no subsystem is large enough to be tried by itself")
    return found


def find_bound(found: Findings) -> None:
    """Checks whether the recording shows that no allocator can matter; then nothing is tried, or only huge pages."""
    if not found.characterisation or found.why_no_trial:
        return
    found.bound = bound_of(found.characterisation.trace, found.recording.cpu_seconds)
    if found.bound and not (found.bound.huge_pages_may_matter and mallocs.HUGE in _names_of_mallocs()):
        found.why_no_trial = f"not tried: {found.bound.words}; to try anyway, give --budget SECONDS"


def _names_of_mallocs() -> list[str]:
    return [malloc.name for malloc in mallocs.contenders()[0]]


def follow_program(found: Findings, bare_seconds: float, spent_seconds: float) -> None:
    """Sets the budget that a verdict on this program needs, and prints it."""
    run_seconds = schedule.seconds_of_run(bare_seconds)
    contenders = len(found.candidates) + len(_names_of_mallocs()) + 2
    found.budget_seconds = schedule.budget(spent_seconds, run_seconds, contenders)
    if found.bound:
        rounds = schedule.seconds_of_judgement(run_seconds, schedule.JUDGED_WITHOUT_PLAN, schedule.FEW_VERDICT_ROUNDS)
        found.budget_seconds = spent_seconds + max(rounds, schedule.BUDGET_WITHOUT_PLAN_SECONDS)
        found.notes.append(f"only huge pages were tried: {found.bound.words}; to try everything, give --budget SECONDS")
    say(
        f"a run takes {seconds_text(bare_seconds)}: at most {seconds_text(found.budget_seconds)} in all, less if it "
        "is decided earlier (--budget SECONDS)"
    )


def _observe(
    found: Findings, bare: BareRun | None, folder: Path, stdin: StandardInput, left_seconds: float,
    preparation: Preparation,
) -> None:  # fmt: skip
    """Makes a second recording that observes the candidate scopes. Without it no function is called legal.

    Leaves it out if its share of the remaining time would cost the verdict.
    """
    if found.recording.signal or found.bound or not recording.scopes_file(folder).is_file():
        return
    seconds = schedule.observing(left_seconds, bare.seconds, found.recording.seconds) if bare else 0.0
    observed = None
    if bare is None:
        why_not = "nothing is tried"
    elif seconds == 0:
        why_not = "the verdict needed the time; a larger --budget observes them"
    else:
        say("observing scopes")
        observed, why_not = recording.observe(
            found.program, found.recording, found.process, folder, stdin, seconds, preparation
        )  # fmt: skip
    if observed is None:
        found.notes.append(f"no scope was observed, so none is called legal: {why_not}")
    else:
        found.characterisation, found.candidates = observed


def _capture(found: Findings, folder: Path, stdin: StandardInput, options: Options) -> None:
    """Captures references in one run under the tool, before any round. If that fails, the advice gives the reason."""
    say("capturing references")
    try:
        run = capture(found.program, found.process.number, folder, stdin, options.preparation)
    except Failure as failure:
        found.references = not_captured(str(failure))
        found.notes.append(f"no references were captured: {found.references.why_null}")
        return
    if found.characterisation:
        run = routable(run, found.characterisation)
    found.references = of_run(run)
    if found.characterisation:
        found.characterisation = counted(found.characterisation, run.characterisation)
    if not found.why_no_trial:
        _rank(found, run, folder, found.budget_seconds, references_error(Store(options.store)))


def _rank(found: Findings, run: CapturedRun, folder: Path, seconds: float, error: ReferencesError) -> None:
    """Predicts the candidates from the captured run; keeps those that are worth a trial, the best first."""
    found.candidates = [*run.plans, *found.candidates]  # if time is short, the captured run's own plans come first
    inner = folder.absolute() / "predicted"
    inner.mkdir(exist_ok=True)
    if run.trace is None or not found.references:
        return
    predictor = LayoutPredictor(run.trace, inner, time.monotonic() + seconds, error=error)
    paths = {m.name: m.path for m in mallocs.contenders()[0] if m.path is not None}
    try:
        predicted = predictor.predict(found.candidates, paths)
    except Failure as failure:
        found.notes.append(f"no layout was predicted: {failure}")
        return
    found.notes += predictor.notes
    found.references = replace(found.references, predicted=predicted)
    kept = in_order(found.candidates, predicted)
    found.dropped = [p for p in found.candidates if p not in kept]
    found.candidates = kept
