# SPDX-License-Identifier: BSL-1.0
"""Debian packages pass lintian, install and work on a Debian 12 that has nothing else, and leave nothing behind."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import roots

PACKAGES = ("libmillpond-dev", "millpond-tools")


def package(name: str) -> Path:
    (found,) = roots.DIST.glob(f"{name}_*.deb")
    return found


@pytest.fixture(scope="module")
def root() -> Iterator[roots.Root]:
    """A system with both packages: apt installs their dependencies, then dpkg the files."""
    with roots.new_root("bookworm", "packages_on_debian_12") as root:
        files = [package(name) for name in PACKAGES]
        root.copy(*files, to="/tmp")
        root.install(*(f"/tmp/{path.name}" for path in files))
        yield root


@pytest.mark.parametrize("name", PACKAGES)
def test_package_passes_lintian(name: str) -> None:
    command = ["lintian", "--allow-root", "--fail-on", "error,warning", "--info", str(package(name))]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    (roots.LOGS / f"lintian_{name}.log").write_text(done.stdout + done.stderr, encoding="utf-8")
    assert done.returncode == 0, done.stdout


def test_consumer_builds_in_each_mode(root: roots.Root, wheel: Path) -> None:
    root.install("g++", "cmake", "make")
    root.copy(roots.ROOT / "tests/consumer/project", to="/tmp")
    version = wheel.name.split("-")[1]
    for mode in ("release", "checked", "hardened"):
        root.run("cmake", "-S", "project", "-B", mode, f"-Dwanted_version={version}", f"-DMILLPOND_MODE={mode}")
        root.run("cmake", "--build", mode)
        root.run(f"{mode}/consumer", mode)


def test_installed_recorder_records(root: roots.Root) -> None:
    """Every library that the programs need came with the package's dependencies."""
    assert root.run("millpond-record", "-o", "perl.mpt", "--", "perl", "-e", "print 1").stdout == "1"
    assert root.run("millpond-trace", "--help").stdout
    assert (root.place / "tmp/perl.mpt").stat().st_size > 0
    needed = root.run("sh", "-c", "ldd /usr/bin/millpond-* /usr/lib/millpond/*.so").stdout
    assert "not found" not in needed and "libdw.so.1" in needed


def test_each_program_has_its_manual_page(root: roots.Root) -> None:
    """A minimal system drops manual pages at the installation, so the list is that of the package."""
    listed = subprocess.run(
        ["dpkg-deb", "--contents", str(package("millpond-tools"))], capture_output=True, text=True, check=True
    ).stdout
    programs = re.findall(r"\./usr/bin/(\S+)$", listed, re.MULTILINE)
    assert "millpond-record" in programs
    assert set(re.findall(r"/man1/(\S+)\.1\.gz$", listed, re.MULTILINE)) == set(programs)


def test_removal_leaves_nothing(root: roots.Root) -> None:
    root.run("dpkg", "--purge", *PACKAGES)
    left = list((root.place / "usr").rglob("*millpond*"))
    assert not left
