# SPDX-License-Identifier: BSL-1.0
"""Claims (statements of a paper) and bars (limits for our own figures), and the verdicts on them.

    claims/p0089.toml ───▶ Claim: a rule and a bound ─┬─▶ claim_rules ─▶ Verdict ─▶ verdicts.controlled ─┐
    claims/library.toml ─▶ the same, as a bar ────────┴─▶ bar_rules ───▶ Verdict ───────────────────────┴─▶ page, JSON
    a step of the laboratory ─▶ a bar and its figure ─────────────────────▲

`verdicts` explains the verdicts on statements. A **bar** holds if the median lies within its bound; otherwise it is
missed, which gives exit status 1. The interval is shown next to it.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Any

from millpond.cells.cell import SURROUNDINGS, Outcome
from millpond.statistics.order_statistics import Summary, summarise
from millpond.system.model_page import MODEL_PAGE_BYTES
from millpond_bench.experiments.bench_document import JudgedBar, JudgedClaim, JudgedOnDocuments, Number, Rule
from millpond_bench.experiments.experiment_data import Point
from millpond_bench.experiments.result_table import ResultRow

HOLDS, UNDECIDED, NOT_MEASURED, UNTESTABLE = "holds", "undecided", "not measured", "cannot be tested here"
# The premise of a statement fails at all of its points.
UNFOUNDED = "cannot be tested on this program"
STRONGER, WEAKER, OPPOSITE, ABSENT = "stronger", "weaker", "opposite", "absent"
# The verdicts on a statement that does not hold, the gravest first; and the verdict on a missed bar.
BROKEN = (OPPOSITE, ABSENT, WEAKER, STRONGER)
MISSED = "missed"
VERDICTS = (HOLDS, STRONGER, WEAKER, OPPOSITE, ABSENT, UNDECIDED, NOT_MEASURED, UNTESTABLE, UNFOUNDED)
# The verdict on a bar without a limit.
REPORTED = ""
FOLDER = "claims"
# The kernel counts resident pages in batches of this many for each processor: a smaller amount is invisible.
RESOLUTION_BYTES = 64 * MODEL_PAGE_BYTES
_ROUNDING = 1e-9
_MISSED_SHOWN = 6


class Claim(Rule, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One statement.

    `low`, `high`: the bound; either may be absent. `metric`: if not the experiment's figure. `no_effect`: the value
    that means no effect, if the rule does not define it. `paper_disagrees`: why the paper's own figures do not confirm
    it. `published_lost`: why there are no published figures to compare. `exact`: for counts that never vary, so that
    one round is enough. `premise`: the name of what it supposes of a program (`premises`), or `none`.

    For bars (`is_bar`): the `unit` of the figure, and substitutes for the bound: `or_ideal`, so many times the ideal;
    `or_noise`, an interval that reaches it; `or_unseen`, bytes that the kernel does not show (`more` than the peer's,
    or `in all`); `also`: in words.
    """

    id: str = ""
    experiment: str = ""
    section: str = ""
    statement: str
    low: Number = -math.inf
    high: Number = math.inf
    exact: bool = False
    missing: str = ""
    paper_disagrees: str = ""
    published_lost: str = ""
    premise: str = ""
    is_bar: bool = False
    unit: str = "×"
    or_ideal: Number = 0.0
    or_noise: bool = False
    or_unseen: str = ""
    also: str = ""

    def accepts(self, value: float) -> bool:
        """True if a number lies within the bound."""
        return self.low - _ROUNDING <= value <= self.high + _ROUNDING

    @property
    def nothing(self) -> float:
        """The value of no effect: 0 for shares and correlations, 1 for anything else unless it is given."""
        if self.no_effect is not None:
            return float(self.no_effect)
        return 0.0 if self.over == "share" or self.kind in ("rank", "fails") else 1.0

    @property
    def counted(self) -> bool:
        """True if the rounds have no noise: then one is enough."""
        return self.exact or self.kind == "fails"

    def pairs(self) -> list[tuple[str, str]]:
        """The pairs of dividend and divisor; an empty name if nothing divides."""
        against = self.against or ("",)
        pairs = max(len(self.of), len(against))
        both = [names * pairs if len(names) == 1 else names for names in (self.of, against)]
        return list(zip(*both, strict=True))

    def matches(self, point: Point, but: str = "") -> bool:
        """True if the statement is about the point, whatever its value on the axis `but`."""
        at = dict(point)
        return all(fits(at.get(name), wanted, at) for name, wanted in self.where.items() if name != but)

    def surroundings(self) -> set[str]:
        """The parts of the program's environment that it names: without them it cannot be tested."""
        named = [value for name, value in self.where.items() if name in SURROUNDINGS]
        ends = [self.first, self.last] if self.axis in SURROUNDINGS else []
        return {str(one) for value in [*named, *ends] for one in (value if isinstance(value, list) else [value])}

    def bound_text(self, text: Callable[[float], str] = "{:g}".format) -> str:
        """`0.15 to 0.25`, `at most 1`; `text` words an end."""
        if math.isinf(self.low):
            return f"at most {text(self.high)}"
        return f"at least {text(self.low)}" if math.isinf(self.high) else f"{text(self.low)} to {text(self.high)}"

    def judged(self, figure: Summary | None, worst: str = "", **known: Any) -> Verdict:
        """A bar with its figure, whose median must keep the bound; without a bound it is only reported."""
        kept = figure is not None and self.low <= figure.median <= self.high
        limited = math.isfinite(self.low) or math.isfinite(self.high)
        verdict = (HOLDS if kept else MISSED) if limited else REPORTED
        return Verdict(self, figure, verdict, worst=worst, **known)

    def also_text(self) -> str:
        """The substitute for the bound, in words."""
        unseen = {"more": f"or ≤ {RESOLUTION_BYTES // 1024} KiB more", "in all": f"or ≤ {RESOLUTION_BYTES // 1024} KiB"}
        ideal = f"or ≤ {self.or_ideal} × the ideal" if self.or_ideal else ""
        return self.also or ideal or ("or inside the noise" if self.or_noise else unseen.get(self.or_unseen, ""))


def fits(value: int | str | None, wanted: Any, at: Mapping[str, Any]) -> bool:
    """True if a value equals a number or a word, is in a list, or lies in a range whose ends may be other axes."""
    if value is None:
        return False
    if isinstance(wanted, Mapping):
        low, high = wanted.get("from", value), wanted.get("to", value)
        below, same = at.get(wanted.get("below", "")), at.get(wanted.get("is", ""))
        return bool(low <= value <= high) and (below is None or value < below) and (same is None or value == same)
    return value in (wanted if isinstance(wanted, list) else [wanted])


@dataclass(frozen=True)
class Verdict:
    """A claim with the paper's figure and ours, and the evidence: names of cells.

    For a statement: `region`, the verdict from the interval, without regard to chance; `p` and `p_adjusted`, its
    chance, by itself and among all statements judged with it, None for exact counts; `doubt`, why chance is not
    excluded; `worst`, the point that decides; `published_satisfies`, whether the paper's own figures confirm it;
    `on_documents`, the verdict on allocators that are built as the paper's were, None if they are the same; `premise`,
    its premise in words.

    For a bar: `workload`; a `note`; `rows`, its rows, where the figure is that of the `worst` one (a row that does not
    hold comes before all that do); `outcomes`, the rounds behind it.
    """

    claim: Claim
    ours: Summary | None
    verdict: str
    published: float | None = None
    published_satisfies: bool | None = None
    points: int = 0
    region: str = ""
    p: float | None = None
    p_adjusted: float | None = None
    doubt: str = ""
    evidence: tuple[str, ...] = ()
    workload: str = ""
    note: str = ""
    worst: str = ""
    rows: tuple[ResultRow, ...] = ()
    outcomes: tuple[Outcome, ...] = ()
    on_documents: Verdict | None = None
    premise: str = ""

    @property
    def name(self) -> str:
        return self.claim.statement

    @property
    def holds(self) -> bool | None:
        """True or false; None if it is not decided."""
        return True if self.verdict == HOLDS else False if self.verdict in (*BROKEN, MISSED) else None

    @property
    def remark(self) -> str:
        """A remark for a reader of the verdict on a statement."""
        decides = f"decided by {self.worst}" if self.worst and self.verdict != NOT_MEASURED else ""
        return "; ".join(filter(None, (self.note, decides, self.doubt)))

    def claim_record(self) -> JudgedClaim:
        """A row of `claims`."""
        claim = self.claim
        return JudgedClaim(
            id=claim.id, experiment=claim.experiment, section=claim.section, statement=claim.statement,
            rule=Rule(**{name: getattr(claim, name) for name in Rule.__struct_fields__}),
            low=_finite(claim.low), high=_finite(claim.high), published=self.published,
            published_satisfies=self.published_satisfies, paper_disagrees=claim.paper_disagrees or None,
            published_lost=claim.published_lost or None, ours=self.ours, verdict=self.verdict,
            p_adjusted=self.p_adjusted, worst=self.worst or None, note=self._notes(),
            missing=claim.missing or None, points=self.points, evidence=self.evidence,
            premise=self.premise or None,
            on_documents=self.on_documents._record_on_documents() if self.on_documents else None,
        )  # fmt: skip

    def _record_on_documents(self) -> JudgedOnDocuments:
        return JudgedOnDocuments(
            figure=self.ours, verdict=self.verdict, p_adjusted=self.p_adjusted, worst=self.worst or None,
            note=self._notes(), missing=self.claim.missing or None, points=self.points, evidence=self.evidence,
        )  # fmt: skip

    def _notes(self) -> str | None:
        return "; ".join(filter(None, (self.note, self.doubt))) or None

    def bar_record(self) -> JudgedBar:
        """A row of `bars`, with every row that it is about."""
        return JudgedBar(
            name=self.name, limit=self.limit, at_least=self._at_least, unit=self.claim.unit,
            also=self.claim.also_text(), figure=self.ours, holds=self.holds, note=self.note, worst=self.worst,
            lines_that_hold=sum(row.holds is True for row in self.rows),
            lines=tuple(row.judged_record() for row in self.rows),
        )  # fmt: skip

    @property
    def limit(self) -> Number | None:
        """The end of the bound that a bar has; None if it has no bound."""
        return _finite(self.claim.low if self._at_least else self.claim.high)

    @property
    def _at_least(self) -> bool:
        return math.isfinite(self.claim.low)

    def limit_text(self) -> str:
        if self.limit is None:
            return "none"
        return self._text(self.limit, "≥ " if self._at_least else "≤ ") if self.ours else ""

    def figure_text(self) -> tuple[str, str]:
        """The median with its unit, and the interval."""
        if self.ours is None:
            return "", ""
        interval = f"{number_text(self.ours.low)} – {number_text(self.ours.high)}" if self.ours.n > 1 else ""
        return self._text(self.ours.median), interval

    def note_text(self) -> str:
        """A note for a reader of the figure: for several rows, how many hold, and which do not."""
        if len(self.rows) < 2:
            return self.note or self.worst
        missed = [row for row in self.rows if not row.holds]
        more = f" and {len(missed) - _MISSED_SHOWN} more" if len(missed) > _MISSED_SHOWN else ""
        notes = [f"worst: {self.worst}", f"{len(self.rows) - len(missed)} of {len(self.rows)} hold"]
        notes += [f"missed: {', '.join(row.judged_text() for row in missed[:_MISSED_SHOWN])}{more}"] if missed else []
        return "; ".join(notes)

    def short(self) -> str:
        return f"{self.name}: {self.figure_text()[0] or self.note}"

    def _text(self, value: float, sign: str = "") -> str:
        return f"{sign}{number_text(value)} {self.claim.unit}"


def number_text(value: float) -> str:
    """Three digits."""
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _finite(value: Number) -> Number | None:
    return value if math.isfinite(value) else None


def bar_of(
    name: str, workload: str, unit: str, figure: Summary | float | None, limit: Number | None = None, *,
    at_least: bool = False, or_noise: bool = False, note: str = "", outcomes: tuple[Outcome, ...] = (),
) -> Verdict:  # fmt: skip
    """A bar for a figure or one value, and the limit that its median must keep (`at_least`: must reach; None: no
    limit).

    `or_noise`: an interval that reaches the limit is enough.
    """
    low, high = (limit, None) if at_least else (None, limit)
    claim = Claim(
        kind="each", statement=name, is_bar=True, unit=unit, low=-math.inf if low is None else low,
        high=math.inf if high is None else high,
    )  # fmt: skip
    if not isinstance(figure, Summary | None):
        figure = summarise([figure])
    bar = claim.judged(figure, workload=workload, note=note, outcomes=outcomes)
    return replace(bar, verdict=HOLDS) if or_noise and figure is not None and figure.low <= claim.high else bar


def missing_bar(name: str, why: str) -> Verdict:
    """A bar whose figure could not be measured: it is missed, and has the reason."""
    return bar_of(name, "", "", None, 0.0, note=f"not measured: {why}")


@cache
def claims_file(name: str) -> Mapping[str, Any]:
    """A file of `claims/` as plain data."""
    return tomllib.loads((files("millpond_bench.suites") / FOLDER / name).read_text(encoding="utf-8"))


@cache
def load(name: str) -> tuple[Claim, ...]:
    """The claims of a file. ValueError for an unknown key."""
    given = {"is_bar": True} if claims_file(name).get("are_bars") else {}
    return tuple(Claim.from_json({**given, **entry}) for entry in claims_file(name)["claim"])


def heading(name: str) -> str:
    """The origin of the statements, for a reader: a paper, or candidates of ours."""
    return str(claims_file(name)["heading"])
