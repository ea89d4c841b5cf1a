# SPDX-License-Identifier: BSL-1.0
"""`millpond litter`, `run` and `simulate` become native programs and pass their words on unchanged."""

from __future__ import annotations

import pytest
from conftest import FakeLab


@pytest.fixture(params=["litter", "run", "simulate"])
def verb(lab: FakeLab, request: pytest.FixtureRequest) -> str:
    program = lab.bin / f"millpond-{request.param}"
    program.write_text('#!/bin/sh\necho "$@"; exit 9\n')
    program.chmod(0o755)
    return str(request.param)


def test_the_status_and_the_words_are_passed_through(lab: FakeLab, verb: str) -> None:
    done = lab.run_apart(verb, "--fraction", "0.3", "--", "program", "--json", "--help", "a b")
    assert (done.status, done.stdout) == (9, "--fraction 0.3 -- program --json --help a b\n")


def test_help_is_shown_and_nothing_is_run(lab: FakeLab, verb: str) -> None:
    done = lab.run(verb, "--help")
    assert done.status == 0
    assert f"usage: millpond {verb}" in done.stdout
    assert lab.run(verb).status == 2


def test_a_program_that_is_missing_is_an_environment_failure(lab: FakeLab, verb: str) -> None:
    (lab.bin / f"millpond-{verb}").unlink()
    done = lab.run_apart(verb, "--", "true")
    assert done.status == 4
    assert done.stderr.startswith(f"millpond: millpond-{verb} is missing")
