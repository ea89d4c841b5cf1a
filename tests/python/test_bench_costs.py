# SPDX-License-Identifier: BSL-1.0
"""Instructions by file as callgrind writes them, and what is said of the allocators of 1993."""

from __future__ import annotations

from pathlib import Path

import pytest

from millpond.bench.laboratory import bench_costs
from millpond.bench.laboratory.bench_costs import BOUNDED, CHOSEN, STUDIED, AllocatorCost, costs
from millpond.bench.laboratory.bench_rows import Bench
from millpond.cells.cell import Malloc
from millpond.rounds import study_programs
from millpond.rounds.mallocs import GLIBC
from millpond.rounds.real_programs import RealProgram
from millpond.rounds.study_programs import StudyProgram
from millpond.system import callgrind

# A call names its object first (cob=), and its cost, which belongs to the callee, stands behind the calls= line.
PROFILE = """version: 1
events: Ir

ob=(1) /bin/program
fl=(1) main.c
fn=(1) main
0 10
cob=(2) /lib/libmalloc.so
cfn=(2) malloc
calls=3 0
0 300
+1 5

ob=(2)
fn=(2)
0 290
cob=(3) /lib/libc.so
cfn=(3) memset
calls=1 0
* 10

ob=(3)
fn=(3)
-2 10

totals: 315
"""


def test_instructions_count_where_they_are_executed(tmp_path: Path) -> None:
    profile = tmp_path / "profile"
    profile.write_text(PROFILE, encoding="utf-8")
    found = callgrind.instructions_by_file(profile)
    assert found == {"/bin/program": 15, "/lib/libmalloc.so": 290, "/lib/libc.so": 10}


def cost(instructions: int, heap: int) -> AllocatorCost:
    return AllocatorCost(instructions, instructions // 10, heap, 100, 90)


# In the document's order for GAWK, but for gnu_gxx, which is the slowest here.
FOUND = {
    "first_fit": cost(1300, 50), "quick_fit": cost(1000, 60), "gnu_gxx": cost(1400, 50), "bsd": cost(1010, 90),
    "gnu_local": cost(1200, 70), BOUNDED: cost(1005, 55), CHOSEN: cost(990, 45),
    GLIBC: AllocatorCost(1100, None, None, None, None),
}  # fmt: skip


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    monkeypatch.setattr(bench_costs, "library_of", lambda name: Malloc(name, tmp_path / name))
    monkeypatch.setattr(bench_costs, "_chosen_for", lambda *_: Malloc(CHOSEN, tmp_path / CHOSEN))
    monkeypatch.setattr(bench_costs, "_cost", lambda _program, malloc, _bench: FOUND[malloc.name])
    return Bench(tmp_path, tmp_path, 1, True, 1)


def test_rows_of_a_program(bench: Bench) -> None:
    def program(_: Path) -> RealProgram:
        return RealProgram("gawk", ("gawk",))

    rows = {row.name: row for row in costs(StudyProgram("GAWK", program, program))(bench)}
    share = rows["gawk on bsd: share in allocation"]
    assert share.ours is not None and share.ours.median == pytest.approx(10.0)
    assert "100 objects allocated, 90 freed" in share.note
    assert rows[f"gawk on {GLIBC}: share in allocation"].ours is None
    instructions = rows["gawk: classes chosen on another input, by the least of the five: instructions"]
    heap = rows["gawk: classes chosen on another input, by the least of the five: heap"]
    assert instructions.ours is not None and instructions.ours.median == pytest.approx(0.99)
    assert heap.ours is not None and heap.ours.median == pytest.approx(0.9)
    order = rows["gawk: pairs in the document's order"]
    assert order.holds is False
    assert "not here: " in order.note and "gnu_gxx before first_fit" in order.note


def test_the_document_has_every_pair_of_every_program() -> None:
    for program in {one.stands_for for one in study_programs.PROGRAMS.values()}:
        times = bench_costs._base_times(program)
        assert times.keys() == set(STUDIED.values())
        assert min(times.values()) > 0
    # Table 4 less its misses is table 5 less its misses: both are the time without any.
    assert bench_costs._base_times("MAKE")["BSD"] == pytest.approx(3.37, abs=0.02)


@pytest.mark.parametrize("name", study_programs.PROGRAMS)
def test_inputs_are_the_same_every_time_and_differ_from_the_trained(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(study_programs, "_require", lambda program: f"/bin/{program}")
    program = study_programs.PROGRAMS[name]
    again, once = tmp_path / "again", tmp_path / "once"
    measured = program.measured(once)
    trained = program.trained(once)
    assert (measured.command, measured.stdin) != (trained.command, trained.stdin)
    program.measured(again)
    texts = {path.name: path.read_bytes() for path in once.iterdir()}
    assert len(texts) == 2, texts.keys()
    for path in again.iterdir():
        assert texts[path.name] == path.read_bytes()
