# SPDX-License-Identifier: BSL-1.0
"""Replay's predictions next to the trial's measurements: rows for every form of the report.

subsystem     trial          replay, same pools     replay, monotonic instead
shop::index   19.9 ms (…)    3.1 ms (…)             3.4 ms (…)                 not possible in a trial
"""

from __future__ import annotations

from dataclasses import dataclass

from millpond.advice.advice_data import WHOLE_PLAN, Change, Estimate, PlanPrediction
from millpond.report.cases import Case, ShownRow
from millpond.report.report_text import replayed
from millpond.system.wording import plural, saved_text


@dataclass(frozen=True)
class ReplayLine:
    """A pair of figures: savings of CPU time and of peak resident bytes. `kind` is `trial` or `replay`."""

    subject: str
    kind: str
    what: str
    cpu: str
    peak: str


def lines(case: Case) -> list[ReplayLine]:
    """Returns all lines: the whole plan, then each replayed subsystem; measured before predicted."""
    if not replayed(case):
        return []
    placement = case.advice.effects.get("placement")
    peak = placement.peak.saved if placement and placement.peak else None
    found = _lines(case, "the whole plan", placement, peak)
    for row in case.subsystems:
        found += of_subsystem(case, row)
    return found


def of_subsystem(case: Case, shown: ShownRow) -> list[ReplayLine]:
    """Returns the lines of one subsystem; empty if it was not replayed."""
    return _lines(case, shown.row.name, shown.row.cpu_ratio, shown.row.saves_bytes)


def _lines(case: Case, subject: str, measured: Change | None, peak: Estimate | None) -> list[ReplayLine]:
    if measured is None or not measured.n or not case.replay:
        return []
    plan = (measured.of_ or "").removeprefix("plan:")
    predictions = [p for p in case.replay.predictions if p.plan == plan]
    if not predictions:
        return []
    first = ReplayLine(
        subject, "trial", "measured, the whole program", saved_text(measured.saved, "seconds"),
        saved_text(peak, "bytes"),
    )  # fmt: skip
    return [first, *(_predicted(subject, p) for p in predictions)]


def _predicted(subject: str, found: PlanPrediction) -> ReplayLine:
    is_plan = found.strategy == WHOLE_PLAN
    what = "predicted, the same pools" if is_plan else f"predicted, {found.strategy} instead of a multipool"
    cpu, peak = saved_text(found.saves_cpu_seconds, "seconds"), saved_text(found.saves_bytes, "bytes")
    return ReplayLine(subject, "replay", what, cpu, peak)


def sentence(case: Case) -> str:
    """Describes what was replayed and how reliable it is; or why nothing was."""
    replay = case.replay
    if replay is None or not replay.rounds:
        return f"Replay: not replayed{f': {replay.why_null}' if replay and replay.why_null else ''}."
    trust = f" {replay.error.sentence}" if replay.error and replay.error.sentence else ""
    return (
        f"Replay: {plural(replay.rounds, 'round')}, estimated only from the trace, which has allocations, but "
        f"not the program's other accesses. Assumed: {replay.assumes or 'nothing'}.{trust}"
    )
