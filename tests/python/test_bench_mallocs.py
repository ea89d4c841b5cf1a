# SPDX-License-Identifier: BSL-1.0
"""Compares rounds of our malloc with others, and reports a malloc that fails a program."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from millpond.cells.cell import Cell, Malloc, Outcome
from millpond.rounds.mallocs import GLIBC, OURS
from millpond.rounds.real_program import RealProgram
from millpond.system.errors import Failure
from millpond_bench.bench_cli import main
from millpond_bench.experiments.given_libraries import confirm_malloc, split_mallocs
from millpond_bench.experiments.suite_rounds import SCHEMA
from millpond_bench.laboratory import bench_mallocs
from millpond_bench.laboratory.bench_mallocs import MallocTable, suite
from millpond_bench.laboratory.bench_rows import Bench

# CPU seconds and peak bytes of a round on each malloc.
COSTS = {GLIBC: (2.0, 100.0), OURS: (1.0, 110.0), "lean": (4.0, 50.0), "broken": (1.0, 1.0)}


class Runner:
    """A runner of rounds with the figures of COSTS; on the malloc `broken`, every program fails."""

    failing = "broken"

    def __init__(self, *_of: object) -> None: ...

    def run(self, cell: Cell, stage: str, number: int) -> Outcome:
        name = cell.contender.name
        if name == self.failing:
            return Outcome.failed(cell, stage, number, "killed", "signal 11", 11)
        cpu, peak = COSTS[name]
        values = {"cpu_seconds": cpu, "wall_seconds": cpu, "peak_bytes": peak, "page_faults": 0.0}
        return Outcome(cell, stage, number, values)


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    mallocs = [Malloc(name, tmp_path / name) for name in COSTS if name != GLIBC]
    monkeypatch.setattr(bench_mallocs, "contenders", lambda: (mallocs, {}))
    monkeypatch.setattr(bench_mallocs, "MallocRunner", Runner)
    return Bench(tmp_path, tmp_path, 3, True, 1)


def program(_bench: Bench) -> RealProgram:
    return RealProgram("work", ("work",))


def test_each_metric_is_a_ratio_to_the_c_library(bench: Bench) -> None:
    cpu, wall, peak, faults = MallocTable().program(program)(bench)
    assert [bar.ours.median if bar.ours else None for bar in (cpu, wall, peak)] == [0.5, 0.5, 1.1]
    assert [bar.holds for bar in (cpu, wall, peak)] == [True, True, False]
    assert cpu.note == "lean 2, broken fails"
    assert faults.ours is not None, "no page fault on either is no division by zero"
    assert {o.cell.contender.name for o in cpu.outcomes} == {GLIBC, OURS, "lean"}
    assert all(o.values.keys() == {"cpu_seconds"} for o in cpu.outcomes)


def test_a_library_of_the_users_takes_its_turns(bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(COSTS, "new", (0.5, 200.0))
    added = replace(bench, mallocs=(Malloc("new", tmp_path / "new"),))
    cpu, _wall, peak, _faults = MallocTable().program(program)(added)
    assert "new 0.25" in cpu.note and "new 2" in peak.note
    assert "new" in {one.cell.contender.name for one in cpu.outcomes}


def test_libraries_are_told_from_names(tmp_path: Path) -> None:
    library = tmp_path / "libnew.so"
    library.write_bytes(b"\x7fELF")
    assert split_mallocs(None) == (None, ())
    assert split_mallocs("tcmalloc, jemalloc") == ("tcmalloc,jemalloc", ())
    assert split_mallocs(f"tcmalloc,new={library}") == ("tcmalloc", (Malloc("new", library),))
    assert split_mallocs(f"new={library}") == (None, (Malloc("new", library),))


@pytest.mark.parametrize(
    ("words", "status", "reason"),
    [
        (["malloc", "--malloc=new={folder}/absent.so"], 3, "cannot read"),
        (["malloc", "--malloc=new={folder}/text"], 3, "is not a shared library"),
        (["malloc", "--malloc=a/b={folder}/lib.so"], 2, "write NAME=LIBRARY.so"),
        (["malloc", "--malloc=glibc={folder}/lib.so"], 2, "there is a 'glibc' already"),
        (["malloc", "--malloc=tcmalloc"], 2, "--malloc does not apply to malloc"),
        (["p0089.1", "--malloc=new={folder}/lib.so"], 2, "NAME=FILE is for the experiment malloc"),
        (["laboratory", "--malloc=new={folder}/lib.so"], 2, "NAME=FILE is for the experiment malloc"),
    ],
)
def test_a_wrong_library_is_refused(
    words: list[str], status: int, reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "text").write_text("no library")
    (tmp_path / "lib.so").write_bytes(b"\x7fELF")
    assert main(["run", *(word.format(folder=tmp_path) for word in words)]) == status
    assert reason in capsys.readouterr().err


def test_a_library_that_is_not_loaded_ends_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    listed = {"schema": SCHEMA, "malloc": "/lib/libc.so.6", "workloads": []}
    suite = tmp_path / "millpond-malloc-suite"
    suite.write_text(f"#!/bin/sh\necho '{json.dumps(listed)}'\n")
    suite.chmod(0o755)
    monkeypatch.setenv("MILLPOND_BIN", str(tmp_path))
    with pytest.raises(Failure, match="should run on"):
        confirm_malloc(Malloc("new", tmp_path / "libnew.so"), suite.name)


def test_the_mean_is_over_all_programs_of_both(bench: Bench) -> None:
    table = MallocTable()
    table.program(program)(bench)
    table.program(lambda _: RealProgram("more", ("more",)))(bench)
    by_name = {bar.name: bar for bar in table.means(bench)}
    glibc = by_name["CPU × peak bytes against glibc: geometric mean"]
    lean = by_name["CPU × peak bytes against lean: geometric mean"]
    assert glibc.ours is not None and glibc.ours.median == pytest.approx(0.55)
    assert lean.ours is not None and lean.ours.median == pytest.approx(110 / 200)
    assert glibc.note == "2 programs"
    assert len(by_name) == 2


def test_a_program_that_ours_fails_is_not_measured(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Runner, "failing", OURS)
    with pytest.raises(Failure, match=f"work on {OURS}: signal 11"):
        MallocTable().program(program)(bench)


def test_without_programs_the_mean_says_so(bench: Bench) -> None:
    [bar] = MallocTable().means(bench)
    assert bar.holds is False
    assert "no program was measured" in bar.note


def test_a_workload_is_named_by_its_parameters(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench_mallocs.native, "find", lambda name: Path("/bin") / name)
    made = suite("grow", bytes=1000, blocks=2)(bench)
    assert made.name == "grow bytes 1000 blocks 2"
    assert made.command[1:] == (
        *["--contender", "malloc", "--workload", "grow"],
        *["--bytes", "1000", "--blocks", "2", "--seed", "1"],
    )


def test_the_growth_is_the_slope_in_per_cent_with_its_interval() -> None:
    found = bench_mallocs.growth_of({"slope_share": 0.01, "slope_low": -0.02, "slope_high": 0.04})
    assert (found.low, found.median, found.high) == (-2.0, 1.0, 4.0)
    assert found.level == 0.95


@pytest.mark.parametrize(("said", "seconds"), [("", 5), ("90", 90)])
def test_the_environment_says_how_long_a_stress_runs(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, said: str, seconds: int
) -> None:
    asked: list[list[str]] = []

    def capture(command: list[str], _environment: object) -> object:
        asked.append(command)
        metrics = {"slope_share": 0.0, "slope_low": 0.0, "slope_high": 0.06, "units": 1e6}
        return SimpleNamespace(status=0, printed=json.dumps({"metrics": metrics}), said="")

    monkeypatch.setenv("MILLPOND_STRESS_SECONDS", said)
    monkeypatch.setattr(bench_mallocs.native, "find", lambda name: Path("/bin") / name)
    monkeypatch.setattr(bench_mallocs.native, "capture", capture)
    [bar] = bench_mallocs.stress(lambda: Malloc("multipool", Path("/lib/one.so")), 600)(bench)
    assert str(seconds) in asked[0]
    assert bar.holds is True
    assert f"in {seconds} s" in bar.note


def test_a_malformed_length_is_refused(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MILLPOND_STRESS_SECONDS", "ten")
    monkeypatch.setattr(bench_mallocs.native, "find", lambda name: Path("/bin") / name)
    with pytest.raises(Failure, match="MILLPOND_STRESS_SECONDS is 'ten'"):
        bench_mallocs.stress(lambda: Malloc("multipool", Path("/lib/one.so")), 600)(bench)
