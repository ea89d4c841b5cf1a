# SPDX-License-Identifier: BSL-1.0
"""Reads callgrind's instructions by file, and checks the rows about the allocators of 1993."""

from __future__ import annotations

import os
import subprocess
from functools import partial
from pathlib import Path

import pytest

from millpond.advice.synthesis import ArenaUse
from millpond.cells.cell import Malloc
from millpond.rounds.mallocs import GLIBC
from millpond.rounds.real_program import RealProgram
from millpond.system import callgrind
from millpond.system.errors import Failure
from millpond_bench.laboratory import bench_costs
from millpond_bench.laboratory.bench_costs import (
    BOUNDED,
    CHOSEN,
    CHOSEN_ARENA,
    STUDIED,
    AllocatorCost,
    ChosenAllocators,
    costs,
    i386_costs,
)
from millpond_bench.laboratory.bench_rows import Bench
from millpond_bench.programs import grunwald1993_programs, i386_programs
from millpond_bench.programs.allocator_statistics import AllocatorStatistics, statistics_in
from millpond_bench.programs.grunwald1993_programs import StudyProgram

# A call names its object first (cob=). The line after calls= is its cost, which belongs to the callee.
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


# In the paper's order for GAWK, except gnu_gxx, which is the slowest here.
FOUND = {
    "first_fit": cost(1300, 50), "quick_fit": cost(1000, 60), "gnu_gxx": cost(1400, 50), "bsd": cost(1010, 90),
    "gnu_local": cost(1200, 70), BOUNDED: cost(1005, 55), CHOSEN: cost(990, 45), CHOSEN_ARENA: cost(1089, 54),
    GLIBC: AllocatorCost(1100, None, None, None, None),
}  # fmt: skip


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    monkeypatch.setattr(bench_costs, "library_of", lambda name: Malloc(name, tmp_path / name))
    made = ChosenAllocators(
        (Malloc(CHOSEN, tmp_path / CHOSEN), Malloc(CHOSEN_ARENA, tmp_path / CHOSEN_ARENA)),
        ArenaUse(50, 4000, 0.25, 40, 0, 8192, 4096, 0),
    )
    monkeypatch.setattr(bench_costs, "_chosen_for", lambda *_: made)
    monkeypatch.setattr(bench_costs, "_cost", lambda _program, malloc, _bench: FOUND[malloc.name])
    return Bench(tmp_path, tmp_path, 1, True, 1)


def test_rows_of_a_program(bench: Bench) -> None:
    def program(_: Path) -> RealProgram:
        return RealProgram("gawk", ("gawk",))

    rows = {row.name: row for row in costs(StudyProgram("GAWK", "gawk", program, program))(bench)}
    share = rows["gawk on bsd: share in allocation"]
    assert share.ours is not None and share.ours.median == pytest.approx(10.0)
    assert "100 objects allocated, 90 freed" in share.note
    assert rows[f"gawk on {GLIBC}: share in allocation"].ours is None
    instructions = rows["gawk: classes chosen on another input, by the least of the five: instructions"]
    heap = rows["gawk: classes chosen on another input, by the least of the five: heap"]
    assert instructions.ours is not None and instructions.ours.median == pytest.approx(0.99)
    assert heap.ours is not None and heap.ours.median == pytest.approx(0.9)
    wrong = rows["gawk: bytes predicted to be short-lived that were not"]
    assert wrong.ours is not None and wrong.ours.median == pytest.approx(1.0)
    assert "25.0 % of all bytes" in wrong.note and "pinned: 4 KiB" in wrong.note
    paid = rows["gawk: an arena for short-lived sites, by none: instructions"]
    assert paid.ours is not None and paid.ours.median == pytest.approx(1.1)
    order = rows["gawk: pairs in the document's order"]
    assert order.holds is False
    assert "not here: " in order.note and "gnu_gxx before first_fit" in order.note


def test_the_document_has_every_pair_of_every_program() -> None:
    for program in {one.stands_for for one in grunwald1993_programs.PROGRAMS.values()} - {""}:
        times = bench_costs._base_times(program)
        assert times.keys() == set(STUDIED)
        assert min(times.values()) > 0
    # Without their misses, tables 4 and 5 both give the time without any miss.
    assert bench_costs._base_times("MAKE")["bsd"] == pytest.approx(3.37, abs=0.02)


@pytest.mark.parametrize("name", grunwald1993_programs.PROGRAMS)
def test_inputs_are_the_same_every_time_and_differ_from_the_trained(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grunwald1993_programs, "_require", lambda program: f"/bin/{program}")
    program = grunwald1993_programs.PROGRAMS[name]
    again, once = tmp_path / "again", tmp_path / "once"
    measured = program.measured(once)
    trained = program.trained(once)
    assert (measured.command, measured.stdin, measured.folder) != (trained.command, trained.stdin, trained.folder)
    program.measured(again)
    texts = {path.relative_to(once): path.read_bytes() for path in once.rglob("*") if path.is_file()}
    assert len(texts) == 2, texts.keys()
    for path in again.rglob("*"):
        if path.is_file():
            assert texts[path.relative_to(again)] == path.read_bytes()


@pytest.fixture
def i386(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder laid out like the unpacked programs and built allocators; none of its files runs."""
    folder = tmp_path / "i386"
    for path in (
        "programs/lib/i386-linux-gnu/ld-linux.so.2", "programs/usr/bin/gawk", "programs/usr/bin/gs",
        "programs/usr/share/ghostscript/10.00.0/lib/x", *(f"lib/millpond/libmillpond-{name}.so" for name in FOUND),
    ):  # fmt: skip
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).touch()
    packages = "gawk 1:5.2.1-2 i386\nlibc6 2.36-9 i386\nghostscript 10.0.0 i386\n"
    (folder / "programs/packages.txt").write_text(packages, encoding="utf-8")
    monkeypatch.setenv("MILLPOND_I386", str(folder))
    monkeypatch.setattr(i386_programs, "_succeeds", lambda _command: True)
    monkeypatch.setattr(i386_programs.callgrind, "find_valgrind", lambda: "/usr/bin/valgrind")
    return folder


def _program(_: Path) -> RealProgram:
    return RealProgram("gawk", ("/usr/bin/gawk", "END { }"), environment={"LC_ALL": "C"})


STUDY = {"gawk": StudyProgram("GAWK", "gawk", _program, _program)}


def test_i386_rows_are_marked_and_glibc_is_the_control(bench: Bench, i386: Path) -> None:
    rows = {row.name: row for row in i386_costs(STUDY, ["gawk"])(bench)}
    shares = {name: row for name, row in rows.items() if name.endswith(": share in allocation")}
    assert shares.keys() == {f"gawk i386 on {name}: share in allocation" for name in (*STUDIED, BOUNDED, GLIBC)}
    share = shares["gawk i386 on bsd: share in allocation"]
    assert share.ours is not None and share.ours.median == pytest.approx(10.0)
    assert "Debian's i386 gawk 1:5.2.1-2" in share.note
    assert shares[f"gawk i386 on {GLIBC}: share in allocation"].ours is None
    assert rows["gawk i386: pairs in the document's order"].holds is False


def test_i386_programs_run_by_their_own_loader(i386: Path) -> None:
    ours = i386_programs.for_i386(_program(i386))
    programs = i386 / "programs"
    assert ours.command[0] == str(programs / "lib/i386-linux-gnu/ld-linux.so.2")
    assert ours.command[-2:] == (str(programs / "usr/bin/gawk"), "END { }")
    assert ours.environment["LC_ALL"] == "C"
    assert str(programs / "usr/share/ghostscript/10.00.0/lib") in ours.environment["GS_LIB"].split(":")
    assert i386_programs.package_of(RealProgram("gs text i386", ("gs",))) == "ghostscript 10.0.0"


@pytest.mark.parametrize(
    ("missing", "said"),
    [
        ("programs/lib/i386-linux-gnu/ld-linux.so.2", "`scripts/setup bench-study-i386` fetches and unpacks them"),
        ("lib/millpond/libmillpond-bsd.so", "`scripts/build i386` builds it"),
    ],
)
def test_without_i386_programs_one_row_says_why(bench: Bench, i386: Path, missing: str, said: str) -> None:
    (i386 / missing).unlink()
    [row] = i386_costs(STUDY, ["gawk"])(bench)
    assert row.note.startswith("not measured: ") and said in row.note
    assert row.holds is None, "an optional row changes no exit status"


@pytest.mark.parametrize(("refused", "said"), [("--tool=none", "valgrind cannot run"), ("", "its kernel rejects them")])
def test_a_machine_that_runs_no_i386_programs_says_so(
    bench: Bench, i386: Path, monkeypatch: pytest.MonkeyPatch, refused: str, said: str
) -> None:
    monkeypatch.setattr(i386_programs, "_succeeds", lambda command: bool(refused) and refused not in command)
    [row] = i386_costs(STUDY, ["gawk"])(bench)
    assert said in row.note and row.holds is None


def test_a_program_that_was_not_unpacked_leaves_the_others(bench: Bench, i386: Path) -> None:
    def make(_: Path) -> RealProgram:
        return RealProgram("make", ("/usr/bin/make",))

    rows = i386_costs({**STUDY, "make": StudyProgram("MAKE", "make", make, make)}, ["make", "gawk"])(bench)
    assert "make i386" in rows[0].name and "is missing" in rows[0].note
    assert any(row.name.startswith("gawk i386 on") for row in rows)


# Small inputs suffice: the test only compares the output.
SMALL = {
    "gawk": partial(grunwald1993_programs.gawk, 3, 200),
    "gs": partial(grunwald1993_programs.ghostscript, "tiny", 3, 1, 5, 5),
    "make": partial(grunwald1993_programs.make, 3, 20),
}


@pytest.mark.parametrize("name", SMALL)
def test_i386_programs_say_the_same_on_each_allocator(name: str, tmp_path: Path) -> None:
    try:
        i386_programs.require()
        libraries = [i386_programs.library_of(each) for each in (*STUDIED, BOUNDED)]
        program = i386_programs.for_i386(SMALL[name](tmp_path))
    except Failure as failure:
        pytest.skip(failure.message)

    def run(preload: str) -> tuple[int, bytes, bytes]:
        with (program.stdin or Path(os.devnull)).open("rb") as stdin:
            environment = {**program.environment, "LD_PRELOAD": preload, "MILLPOND_STATS": "1"}
            done = subprocess.run(program.command, stdin=stdin, capture_output=True, check=False, env=environment)
        return done.returncode, done.stdout, done.stderr

    status, out, _ = bare = run("")
    assert status == 0 and (out or name == "gs"), bare
    for library in libraries:
        status, said, statistics = run(str(library.path))
        assert (status, said) == (0, out), library.name
        assert statistics.startswith(f"millpond {library.name}: ".encode()), statistics


def test_statistics_are_those_of_the_process_that_ends_last() -> None:
    said = (
        "millpond bsd: 1 blocks in 16 bytes, 0 free in 0 bytes, 100 bytes used, 4096 bytes held\n"
        "millpond bsd: 7 allocations of 9 bytes in 9, 6 frees, 0 blocks searched, 0 splits, 0 coalesces, 1 growths\n"
    )
    own = said.replace("100 bytes used", "900 bytes used").replace("7 allocations", "50 allocations")
    behind = own.splitlines()[1].replace("bsd", "bsd, behind its lists") + "\n"
    found = statistics_in(said + own + behind)
    assert (found.heap_bytes, found.allocated, found.freed) == (900, 100, 12)
    assert statistics_in("nothing") == AllocatorStatistics()
