# SPDX-License-Identifier: BSL-1.0
"""Layouts of a captured program: on its own allocator misses stay the same; on another, they are predicted."""

from __future__ import annotations

import ctypes
import itertools
import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tiers import mostly_more

ROOT = Path(__file__).resolve().parents[3]
BIN = Path(os.environ.get("MILLPOND_BIN") or ROOT / "build" / "release" / "bin").absolute()
LIBRARIES = BIN.parent / "lib" / "millpond"
SUBJECT = BIN / "layout_program"
SIMULATORS = ("lru:line=64,sets=64,ways=8", "lru:line=64,sets=1024,ways=8", "distances:line=4K")
OUR_MALLOCS = ("multipool", "first_fit", "size_map", "bsd")
APART = 1 << 44  # lab/layout/address_moves.hpp
FIRST_ARENA = 65100  # lab/references/player/call_script.h
# The environment moves the stack, and a preloaded library changes the work of the dynamic linker.
SHARE = 0.02
# The dynamic linker reads the whole environment.
SAME = 0.005


def run(*words: str | Path, **variables: str) -> subprocess.CompletedProcess[str]:
    surroundings = {"PATH": os.environ["PATH"], "LC_ALL": "C", **variables}
    return subprocess.run(
        ["setarch", "-R", *map(str, words)], env=surroundings, capture_output=True, text=True, check=False, timeout=240
    )


def captured(trace: Path, program: str | Path, *options: str | Path, arguments: tuple[str, ...] = ()) -> Path:
    done = run(BIN / "millpond-references", *options, "-o", trace, "--", program, *arguments)
    if done.returncode == 4 and "install the package valgrind" in done.stderr:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stderr
    return trace


def simulated(trace: Path, *options: str | Path) -> dict[str, Any]:
    named = [word for simulator in SIMULATORS for word in ("--simulate", simulator)]
    done = run(BIN / "millpond-simulate", "--json", "-", *named, *options, trace)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def misses(document: dict[str, Any]) -> dict[str, int]:
    """Returns misses by cache, and for page memories the number of touched pages.

    Leaves out direct-mapped caches: their misses depend on the stack's start, which a preloaded library's name moves.
    """
    return {
        f"{one['description']} {row.get('ways')}": row["value"]
        for one in document["simulators"]
        for row in one["metrics"]
        if row["metric"] in ("misses", "cold") and row.get("ways") in (None, 2, 4, 8)
    }


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("layouts")


@pytest.fixture(scope="module")
def recorded(folder: Path) -> Path:
    if not SUBJECT.is_file():
        pytest.skip("layout_program is not built")
    return captured(folder / "recorded.mpt", SUBJECT)


@pytest.fixture(scope="module")
def script(folder: Path, recorded: Path) -> Path:
    place = folder / "calls.script"
    done = run(BIN / "millpond-layout", "--calls", recorded, "-o", place)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["executable"] == str(SUBJECT.resolve())
    assert said["executable_is_same"]
    assert said["unknown_frees"] == 0
    assert said["threads"] >= 2
    return place


def test_playing_on_the_same_allocator_keeps_the_misses(folder: Path, recorded: Path, script: Path) -> None:
    played = captured(folder / "same.played", SUBJECT, "--play", script)
    before, after = simulated(recorded), simulated(recorded, "--played", played)
    moved = after["input"]["layout"]
    # The end of each thread is not played, nor are its frees.
    assert after["input"]["references"] == pytest.approx(before["input"]["references"], rel=0.002)
    assert after["input"]["instructions"] == pytest.approx(before["input"]["instructions"], rel=0.002)
    assert moved["calls"] > 20_000
    assert moved["unplaced_references"] < 0.01 * before["input"]["references"]
    found = misses(after)
    for name, value in misses(before).items():
        assert found[name] == pytest.approx(value, rel=SHARE, abs=50), name


@pytest.mark.parametrize("name", mostly_more(OUR_MALLOCS, OUR_MALLOCS[0]))
def test_playing_on_another_allocator_predicts_its_misses(
    name: str, folder: Path, recorded: Path, script: Path
) -> None:
    library = LIBRARIES / f"libmillpond-{name}.so"
    if not library.is_file():
        pytest.skip(f"{library.name} is not built")
    played = captured(folder / f"{name}.played", SUBJECT, "--preload", library, "--play", script)
    truth = simulated(captured(folder / f"{name}.mpt", SUBJECT, "--preload", library))
    predicted = simulated(recorded, "--played", played)
    assert predicted["input"]["references"] == pytest.approx(truth["input"]["references"], rel=0.005)
    found = misses(predicted)
    for cache, value in misses(truth).items():
        assert found[cache] == pytest.approx(value, rel=SHARE, abs=50), cache


@pytest.mark.more
def test_data_of_the_recorded_allocators_library_are_left_out(folder: Path) -> None:
    """The library touches them while it is loaded and when threads end, outside of any call."""
    library = LIBRARIES / "libmillpond-multipool.so"
    if not library.is_file():
        pytest.skip(f"{library.name} is not built")
    few = ("threads", "300")
    trace, place = folder / "preloaded.mpt", folder / "preloaded.script"
    captured(trace, SUBJECT, "--preload", library, arguments=few)
    assert run(BIN / "millpond-layout", "--calls", trace, "-o", place).returncode == 0
    played = captured(folder / "preloaded.played", SUBJECT, "--play", place)
    moved = folder / "preloaded.din"
    found = simulated(trace, "--played", played, "--write-din", moved)
    modules = re.findall(
        r'^module \d+ bias=0x(\w+) .* path="(.*?)"', run(BIN / "millpond-trace", "dump", trace).stdout, re.M
    )
    begin = next(int(bias, 16) for bias, path in modules if Path(path).name == library.name)
    end = min(int(bias, 16) for bias, _ in modules if int(bias, 16) > begin)
    with moved.open(encoding="ascii") as lines:
        apart = {int(line.split()[1], 16) - APART for line in lines}
    assert not {address for address in apart if begin <= address < end}
    assert found["input"]["layout"]["left_out_references"] > 0


@pytest.mark.more
def test_the_players_environment_moves_no_stack(folder: Path) -> None:
    """When the player's stack was at the start, a few hundred bytes more moved frames across a page boundary."""
    short, place = captured(folder / "short.mpt", "/bin/true"), folder / "short.script"
    assert run(BIN / "millpond-layout", "--calls", short, "-o", place).returncode == 0
    curves = []
    for more in (0, 600, 1800, 3000):
        played = folder / f"more_{more}.played"
        done = run(BIN / "millpond-references", "-o", played, "--play", place, "--", "/bin/true", PADDING="x" * more)
        assert done.returncode == 0, done.stderr
        [pages] = [one for one in simulated(short, "--played", played)["simulators"] if one.get("curve")]
        curves.append([sum(count for distance, count in pages["curve"] if distance >= n) for n in (2, 4, 8)])
    for curve in curves[1:]:
        assert curve == pytest.approx(curves[0], rel=SAME)


@pytest.mark.more
def test_subsystems_get_pools_of_their_own(folder: Path, recorded: Path) -> None:
    place = folder / "pools.script"
    done = run(BIN / "millpond-layout", "--calls", recorded, "--per-subsystem", "-o", place)
    assert done.returncode == 0, done.stderr
    pools = json.loads(done.stdout)["pools"]
    assert len(pools) >= 2
    library = LIBRARIES / "libmillpond-layout_pools.so"
    played = captured(folder / "pools.played", SUBJECT, "--preload", library, "--play", place)
    found, before = simulated(recorded, "--played", played), simulated(recorded)
    calls = found["input"]["layout"]["calls"]
    assert calls > 20_000
    # A pool's call is shorter than malloc's, and every call was made.
    assert found["input"]["references"] < before["input"]["references"]
    assert sum(pool["objects"] for pool in pools) > calls / 4


@pytest.fixture(scope="module")
def plans(folder: Path, recorded: Path) -> Path:
    place = folder / "plans"
    done = run(BIN / "millpond-characterise", "--json", folder / "c.json", "--plan-out", place, recorded)
    assert done.returncode == 0, done.stderr
    return place


def test_the_phase_of_a_plan_is_played_on_an_arena(folder: Path, recorded: Path, plans: Path) -> None:
    """Later allocations come from malloc, and every call is made."""
    library = LIBRARIES / "libmillpond-layout_pools.so"
    found, objects = [], []
    for plan in (plans / "all.plan.json", min(plans.glob("arena-*.plan.json"))):
        place = folder / "plan.script"
        done = run(BIN / "millpond-layout", "--calls", recorded, "--plan", plan, "-o", place)
        assert done.returncode == 0, done.stderr
        objects.append(sum(pool["objects"] for pool in json.loads(done.stdout)["pools"]))
        played = captured(folder / "plan.played", SUBJECT, "--preload", library, "--play", place)
        found.append(simulated(recorded, "--played", played)["input"]["layout"])
    pooled, arena = found
    assert pooled["calls"] == arena["calls"]
    assert pooled["allocator_instructions"] != arena["allocator_instructions"]
    assert objects[0] >= objects[1] > 1000


def test_an_arena_starts_again_when_nothing_in_it_is_alive() -> None:
    library = ctypes.CDLL(str(LIBRARIES / "libmillpond-layout_pools.so"))
    allocate, deallocate = library.millpond_pool_allocate, library.millpond_pool_deallocate
    allocate.restype = ctypes.c_size_t
    deallocate.argtypes = (ctypes.c_size_t, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_uint)
    sizes = (64, 24, 8, 200)
    for _ in range(3):
        blocks = [allocate(size, 8, FIRST_ARENA, 0) for size in sizes]
        assert blocks == list(itertools.accumulate(sizes[:-1], initial=blocks[0]))
        for size, block in zip(sizes, blocks, strict=True):
            again = allocate(8, 8, FIRST_ARENA, 0)
            assert again > blocks[-1]  # no address is reused while an object is alive
            deallocate(again, 8, 8, FIRST_ARENA)
            deallocate(block, size, 8, FIRST_ARENA)
        assert allocate(8, 8, FIRST_ARENA, 0) == blocks[0]
        deallocate(blocks[0], 8, 8, FIRST_ARENA)


@pytest.mark.more
def test_threads_that_start_while_others_have_ended_are_played(folder: Path) -> None:
    """The C library keeps the stacks of joined threads, so a new thread may need no memory."""
    program = BIN / "orders"
    if not program.is_file():
        pytest.skip("the example orders is not built")
    trace = captured(folder / "orders.mpt", program, arguments=("--orders", "2000"))
    place = folder / "orders.script"
    done = run(BIN / "millpond-layout", "--calls", trace, "-o", place)
    assert done.returncode == 0 and json.loads(done.stdout)["threads"] > 4, done.stderr
    played = captured(folder / "orders.played", program, "--play", place)
    before, found = simulated(trace), simulated(trace, "--played", played)
    for cache, value in misses(before).items():
        assert misses(found)[cache] == pytest.approx(value, rel=SHARE, abs=50), cache


def test_a_plan_of_another_program_is_refused(folder: Path, recorded: Path) -> None:
    plan = folder / "other.json"
    program = {"path": "/bin/true", "build_id": "00"}
    plan.write_text(json.dumps({"schema": "millpond.plan/1", "program": program, "routes": []}), encoding="utf-8")
    done = run(BIN / "millpond-layout", "--calls", recorded, "--plan", plan, "-o", folder / "none.script")
    assert done.returncode != 0
    assert "millpond:" in done.stderr


@pytest.mark.more
def test_calls_can_be_played_in_another_program(folder: Path, recorded: Path, script: Path) -> None:
    played = captured(folder / "elsewhere.played", BIN / "millpond-player", "--play", script)
    found = simulated(recorded, "--played", played)
    truth = simulated(recorded)
    assert found["input"]["layout"]["calls"] > 20_000
    assert misses(found)[f"{SIMULATORS[1]} 8"] == pytest.approx(misses(truth)[f"{SIMULATORS[1]} 8"], rel=0.1)


@pytest.mark.parametrize(
    ("number", "how"), mostly_more([(5, "together"), (12, "together"), (9, "in_turn"), (8, "detached")], "12 together")
)
def test_pools_are_played_with_any_number_of_threads(folder: Path, number: int, how: str) -> None:
    """The C library itself frees the blocks that it took to start a thread; they are in no pool."""
    program, name = BIN.parent / "test_programs" / "crowd", f"crowd_{number}_{how}"
    trace, place = captured(folder / f"{name}.mpt", program, arguments=(str(number), how)), folder / f"{name}.script"
    done = run(BIN / "millpond-layout", "--calls", trace, "--per-subsystem", "-o", place)
    assert done.returncode == 0, done.stderr
    library = LIBRARIES / "libmillpond-layout_pools.so"
    played = captured(folder / f"{name}.played", program, "--preload", library, "--play", place)
    assert simulated(trace, "--played", played)["input"]["layout"]["calls"] > 300 * number


def test_calls_played_from_another_recording_are_refused(folder: Path, recorded: Path, script: Path) -> None:
    other = captured(folder / "true.mpt", "/bin/true")
    done = run(BIN / "millpond-layout", "--calls", other, "-o", folder / "true.script")
    assert done.returncode == 0, done.stderr
    played = captured(folder / "true.played", "/bin/true", "--play", folder / "true.script")
    done = run(BIN / "millpond-simulate", "--played", played, recorded)
    assert done.returncode == 3
    assert "was not played from" in done.stderr
    assert "play its calls again" in done.stderr


def test_a_damaged_script_is_refused(folder: Path, script: Path) -> None:
    broken = folder / "broken.script"
    content = script.read_bytes()
    for cut in (0, 10, len(content) // 2, len(content) - 1):
        broken.write_bytes(content[:cut])
        done = run(BIN / "millpond-references", "-o", folder / "broken.played", "--play", broken, "--", SUBJECT)
        assert done.returncode == 3, (cut, done.stderr)
        assert done.stderr.startswith(f"millpond: {broken}")


def test_a_recording_without_references_has_no_calls(folder: Path) -> None:
    plain = folder / "plain.mpt"
    assert run(BIN / "millpond-record", "-o", plain, "--", "/bin/true").returncode == 0
    done = run(BIN / "millpond-layout", "--calls", plain, "-o", folder / "none.script")
    assert done.returncode == 3
    assert "has no references" in done.stderr
    assert not (folder / "none.script").exists()
