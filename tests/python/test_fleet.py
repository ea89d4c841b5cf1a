# SPDX-License-Identifier: BSL-1.0
"""Merged characterisations: sums and distributions of drawn processes, their forms, patterns, and any executor."""

from __future__ import annotations

import pickle
import random
from collections.abc import Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow.parquet as parquet
import pytest
from conftest import FakeLab
from msgspec.structs import replace

from millpond.report.views.fleet_view import outliers_of
from millpond.rounds import fleet as fleets
from millpond.rounds.characterisation import LifetimeBin, ProcessFacts, Size
from millpond.rounds.fleet import merge_traces, traces_of
from millpond.rounds.fleet_data import Fleet, FleetBuild, FleetUse
from millpond.rounds.fleet_rows import OUTLIERS_AT_MOST, FleetRows
from millpond.rounds.fleet_use import (
    COUNTS,
    LETTERS,
    LetterValue,
    LifetimeCounts,
    ProcessUse,
    SubsystemUse,
    TraceFigures,
    UnusableTrace,
    UseResult,
)
from millpond.statistics.distribution import Distribution
from millpond.store.store_files import write_parquet
from millpond.system.errors import Failure, Status
from tiers import scaled

NAMES = ("book", "shop::prices<int>", "printer", "a name that is long enough to be cut in every table of ours", "rest")


def counts(dice: random.Random, most: int = 1000) -> dict[str, int]:
    return {name: dice.choice((0, dice.randint(1, most))) for name in COUNTS}


def subsystem(name: str, dice: random.Random, **more: Any) -> SubsystemUse:
    drawn: dict[str, Any] = {
        **counts(dice), "kind": "class", "near": "main" if name == "rest" else None,
        "sizes": tuple(Size(b, dice.randint(1, 9)) for b in sorted(dice.sample((8, 16, 24, 32), dice.randint(0, 4)))),
        "lifetimes": LifetimeCounts(tuple(LifetimeBin(i, dice.randint(1, 9)) for i in range(dice.randint(0, 4)))),
        "dvluc": {letter: LetterValue(dice.choice((None, dice.random()))) for letter in LETTERS},
    }  # fmt: skip
    return SubsystemUse(name=name, **{**drawn, **more})


def trace_use(
    number: int, dice: random.Random, build: str = "ab12", subsystems: Sequence[SubsystemUse] | None = None, **more: Any
) -> TraceFigures:
    if subsystems is None:
        subsystems = [subsystem(name, dice) for name in dice.sample(NAMES, dice.randint(0, len(NAMES)))]
    drawn = {**counts(dice, 10_000), "cpu_seconds": dice.random(), "named_share": dice.random(), "threads": 1, **more}
    return TraceFigures(
        trace=ProcessUse(path=f"traces/{number}.mpt", **drawn),
        process=ProcessFacts(pid=number, executable="/srv/shop", build_id=build, argv=("shop", str(number))),
        subsystems=tuple(subsystems),
    )


def drawn_uses(dice: random.Random, most: int = 12) -> list[TraceFigures]:
    return [trace_use(number, dice, dice.choice(("ab12", "cd34"))) for number in range(dice.randint(1, most))]


def rows_of(uses: Sequence[TraceFigures]) -> FleetRows:
    rows = FleetRows()
    for use in uses:
        rows.add(use)
    return rows


def fleet_of(uses: Sequence[TraceFigures]) -> Fleet:
    return rows_of(uses).fleet()


def sums_of(uses: Sequence[ProcessUse | SubsystemUse]) -> dict[str, int]:
    return {name: sum(getattr(use, name) for use in uses) for name in COUNTS}


def by_name(build: FleetBuild) -> dict[str, FleetUse]:
    return {"": build.whole, **{s.name: s for s in build.subsystems}}


def parquet_file(uses: Sequence[TraceFigures], folder: Path) -> Path:
    path = folder / "fleet.parquet"
    write_parquet(path, rows_of(uses).table(), {"schema": "millpond.fleet/1"})
    return path


def test_sums_are_those_of_the_processes(seed: int) -> None:
    dice = random.Random(seed)
    for _ in range(scaled(100, 20)):
        uses = drawn_uses(dice)
        fleet = fleet_of(uses)
        assert {build.build_id for build in fleet.builds} == {use.process.build_id for use in uses}
        for build in fleet.builds:
            own = [use for use in uses if use.process.build_id == build.build_id]
            assert sorted(p.trace for p in build.processes) == sorted(use.trace.path for use in own)
            assert {name: getattr(build.whole, name) for name in COUNTS} == sums_of([use.trace for use in own])
            assert {s.name for s in build.subsystems} == {s.name for use in own for s in use.subsystems}
            for found in build.subsystems:
                each = [s for use in own for s in use.subsystems if s.name == found.name]
                assert {name: getattr(found, name) for name in COUNTS} == sums_of(each)
                assert found.processes == len(each)
                sizes = {
                    b: sum(size.count for s in each for size in s.sizes if size.bytes == b) for b in (8, 16, 24, 32)
                }
                assert {size.bytes: size.count for size in found.sizes} == {b: n for b, n in sizes.items() if n}
                lives = [each_bin.count for s in each for each_bin in s.lifetimes.histogram]
                assert sum(each_bin.count for each_bin in found.lifetimes) == sum(lives)


def test_parts_of_a_fleet_add_up_in_any_order(seed: int) -> None:
    """Merging all traces is adding the merges of any parts, and the order of the traces changes no figure."""
    dice = random.Random(seed)
    for _ in range(scaled(50, 10)):
        uses = drawn_uses(dice)
        whole = fleet_of(uses)
        shuffled = dice.sample(uses, len(uses))
        parts = [fleet_of([use for use in shuffled if use.trace.path in names]) for names in split(dice, uses)]
        for build in whole.builds:
            others = [b for part in parts for b in part.builds if b.build_id == build.build_id]
            for name, use in by_name(build).items():
                found = [by_name(b)[name] for b in others if name in by_name(b)]
                assert {c: getattr(use, c) for c in COUNTS} == {c: sum(getattr(f, c) for f in found) for c in COUNTS}
            again = next(b for b in fleet_of(shuffled).builds if b.build_id == build.build_id)
            assert {n: u.distributions for n, u in by_name(again).items()} == {
                n: u.distributions for n, u in by_name(build).items()
            }


def split(dice: random.Random, uses: Sequence[TraceFigures]) -> list[set[str]]:
    parts: list[set[str]] = [set() for _ in range(dice.randint(1, 4))]
    for use in uses:
        dice.choice(parts).add(use.trace.path)
    return parts


@pytest.mark.lengthy
def test_distributions_are_those_that_duckdb_finds_in_the_rows(seed: int, tmp_path: Path) -> None:
    dice = random.Random(seed)
    for _ in range(scaled(10, 3)):
        uses = drawn_uses(dice)
        path = parquet_file(uses, tmp_path)
        for build in fleet_of(uses).builds:
            for name, use in by_name(build).items():
                for figure, distribution in use.distributions.items():
                    assert distribution == distribution_by_sql(path, build.build_id, name, figure), (name, figure)


def distribution_by_sql(path: Path, build_id: str, name: str, figure: str) -> Distribution:
    """Returns the distribution of a figure as SQL finds it; a process without the subsystem has a count of 0."""
    absent = "0" if figure in COUNTS else "null"
    with duckdb.connect() as connection:
        found = connection.execute(
            f"""
            with own as (from '{path}' where build_id = $build),
                 each as (select whole.trace, coalesce(part.{figure}, {absent})::double as value
                          from (from own where subsystem is null) whole
                          left join (from own where coalesce(subsystem, '') = $name) part using (trace))
            select count(value), min(value), quantile_cont(value, 0.25), quantile_cont(value, 0.5),
                   quantile_cont(value, 0.75), max(value) from each
            """,
            {"build": build_id, "name": name},
        ).fetchone()
    assert found is not None
    return Distribution(
        n=found[0], lowest=found[1], lower_quartile=pytest.approx(found[2]), median=pytest.approx(found[3]),
        upper_quartile=pytest.approx(found[4]), highest=found[5],
    )  # fmt: skip


def test_rows_have_every_process_and_subsystem_once(seed: int, tmp_path: Path) -> None:
    dice = random.Random(seed)
    uses = drawn_uses(dice, 30)
    read = parquet.read_table(parquet_file(uses, tmp_path)).to_pylist()
    expected = {(use.trace.path, name) for use in uses for name in (None, *(s.name for s in use.subsystems))}
    assert len(read) == len(expected) and {(row["trace"], row["subsystem"]) for row in read} == expected
    of = {(use.trace.path, s.name): s for use in uses for s in use.subsystems}
    for row in read:
        part = row["subsystem"] is not None
        use = (
            of[row["trace"], row["subsystem"]] if part else next(u.trace for u in uses if u.trace.path == row["trace"])
        )
        assert {name: row[name] for name in COUNTS} == {name: getattr(use, name) for name in COUNTS}
        assert (row["cpu_seconds"] is None) == part and (row["kind"] is None) != part
        if part:
            assert {x: row[x] for x in LETTERS} == {x: found.value for x, found in use.dvluc.items()}


def test_processes_without_a_build_id_meet_by_path() -> None:
    dice = random.Random(1)
    uses = [trace_use(number, dice, build="") for number in range(4)]
    moved = [replace(use, process=replace(use.process, executable=path))
             for use, path in zip(uses, ("/a", "/b", "/a", "/b"), strict=True)]  # fmt: skip
    found = {build.executables: len(build.processes) for build in fleet_of(moved).builds}
    assert found == {("/a",): 2, ("/b",): 2}
    same = [replace(use, process=replace(use.process, build_id="ab12")) for use in moved]
    assert [build.executables for build in fleet_of(same).builds] == [("/a", "/b")]


def equal_uses(n: int, **more: Any) -> list[TraceFigures]:
    """Processes that all use the same."""
    same = dict.fromkeys(COUNTS, 1000)
    return [trace_use(i, random.Random(1), subsystems=[subsystem("book", random.Random(1), **same)], **same, **more)
            for i in range(n)]  # fmt: skip


@pytest.mark.parametrize("factor", [100, 0])
def test_a_planted_outlier_is_named_by_its_trace(factor: int) -> None:
    uses = equal_uses(20)
    assert all(not use.outliers for build in fleet_of(uses).builds for use in by_name(build).values())
    far = replace(uses[7].subsystems[0], end_live_bytes=1000 * factor)
    uses[7] = replace(uses[7], subsystems=(far,))
    build = fleet_of(uses).builds[0]
    assert not build.whole.outliers
    (found,) = build.subsystems[0].outliers
    assert (found.trace, found.figure, found.value) == ("traces/7.mpt", "end_live_bytes", 1000.0 * factor)
    assert found.times == factor
    assert [(label, one.trace) for label, _, one in outliers_of(build)] == [("book", "traces/7.mpt")]


def test_few_processes_and_small_differences_have_no_outlier() -> None:
    few = equal_uses(4)
    few[0] = replace(few[0], trace=replace(few[0].trace, bytes=10**9))
    assert not fleet_of(few).builds[0].whole.outliers
    many = equal_uses(20)
    many[0] = replace(many[0], trace=replace(many[0].trace, bytes=1999))  # less than twice the median
    assert not fleet_of(many).builds[0].whole.outliers


def test_of_many_outliers_the_farthest_are_kept(seed: int) -> None:
    uses = equal_uses(200)
    factors = random.Random(seed).sample(range(10, 1000), 2 * OUTLIERS_AT_MOST)
    for at, factor in enumerate(factors):
        uses[at] = replace(uses[at], trace=replace(uses[at].trace, bytes=1000 * factor))
    whole = fleet_of(uses).builds[0].whole
    assert [one.times for one in whole.outliers] == sorted(factors, reverse=True)[:OUTLIERS_AT_MOST]
    assert whole.outliers_left_out == OUTLIERS_AT_MOST


def test_patterns_are_expanded_and_each_trace_is_taken_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("b.mpt", "a.mpt", "deep/c.mpt", "deep/er/d.mpt", "[x].mpt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "link.mpt").symlink_to("a.mpt")
    assert traces_of(["?.mpt"]) == [Path("a.mpt"), Path("b.mpt")]
    assert traces_of(["b.mpt", "./b.mpt", str(tmp_path / "?.mpt"), "link.mpt"]) == [Path("b.mpt"), tmp_path / "a.mpt"]
    assert traces_of(["deep/**/*.mpt"]) == [Path("deep/c.mpt"), Path("deep/er/d.mpt")]
    assert traces_of(["[x].mpt", "absent.mpt"]) == [Path("[x].mpt"), Path("absent.mpt")]
    with pytest.raises(Failure, match=r"no file matches 'z\*'"):
        traces_of(["z*"])


class QuietListener:
    """Counts the steps."""

    def __init__(self) -> None:
        self.steps = 0
        self.has_ended = False

    def begin(self, what: str, total: int) -> None:
        self.total = total

    def step(self) -> None:
        self.steps += 1

    def end(self) -> None:
        self.has_ended = True


class CallingExecutor(Executor):
    """Runs each task when it is submitted, and passes it on as pickled bytes, as other machines would get it."""

    def submit(self, task: Any, /, *words: Any, **more: Any) -> Future[Any]:
        future: Future[Any] = Future()
        own_task, own_words = pickle.loads(pickle.dumps((task, words)))
        try:
            future.set_result(pickle.loads(pickle.dumps(own_task(*own_words, **more))))
        except Exception as error:
            future.set_exception(pickle.loads(pickle.dumps(error)))
        return future


def made_up(trace: Path, options: tuple[str, ...]) -> UseResult:
    """Stands for use_of: the file's name decides the result."""
    number = int(trace.stem)
    if number % 7 == 3:
        return UseResult(unusable=UnusableTrace(str(trace), f"{trace} is not a trace"))
    if number % 7 == 5 and "--damaged" not in options:
        raise Failure(Status.ENVIRONMENT, f"{trace}: no memory")
    return UseResult(use=trace_use(number, random.Random(number)), said=(f"millpond: {trace} is small",))


@pytest.mark.parametrize("kind", [None, CallingExecutor, ThreadPoolExecutor, ProcessPoolExecutor])
def test_any_executor_gives_the_same_fleet(kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fleets, "use_of", made_up)
    traces, listener = [Path(f"{i}.mpt") for i in range(20)], QuietListener()
    executor = kind() if kind else None
    merged = merge_traces(traces, ["--damaged"], listener, executor)
    uses = [trace_use(i, random.Random(i)) for i in range(20) if i % 7 != 3]
    assert merged.rows.fleet() == fleet_of(uses)
    assert [one.trace for one in merged.unusable] == ["3.mpt", "10.mpt", "17.mpt"]
    assert (listener.steps, listener.has_ended, len(merged.said)) == (20, True, 17)
    if executor is not None:
        executor.shutdown()


def test_a_failed_task_ends_the_merge_and_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fleets, "use_of", made_up)
    listener = QuietListener()
    with pytest.raises(Failure, match=r"5\.mpt: no memory") as raised:
        merge_traces([Path(f"{i}.mpt") for i in range(20)], [], listener, CallingExecutor())
    assert (raised.value.status, listener.has_ended) == (Status.ENVIRONMENT, True)


def test_the_verb_refuses_what_does_not_go_together(lab: FakeLab) -> None:
    for words, why in (
        (("-o", "f.parquet", "a.mpt"), "-o f.parquet is of many traces: add --merge"),
        (("--merge", "-o", "plans/", "a.mpt"), "-o plans/ is of one trace: leave --merge out"),
        (("a.mpt", "b.mpt", "c.mpt"), "unexpected argument 'c.mpt': --merge shows several traces"),
    ):
        done = lab.run("trace", "show", *words)
        assert done.status == 2 and why in done.stderr, done


def test_distribution_of_a_few_values_is_that_of_hands() -> None:
    found = Distribution.of(np.array([4.0, 1.0, 3.0, 2.0]))
    assert found == Distribution(n=4, lowest=1, lower_quartile=1.75, median=2.5, upper_quartile=3.25, highest=4)
    assert Distribution.of(np.array([])) is None
