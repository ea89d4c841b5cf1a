# SPDX-License-Identifier: BSL-1.0
"""Set-up installs only missing packages, or prints the command and stops; the menu shows every target."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import repository

from millpond.doctor.examination import NATIVE

PACKAGES = Path("scripts/packages")


def listed(purpose: str) -> set[str]:
    lines = repository.text(PACKAGES / f"{purpose}.txt").splitlines()
    return {line for line in lines if line and not line.startswith("#")}


class Machine:
    """A copy of the set-up on a fake machine with chosen packages, whose apt-get only notes its arguments."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.notes = place / "notes"
        self.notes.touch()
        self.notes.chmod(0o666)
        (place / "bin").mkdir()
        shutil.copytree(repository.ROOT / "scripts", place / "scripts")
        self.tool("apt-get", f'echo "$@" >> {self.notes}; [ "$1" = update ]')
        self.tool("sudo", "exit 1")
        place.chmod(0o755)

    def tool(self, name: str, body: str) -> None:
        path = self.place / "bin" / name
        path.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
        path.chmod(0o755)

    def installed(self, packages: set[str]) -> None:
        self.tool("dpkg-query", "\n".join(f"echo 'ii {name}'" for name in sorted(packages)) or ":")

    def setup(self, *arguments: str, root: bool) -> subprocess.CompletedProcess[str]:
        command = [str(self.place / "scripts/setup"), *arguments]
        if not root and os.geteuid() == 0:
            command = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", *command]
        environment = {**os.environ, "PATH": f"{self.place / 'bin'}:{os.environ['PATH']}"}
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture
def machine() -> Iterator[Machine]:
    # Other users may not enter pytest's own folder.
    with tempfile.TemporaryDirectory() as place:
        yield Machine(Path(place))


def test_without_root_the_one_command_is_printed(machine: Machine) -> None:
    machine.installed(listed("build") - {"cmake", "ninja-build"})
    done = machine.setup("build", root=False)
    assert done.returncode == 4
    assert re.search(r"apt-get install -y --no-install-recommends cmake ninja-build'?$", done.stderr, re.MULTILINE)
    assert machine.notes.read_text() == "", "apt-get must not run without root"


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_root_installs_only_missing_packages(machine: Machine) -> None:
    machine.installed(listed("build") - {"cmake"})
    done = machine.setup("build", root=True)
    assert done.returncode == 4, "this apt-get fails, so set-up must"
    assert "apt-get could not install: cmake" in done.stderr
    assert machine.notes.read_text().splitlines() == ["update", "install -y --no-install-recommends cmake"]


def test_a_purpose_is_there_exactly_when_all_its_packages_are(machine: Machine) -> None:
    machine.installed(listed("build"))
    assert machine.setup("--has", "build", root=False).returncode == 0
    machine.installed(listed("build") - {"g++"})
    assert machine.setup("--has", "build", root=False).returncode == 1
    assert machine.notes.read_text() == ""


def test_an_unknown_purpose_is_a_usage_error(machine: Machine) -> None:
    machine.installed(set())
    done = machine.setup("everything", root=False)
    assert (done.returncode, done.stderr) == (2, "millpond: no such purpose: everything\n")


def test_the_demo_builds_the_programs_of_an_advice() -> None:
    """A reader of the tutorial has only what `make demo` built."""
    (names,) = re.findall(r"millpond-\{([a-z,]+)\}", repository.text(Path("scripts/build")))
    assert set(NATIVE) <= {f"millpond-{name}" for name in names.split(",")}


def test_the_demo_installs_no_checker_and_no_browser() -> None:
    demo = listed("build") | listed("demo")
    assert not [name for name in demo if re.search(r"clang|tidy|gtest|gmock|rapidcheck|chromium|llvm", name)]


def test_the_menu_shows_every_target() -> None:
    makefile = repository.text(Path("Makefile"))
    shown = subprocess.run(["make", "-s"], cwd=repository.ROOT, capture_output=True, text=True, check=True).stdout
    for target in re.findall(r"^([a-z-]+):", makefile, re.MULTILINE):
        assert f"make {target} " in shown


def test_python_packages_are_locked_with_hashes() -> None:
    for lock in ("run", "dev", "cluster", "docs", "packages", "release"):
        text = repository.text(Path(f"requirements/{lock}.lock"))
        names = re.findall(r"^([a-z0-9-]+)==", text, re.MULTILINE)
        assert names
        assert len(re.findall(r"^[a-z0-9-]+==\S+ \\\n    --hash=sha256:", text, re.MULTILINE)) == len(names)


def test_the_lock_has_every_dependency_of_the_project() -> None:
    project = re.search(r"^dependencies = \[(.*?)\]", repository.text(Path("pyproject.toml")), re.MULTILINE | re.DOTALL)
    assert project
    wanted = set(re.findall(r'"([a-z0-9-]+)', project[1]))
    locked = set(re.findall(r"^([a-z0-9-]+)==", repository.text(Path("requirements/run.lock")), re.MULTILINE))
    assert wanted <= locked, "run scripts/lock"
