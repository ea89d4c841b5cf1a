# SPDX-License-Identifier: BSL-1.0
"""What replay predicts, beside what the trial measured: rows for every form of the report.

subsystem     trial          replay, same pools     replay, monotonic instead
shop::index   19.9 ms (…)    3.1 ms (…)             3.4 ms (…)                 what no trial can take
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from millpond.report.cases import Case
from millpond.report.report_words import replayed
from millpond.system.wording import plural, saved_text

_SAME = "plan"  # how a prediction names the strategies that the trial took


@dataclass(frozen=True)
class Line:
    """One figure pair: savings of CPU time and of peak resident bytes. `kind` is `trial` or `replay`."""

    subject: str
    kind: str
    what: str
    cpu: str
    peak: str


def lines(case: Case) -> list[Line]:
    """All of them: for the whole plan, then for each subsystem that was replayed; measured before predicted."""
    if not replayed(case):
        return []
    found = _lines(case, "the whole plan", case.advice["effects"].get("placement"))
    for row in case.subsystems:
        found += of_subsystem(case, row)
    return found


def of_subsystem(case: Case, row: dict[str, Any]) -> list[Line]:
    """Those of one subsystem; empty where it was not replayed."""
    return _lines(case, str(row["name"]), row.get("cpu_ratio"), row.get("saves_bytes"))


def _lines(case: Case, subject: str, measured: dict[str, Any] | None, peak: dict[str, Any] | None = None) -> list[Line]:
    if not measured or not measured.get("n") or not case.replay:
        return []
    plan = str(measured.get("of")).removeprefix("plan:")
    predictions = [p for p in case.replay.get("predictions") or [] if p.get("plan") == plan]
    if not predictions:
        return []
    if peak is None:
        peak = ((measured.get("other_metrics") or {}).get("peak_bytes") or {}).get("saved")
    first = Line(
        subject, "trial", "measured, the whole program", saved_text(measured.get("saved"), "seconds"),
        saved_text(peak, "bytes"),
    )  # fmt: skip
    return [first, *(_predicted(subject, p) for p in predictions)]


def _predicted(subject: str, prediction: dict[str, Any]) -> Line:
    strategy = str(prediction.get("strategy") or _SAME)
    what = "predicted, the same pools" if strategy == _SAME else f"predicted, {strategy} instead of a multipool"
    return Line(
        subject, "replay", what, saved_text(prediction.get("saves_cpu_seconds"), "seconds"),
        saved_text(prediction.get("saves_bytes"), "bytes"),
    )  # fmt: skip


def sentence(case: Case) -> str:
    """What was replayed and how far it can be trusted; or why nothing was."""
    replay = case.replay
    if not replay or not replay.get("rounds"):
        why = (replay or {}).get("why_null")
        return f"Replay: not replayed{f': {why}' if why else ''}."
    error = replay.get("error") or {}
    trust = f" {error['sentence']}" if error.get("sentence") else ""
    return (
        f"Replay: {plural(int(replay['rounds']), 'round')}, estimated from the trace alone; it knows allocations, not "
        f"the program's other accesses. Assumed: {replay.get('assumes') or 'nothing'}.{trust}"
    )
