# SPDX-License-Identifier: BSL-1.0
"""Finds the compilers of this machine, and records and characterises the programs that they build."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
BIN = Path(os.environ.get("MILLPOND_BIN") or ROOT / "build" / "release" / "bin").absolute()
HERE = Path(__file__).resolve().parent
INCLUDE = ROOT / "include"


def _first(*names: str) -> str | None:
    return next((found for name in names if (found := shutil.which(name))), None)


@cache
def compilers() -> dict[str, list[str]]:
    """Returns the command lines of the compilers that work here, by name: gcc, clang, and clang with libc++."""
    gcc, clang = _first("g++"), _first("clang++-19", "clang++-18", "clang++-17", "clang++-16", "clang++")
    found = {"gcc": [gcc]} if gcc else {}
    if clang:
        found |= {"clang": [clang], "libc++": [clang, "-stdlib=libc++"]}
    return {name: words for name, words in found.items() if _works(words)}


def _works(words: list[str]) -> bool:
    source = "#include <map>\n#include <concepts>\nint main() { return std::map<int, int>().size(); }\n"
    command = [*words, "-std=c++20", "-x", "c++", "-", "-o", "/dev/null"]
    return subprocess.run(command, input=source, text=True, capture_output=True, check=False).returncode == 0


def compile_program(words: list[str], source: Path, to: Path, *options: str) -> Path:
    """Compiles with -std=c++20; a warning fails the test."""
    command = [*words, "-std=c++20", *options, str(source), "-o", str(to), "-pthread"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stderr[:4000]}"
    return to


def characterised(program: Path, *arguments: str) -> dict[str, dict[str, Any]]:
    """Records and characterises one run; returns its subsystems by name."""
    trace = program.with_suffix(".mpt")
    subprocess.run(
        [BIN / "millpond-record", "--frees", "-o", trace, "--", program, *arguments],
        capture_output=True,
        check=True,
        timeout=120,
    )
    text = subprocess.run([BIN / "millpond-characterise", trace], capture_output=True, check=True, timeout=120).stdout
    return {s["name"]: s for s in json.loads(text)["subsystems"]}
