# SPDX-License-Identifier: BSL-1.0
"""Replay's predictions next to the trial's measurements, and the result of `millpond trace replay`.

subsystem     trial          replay, same pools     replay, monotonic instead
shop::index   19.9 ms (…)    3.1 ms (…)             3.4 ms (…)                 not possible in a trial
"""

from __future__ import annotations

from pathlib import Path

from millpond.advice.advice_data import WHOLE_PLAN, Change, Estimate, PlanPrediction
from millpond.report.cases import Case, ShownRow
from millpond.report.views.case_words import replayed
from millpond.report.views.model import Bullets, ReportSection, Row, Words, name, section, table
from millpond.rounds.replay_data import ReplayResult, WidenedComparison
from millpond.statistics.order_statistics import BEYOND_NOISE, MetricSummary
from millpond.system.wording import bytes_text, count_text, plural, saved_text, seconds_text

_LINES_AT_MOST = 40


def replay_section(case: Case) -> ReportSection | None:
    """Returns the whole plan, then each replayed subsystem: measured before predicted; and how reliable this is."""
    placement = case.advice.effects.get("placement")
    peak = placement.peak.saved if placement and placement.peak else None
    rows = _lines(case, "the whole plan", placement, peak) if replayed(case) else []
    for shown in case.subsystems if replayed(case) else ():
        rows += _lines(case, shown.row.name, shown.row.cpu_ratio, shown.row.saves_bytes)
    found = table(("of", "saves", ">CPU", ">peak resident bytes"), rows[:_LINES_AT_MOST])
    note = "" if rows else _why_not(case)
    return section("Replay next to the trial", [found, Words(sentence(case), "soft")], note=note, fold=True)


def of_subsystem(case: Case, shown: ShownRow) -> ReportSection | None:
    """Returns the lines of one subsystem; None if it was not replayed."""
    rows = [line[1:] for line in _lines(case, shown.row.name, shown.row.cpu_ratio, shown.row.saves_bytes)]
    return section("Replay of the same", [table(("saves", ">CPU", ">peak resident bytes"), rows)])


def _lines(case: Case, subject: str, measured: Change | None, peak: Estimate | None) -> list[Row]:
    if measured is None or not measured.n or not case.replay:
        return []
    plan = (measured.of_ or "").removeprefix("plan:")
    predictions = [p for p in case.replay.predictions if p.plan == plan]
    if not predictions:
        return []
    trial = (name(subject), "measured, the whole program", saved_text(measured.saved, "seconds"),
             saved_text(peak, "bytes"))  # fmt: skip
    return [trial, *map(_predicted, predictions)]


def _predicted(found: PlanPrediction) -> Row:
    is_plan = found.strategy == WHOLE_PLAN
    what = "predicted, the same pools" if is_plan else f"predicted, {found.strategy} instead of a multipool"
    return "", what, saved_text(found.saves_cpu_seconds, "seconds"), saved_text(found.saves_bytes, "bytes")


def _why_not(case: Case) -> str:
    return f"not replayed{f': {case.replay.why_null}' if case.replay and case.replay.why_null else ''}"


def sentence(case: Case) -> str:
    """Describes what was replayed and how reliable it is; or why nothing was."""
    replay = case.replay
    if replay is None or not replay.rounds:
        return f"Replay: {_why_not(case)}."
    trust = f" {replay.error.sentence}" if replay.error and replay.error.sentence else ""
    return (
        f"Replay: {plural(replay.rounds, 'round')}, estimated only from the trace, which has allocations, but "
        f"not the program's other accesses. Assumed: {replay.assumes or 'nothing'}.{trust}"
    )


def result_section(result: ReplayResult) -> ReportSection:
    """Returns a row for each contender of `millpond trace replay`: its cost, without the replay loop's own, and its
    difference from the recorded malloc.
    """
    trace = result.trace
    facts = [
        f"{count_text(trace.events)} heap events", f"{bytes_text(trace.peak_live_bytes)} live at the peak",
        plural(trace.threads or 1, "thread"), f"{result.order} order", result.assumes,
    ]  # fmt: skip
    rows: list[Row] = []
    for contender in result.contenders:
        m, versus = contender.metrics, contender.against_recorded
        short = Path(contender.name).name if contender.name.startswith("/") else contender.name
        rows.append((
            name(short), seconds_text(_median(m, "cpu_seconds")), _saves(versus.get("cpu_seconds")),
            bytes_text(_median(m, "peak_bytes")), _saves(versus.get("peak_bytes")),
            bytes_text(_median(m, "end_bytes")), bytes_text(_median(m, "held_bytes")),
            count_text(_median(m, "page_faults")),
        ))  # fmt: skip
    headings = ("contender", ">CPU", ">saves", ">peak resident", ">saves", ">at the end", ">held", ">faults")
    found = table(headings, rows, title=f"{plural(result.rounds, 'round')} of each")
    notes = tuple(filter(None, [*result.notes, result.error.sentence]))
    return ReportSection(trace.path, (Words(", ".join(facts)), found, Bullets(notes)))


def _median(metrics: dict[str, MetricSummary], metric: str) -> float | None:
    return metrics[metric].median if metric in metrics else None


def _saves(versus: WidenedComparison | None) -> str:
    """Returns the saving against the recorded malloc, or its verdict if it is no change; marks *inside
    replay's error*.
    """
    if not versus:
        return "–"
    saved, widened = versus.saved, versus.saved_widened
    if saved.verdict not in BEYOND_NOISE:
        return saved.verdict
    show = seconds_text if versus.metric.endswith("seconds") else bytes_text
    text = f"{'-' if saved.median < 0 else ''}{show(abs(saved.median))}"
    return f"{text}, inside replay's error" if widened and widened.low <= 0 <= widened.high else text
