# SPDX-License-Identifier: BSL-1.0
"""Threads may end with destructors in any order: on our mallocs, under plans and while recorded."""

from __future__ import annotations

import random
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import harness
import pytest
from harness import BIN, PROGRAMS, Outcome, Program
from test_trials import compile_plan

from millpond_bench.suites.malloc import LIBRARIES
from tiers import USUAL_MALLOCS, mostly_more

FOLDER = BIN.parent / "lib" / "millpond"
RUNTIMES = Path(__file__).resolve().parent / "runtimes"
# Two that are the same in every run, and one that is not.
SEEDS = (1, 2, random.SystemRandom().randrange(3, 1 << 30))
KINDS = ("none", "busy", "frees", "keys", "last", "library")
MALLOCS = ("multipool", *LIBRARIES)
LINKED = {
    "openmp": ("-fopenmp",),
    "tbb": ("-ltbb",),
    "fibers": ("-lboost_fiber", "-lboost_context"),
    "futures": (),
}

Way = Callable[[Program, Path], Outcome]


def preloaded(library: str, **variables: str) -> Way:
    surroundings = {"LD_PRELOAD": str(FOLDER / f"libmillpond-{library}.so"), **variables}
    return lambda program, place: harness.run_bare(replace(program, environment=surroundings), place)


def recorded(program: Program, place: Path) -> Outcome:
    return harness.run_recorded(program, place, place.with_suffix(".mpt"))


def tried(variant: str) -> Way:
    return lambda program, place: harness.run_round(program, place, variant)


def planned(route: dict[str, object]) -> Way:
    """A plan with one pool for everything."""

    def run(program: Program, place: Path) -> Outcome:
        everything = {"subsystems": ["*"], "pool": "all", **route}
        compiled = compile_plan(program, [everything], place.with_name(place.name + "_plan"))
        return harness.run_round(program, place, "plan", compiled)

    return run


PLANS: dict[str, dict[str, object]] = {
    "planned shared": {"strategy": "synchronized(multipool)"},
    "planned one_thread": {"strategy": "multipool"},
    "planned arenas": {"strategy": "monotonic", "scope": {"thread": True}},
}
WAYS: dict[str, Way] = {
    **{library: preloaded(library) for library in MALLOCS},
    "checked": preloaded("multipool", MILLPOND_CHECK="1"),
    "recorded": recorded,
    **{variant: tried(variant) for variant in ("shared", "looked_up")},
    **{name: planned(route) for name, route in PLANS.items()},
}
# The mallocs and strategies with per-thread state.
OURS = ("multipool", "checked", "recorded", "shared", *PLANS)


def lives(*words: str) -> Program:
    return Program("lives", ("{programs}/lives", *words))


@pytest.mark.parametrize("seed", mostly_more(SEEDS, str(SEEDS[0])))
@pytest.mark.parametrize(
    "way", mostly_more(WAYS, *(way for way in WAYS if way not in LIBRARIES or way in USUAL_MALLOCS))
)
def test_threads_end_in_any_order(way: str, seed: int, tmp_path: Path) -> None:
    done = WAYS[way](lives(str(seed), "20"), tmp_path / "run")
    assert (done.status, done.stdout) == (0, b"seed %d ok\n" % seed), (seed, done)


@pytest.mark.parametrize("seed", mostly_more(SEEDS[1:], str(SEEDS[1])))
@pytest.mark.parametrize("way", OURS)
def test_main_leaves_before_other_threads(way: str, seed: int, tmp_path: Path) -> None:
    done = WAYS[way](lives("leave", str(seed)), tmp_path / "run")
    assert (done.status, done.stdout) == (0, b"seed %d ok\n" % seed), (seed, done)


@pytest.mark.parametrize("kind", mostly_more(KINDS, "busy"))
@pytest.mark.parametrize(
    "way", [way for way in OURS if way not in ("checked", "planned arenas")]
)  # they keep freed memory
def test_memory_does_not_grow_with_ended_threads(way: str, kind: str, tmp_path: Path) -> None:
    if kind == "library" and way != "multipool":
        pytest.skip("what is known of the code of a closed library stays known")
    done = WAYS[way](lives("grow", kind, "2000"), tmp_path / "run")
    assert (done.status, done.stdout) == (0, b"ok\n"), done


@pytest.fixture(scope="module")
def runtimes(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Program]:
    folder = tmp_path_factory.mktemp("runtimes")

    def build(name: str) -> Program:
        program = folder / name
        if not program.exists():
            argv = ["g++", "-std=c++20", "-O1", "-g", "-pthread", str(RUNTIMES / f"{name}.cpp"), "-o", str(program)]
            done = subprocess.run([*argv, *LINKED[name]], capture_output=True, text=True, check=False)
            if done.returncode != 0:
                pytest.skip(f"{name} cannot be built here: {(done.stderr.splitlines() or ['no word'])[0]}")
        return Program(name, (str(program),))

    return build


@pytest.mark.parametrize("way", OURS)
@pytest.mark.parametrize("name", mostly_more(LINKED, "openmp"))
def test_runtimes_with_threads_run_as_bare(
    name: str, way: str, runtimes: Callable[[str], Program], bare: Callable[[Program], Outcome], tmp_path: Path
) -> None:
    program = runtimes(name)
    expected = bare(program)
    assert expected.status == 0, expected
    for number in range(2):
        done = WAYS[way](program, tmp_path / str(number))
        # The recorder names libraries with their own malloc, such as TBB's.
        if (name, way) == ("tbb", "recorded"):
            lines = done.stderr.splitlines(keepends=True)
            done = replace(done, stderr=b"".join(line for line in lines if b"libtbbmalloc" not in line))
        assert done == expected, (way, number)


def test_the_test_programs_are_built() -> None:
    assert all((PROGRAMS / name).exists() for name in ("lives", "lives_plugin.so"))
