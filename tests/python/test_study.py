# SPDX-License-Identifier: BSL-1.0
"""The study of 1993: its tables, its captures, and how experiments share them."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import pytest
from claim_values import evaluate
from hypothesis import given
from hypothesis import strategies as st

from millpond.cells.cell import SURROUNDINGS, Cell, Outcome, Strategy, Workload
from millpond.rounds.interleaved_rounds import WHOLE, Shard
from millpond.rounds.layouts import Layout
from millpond.rounds.real_program import RealProgram
from millpond.store.store import Store
from millpond_bench.bench_cli import main
from millpond_bench.claims.claim_rules import judge
from millpond_bench.claims.claims import NOT_MEASURED, UNTESTABLE, Claim, load
from millpond_bench.experiments.experiment import PublishedSpec
from millpond_bench.experiments.result_table import FIGURE, ResultTable
from millpond_bench.programs import custom_malloc, grunwald1993_captures, grunwald1993_programs
from millpond_bench.programs.grunwald1993_captures import METRICS
from millpond_bench.programs.grunwald1993_lifetimes import METRICS as LIFETIME_METRICS
from millpond_bench.programs.grunwald1993_predictions import METRICS as PREDICTION_METRICS
from millpond_bench.programs.page_faults import fault_slope
from millpond_bench.runs import capture_run
from millpond_bench.runs.capture_run import CaptureRun, CaptureSpec
from millpond_bench.runs.experiment_run import RunRequest
from millpond_bench.runs.published_run import cells_of
from millpond_bench.suites.grunwald1993_locality import (
    CACHES,
    CLASSES,
    CLASSICS,
    EXPERIMENTS,
    PAGING,
    PROGRAMS,
    TAGS,
    TIME,
    TODAY,
    WHAT_PROGRAMS_DO,
    WORDS,
)
from millpond_bench.tables import grunwald1993_tables

BY_NAME: Mapping[str, PublishedSpec] = {spec.name: spec for spec in EXPERIMENTS}
CLAIMS = load("grunwald1993.toml")
TESTED = [claim for claim in CLAIMS if claim.kind != "untestable"]


# ---- the tables ----


def test_the_time_without_misses_is_the_same_in_tables_4_and_5() -> None:
    of = grunwald1993_tables.times()
    for program, allocator, _ in of:
        assert of[program, allocator, 16][0] == pytest.approx(of[program, allocator, 64][0], abs=0.02)


def test_an_instruction_takes_one_cycle_of_62_ns_in_every_program() -> None:
    instructions = {one.point: one.value or 0.0 for one in grunwald1993_tables.of_programs()["instructions_executed"]}
    published = dict.fromkeys(program for program, _, _ in grunwald1993_tables.times())
    assert published.keys() <= {*PROGRAMS}
    for program in published:
        base = grunwald1993_tables.times()[program, "first_fit", 64][0]
        assert base == pytest.approx(
            grunwald1993_tables.CYCLE_SECONDS * instructions[(("program", program),)], rel=0.02
        )


def test_the_cost_of_tags_is_the_difference_of_both_penalties() -> None:
    found = grunwald1993_tables.of_tags()
    waits = {(one.point, one.strategy): one.value or 0.0 for one in found["miss_penalty"]}
    for one in found["tag_penalty"]:
        added = waits[one.point, "gnu_local_padded"] - waits[one.point, "gnu_local"]
        assert one.value == pytest.approx(added, abs=0.011)


# ---- the statements ----


@pytest.mark.parametrize("rule", TESTED, ids=lambda c: c.id)
def test_a_rule_names_allocators_axes_and_metrics_of_its_experiment(rule: Claim) -> None:
    spec = BY_NAME[rule.experiment]
    assert {spec.data.canonical(name) for name in (*rule.of, *rule.against, *rule.among)} <= set(spec.data.strategies)
    assert {*rule.where, *([rule.axis] if rule.axis else [])} <= set(spec.data.axes)
    assert {rule.metric, rule.other_metric} - {""} <= {*spec.data.extra_metrics, spec.data.figure.name}
    assert math.isfinite(rule.low) or math.isfinite(rule.high)
    assert bool(rule.other_metric) == (rule.kind == "rank")


def test_statements_are_many_unique_and_mostly_testable() -> None:
    assert len(CLAIMS) >= 40 and len({claim.id for claim in CLAIMS}) == len(CLAIMS)
    untestable = [claim for claim in CLAIMS if claim.kind == "untestable"]
    assert 5 * len(untestable) <= len(CLAIMS)
    assert all(judge(c, TIME.data, ResultTable({}), ResultTable({})).verdict == UNTESTABLE for c in untestable)


@pytest.mark.lengthy
@given(st.lists(st.integers(1, 100), min_size=3, max_size=3, unique=True))
def test_a_rank_is_1_for_one_order_and_minus_1_for_the_other(values: list[int]) -> None:
    at = (("program", "GAWK"), ("cache", 16))
    names = CLASSICS[:3]

    def table(sign: float) -> ResultTable[Any]:
        return ResultTable({
            (at, name): {"base_seconds": {1: value}, "miss_seconds": {1: sign * value + 1000}}
            for name, value in zip(names, values, strict=True)
        })  # fmt: skip

    rule = Claim(kind="rank", statement="s.", of=names, metric="base_seconds", other_metric="miss_seconds", low=0)
    assert evaluate(rule, TIME, table(1.0))[0] == [pytest.approx(1.0)]
    assert evaluate(rule, TIME, table(-1.0))[0] == [pytest.approx(-1.0)]


# ---- captures ----


@pytest.mark.lengthy
@given(st.floats(0.2, 4.0), st.floats(1e3, 1e7))
def test_the_slope_of_a_power_is_its_exponent(power: float, scale: float) -> None:
    faults = {room: scale * room**-power for room in (8, 16, 64, 256, 1000)}
    assert fault_slope(faults) == pytest.approx(power, rel=1e-6)  # type: ignore[arg-type]


def test_a_slope_needs_two_memories() -> None:
    assert fault_slope({16: 100}) is None and fault_slope({}) is None


def test_the_stack_lies_at_one_place_whatever_is_preloaded() -> None:
    workload = RealProgram("x", ("x",))

    def bytes_of(layout: Layout, number: int) -> int:
        environment = grunwald1993_captures.environment_of(workload, layout, number)
        return len(environment["MILLPOND_PAD"]) + (len(str(layout.library)) + 1 if layout.library else 0)

    layouts = [Layout("glibc"), Layout("x", Path("/lib/x.so")), Layout("y", Path("/usr/lib/a_long_name/liby.so.2"))]
    for number in range(1, 9):
        assert len({bytes_of(layout, number) for layout in layouts}) == 1
    assert len({bytes_of(layouts[0], number) for number in range(1, 9)}) == 8


def captured(cell: Cell, number: int) -> dict[str, float]:
    """Returns made-up values: misses fall with the size of the cache; the first allocator has the most."""
    rank = 10 - CLASSICS.index(cell.contender.name) if cell.contender.name in CLASSICS else 3
    return {name: 1000.0 * rank + 10 * place + number for place, name in enumerate(reversed(list(METRICS.units)))}


class FakeRunner:
    ran: ClassVar[list[str]] = []

    def __init__(self, *_folders: Path) -> None:
        pass

    def run(self, cell: Cell, stage: str, number: int) -> Outcome:
        self.ran.append(f"{cell.name} {number}")
        others = {"prediction": PREDICTION_METRICS, "lifetime": LIFETIME_METRICS}
        if metrics := next((each for name, each in others.items() if cell.subject == Workload(name)), None):
            return Outcome(cell, stage, number, dict.fromkeys(metrics.units, 7.0), kind="simulated")
        return Outcome(cell, stage, number, captured(cell, number), kind="simulated")


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    monkeypatch.setattr(FakeRunner, "ran", [])
    return iter([FakeRunner.ran])


def run_of(spec: CaptureSpec, store: Path, shard: Shard = WHOLE, rounds: int = 3) -> CaptureRun:
    fake = replace(spec, runner=FakeRunner, identity=lambda _: "one")
    request = RunRequest("quick", rounds, 1, shard, Store(store), 1 << 40)
    run = CaptureRun(fake, cells_of(fake.data, "quick" if spec.data.parts["quick"] else "standard", ""), request)
    run.measure()
    return run


def test_no_axis_has_the_name_of_an_environment_parameter() -> None:
    """With such an axis, a failed capture would appear at the usual value, among published figures."""
    assert not {name for spec in EXPERIMENTS for name in spec.data.axes} & SURROUNDINGS.keys()


def test_a_program_that_writes_files_runs_in_its_own_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(grunwald1993_programs, "_require", str)
    cell = Cell(Workload("capture"), Strategy("bsd"), (("program", "PTC"), ("input", "measured")))
    places = [tmp_path / name for name in "ab"]
    folders = [grunwald1993_captures.program_of(cell, tmp_path / "inputs", place).folder for place in places]
    assert [folder is not None and folder.parent for folder in folders] == places
    first, second = ((folder / "model.pml").read_text(encoding="utf-8") for folder in folders if folder is not None)
    assert first == second


def test_troff_inputs_are_the_same_everywhere_and_grow(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(grunwald1993_programs, "_require", str)
    texts = []
    for name in ("troff small", "troff medium", "troff large"):
        study = grunwald1993_programs.PROGRAMS[name]
        for make in (study.measured, study.trained):
            first, second = (Path(make(tmp_path / place).command[-1]).read_text(encoding="utf-8") for place in "ab")
            assert first == second and first.startswith(".TH")
            texts.append(first)
    assert len({*texts}) == len(texts)
    measured = [len(text) for text in texts[::2]]
    assert measured == sorted(measured)


def test_a_custom_malloc_is_built_once_for_each_program(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    built: list[str] = []

    def build(program: RealProgram, folder: Path) -> Path:
        built.append(program.name)
        return folder / "lib.so"

    monkeypatch.setattr(grunwald1993_programs, "_require", str)
    monkeypatch.setattr(custom_malloc, "build", build)
    runner = grunwald1993_captures.CaptureRunner(tmp_path, tmp_path / "inputs")
    cells = [Cell(Workload("capture"), Strategy(custom_malloc.NAME), (("program", name), ("input", "measured")))
             for name in ("MAKE", "GAWK", "MAKE")]  # fmt: skip
    libraries = [runner._layout(cell).library for cell in cells]
    assert built == ["make", "gawk"]
    assert libraries[0] == libraries[2] != libraries[1]


@pytest.mark.more
def test_experiments_share_their_captures(ran: Iterator[list[str]], tmp_path: Path) -> None:
    names = next(ran)
    run_of(TIME, tmp_path)
    first = len(names)
    assert first == len(set(names)) > 0
    run_of(CACHES, tmp_path)
    run_of(PAGING, tmp_path)
    assert len(names) == first
    assert run_of(TAGS, tmp_path).outcomes  # TAGS has two allocators of its own, on three programs
    assert len(names) == first + 2 * 3 * 3


def test_only_what_statements_compare_takes_all_environments(tmp_path: Path) -> None:
    def rounds(program: str, allocator: str, named: int | None = None) -> int:
        cell = Cell(Workload("capture"), Strategy(allocator), (("program", program), ("input", "measured")))
        request = RunRequest("standard", named, 1, WHOLE, Store(tmp_path), 1 << 40)
        return CaptureRun(TIME, [cell], request).rounds_of(cell)

    assert {rounds("TROFF", name) for name in CLASSICS} == {8}
    assert {rounds("TROFF", "jemalloc"), rounds("GS", "bsd")} == {1}
    assert rounds("TROFF", "jemalloc", named=3) == 3
    other = (WORDS.name, TAGS.name, CLASSES.name)  # these take every environment of all that they measure
    misses = [rule for rule in TESTED if not rule.exact and rule.experiment not in other]
    assert not {name for rule in misses for name in (*rule.of, *rule.against)} & {*TODAY}


def test_a_dry_run_counts_shared_captures_once(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(capture_run, "_told", set())
    target = tmp_path / "grid.json"
    names = [TIME.name, CACHES.name]
    assert main(["run", *names, "--scale", "quick", "--dry-run", "-o", str(target)]) == 0
    first, second = json.loads(target.read_text(encoding="utf-8"))["grids"]
    assert first["estimated_seconds"] > 0 and second["estimated_seconds"] == 0
    assert second["runs"] == first["runs"]
    capsys.readouterr()


@pytest.mark.more
def test_shards_make_the_whole(ran: Iterator[list[str]], tmp_path: Path) -> None:
    names = next(ran)
    for number in (1, 2, 3):
        run_of(TIME, tmp_path / "parts", Shard(number, 3))
    assert len(names) == len(set(names))
    in_parts = set(names)
    names.clear()
    whole = run_of(TIME, tmp_path / "whole")
    assert set(names) == in_parts
    assert NOT_MEASURED not in {claim.verdict for claim in whole.claims}


@pytest.mark.more
@pytest.mark.parametrize("spec", EXPERIMENTS, ids=lambda spec: spec.name)
def test_every_experiment_has_its_rows_statements_and_figures(
    ran: Iterator[list[str]], spec: CaptureSpec, tmp_path: Path
) -> None:
    next(ran)
    run = run_of(spec, tmp_path)
    rows = run.summary()
    assert {row.metric for row in rows} >= {spec.data.figure.name}
    assert all(row.status == "ok" for row in rows)
    own = [claim for claim in CLAIMS if claim.experiment == spec.name]
    assert [one.claim.id for one in run.claims] == [claim.id for claim in own]
    figures, charts = spec.table.draw(run.results), spec.table.tabulate(run.results)
    drawn = {word for figure in figures for one in figure.series for word in (one.name, one.group)}
    assert not figures or {"FIRSTFIT", "BSD"} <= drawn
    assert bool(charts) == (spec in (TIME, TAGS, WORDS, WHAT_PROGRAMS_DO))
    assert bool(figures) == (spec in (TIME, CACHES, PAGING, WORDS, WHAT_PROGRAMS_DO))


@pytest.mark.lengthy
def test_time_is_instructions_and_misses_at_25_cycles(ran: Iterator[list[str]], tmp_path: Path) -> None:
    next(ran)
    run = run_of(TIME, tmp_path, rounds=1)
    cell = Cell(Workload("capture"), Strategy("bsd"), (("program", "GAWK"), ("input", "trained")))
    values = captured(cell, 1)
    found = run.results.by_place().by_round(((("program", "GAWK"), ("cache", 64)), "bsd"), FIGURE)
    cycles = values["instructions_executed"] + 25 * values["misses_32_64"]
    assert found == {1: pytest.approx(62.5e-9 * cycles)}


@pytest.mark.lengthy
def test_tables_4_and_5_are_shown_as_printed_next_to_ours(ran: Iterator[list[str]], tmp_path: Path) -> None:
    next(ran)
    fourth, fifth = TIME.table.tabulate(run_of(TIME, tmp_path, rounds=1).results)
    assert "16 KB" in fourth.title and "64 KB" in fifth.title
    for chart, printed in ((fourth, ("200", "43.0")), (fifth, ("165", "8.08"))):
        published, here = chart.tables
        assert (published.caption, here.caption) == ("published", "here")
        rows = dict(published.rows)
        assert list(rows) == ["FIRSTFIT", "QUICKFIT", "GNU G++", "BSD", "GNU LOCAL"]
        column = [heading for heading, _ in published.headings].index("ESPRESSO")
        assert rows["FIRSTFIT"][column].text == "/".join(printed)
        assert "multipool" in dict(here.rows)


@pytest.mark.more
def test_a_capture_that_fails_is_named_and_has_no_value(
    ran: Iterator[list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    next(ran)
    right = FakeRunner.run

    def run(self: FakeRunner, cell: Cell, stage: str, number: int) -> Outcome:
        if cell.contender.name == "bsd":
            return Outcome.failed(cell, stage, number, "killed", "dies of SIGSEGV")
        return right(self, cell, stage, number)

    monkeypatch.setattr(FakeRunner, "run", run)
    found = run_of(TIME, tmp_path)
    assert any("dies of SIGSEGV" in note for note in found.notes)
    assert not any(row.strategy == "bsd" and row.median is not None for row in found.summary())
    assert all(one.points for figure in TIME.table.draw(found.results) for one in figure.series), (
        "a failure left a figure empty"
    )
