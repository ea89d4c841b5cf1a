# SPDX-License-Identifier: BSL-1.0
"""The runs of each scale: whole grids with less work at `shape`, equal work across a table, values set by a user."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fakes.fake_p0089_suite import FakeP0089

from millpond.cells.cell import LITTER, Cell
from millpond.system.errors import Status
from millpond_bench.bench_cli import main
from millpond_bench.experiments.experiment import SCALES, PublishedSpec, at_scale
from millpond_bench.runs.published_run import cells_of
from millpond_bench.suites.every_experiment import EXPERIMENTS, PUBLISHED
from millpond_bench.suites.p0089 import BENCHMARK_1, BENCHMARK_2, COLUMNS, lists
from millpond_bench.suites.p0089_dials import EXPERIMENT as DIALS
from millpond_bench.suites.p0089_needs import locality, structures
from millpond_bench.suites.p0089_shuffles import EXPERIMENT as SHUFFLES
from millpond_bench.suites.unique_chars import COUNTING

Use = Callable[..., FakeP0089]
AT_SCALES = pytest.mark.parametrize("scale", SCALES)


def run(*words: str) -> dict[str, Any]:
    assert main(["run", "-o", "out.json", "-o", "out.html", "--scale=quick", "--rounds=1", *words]) == Status.OK
    return dict(json.loads(Path("out.json").read_text()))


def seconds(spec: PublishedSpec, cells: list[Cell]) -> float:
    return sum(spec.rules.needs(dict(cell.parameters), cell.contender.name).seconds for cell in cells)


@AT_SCALES
def test_links_are_traversed_equally_often_all_over_a_table(scale: str) -> None:
    products = defaultdict(set)
    for cell in cells_of(BENCHMARK_2.data, scale, ""):
        given, point = dict(cell.parameters), BENCHMARK_2.data.point_of(cell)
        assert point is not None
        if abs(int(given["sf"])) == 5:  # the values of the tables
            table = tuple(dict(point)[name] for name in ("log2_g", "toolchain", "malloc"))
            products[table].add(int(given["af"]) * int(given["rf"]))
    assert products and all(len(found) == 1 for found in products.values())


def test_a_product_that_a_column_cannot_have_is_an_error() -> None:
    with pytest.raises(ValueError, match="4 traversals are not"):
        lists(21, (6,), (0,), 4)


@pytest.mark.lengthy
def test_shape_is_the_documents_grid_with_a_tenth_of_its_work() -> None:
    shape, paper = (cells_of(BENCHMARK_2.data, scale, "") for scale in ("shape", "paper"))
    published = {point for point, _ in BENCHMARK_2.table.printed()}
    measured = {BENCHMARK_2.data.published_point(p) for c in shape if (p := BENCHMARK_2.data.point_of(c)) is not None}
    smaller = {at for at in published if dict(at)["log2_g"] == 21}
    assert len(smaller) == 22 * len(COLUMNS) and smaller <= measured
    thinned = {at for at in published if dict(at)["log2_g"] == 25} & measured
    assert 9 <= len(thinned) < 26 * len(COLUMNS) / 2
    of_tables = [{**dict(c.parameters)} for c in shape if dict(c.parameters)["log2_g"] in ("21", "25")]
    assert {int(given["af"]) * int(given["rf"]) for given in of_tables} == {256}
    assert seconds(BENCHMARK_2, shape) < seconds(BENCHMARK_2, paper) / 10
    assert at_scale(BENCHMARK_2.rounds, "shape") == 1


def test_shape_fits_into_a_machine_of_four_gigabytes() -> None:
    needs = [locality(dict(c.parameters), c.contender.name).bytes for c in cells_of(BENCHMARK_2.data, "shape", "")]
    assert max(needs) < 4 * 2**30


def test_experiments_without_a_shape_use_standard() -> None:
    own = {spec.name for spec in PUBLISHED if "shape" in spec.data.parts}
    assert own == {"p0089.2", "p0089.shuffles"}
    for spec in PUBLISHED:
        if spec.name not in own:
            assert cells_of(spec.data, "shape", "") == cells_of(spec.data, "standard", "")
    for one in EXPERIMENTS:
        assert at_scale(one.rounds, "shape") == one.rounds.get("shape", one.rounds["standard"])


def test_an_unknown_scale_is_not_standard() -> None:
    with pytest.raises(KeyError):
        at_scale({"standard": 1}, "tiny")


@pytest.mark.lengthy
def test_every_row_of_table_15_can_be_run_by_its_name(p0089: Use) -> None:
    fake = p0089()
    rows = [f"10000000 {10**power} 10 {sign}5 1" for power in range(8) for sign in "+-"]
    run("p0089.2", *(f"--cells={row}" for row in rows))
    asked = [dict(zip(argv[1::2], argv[2::2], strict=False)) for argv in fake.calls]
    assert {(a["--links"], a["--links_each"], a["--af"], a["--rf"]) for a in asked} == {
        ("10000000", str(10**power), "10", "1") for power in range(8)
    }
    assert {a["--sf"] for a in asked} == {"5", "-5"}
    assert all("--log2_g" not in a for a in asked)


@pytest.mark.parametrize("scale", ["shape", "paper"])
def test_table_15_has_all_its_rows_at_ten_million_links(scale: str) -> None:
    at = [dict(cell.parameters) for cell in cells_of(SHUFFLES.data, scale, "")]
    assert {(a["links"], a["af"], a["rf"]) for a in at} == {("10000000", "10", "1")}
    assert {int(a["links_each"]) for a in at} == {10**power for power in range(8)}
    assert {abs(int(a["sf"])) for a in at} >= set(range(1, 7))


@pytest.mark.lengthy
def test_table_15_is_a_table_of_rows_and_a_surface(p0089: Use) -> None:
    p0089()
    run("p0089.shuffles")
    text = Path("out.html").read_text(encoding="utf-8")
    assert "|G| = 100 000 links, without local allocators" in text and text.count('data-figure="heat"') == 1


@pytest.mark.more
def test_lives_can_be_set_and_are_forecast(p0089: Use) -> None:
    fake = p0089()
    run("p0089.1", "--cells=structures/ds=6/log2_size=8/*", "--set", "lives=32,64")
    assert {argv[argv.index("--lives") + 1] for argv in fake.calls} == {"32", "64"}
    at = {"ds": "6", "log2_size": "8", "log2_leaves": "19", "text_most": "1000"}
    few, many = (structures({**at, "lives": lives}, "new_delete:type:destroy") for lives in ("16", "1600"))
    assert few.seconds == structures(at, "new_delete:type:destroy").seconds
    start = structures({**at, "log2_leaves": "0", "log2_size": "0", "ds": "1"}, "new_delete:type:destroy").seconds
    one_life = (few.seconds - start) / (16 + 1)  # the first one is timed apart
    assert many.seconds - start == pytest.approx((1600 + 1) * one_life, rel=1e-5) and many.bytes == few.bytes


@pytest.mark.lengthy
def test_strings_and_the_litters_share_can_be_set(p0089: Use) -> None:
    fake = p0089()
    run("unique_chars", "--cells=*length=256/*", "--set=litter=0,0.25,0.75", "--set=calls=99", "--set=litter_calls=7")
    asked = {argv[argv.index("--litter") + 1] if "--litter" in argv else "" for argv in fake.calls}
    assert asked == {"", "0.25", "0.75"}
    for argv in fake.calls:
        assert argv[argv.index("--calls") + 1] == "99" and argv[argv.index("--litter_calls") + 1] == "7"
    text = Path("out.html").read_text(encoding="utf-8")
    assert all(title in text for title in ("fresh heap", "heap littered, 25 % of it freed", "75 % of it freed"))


@pytest.mark.parametrize("share", ["2", "-0.1", "half"])
def test_a_litter_that_is_not_a_share_is_refused(p0089: Use, share: str, capsys: pytest.CaptureFixture[str]) -> None:
    p0089()
    assert main(["run", "unique_chars", "--scale=quick", "--set", f"litter={share}"]) == Status.USAGE
    assert "the share must be from 0 (a fresh heap) to 1" in capsys.readouterr().err


def test_more_earlier_calls_are_a_longer_litter() -> None:
    at = {"length": "256", "calls": "64", LITTER: "0.5"}
    few, many = (COUNTING.rules.needs({**at, "litter_calls": n}, "bitset") for n in ("10", "4096"))
    assert few.seconds < many.seconds and few.bytes < many.bytes
    assert many == COUNTING.rules.needs(at, "bitset")


@pytest.mark.more
def test_statements_are_judged_under_the_set_values(p0089: Use) -> None:
    p0089()
    cells = ("--cells=structures/ds=2/*", "--rounds=3")
    plain = {c["id"]: c["points"] for c in run("p0089.1", *cells)["claims"]}
    assert {c["id"]: c["points"] for c in run("p0089.1", *cells, "--set=text_most=100")["claims"]} == plain


@pytest.mark.parametrize("spec", [BENCHMARK_1, BENCHMARK_2, SHUFFLES, DIALS, COUNTING], ids=lambda spec: spec.name)
def test_every_open_parameter_can_be_set(spec: PublishedSpec, p0089: Use, capsys: pytest.CaptureFixture[str]) -> None:
    p0089()
    for name in spec.data.free:
        assert main(["list", spec.name, "--scale=quick", "--set", f"{name}=1"]) == Status.OK
        assert f"{name}=1" in capsys.readouterr().out
