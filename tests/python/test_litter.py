# SPDX-License-Identifier: BSL-1.0
"""`millpond litter` becomes millpond-litter: its words go through untouched, and it imports as little as `record`."""

from __future__ import annotations

import pytest
from conftest import FakeLab


@pytest.fixture
def littering(lab: FakeLab) -> FakeLab:
    program = lab.bin / "millpond-litter"
    program.write_text('#!/bin/sh\necho "$@"; exit 9\n')
    program.chmod(0o755)
    return lab


def test_the_status_and_the_words_are_passed_through(littering: FakeLab) -> None:
    done = littering.run_apart("litter", "--fraction", "0.3", "--", "program", "--json", "--help", "a b")
    assert (done.status, done.stdout) == (9, "--fraction 0.3 -- program --json --help a b\n")


def test_help_is_shown_and_nothing_is_run(littering: FakeLab) -> None:
    done = littering.run("litter", "--help")
    assert done.status == 0
    assert "usage: millpond litter" in done.stdout
    assert littering.run("litter").status == 2


def test_a_program_that_is_missing_is_an_environment_failure(lab: FakeLab) -> None:
    (lab.bin / "millpond-litter").unlink(missing_ok=True)
    done = lab.run_apart("litter", "--", "true")
    assert done.status == 4
    assert done.stderr.startswith("millpond: millpond-litter is missing")
