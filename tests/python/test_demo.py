# SPDX-License-Identifier: BSL-1.0
"""`millpond demo` is two command lines that a user may type: advice on an example, then its change, measured."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest
from conftest import FakeLab

from millpond.system import native
from millpond.system.errors import Failure
from millpond.verbs import table
from millpond.verbs.parser import parse

EXAMPLES = ("request_server", "request_server_changed")


@pytest.fixture
def examples(lab: FakeLab) -> list[Path]:
    """The examples as an installation keeps them."""
    folder = lab.bin.parent / "lib" / "millpond" / "examples"
    folder.mkdir(parents=True)
    places = [folder / name for name in EXAMPLES]
    for place in places:
        place.write_text("#!/bin/sh\n")
        place.chmod(0o755)
    return places


def demo_with(lab: FakeLab, statuses: list[int], monkeypatch: pytest.MonkeyPatch) -> tuple[int, list[list[str]]]:
    """The status of the demo, and the words of the command lines that it printed; these end with `statuses`."""
    left = iter(statuses)

    def ended(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess(command, next(left))

    with monkeypatch.context() as patched:
        patched.setattr("millpond.commands.demo.subprocess.run", ended)
        done = lab.run("demo", "--budget=7", "--store=kept")
    assert next(left, None) is None, "fewer commands ran than should"
    return done.status, [shlex.split(line.removeprefix("$ ")) for line in done.stdout.splitlines()]


def test_the_advised_change_is_measured(lab: FakeLab, examples: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    status, lines = demo_with(lab, [0, 0], monkeypatch)
    assert status == 0
    before, after = map(str, examples)
    requests = []
    for line in lines:
        verb, words = table.find(line[1:]) or pytest.fail(f"no verb in {line}")
        requests.append(parse(verb, words)[0])
    advised, compared = requests
    assert line[0] == "millpond"
    assert advised.program[0] == before and advised.budget == 7
    assert compared.sides == advised.program and shlex.split(compared.after) == [after]
    assert advised.store == compared.store == Path("kept")


def test_nothing_is_measured_without_advice(
    lab: FakeLab, examples: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    status, lines = demo_with(lab, [4], monkeypatch)
    assert (status, len(lines)) == (4, 1)


def test_a_change_that_cannot_be_measured_is_told(
    lab: FakeLab, examples: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert demo_with(lab, [0, 3], monkeypatch)[0] == 3


def test_a_missing_example_is_told(lab: FakeLab) -> None:
    done = lab.run("demo")
    assert done.status == 4 and "the example request_server is missing" in done.stderr
    with pytest.raises(Failure, match="scripts/build demo"):
        native.find_example("request_server")
