# SPDX-License-Identifier: BSL-1.0
"""The choice of a case as rows: what to run or change, with its figures in CPU time and peak memory.

One function makes the rows; terminal, Markdown and page show the same texts, and the page draws the same summaries.
"""

from __future__ import annotations

from dataclasses import dataclass

from millpond.advice import choice_text
from millpond.advice.advice_data import Change, Option
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
    run a malloc. `cpu` and `peak` are None if there is no contender, or nothing was measured.
    """

    labels: tuple[str, ...]
    what: str
    command: str = ""
    cpu: Gain | None = None
    peak: Gain | None = None

    @property
    def label(self) -> str:
        """Returns the questions, joined."""
        return ", ".join(self.labels)

    @property
    def gains(self) -> list[Gain]:
        """Returns what was measured."""
        return [gain for gain in (self.cpu, self.peak) if gain]


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
    cpu, peak = (case.rounds.median("bare", metric) for metric in ("cpu_seconds", "peak_bytes"))
    if cpu is None or peak is None:
        return []
    return [ChoiceRow(("unchanged",), f"{seconds_text(cpu)} of CPU, {bytes_text(peak)} at the peak")]


def _row(case: Case, labels: tuple[str, ...], option: Option) -> ChoiceRow:
    return ChoiceRow(
        labels, option_name(option), option_command(option),
        gain(case, "CPU", "cpu_seconds", option.cpu), gain(case, "peak memory", "peak_bytes", option.peak),
    )  # fmt: skip


def gain(case: Case, words: str, metric: str, change: Change | None) -> Gain | None:
    """Returns a contender's effect in one metric; None if it was not measured."""
    known = change.known if change else None
    if change is None or known is None:
        return None
    rounds = judging(case, change.of_, change.against, metric)
    return Gain(words, change_text(known), _amount(case, metric, change), known.verdict, known, rounds)


def judging(case: Case, of: str | None, against: str | None, metric: str = "cpu_seconds") -> tuple[Ratio, ...]:
    """Returns the judging rounds of a comparison, to which a verdict belongs."""
    return tuple(r for r in case.rounds.ratios(of or "", against or "", metric) if r.stage == JUDGING)


def _amount(case: Case, metric: str, change: Change) -> str:
    """Returns `saves 15.5 ms of 82.6 ms`, `costs 158 kB`; the verdict for a change within the noise."""
    saved = change.saved.known if change.saved else None
    if change.verdict not in BEYOND_NOISE or saved is None:
        return change.verdict
    show = seconds_text if metric.endswith("seconds") else bytes_text
    before = case.rounds.median(change.against or "", metric)
    whole = f" of {show(before)}" if before else ""
    return f"{'saves' if saved.median > 0 else 'costs'} {show(abs(saved.median))}{whole}"
