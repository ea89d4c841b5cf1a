# SPDX-License-Identifier: BSL-1.0
"""The Conan recipe and the vcpkg port of packaging/ make a package with which a consumer builds and runs."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from consumers import CONSUMER, MODES, ROOT, run, version

pytestmark = pytest.mark.slow
CONAN = ROOT / ".venv/bin/conan"
PORT = ROOT / "packaging/vcpkg/ports/millpond"


@pytest.mark.skipif(not CONAN.exists(), reason="Conan is missing: scripts/setup packages installs it")
def test_conan_creates_the_package_and_its_test_runs(tmp_path: Path) -> None:
    """Offline: the cache is new and knows no remote. The test package has the consumer of tests/consumer."""
    home = {"CONAN_HOME": tmp_path / "home", "CONAN_NON_INTERACTIVE": "1"}
    run(CONAN, "profile", "detect", **home)
    run(CONAN, "remote", "remove", "*", **home)
    settings = ["-s", "compiler.cppstd=20", "-c", f"tools.cmake.cmake_layout:test_folder={tmp_path / 'test'}"]
    run(CONAN, "create", ROOT / "packaging/conan", "--build=missing", *settings, **home)
    listed = json.loads(run(CONAN, "list", "millpond/*", "--format=json", **home))
    assert list(listed["Local Cache"]) == [f"millpond/{version()}"]


def test_the_port_is_of_this_version() -> None:
    assert json.loads((PORT / "vcpkg.json").read_text(encoding="utf-8"))["version"] == version()


@pytest.mark.parametrize("mode", MODES)
def test_vcpkg_port_gives_a_package_that_cmake_finds(tmp_path: Path, mode: str) -> None:
    """vcpkg_functions.cmake stands in for vcpkg, which is not obtained here."""
    script = Path(__file__).with_name("vcpkg_functions.cmake")
    run("cmake", "-D", f"port={PORT}", "-D", f"work={tmp_path}", "-D", "compiler=g++", "-P", script)
    # Another folder than the one that it was installed into, as vcpkg copies it.
    prefix = tmp_path / "moved"
    shutil.move(tmp_path / "packages", prefix)
    assert {path.name for path in (prefix / "share/millpond").iterdir()} >= {"copyright", "usage"}
    assert not (prefix / "lib/cmake").exists() and not (prefix / "debug").exists()
    build = tmp_path / "consumer"
    found = [f"-DCMAKE_PREFIX_PATH={prefix}", f"-Dwanted_version={version()}", f"-DMILLPOND_MODE={mode}"]
    run("cmake", "-S", CONSUMER, "-B", build, "-G", "Ninja", *found)
    run("cmake", "--build", build)
    run(build / "consumer", mode)
