# SPDX-License-Identifier: BSL-1.0
"""`millpond simulate --html`: curves are exact, several traces share a figure, the page is offline and escaped."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import simulated
from conftest import FakeLab

from millpond.cli import main
from millpond.report.figures.figure_html import size_text
from millpond.report.simulation_curves import (
    DIRECT,
    FULLY,
    distance_points,
    fault_curve,
    miss_curves,
    observations,
    table_sizes,
)
from millpond.report.simulation_page import names_of, render
from millpond.rounds.simulation_data import Simulation

HOSTILE = "</style><script>alert(1)</script><img src='http://127.0.0.1:9/x' onerror='alert(2)'>"


def simulation(**more: Any) -> Simulation:
    return Simulation.from_json({**simulated.document(), **more})


def test_each_organisation_is_a_curve_with_the_exact_misses() -> None:
    curves = {curve.organisation: curve for curve in miss_curves(simulation())}
    assert list(curves) == [DIRECT, "2 ways", FULLY]
    assert curves[DIRECT].points == [(8192, 8000), (16384, simulated.LINES)]
    assert curves["2 ways"].at(8192) == 4000 and curves["2 ways"].at(12288) is None
    assert {curve.of for curve in curves.values()} == {simulated.REFERENCES}


def test_distances_become_the_misses_of_every_size() -> None:
    points = dict(distance_points(simulation().simulators[2]))
    assert points[32] == simulated.REFERENCES // 2, "a cache of one line keeps what is asked for twice in a row"
    assert points[512 * 32] == simulated.LINES, "all lines fit: first uses are left"
    assert points[256 * 32] == simulated.REFERENCES // 2
    assert list(points) == sorted(points)


@pytest.mark.lengthy
def test_a_long_curve_is_thinned_and_stays_exact() -> None:
    curve = [[distance, 1] for distance in range(100_000)]
    counted = {**simulated.references(), "line_bytes": 32, "value": 100_001}
    one = {**simulated.distances(32, 2), "curve": curve, "metrics": [counted]}
    points = distance_points(simulation(simulators=[one]).simulators[0])
    assert 200 < len(points) < 400
    assert all(misses == 100_001 - size // 32 for size, misses in points)


def test_the_table_has_every_size_that_was_simulated() -> None:
    three = simulated.cache(3, 12288, 700)
    found = simulated.document()
    found["simulators"][1]["metrics"].append(three)
    curves = {curve.organisation: curve for curve in miss_curves(Simulation.from_json(found))}
    assert 12288 in table_sizes(curves.values())
    assert curves[FULLY].at(12288) == simulated.REFERENCES // 2, "and what a fully associative cache of it misses"
    assert "<td>700<small>" in render([("loop", Simulation.from_json(found))])


def test_faults_are_misses_of_pages_with_first_touches() -> None:
    faults = fault_curve(simulation())
    assert faults is not None and faults.line_bytes == 4096
    assert faults.points[-1] == (4 * 4096, 4)
    assert fault_curve(simulation(simulators=[])) is None


def test_a_sample_tells_of_the_whole_run_with_its_interval() -> None:
    found = simulated.document()
    found["input"] |= {"bursts": 12, "instructions_not_captured": 900_000}
    whole = {"value": 80_000, "low": 70_000, "high": 90_000, "level": 0.95, "with_empty_caches": 88_000}
    found["simulators"][0]["metrics"][1]["whole"] = whole
    page = render([("loop", Simulation.from_json(found))])
    assert "a sample of 12 bursts; 900 000 instructions were not captured" in page
    assert "<td>80 000<small>70 000 to 90 000 (95%)" in page and "<td>88 000" in page
    assert "of 8 KiB, direct-mapped" in page
    assert "whole run" not in render([("loop", simulation())])


def test_observations_describe_the_curves() -> None:
    said = " ".join(observations(simulation()))
    assert "A fully associative cache of 16 KiB keeps every line" in said
    assert "At 8 KiB, 15.6 % of the references miss in a direct-mapped cache" in said
    assert "A memory of 16 KiB holds every page: only 4 faults remain" in said


def test_the_page_has_exact_values_tables_and_no_network(tmp_path: Path) -> None:
    text = render([("loop", simulation(level_times=[simulated.level_time()]))])
    assert "http:" not in text and "https:" not in text
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', text)
    assert policy and policy[1].startswith("default-src &#39;none&#39;") and "unsafe" not in policy[1]
    markup = re.sub(r"<script>.*</script>", "", text, flags=re.DOTALL)
    assert " style=" not in markup and "onclick" not in markup
    assert '"name":"direct-mapped","points":[[8192,8000],[16384,512]],"of":51200' in text
    assert "<td>8 000<small>15.6 %</small></td>" in text
    assert "P = 25" in text and "2.953 an instruction" in text
    assert "Time with all levels" in text and "doctor.json (a mill)" in text and "nothing overlaps" in text


def test_simulators_without_a_curve_have_a_table() -> None:
    levels = {"description": "levels:size=8K,ways=8", "metrics": [{**simulated.cache(8, 8192, 77), "level": 1}]}
    text = render([("loop", simulation(simulators=[levels]))])
    assert "levels:size=8K,ways=8" in text and "misses of level 1, of 8 KiB" in text and "<td>77<small>" in text
    assert "<figure" not in text, "nothing to draw"


def test_several_traces_share_the_figures(tmp_path: Path) -> None:
    text = render([("one", simulation()), ("two", simulation())])
    assert text.count("<figure") == 2
    assert '"name":"one, direct-mapped"' in text and '"name":"two, direct-mapped"' in text
    assert text.count('"group":"two"') == 3 and text.count('"kind":"2 ways"') == 2, "both legends can hide a curve"


def test_names_of_traces_are_escaped() -> None:
    text = render([(HOSTILE, simulation())])
    assert HOSTILE not in text and text.count("<script") == 1


def test_traces_of_one_name_are_told_apart() -> None:
    assert names_of(["a/x.mpt", "b/y.mpt"]) == ["x.mpt", "y.mpt"]
    assert names_of(["a/x.mpt", "b/x.mpt"]) == ["a/x.mpt", "b/x.mpt"]
    assert names_of(["x.mpt", "x.mpt"]) == ["x.mpt", "x.mpt (2)"]


def test_sizes_are_those_of_caches() -> None:
    assert [size_text(size) for size in (512, 49152, 1 << 21)] == ["512 B", "48 KiB", "2 MiB"]


@pytest.fixture
def native(lab: FakeLab) -> FakeLab:
    """Fakes millpond-simulate: stores its arguments and writes a document."""
    program = lab.bin / "millpond-simulate"
    (lab.bin / "document.json").write_text(json.dumps(simulated.document()))
    program.write_text(
        f'#!/bin/bash\necho "$@" >> {lab.bin}/words\n'
        f'while [ "$1" != --json ]; do shift; done; cp {lab.bin}/document.json "$2"\n'
    )
    program.chmod(0o755)
    return lab


def test_traces_are_simulated_and_documents_are_read(native: FakeLab) -> None:
    (native.work / "saved.json").write_text(json.dumps(simulated.document("other.mpt")))
    done = native.run_apart("simulate", "--html=page.html", "--penalty", "10,20", "loop.mpt", "saved.json")
    assert (done.status, done.stderr) == (0, "")
    (words,) = (native.bin / "words").read_text().splitlines()
    assert words.startswith("--penalty 10,20 --simulate=direct:") and words.endswith("-- loop.mpt")
    assert "--simulate=distances:line=4K" in words
    page = (native.work / "page.html").read_text()
    assert "loop.mpt, direct-mapped" in page and "saved.json, direct-mapped" in page


@pytest.mark.lengthy
def test_named_simulators_are_the_only_ones(native: FakeLab) -> None:
    assert native.run_apart("simulate", "--html", "page.html", "-s", "direct:size=1K", "loop.mpt").status == 0
    assert "--simulate=" not in (native.bin / "words").read_text()


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (["--html", "page.html"], 2, "--html needs traces"),
        (["--html", "-", "loop.mpt"], 2, "--html needs the name of the file"),
        (["--html", "page.html", "--json", "x", "loop.mpt"], 2, "--html and --json cannot be combined"),
        (["--html", "/nowhere/page.html", "loop.mpt"], 4, "/nowhere"),
        (["--html", "page.html", "other.json"], 3, "other.json is not a document of `millpond simulate --json`"),
    ],
)
def test_refusals_are_one_sentence(native: FakeLab, words: list[str], status: int, said: str) -> None:
    (native.work / "other.json").write_text('{"schema": "millpond.trial/1"}')
    done = native.run("simulate", *words)
    assert done.status == status and said in done.stderr and done.stderr.count("\n") == 1


def test_the_verb_is_the_program_without_a_page(native: FakeLab) -> None:
    assert main(["simulate", "--html", "--help"]) == 0
