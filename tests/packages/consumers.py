# SPDX-License-Identifier: BSL-1.0
"""Installs the library into an empty folder and runs commands, for the tests of packages."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CONSUMER = ROOT / "tests/consumer/project"
LIBRARY_ONLY = [f"-DMILLPOND_BUILD_{part}=OFF" for part in ("LAB", "TESTS", "EXAMPLES")]
# Warnings of cmake/warnings.cmake, and those of scripts/compilers.
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Wsign-conversion", "-Werror"]
COMPILERS = [name for name in ("g++", "clang++-19") if shutil.which(name)]
MODES = {"release": [], "checked": ["-DMILLPOND_CHECKED"], "hardened": ["-DMILLPOND_HARDENED"]}


def run(*command: str | Path, **variables: str | Path) -> str:
    """Returns the standard output of a command that must succeed. `variables` are added to the environment."""
    environment = {**os.environ, **{name: str(value) for name, value in variables.items()}}
    done = subprocess.run([str(word) for word in command], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}: {done.stdout[-4000:]}\n{done.stderr[-4000:]}"
    return done.stdout


def version() -> str:
    """Returns the number of project(millpond VERSION …)."""
    found = re.search(r"project\(millpond VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text(encoding="utf-8"))
    assert found
    return found[1]


def installed(folder: Path, *options: str, cmake: str | Path = "cmake") -> Path:
    """Returns a new prefix below `folder` that has the component `library` and nothing else."""
    build, prefix = folder / "build", folder / "prefix"
    run(cmake, "-S", ROOT, "-B", build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", *LIBRARY_ONLY, *options)
    run(cmake, "--build", build)
    run(cmake, "--install", build, "--prefix", prefix, "--component", "library")
    return prefix
