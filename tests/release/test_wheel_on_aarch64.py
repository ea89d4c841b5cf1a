# SPDX-License-Identifier: BSL-1.0
"""The wheel for aarch64 works on a system of Debian 12 that has Python only, whose programs an emulator runs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import roots

PROGRAM = ("perl", "-e", "my %seen; $seen{$_ % 500} .= chr(65 + $_ % 26) for 1 .. 20000; print scalar(keys %seen)")
ADVICE_SECONDS = "60"


@pytest.fixture(scope="module")
def root(aarch64_wheel: Path) -> Iterator[roots.Root]:
    """The system, with the wheel in a virtual environment."""
    with roots.new_emulated_root("wheel_on_aarch64") as root:
        root.install_wheel(aarch64_wheel, roots.wheel_folder("3.11", "aarch64"))
        yield root


def test_wheel_tells_its_version(root: roots.Root, aarch64_wheel: Path) -> None:
    assert root.run("millpond", "--version").stdout.split()[-1] == aarch64_wheel.name.split("-")[1]


def test_records_and_characterises_a_program_of_the_system(root: roots.Root) -> None:
    assert root.run("millpond", "trace", "record", "-o", "perl.mpt", "--", *PROGRAM).stdout == "500"
    root.run("millpond", "trace", "show", "-o", "shown.json", "perl.mpt")
    shown = json.loads((root.place / "tmp/shown.json").read_text(encoding="utf-8"))
    assert sum(each["allocations"] for each in shown["subsystems"]) > 500


def test_advises_and_reports(root: roots.Root) -> None:
    roots.advise_and_report(root, PROGRAM, ADVICE_SECONDS)


def test_one_sentence_where_references_are_asked_for(root: roots.Root) -> None:
    record = ("millpond", "trace", "record", "--with", "references", "-o", "references.mpt", "--", *PROGRAM)
    done = root.run(*record, check=False)
    assert done.returncode == 4
    assert len(done.stderr.splitlines()) == 1


def test_examines_the_installation(root: roots.Root) -> None:
    root.run("millpond", "doctor")
