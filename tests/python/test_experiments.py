# SPDX-License-Identifier: BSL-1.0
"""The data of published experiments agree with the paper: its tables, its names of strategies, its notation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millpond.rounds.interleaved_rounds import groups_of
from millpond_bench.experiments.experiment import SCALES, PublishedSpec
from millpond_bench.runs.published_run import cells_of
from millpond_bench.suites.every_experiment import PUBLISHED as ALL
from millpond_bench.suites.p0089 import GAIN
from millpond_bench.suites.p0089_notation import notation
from millpond_bench.suites.p0089_strategies import ALIASES, LOCKED, LOCKED_2015, OF_2015

pytestmark = pytest.mark.more  # tests the bench of published experiments, not the product

EXPERIMENTS = tuple(e for e in ALL if e.document == "p0089")
EACH = pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda e: e.name)


def test_the_experiments_have_the_names_of_the_document() -> None:
    more = {"memory", "freeing", "shuffles", "dials", "anomalies", "anomalies.spike", "anomalies.virtual",
            "anomalies.clang"}  # fmt: skip
    assert {e.name for e in EXPERIMENTS} == {f"p0089.{name}" for name in {*range(1, 5), *more}}


@pytest.mark.lengthy
@EACH
def test_figures_and_cells_of_the_paper_grid_match_one_to_one(experiment: PublishedSpec) -> None:
    cells = cells_of(experiment.data, "paper", "")
    assert len({cell.name for cell in cells}) == len(cells)
    keys = Counter((experiment.data.point_of(cell), cell.contender.name) for cell in cells)
    # The paper's compiler and malloc are the usual ones.
    figures = {((*point, *experiment.data.usual), strategy) for point, strategy in experiment.table.printed()}
    assert all(keys[key] == 1 for key in figures)
    # Conversely, every cell at a published point with a published strategy has a figure.
    points = {point for point, strategy in figures if strategy == experiment.data.baseline}
    of_tables = {key for key in keys if key[0] in points and key[1] in {s for _, s in figures}}
    assert of_tables == figures


@EACH
def test_the_figures_are_as_many_as_the_document_prints(experiment: PublishedSpec) -> None:
    expected = {"p0089.1": 12 * 11 * 14, "p0089.2": (22 + 26) * 9 * 2, "p0089.3": 6 * 11 * 8, "p0089.4": 7 * 8 * 8,
                "p0089.memory": 4 * 11 * 8, "p0089.freeing": 0, "p0089.dials": 0, "p0089.shuffles": 0,
                "p0089.anomalies": 11 * 13 + 6 * 11 * 2, "p0089.anomalies.spike": 2 * 2 * 2,
                "p0089.anomalies.virtual": 11 * (3 + 4), "p0089.anomalies.clang": 11 * 4 * 2}  # fmt: skip
    assert len(experiment.table.printed()) == expected[experiment.name]
    assert len(experiment.table.printed(GAIN)) == (432 if experiment.name == "p0089.2" else 0)


def test_benchmark_ii_gains_are_quotients_of_the_other_tables() -> None:
    experiment = EXPERIMENTS[1]
    found = experiment.published_values()
    without, local = experiment.data.strategies
    at = (("log2_g", 25), ("log2_s", 20), ("af", 256), ("sf", 5))
    assert found[at, without] / found[at, local] == pytest.approx(10.4, rel=0.01)
    gains = experiment.published_values(GAIN)
    assert gains[at, local] == 10.4
    assert all(found[at, without] / found[at, local] == pytest.approx(gain, rel=0.02, abs=0.01)
               for (at, _), gain in gains.items())  # fmt: skip


def test_shares_are_converted_to_absolute_values() -> None:
    experiment = EXPERIMENTS[2]
    at = (("log2_t", 30), ("log2_a", 15), ("log2_s", 10))
    assert experiment.published_values()[at, ALIASES["AS3"]] == pytest.approx(0.063 * 4.40)
    failed = (("log2_t", 35), ("log2_a", 15), ("log2_s", 10)), ALIASES["AS3"]
    assert failed not in experiment.published_values()
    assert experiment.table.printed()[failed].printed == "fail"


def test_the_aliases_are_the_papers_fourteen_and_locked_twins() -> None:
    assert len(set(ALIASES.values())) == 14
    assert (ALIASES["AS1"], ALIASES["AS2"]) == ("new_delete:type:destroy", "new_delete:base:destroy")
    assert ALIASES["AS6"] == "monotonic:base:wink" and ALIASES["AS7"] == "multipool:type:destroy"
    assert ALIASES["AS14"] == "multipool(monotonic):base:wink"
    assert LOCKED["AS8s"] == "synchronized(multipool):type:wink"
    assert LOCKED["AS11s"] == "synchronized(multipool(monotonic)):type:destroy"
    assert len(LOCKED) == 8


def test_the_papers_multipools_are_those_of_2015() -> None:
    assert OF_2015["AS9-2015"] == "multipool_2015:base:destroy"
    assert OF_2015["AS12-2015"] == "multipool_2015(monotonic):type:wink"
    assert LOCKED_2015["AS8s-2015"] == "synchronized(multipool_2015):type:wink"
    assert LOCKED_2015["AS13s-2015"] == "synchronized(multipool_2015(monotonic)):base:destroy"
    assert len(OF_2015) == len(LOCKED_2015) == 8


def test_only_benchmarks_i_and_ii_use_locked_multipools() -> None:
    for experiment, locked in zip(EXPERIMENTS[:4], (True, True, False, False), strict=True):
        assert experiment.data.documents_own
        for label, strategy in experiment.data.documents_own.items():
            assert strategy == (LOCKED_2015[f"{label}s-2015"] if locked else OF_2015[f"{label}-2015"])


@EACH
@pytest.mark.parametrize("scale", SCALES)
def test_the_documents_own_allocators_run_wherever_ours_do(experiment: PublishedSpec, scale: str) -> None:
    names_at: dict[object, set[str]] = {}
    for cell in cells_of(experiment.data, scale, ""):
        names_at.setdefault(cell.parameters, set()).add(cell.contender.name)
    for label, strategy in experiment.data.documents_own.items():
        assert all(strategy in names for names in names_at.values() if experiment.data.aliases[label] in names)


@EACH
def test_published_figures_apply_to_both_families_of_allocators(experiment: PublishedSpec) -> None:
    for label, strategy in experiment.data.documents_own.items():
        assert experiment.data.printed_as(strategy) == experiment.data.aliases[label] in experiment.data.strategies
    assert all(experiment.data.printed_as(strategy) == strategy for strategy in experiment.data.strategies)


@EACH
@pytest.mark.parametrize("scale", SCALES)
def test_every_scale_has_the_baseline_with_every_strategy(experiment: PublishedSpec, scale: str) -> None:
    for group in groups_of(cells_of(experiment.data, scale, "")):
        assert experiment.data.baseline in {cell.contender.name for cell in group}


@EACH
@pytest.mark.parametrize("scale", SCALES)
def test_a_figure_and_its_divisor_run_in_one_group(experiment: PublishedSpec, scale: str) -> None:
    for group in groups_of(cells_of(experiment.data, scale, "")):
        for cell in group:
            twin = experiment.data.twin_of(cell)
            assert twin is None or twin in group


@EACH
def test_every_metric_that_is_asked_for_is_one_that_cells_have(experiment: PublishedSpec) -> None:
    known = experiment.metrics.units
    assert {experiment.data.figure.metric, *experiment.data.extra_metrics} <= known.keys()


@pytest.mark.lengthy
@EACH
@pytest.mark.parametrize("scale", SCALES)
def test_every_cell_has_an_estimate_and_names_its_litter(experiment: PublishedSpec, scale: str) -> None:
    plain, littered = cells_of(experiment.data, scale, ""), cells_of(experiment.data, scale, "0.5")
    assert all(experiment.rules.needs(dict(c.parameters), c.contender.name).seconds > 0.0 for c in plain)
    assert not {c.name for c in plain} & {c.name for c in littered}
    assert [experiment.data.point_of(c) for c in plain] == [experiment.data.point_of(c) for c in littered]
    for before, after in zip(plain, littered, strict=True):
        needs = [experiment.rules.needs(dict(cell.parameters), cell.contender.name) for cell in (before, after)]
        assert needs[0].seconds < needs[1].seconds
        assert needs[0].bytes < needs[1].bytes or needs[0].bytes == experiment.rules.memory_bytes


def in_notation(parameters: Mapping[str, str]) -> str:
    """Converts a point to the paper's notation."""
    sf = parameters["sf"]
    signed = sf if sf.startswith("-") else f"+{sf}"
    return f"-{parameters['log2_g']} {parameters['log2_s']} {parameters['af']} {signed} {parameters['rf']}"


@pytest.mark.lengthy
@given(st.integers(1, 40), st.integers(0, 40), st.integers(0, 9999), st.integers(-999, 999), st.integers(0, 99999))
def test_the_notation_of_benchmark_ii_comes_back(g: int, s: int, af: int, sf: int, rf: int) -> None:
    sign = "-" if sf < 0 else "+"
    text = f"-{g} {s} {af} {sign}{abs(sf)} {rf}"
    found = notation(text)
    assert found is not None
    parameters = dict(found)
    assert in_notation(parameters) == text
    assert (parameters["log2_g"], parameters["log2_s"], parameters["sf"]) == (str(g), str(s), str(sf))


@pytest.mark.parametrize("text", ["21 18 8 +3", "-21 18 8 3 32", "-21 18 8 +3", "-21 18 8 +3 32 1", "locality/*", ""])
def test_malformed_notations_give_none(text: str) -> None:
    assert notation(text) is None
