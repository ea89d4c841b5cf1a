# SPDX-License-Identifier: BSL-1.0
"""`import millpond;` gives the public names of the installed package, in every mode."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
import repository
from consumers import CONSUMER, LIBRARY_ONLY, MODES, ROOT, installed, run

pytestmark = pytest.mark.slow
CMAKE = ROOT / ".venv/bin/cmake"  # Debian 12's is too old
COMPILER = "clang++-19"
needs_tools = pytest.mark.skipif(
    not CMAKE.exists() or not shutil.which(COMPILER) or not shutil.which("clang-scan-deps-19"),
    reason="needs clang 19 with its scanner, and CMake 3.28, which scripts/setup packages installs",
)
PROJECT = """\
cmake_minimum_required(VERSION 3.28)
project(consumer LANGUAGES CXX)
find_package(millpond REQUIRED CONFIG)
add_executable(consumer consumer.cpp names.cpp)
target_link_libraries(consumer PRIVATE millpond::module)
"""


def public_names() -> set[str]:
    return {name for names in repository.public_names().values() for name in names}


@pytest.fixture(scope="module")
def prefix(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An installed package that has the module."""
    options = ["-DMILLPOND_MODULE=ON", f"-DCMAKE_CXX_COMPILER={COMPILER}", "-DCMAKE_C_COMPILER=clang-19"]
    return installed(tmp_path_factory.mktemp("module"), *options, cmake=CMAKE)


@needs_tools
@pytest.mark.parametrize("mode", MODES)
def test_a_program_imports_the_installed_module(prefix: Path, tmp_path: Path, mode: str) -> None:
    included = (CONSUMER / "consumer.cpp").read_text(encoding="utf-8")
    header = "#include <millpond/millpond.hpp>\n"
    assert header in included
    # After the standard headers: compilers still fail on an import before them.
    imported = included.replace(header, "").replace("\nnamespace {\n", "\nimport millpond;\n\nnamespace {\n", 1)
    (tmp_path / "consumer.cpp").write_text(imported)
    uses = "".join(f"namespace probe {{ using millpond::{name}; }}\n" for name in sorted(public_names()))
    (tmp_path / "names.cpp").write_text(f"import millpond;\n{uses}")
    (tmp_path / "CMakeLists.txt").write_text(PROJECT)
    build = tmp_path / "build"
    options = [f"-DCMAKE_CXX_COMPILER={COMPILER}", f"-DCMAKE_PREFIX_PATH={prefix}", f"-DMILLPOND_MODE={mode}"]
    run(CMAKE, "-S", tmp_path, "-B", build, "-G", "Ninja", *options)
    run(CMAKE, "--build", build)
    run(build / "consumer", mode)


def test_an_old_cmake_refuses_the_module(tmp_path: Path) -> None:
    """One sentence, before CMake's own."""
    found = re.search(r"3\.\d+", run("cmake", "--version"))
    assert found
    if tuple(map(int, found[0].split("."))) >= (3, 28):
        pytest.skip("this cmake can build modules")
    command = ["cmake", "-S", ROOT, "-B", tmp_path, "-G", "Ninja", "-DMILLPOND_MODULE=ON"]
    done = subprocess.run([*command, *LIBRARY_ONLY], capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "MILLPOND_MODULE needs CMake 3.28 or later" in done.stderr
