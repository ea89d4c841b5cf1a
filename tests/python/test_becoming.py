# SPDX-License-Identifier: BSL-1.0
"""`try --litter`, `run` and `trace simulate` become native programs, and the program's words stay unchanged."""

from __future__ import annotations

import pytest
from conftest import FakeLab

# The verb with its options, the native program, and the words that it gets.
CASES = {
    "litter": (("try", "--litter", "--set", "fraction=0.3"), "--seed 1 --fraction 0.3"),
    "run": (("run", "--plan", "p.json", "--stats"), "--plan p.json --stats"),
}
PROGRAM = ("program", "--json", "--help", "a b", "--")


@pytest.fixture(params=[*CASES, "simulate"])
def native(lab: FakeLab, request: pytest.FixtureRequest) -> str:
    program = lab.bin / f"millpond-{request.param}"
    program.write_text('#!/bin/sh\necho "$@"; exit 9\n')
    program.chmod(0o755)
    return str(request.param)


@pytest.mark.parametrize("dashes", [("--",), ()])
def test_the_status_and_the_words_are_passed_through(lab: FakeLab, native: str, dashes: tuple[str, ...]) -> None:
    if native == "simulate":
        done = lab.run_apart("trace", "simulate", "--with", "system", "--set=cpi=2", "t.mpt", "--latencies", "d.json")
        expected = "--latencies=d.json --with-system --cpi=2 -- t.mpt"
    else:
        words, told = CASES[native]
        done = lab.run_apart(*words, *dashes, *PROGRAM)
        expected = f"{told} -- {' '.join(PROGRAM)}"
    assert (done.status, done.stdout, done.stderr) == (9, f"{expected}\n", "")


def test_a_program_that_is_missing_is_an_environment_failure(lab: FakeLab, native: str) -> None:
    (lab.bin / f"millpond-{native}").unlink()
    words = ("trace", "simulate", "x") if native == "simulate" else (*CASES[native][0], "true")
    done = lab.run_apart(*words)
    assert done.status == 4
    assert done.stderr.startswith(f"millpond: millpond-{native} is missing")


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["run", "true"], "--plan"),
        (["run", "--plan", "p"], "give either a program"),
        (["run", "--plan", "p", "-o", "x.so", "true"], "give either a program"),
        (["try", "--litter"], "no program"),
        (["try", "--litter", "--plan", "p", "true"], "--plan does not go with --litter"),
        (["try", "--set=blocks=3", "--plan", "p", "true"], "add --litter"),
        (["trace", "record", "--for", "3", "--with", "references", "true"], "--for does not go"),
        (["trace", "record", "--sample", "1/2", "true"], "--sample BURST/PERIOD needs --with references"),
        (["trace", "record", "--with", "references", "--window", "instructions=9:3", "true"], "instructions=FROM:TO"),
        (["trace", "record", "--finish", "x", "true"], "neither a program"),
        (["trace", "simulate"], "TRACE"),
    ],
)
def test_wrong_requests_are_refused_in_one_line(lab: FakeLab, words: list[str], reason: str) -> None:
    done = lab.run(*words)
    assert done.status == 2 and reason in done.stderr and done.stderr.count("\n") == 1
