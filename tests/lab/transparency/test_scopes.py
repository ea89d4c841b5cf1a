# SPDX-License-Identifier: BSL-1.0
"""Observed scopes of programs with known results, and of programs that breakpoints could disturb.

PROGRAM ──record──▶ FIRST ──characterise --scopes-out──▶ LIST ──record --scopes──▶ SECOND
                                                       FIRST, SECOND ──characterise --observed──▶ legality
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from harness import BIN, PROGRAMS, Program, run_bare, run_recorded, traces_of
from real_programs import REAL_PROGRAMS
from trace_reading import NOTE, read

from tiers import mostly_more

CHARACTERISE = BIN / "millpond-characterise"
LEGAL, OUTERMOST, ILLEGAL, NOT_DISPROVED = "legal", "legal for the outermost call", "illegal", "not disproved"
ALIVE_AT_END = "alive at the end"


@dataclass(frozen=True)
class Truth:
    """The known results of a function of the program `scopes`: activations, calls, bytes of its largest activation."""

    case: str
    function: str
    legality: str
    activations: int
    calls: int
    bytes_max: int


TRUTHS = [
    Truth("step", "step", ILLEGAL, 1000, 1000, 40),
    Truth("constructor", "widget::widget", ILLEGAL, 2000, 2000, 64),
    Truth("builder", "build", ILLEGAL, 1, 511, 511 * 16),
    Truth("session", "session::add", ILLEGAL, 1000, 1000, 24),
    Truth("request", "handle_request", LEGAL, 20000, 20000, 16 * 1024 + 106),
    Truth("parse", "parse", LEGAL, 10, 10, 127 * 16),
    Truth("parse", "build", ILLEGAL, 10, 1270, 127 * 16),
    Truth("solve", "solve", OUTERMOST, 10, 60, 6 * 16),
    Truth("exception", "fill_and_throw", ILLEGAL, 100, 100, 80),
    Truth("exception", "clean_and_throw", LEGAL, 100, 100, 96),
    Truth("longjmp", "fill_and_jump", ILLEGAL, 100, 100, 72),
    Truth("longjmp", "clean_and_jump", LEGAL, 100, 100, 56),
    Truth("vanish", "fill_and_vanish", ILLEGAL, 100, 100, 104),
    Truth("threads", "work", LEGAL, 2000, 2000, 120),
    Truth("threads", "produce", ILLEGAL, 1, 1, 32000),
    Truth("cache", "look_up", ILLEGAL, 1000, 1000, 48),
    Truth("dispatch", "open_it", ILLEGAL, 1000, 1000, 88),
]
CASES = sorted({truth.case for truth in TRUTHS})
HOSTILE = ["block", "own", "die", "handler", "stack", "fork", "many_threads", "exit", "exec"]


def program(name: str, *words: str) -> Program:
    return Program(f"{name} {' '.join(words)}", (f"{{programs}}/{name}", *words))


def characterise(trace: Path, *options: str) -> dict[str, Any]:
    done = subprocess.run([str(CHARACTERISE), *options, str(trace)], capture_output=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def scopes(characterisation: dict[str, Any], function: str) -> Iterator[dict[str, Any]]:
    """Returns the legality of a function's scope for its own objects, then for others."""
    for s in sorted(characterisation["subsystems"], key=lambda s: s["name"] not in (function, function.split("::")[0])):
        yield from (scope for scope in s["legality"] if scope["scope"] == "function" and scope["name"] == function)


@dataclass(frozen=True)
class Observation:
    """Both recordings of one case, and the characterisations with and without the second."""

    first: Path
    second: Path
    before: dict[str, Any]
    after: dict[str, Any]


@pytest.fixture(scope="module")
def observed(tmp_path_factory: pytest.TempPathFactory) -> Any:
    known: dict[str, Observation] = {}

    def observe(case: str) -> Observation:
        if case not in known:
            place = tmp_path_factory.mktemp(case)
            chosen = place / "scopes.txt"
            first, second = place / "first.mpt", place / "second.mpt"
            one = program("scopes", case)
            assert run_recorded(one, place / "a", first).status == 0
            before = characterise(first, "--scopes-out", str(chosen))
            assert run_recorded(one, place / "b", second, ["--scopes", str(chosen)]).status == 0
            known[case] = Observation(first, second, before, characterise(first, "--observed", str(second)))
        return known[case]

    return observe


@pytest.mark.parametrize("truth", TRUTHS, ids=lambda truth: f"{truth.case} {truth.function}")
def test_observed_scopes_are_judged_correctly(truth: Truth, observed: Any) -> None:
    scope = next(scopes(observed(truth.case).after, truth.function))
    assert (scope["legality"], scope["activations"], scope["calls"], scope["instance_bytes"]["max"]) == (
        truth.legality, truth.activations, truth.calls, truth.bytes_max,
    ), scope  # fmt: skip
    assert scope["observed"] and scope["method"]
    assert scope["legal"] == (truth.legality == LEGAL)
    assert bool(scope["witnesses"]) == (truth.legality != LEGAL)


@pytest.mark.parametrize("case", CASES)
def test_no_scope_is_legal_before_it_is_observed(case: str, observed: Any) -> None:
    for s in observed(case).before["subsystems"]:
        for scope in s["legality"]:
            if scope["scope"] == "function":
                assert not scope["legal"] and scope["legality"] in (ILLEGAL, ALIVE_AT_END, NOT_DISPROVED)
                assert not scope["observed"] and scope["why_not_observed"] and scope["activations"] is None


@pytest.mark.parametrize("case", CASES)
def test_observation_leaves_the_events_as_they_are(case: str, observed: Any) -> None:
    def events(trace: Path) -> list[list[tuple[int, int]]]:
        streams = read(trace).streams
        return sorted([(e.operation, e.bytes) for e in stream if e.operation != NOTE] for stream in streams.values())

    assert events(observed(case).first) == events(observed(case).second)


@pytest.mark.parametrize("case", HOSTILE)
def test_breakpoints_are_invisible_to_the_program(case: str, tmp_path: Path) -> None:
    one = program("hostile", case)
    trace = tmp_path / "trace.mpt"
    outcome = run_recorded(one, tmp_path / "recorded", trace, ["--scope", "serve", "--scope", "main"])
    assert outcome == run_bare(one, tmp_path / "bare")
    scope = next(scopes(characterise(trace), "serve"))
    if case == "stack":
        assert scope["legality"] == NOT_DISPROVED and "another stack" in scope["why_not_observed"]
    else:
        assert scope["legality"] == LEGAL and scope["activations"] == scope["total"]


def test_forked_children_are_observed_in_traces_of_their_own(tmp_path: Path) -> None:
    trace = tmp_path / "trace.mpt"
    run_recorded(program("hostile", "fork"), tmp_path / "recorded", trace, ["--scope", "serve"])
    found = [next(scopes(characterise(path), "serve")) for path in traces_of(trace)]
    assert [scope["activations"] for scope in found] == [6, 10, 10, 10, 10, 10]
    assert all(scope["legal"] for scope in found)


def test_functions_of_libraries_that_come_later_are_observed(tmp_path: Path) -> None:
    first, second, chosen = (tmp_path / name for name in ("first.mpt", "second.mpt", "scopes.txt"))
    one = program("loading", str(PROGRAMS / "plugin.so"), "20")
    bare = run_bare(one, tmp_path / "bare")
    assert run_recorded(one, tmp_path / "a", first) == bare
    characterise(first, "--scopes-out", str(chosen))
    assert run_recorded(one, tmp_path / "b", second, ["--scopes", str(chosen)]) == bare
    scope = next(scopes(characterise(first, "--observed", str(second)), "plugin_allocate"))
    assert not scope["legal"] and "unloaded" in scope["why_not_observed"]


def test_a_function_entered_too_often_is_not_observed(tmp_path: Path) -> None:
    trace = tmp_path / "trace.mpt"
    options = ["--scope", "handle_request", "--scope", "main", "--scope-entries", "500"]
    assert run_recorded(program("scopes", "request"), tmp_path / "work", trace, options).status == 0
    found = characterise(trace)
    scope = next(scopes(found, "handle_request"))
    assert scope["legality"] == NOT_DISPROVED and "limit" in scope["why_not_observed"]
    assert sum(e.operation == NOTE for stream in read(trace).streams.values() for e in stream) < 1100
    main = next(s for s in found["subsystems"] if s["name"] == "handle_request")["legality"]
    assert [s["legality"] for s in main if s["name"] == "main"] == [LEGAL]


@pytest.mark.parametrize("one", mostly_more(REAL_PROGRAMS, "gawk"), ids=lambda one: one.name)
def test_real_programs_run_unchanged_while_observed(one: Program, bare: Any, recorded: Any, tmp_path: Path) -> None:
    expected, chosen = bare(one), tmp_path / "scopes.txt"
    characterise(recorded(one)[1][0], "--scopes-out", str(chosen))
    trace = tmp_path / "trace.mpt"
    options = ["--scopes", str(chosen), "--scope-entries", "20000"]
    assert run_recorded(one, tmp_path / "work", trace, options) == expected
    characterise(trace)


def test_names_and_lists_that_are_wrong_are_refused(tmp_path: Path) -> None:
    wrong = tmp_path / "list"
    wrong.write_text("nothing of ours\n")
    one, trace = program("scopes", "step"), tmp_path / "trace.mpt"
    unknown = run_recorded(one, tmp_path / "a", trace, ["--scope", "no_such_function"])
    assert unknown.status == 2 and b"no_such_function" in unknown.stderr
    assert run_recorded(one, tmp_path / "b", trace, ["--scopes", str(wrong)]).status == 3
    assert run_recorded(one, tmp_path / "c", trace, ["--scopes", str(tmp_path / "absent")]).status == 3
    assert not list(tmp_path.glob("trace.mpt*"))
