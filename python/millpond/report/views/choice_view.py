# SPDX-License-Identifier: BSL-1.0
"""The choice of a case as rows: what to run or change, with its figures in CPU time and peak memory.

One function makes the rows; terminal, Markdown and page show the same texts, and the page draws the same summaries.
"""

from __future__ import annotations

from dataclasses import dataclass

from msgspec import structs

from millpond.advice import choice_text
from millpond.advice.advice_data import Change, Option
from millpond.advice.metric_words import SHOWN
from millpond.cells.metrics import UNIT_SECONDS
from millpond.report.cases import Case
from millpond.report.paired_rounds import Ratio
from millpond.report.views.case_words import option_command, option_name
from millpond.statistics.order_statistics import BEYOND_NOISE, Summary
from millpond.system.wording import bytes_text, change_text, seconds_text

OURS = "what we would do"
JUDGING = "judging"


@dataclass(frozen=True)
class Gain:
    """The effect of a contender in one metric. `ratio`: `-18.7 % (-19.4 % to -15.9 %)`. `amount`: what this is in
    seconds or bytes, or the verdict if it is within the noise. `ratios`: the rounds behind it.
    """

    metric: str
    ratio: str
    amount: str
    verdict: str
    summary: Summary
    ratios: tuple[Ratio, ...]

    @property
    def tone(self) -> str:
        """Returns better, worse, or an empty text within the noise."""
        return self.verdict if self.verdict in ("better", "worse") else ""

    @property
    def words(self) -> str:
        """Returns `CPU -18.7 % (-19.4 % to -15.9 %), saves 15.5 ms of 82.6 ms`."""
        return f"{self.metric} {self.ratio}, {self.amount}"


@dataclass(frozen=True)
class ChoiceRow:
    """A contender with the questions that it answers. `what`: its name, or the reason without one. `command`: how to
    run a malloc. `gains`: what was measured, the metric of the verdict first; empty if there is no contender.
    """

    labels: tuple[str, ...]
    what: str
    command: str = ""
    gains: tuple[Gain, ...] = ()

    @property
    def label(self) -> str:
        """Returns the questions, joined."""
        return ", ".join(self.labels)

    def gain(self, metric: str) -> Gain | None:
        """Returns the gain in the metric of that name; None if it was not measured."""
        return next((gain for gain in self.gains if gain.metric == metric), None)


def choice_rows(case: Case) -> list[ChoiceRow]:
    """Returns a row for each different choice, then what we would do; empty without a verdict."""
    rows: dict[tuple[str, str], ChoiceRow] = {}
    for line in choice_text.choices(case.advice):
        option = line.option
        key = (option.kind, option.name) if option else ("", line.otherwise)
        labels = (*rows[key].labels, line.label) if key in rows else (line.label,)
        rows[key] = _row(case, labels, option) if option else ChoiceRow(labels, line.otherwise)
    if not rows:
        return []
    ours = choice_text.what_to_do(case.advice, option_name)
    return [
        *_unchanged(case),
        *rows.values(),
        ChoiceRow((OURS,), f"{ours} ({choice_text.preference_text(case.advice)})"),
    ]


def _unchanged(case: Case) -> list[ChoiceRow]:
    """Returns what the program takes as it is; empty if the store does not keep the rounds."""
    cpu, peak, unit = (case.rounds.median("bare", m) for m in ("cpu_seconds", "peak_bytes", UNIT_SECONDS))
    if cpu is None or peak is None:
        return []
    load = f"{SHOWN[UNIT_SECONDS].amount(unit)}, " if unit else ""
    return [ChoiceRow(("unchanged",), f"{load}{seconds_text(cpu)} of CPU, {bytes_text(peak)} at the peak")]


def _row(case: Case, labels: tuple[str, ...], option: Option) -> ChoiceRow:
    found = [gain(case, metric, change) for metric in SHOWN if (change := option.changes.get(metric))]
    return ChoiceRow(labels, option_name(option), option_command(option), tuple(filter(None, found)))


def gain(case: Case, metric: str, change: Change | None) -> Gain | None:
    """Returns a contender's effect in one metric; None if it was not measured."""
    known = change.known if change else None
    if change is None or known is None:
        return None
    one = SHOWN[metric]
    shown = one.shown(known)
    rounds = judging(case, change.of_, change.against, metric)
    ratios = tuple(structs.replace(ratio, value=one.ratio(ratio.value)) for ratio in rounds)
    return Gain(one.name, change_text(shown), _amount(case, metric, change), known.verdict, shown, ratios)


def judging(case: Case, of: str | None, against: str | None, metric: str = "cpu_seconds") -> tuple[Ratio, ...]:
    """Returns the judging rounds of a comparison, to which a verdict belongs."""
    return tuple(r for r in case.rounds.ratios(of or "", against or "", metric) if r.stage == JUDGING)


def _amount(case: Case, metric: str, change: Change) -> str:
    """Returns `saves 15.5 ms of 82.6 ms`, `costs 158 kB`; the verdict for a change within the noise."""
    saved = change.saved.known if change.saved else None
    if change.verdict not in BEYOND_NOISE or saved is None:
        return change.verdict
    show = SHOWN[metric].amount
    before = case.rounds.median(change.against or "", metric)
    if SHOWN[metric].is_inverse:
        return (
            f"{show(before * change.median)} instead of {show(before)}" if before and change.median else change.verdict
        )
    whole = f" of {show(before)}" if before else ""
    return f"{'saves' if saved.median > 0 else 'costs'} {show(abs(saved.median))}{whole}"
