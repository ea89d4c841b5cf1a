# SPDX-License-Identifier: BSL-1.0
"""The map of winners and the document's rules of thumb next to it: who is best, who is tied, what counts as a point."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millpond.cells.cell import Cell, Outcome, Strategy, Workload
from millpond_bench.experiments.experiment_data import Point
from millpond_bench.experiments.result_table import FIGURE, PublishedTable, ResultTable
from millpond_bench.pages.winner_map import best_at, winner_maps, winner_sentences
from millpond_bench.suites import p0089_usage
from millpond_bench.suites.p0089 import BENCHMARK_1, BENCHMARK_2, LEAVES
from millpond_bench.suites.p0089_strategies import ALIASES

pytestmark = pytest.mark.more  # tests the bench of published experiments, not the product

AT: Point = (("ds", 1), ("log2_size", 8))
NAMES = tuple(f"s{n}" for n in range(6))
seconds = st.lists(st.floats(0.1, 10.0), min_size=3, max_size=3)


def table(found: Mapping[str, list[float]], failed: tuple[str, ...] = ()) -> ResultTable[tuple[Point, str]]:
    values = {(AT, name): {FIGURE: dict(enumerate(rounds, 1))} for name, rounds in found.items()}
    return ResultTable(values, {(AT, name): "bad_alloc" for name in failed})


@given(st.lists(seconds, min_size=6, max_size=6))
def test_the_lowest_median_is_first_and_ties_overlap_it(rounds: list[list[float]]) -> None:
    best = best_at(table(dict(zip(NAMES, rounds, strict=True))), AT, NAMES)
    assert best is not None
    median = {name: sorted(of)[1] for name, of in zip(NAMES, rounds, strict=True)}
    highest = max(rounds[NAMES.index(best.names[0])])
    assert median[best.names[0]] == min(median.values())
    tied = {name for name, of in zip(NAMES, rounds, strict=True) if min(of) <= highest}
    assert set(best.names) == tied | {best.names[0]}
    assert (best.lead is None) == (len(best.names) == len(NAMES))
    assert best.lead is None or best.lead >= 1.0


def test_a_point_counts_if_all_were_measured_or_failed() -> None:
    some = {name: [1.0 + n, 1.0 + n, 1.0 + n] for n, name in enumerate(NAMES[:5])}
    assert best_at(table(some), AT, NAMES) is None
    best = best_at(table(some, failed=NAMES[5:]), AT, NAMES)
    assert best is not None and best.is_one and best.lead == 2.0
    assert best_at(table({NAMES[0]: [1.0]}, failed=NAMES[1:]), AT, NAMES) is None


def results(fastest: Mapping[int, str], *, without: str = "", malloc: str = "") -> PublishedTable:
    """Three rounds of DS1 to DS3 at 2^8, where one label takes 1 s, AS2 at most a tenth more, and the others 2 s."""
    around = (("malloc", malloc),) if malloc else ()
    cells, outcomes = [], []
    for ds, best in fastest.items():
        for label, name in ALIASES.items():
            if label == without:
                continue
            cell = Cell(Workload("structures"), Strategy(name), (("ds", str(ds)), ("log2_size", "8"), *around))
            cells.append(cell)
            for number, more in enumerate((0.0, 0.1, 0.05), 1):
                took = 1.0 + more if label == best else 1.1 + more if label == "AS2" else 2.0 + more
                outcomes.append(Outcome(cell, "bench", number, {"cpu_seconds": took, "units": float(LEAVES)}))
    return PublishedTable(BENCHMARK_1, cells, outcomes)


def test_the_map_has_a_row_for_each_structure_and_names_ties() -> None:
    [chart] = winner_maps(results({1: "AS4", 3: "AS8"}))
    published, here = chart.tables
    assert (published.caption, here.caption) == ("best, published", "best, here")
    assert [heading for heading, _ in here.headings] == ["2^8"] and len(published.headings) == 11
    assert {row: entry.text for row, [entry] in here.rows} == {
        "DS1, vector<int>": "AS4, AS2", "DS3, unordered_set<int>": "AS8, AS2",
    }  # fmt: skip
    assert len(published.rows) == 12 and dict(published.rows)["DS3, unordered_set<int>"][0].text == "AS8"


def test_points_without_all_strategies_or_elsewhere_do_not_count() -> None:
    for found in (results({1: "AS4"}, without="AS14"), results({1: "AS4"}, malloc="tcmalloc")):
        assert [table.caption for chart in winner_maps(found) for table in chart.tables] == ["best, published"]
        assert winner_sentences(p0089_usage.structures, found) == []


def test_sentences_count_winners_and_what_section_5_takes() -> None:
    said = winner_sentences(p0089_usage.structures, results({1: "AS4", 2: "AS2", 3: "AS8"}))
    published, here, *lines, last = said
    assert published.startswith("As published, exactly one strategy is best at 115 of 132 points")
    assert here.startswith("Here exactly one strategy is best at 1 of 3 points")
    assert "Best or tied: AS2 at 3, AS4 at 1, AS8 at 1; never: AS1, AS3," in here
    assert lines[0] == (
        "DS1: D vanishingly small, V nil, U extremely high. Section 5 takes AS3 to AS6 by U (high); AS7 to AS14 by V "
        "(low) in theory. Best here: AS4 at 1 of 1 point; published: AS7 at 10 of 11 points, AS11 at 1."
    )
    assert "here in 1 of 3 workloads, as published in 0 of 12 workloads" in last


def test_two_strategies_make_no_map() -> None:
    assert winner_maps(PublishedTable(BENCHMARK_2, [], [])) == []


def test_every_workload_has_rules_with_known_labels() -> None:
    rules = [p0089_usage.structures({"ds": ds}) for ds in range(1, 13)]
    rules += [p0089_usage.locality({"log2_g": 21}), p0089_usage.utilization({"log2_t": 30})]
    rules += [p0089_usage.contention({"threads": threads}) for threads in (1, 2)]
    assert len({rule.workload for rule in rules}) == len(rules)
    for rule in rules:
        assert rule.rules and all(labels and {*labels} <= ALIASES.keys() for _, labels in rule.rules)
    assert rules[0].takes("AS4") and not rules[0].takes("AS7")
