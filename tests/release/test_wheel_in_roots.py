# SPDX-License-Identifier: BSL-1.0
"""The wheel works on a system that has Python only: on Debian 12 as the Containerfile installs it, and on Debian 13,
whose C library and Python are newer.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import roots

# A program that ends by itself with the same output, and allocates as interpreters do.
PROGRAM = ("perl", "-e", "my %seen; $seen{$_ % 5000} .= chr(65 + $_ % 26) for 1 .. 300000; print scalar(keys %seen)")
ADVICE_SECONDS = "20"
INSTALLED_BYTES = 200_000_000  # of the wheel and all that it needs


@pytest.fixture(scope="module")
def container(wheel: Path) -> Iterator[roots.Root]:
    """A system of Debian 12 on which the steps of the Containerfile were done. pip takes packages from a folder."""
    with roots.new_root("bookworm", "wheel_on_debian_12") as root:
        folder = roots.wheel_folder("3.11")
        root.copy(folder, to="/opt")
        root.variables |= {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": f"/opt/{folder.name}"}
        for keyword, words in roots.container_steps(roots.ROOT / "Containerfile"):
            if keyword == "FROM":
                assert words == ["debian:12-slim"]
            elif keyword == "COPY":
                root.copy(*roots.ROOT.glob(words[0]), to=words[1])
            elif keyword == "RUN":
                root.run("sh", "-c", words[0])
            else:
                assert keyword == "ENV"
                root.variables |= dict([word.split("=", 1) for word in words])
        yield root


@pytest.fixture(scope="module")
def newer(wheel: Path) -> Iterator[roots.Root]:
    """A system of Debian 13 with the wheel in a virtual environment, and without Valgrind."""
    with roots.new_root("trixie", "wheel_on_debian_13") as root:
        root.install("python3-venv")
        root.install_wheel(wheel, roots.wheel_folder("3.13"))
        yield root


@pytest.fixture(params=["container", "newer"])
def root(request: pytest.FixtureRequest) -> roots.Root:
    found: roots.Root = request.getfixturevalue(request.param)
    return found


def test_wheel_tells_its_version(root: roots.Root, wheel: Path) -> None:
    assert root.run("millpond", "--version").stdout.split()[-1] == wheel.name.split("-")[1]


def test_what_is_installed_is_small(root: roots.Root) -> None:
    installer = [f"--exclude={name}" for name in ("pip", "setuptools", "pkg_resources")]
    used = root.run("du", "--summarize", "--block-size=1", *installer, "/opt/millpond").stdout
    assert int(used.split()[0]) <= INSTALLED_BYTES


def test_records_a_program_of_the_system(root: roots.Root) -> None:
    assert root.run("millpond", "trace", "record", "-o", "perl.mpt", "--", *PROGRAM).stdout == "5000"
    root.run("millpond", "trace", "show", "-o", "shown.json", "perl.mpt")
    assert json.loads((root.place / "tmp/shown.json").read_text(encoding="utf-8"))["subsystems"]


def test_advises_and_reports(root: roots.Root) -> None:
    roots.advise_and_report(root, PROGRAM, ADVICE_SECONDS)


def test_simulates_where_valgrind_has_its_version(container: roots.Root) -> None:
    record = ("millpond", "trace", "record", "--with", "references", "-o", "references.mpt")
    container.run(*record, "--", "perl", "-e", "print 1")
    simulate = ("millpond", "trace", "simulate", "--simulate", "lru:line=64,sets=64,ways=8", "-o", "misses.json")
    container.run(*simulate, "references.mpt")
    assert json.loads((container.place / "tmp/misses.json").read_text(encoding="utf-8"))


def test_one_sentence_where_valgrind_is_missing(newer: roots.Root) -> None:
    record = ("millpond", "trace", "record", "--with", "references", "-o", "references.mpt", "--", "perl", "-e", "1")
    without = newer.run(*record, check=False)
    assert without.returncode == 4
    assert without.stderr.splitlines() == [
        "millpond: references are captured with Valgrind, which is not installed; install the package valgrind in "
        "version 3.19.0"
    ]
    newer.install("valgrind")
    other = newer.run(*record, check=False)
    assert other.returncode == 4
    (line,) = other.stderr.splitlines()
    assert line.startswith("millpond: the Valgrind that is installed has version 3.2")


def test_demo_runs_without_a_compiler(newer: roots.Root) -> None:
    said = newer.run("millpond", "demo", "--budget", ADVICE_SECONDS).stdout
    assert "$ millpond advise" in said and "$ millpond compare" in said


def test_examines_the_installation(root: roots.Root) -> None:
    root.run("millpond", "doctor")
