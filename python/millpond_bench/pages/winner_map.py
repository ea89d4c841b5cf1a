# SPDX-License-Identifier: BSL-1.0
"""The best strategies of an experiment at each of its points, and what a document's rules of thumb would have taken.

                    2^6        2^8         2^10
    DS1, vector     AS4        AS4, AS3    AS3       ── the best first, then those whose intervals overlap its own
    DS2, …          AS8        AS8         AS8

    sentences: how often exactly one is best, which are best somewhere, and a line for each workload: its dimensions,
    the strategies that the rules take, those that are best here and in the document's own tables

A point counts if every strategy of the document was measured there, or failed. Only the usual environment counts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from millpond.statistics.order_statistics import summarise
from millpond_bench.experiments.experiment import PublishedSpec
from millpond_bench.experiments.experiment_data import ExperimentData, Point
from millpond_bench.experiments.result_table import FIGURE, PlaceTable, PublishedTable, published_table
from millpond_bench.pages.charts import HERE, PUBLISHED, Chart
from millpond_bench.tables.page_tables import Entry, PageTable, page_table
from millpond_bench.tables.quantities import text_of

# Two strategies make no map: the figure itself says which one is better.
_FEWEST_ON_A_MAP = 3
_NAMED_IN_AN_ENTRY, _NAMED_IN_A_LINE = 3, 2


@dataclass(frozen=True)
class BestAt:
    """The best strategies at a point: the one with the lowest median, then those whose intervals overlap its own.

    `lead`: the lowest median of the others / that of the best; None if there are no others.
    """

    names: tuple[str, ...]
    lead: float | None

    @property
    def is_one(self) -> bool:
        """True if no other interval reaches that of the best."""
        return len(self.names) == 1


@dataclass(frozen=True)
class ThumbRule:
    """A document's rules of thumb for a workload. `dimensions`: its usage, in words; `rules`: the words for each rule
    that applies, with the labels that it takes, the firmest first.
    """

    workload: str
    dimensions: str
    rules: tuple[tuple[str, tuple[str, ...]], ...]

    def takes(self, label: str) -> bool:
        """True if the firmest rule takes this strategy."""
        return bool(self.rules) and label in self.rules[0][1]


# The rules for the workload of a point.
Thumb = Callable[[Mapping[str, int | str]], ThumbRule]
BestByPoint = Mapping[Point, BestAt]


def best_at(figures: PlaceTable, point: Point, contenders: Sequence[str]) -> BestAt | None:
    """The best of the contenders at a point; None unless all were measured or failed there, and two at least measured.

    O(contenders).
    """
    found = {name: summarise(list(rounds.values())) for name in contenders
             if (rounds := figures.by_round((point, name), FIGURE))}  # fmt: skip
    if len(found) < 2 or any(name not in found and (point, name) not in figures.failed for name in contenders):
        return None
    ranked = sorted(found, key=lambda name: found[name].median)
    first = found[ranked[0]]
    names = tuple(name for name in ranked if name == ranked[0] or found[name].low <= first.high)
    others = [name for name in ranked if name not in names]
    return BestAt(names, found[others[0]].median / first.median if others and first.median > 0.0 else None)


def winner_maps(results: PublishedTable) -> list[Chart]:
    """The map of an experiment of three strategies or more, as published and here. O(figures)."""
    spec = results.experiment
    if len(spec.data.strategies) < _FEWEST_ON_A_MAP:
        return []
    tables = [_map(spec, caption, found) for caption, found in _found(results)]
    kept = [table for table in tables if not table.empty]
    return [Chart("Map of winners", kept, [])] if kept else []


def winner_sentences(thumb: Thumb | None, results: PublishedTable) -> list[str]:
    """The sentences on winners, and a line for each workload for which there is a rule. O(figures)."""
    data = results.experiment.data
    found = {caption: best for caption, best in _found(results) if best}
    if HERE not in found:
        return []
    on_a_map = len(data.strategies) >= _FEWEST_ON_A_MAP
    said = [_counted(data, caption, best) for caption, best in found.items()] if on_a_map else []
    return said + (_lines(data, thumb, found) if thumb else [])


def _found(results: PublishedTable) -> list[tuple[str, BestByPoint]]:
    """The best at each point, as published and here."""
    data = results.experiment.data
    tables = ((PUBLISHED, published_table(results.experiment)), (HERE, results.by_place()))
    return [(caption, _best_by_point(data, figures)) for caption, figures in tables]


def _best_by_point(data: ExperimentData, figures: PlaceTable) -> BestByPoint:
    points = dict.fromkeys(at for at, _ in (*figures.values, *figures.failed) if data.around(at) == data.usual)
    best = {point: best_at(figures, point, data.strategies) for point in points}
    return {point: one for point, one in best.items() if one}


def _map(spec: PublishedSpec, caption: str, best: BestByPoint) -> PageTable:
    """A row for each table of the document, a column for each of its rows."""
    layout, data = spec.table.layout, spec.data
    rows: dict[tuple[int | str, ...], dict[tuple[int | str, ...], BestAt]] = {}
    for point, one in best.items():
        at = dict(point)
        row, column = (tuple(at[name] for name in names) for names in (layout.split, layout.rows))
        rows.setdefault(row, {})[column] = one
    columns = sorted({column for row in rows.values() for column in row})
    headings = [(", ".join(map(layout.labels, layout.rows, column)), "") for column in columns]
    filled = [
        (layout.titles(dict(zip(layout.split, row, strict=True))),
         [_entry(data, rows[row][column]) if column in rows[row] else None for column in columns])
        for row in sorted(rows)
    ]  # fmt: skip
    return page_table(f"best, {caption}", "workload", headings, filled, ["strategies"])


def _entry(data: ExperimentData, one: BestAt) -> Entry:
    labels = _labels(data, one.names)
    more = f" +{len(labels) - _NAMED_IN_AN_ENTRY}" if len(labels) > _NAMED_IN_AN_ENTRY else ""
    lead = f"; the next takes {text_of(one.lead)} times as much" if one.lead else ""
    return Entry(", ".join(labels[:_NAMED_IN_AN_ENTRY]) + more, ", ".join(labels) + lead)


def _labels(data: ExperimentData, names: Iterable[str]) -> list[str]:
    return [data.alias(name) or name for name in names]


def _counted(data: ExperimentData, caption: str, best: BestByPoint) -> str:
    """`Here exactly one strategy is best at 31 of 48 points; …`."""
    alone = sum(one.is_one for one in best.values())
    times = Counter(label for one in best.values() for label in _labels(data, one.names))
    every = _labels(data, data.strategies)
    somewhere = ", ".join(f"{label} at {times[label]}" for label in every if times[label])
    never = ", ".join(label for label in every if not times[label]) or "none"
    start, tie = ("Here", "intervals overlap") if caption == HERE else ("As published,", "figures are equal")
    return (f"{start} exactly one strategy is best at {alone} of {len(best)} points; at the others {tie}. "
            f"Best or tied: {somewhere}; never: {never}.")  # fmt: skip


def _lines(data: ExperimentData, thumb: Thumb, found: Mapping[str, BestByPoint]) -> list[str]:
    """A line for each workload, and one for all."""
    rules: dict[str, ThumbRule] = {}
    firsts: dict[str, dict[str, list[str]]] = {}
    for caption, best in found.items():
        for point, one in best.items():
            rule = thumb(dict(point))
            rules.setdefault(rule.workload, rule)
            firsts.setdefault(rule.workload, {}).setdefault(caption, []).append(_labels(data, one.names[:1])[0])
    lines = [_line(rules[workload], by) for workload, by in firsts.items() if HERE in by]
    rights = []
    for words, caption in (("here", HERE), ("as published", PUBLISHED)):
        most = {name: Counter(by[caption]).most_common(1)[0][0] for name, by in firsts.items() if caption in by}
        right = sum(rules[name].takes(label) for name, label in most.items())
        rights += [f"{words} in {right} of {len(most)} workloads"] if most else []
    return [*lines, f"The first of these rules takes the most frequent winner {', '.join(rights)}."]


def _line(rule: ThumbRule, firsts: Mapping[str, Sequence[str]]) -> str:
    taken = "; ".join(f"{_span(labels)} {words}" for words, labels in rule.rules)
    best = "; published: ".join(_frequent(firsts[caption]) for caption in (HERE, PUBLISHED) if caption in firsts)
    return f"{rule.workload}: {rule.dimensions}. Section 5 takes {taken}. Best here: {best}."


def _span(labels: Sequence[str]) -> str:
    """`AS3 to AS6` for a run of labels."""
    return f"{labels[0]} to {labels[-1]}" if len(labels) > 2 else " or ".join(labels)


def _frequent(labels: Sequence[str]) -> str:
    """`AS8 at 9 of 11 points, AS10 at 2`."""
    counted = Counter(labels).most_common()
    named = [f"{label} at {times}" for label, times in counted[:_NAMED_IN_A_LINE]]
    named[0] += f" of {len(labels)} {'point' if len(labels) == 1 else 'points'}"
    more = f", {len(counted) - _NAMED_IN_A_LINE} more" if len(counted) > _NAMED_IN_A_LINE else ""
    return ", ".join(named) + more
