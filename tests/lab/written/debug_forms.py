# SPDX-License-Identifier: BSL-1.0
"""A program with known containers, members and lines, and tools that move its debug information elsewhere."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from compiling import characterised, compile_program, compilers

SOURCE = """
#include <list>
#include <map>
#include <string>
#include <vector>
namespace shop {
struct order { int id; std::string text; };
class book {
    std::map<int, order> orders_;
    std::vector<std::string> log_;
  public:
    __attribute__((noinline)) void add(int i) {
        orders_[i] = order{i, "a text that is much too long for the small buffer"};
        log_.push_back("another long text for the log of this book ");
    }
    __attribute__((noinline)) void trim() { log_.clear(); orders_.clear(); }
};
}
int main() {
    shop::book b;
    for (int i = 0; i < 3000; i++) { b.add(i); if (i % 100 == 0) b.trim(); }
    return 0;
}
"""


def facts(program: Path) -> dict[str, tuple[int, set[str]]]:
    """Returns the line and the members of each container."""
    subsystem = characterised(program)["shop::book"]
    return {
        c["type"]: (c["places"][0]["line"], {m["name"] for m in c["members"]})
        for c in subsystem["containers"] if c["type"]
    }  # fmt: skip


def reasons(program: Path) -> str:
    """Returns the reasons why containers have no name, in all subsystems."""
    subsystems = characterised(program).values()
    return "; ".join(c["why_null"] for s in subsystems for c in s["containers"] if c["why_null"])


def run(*words: Any, folder: Path) -> None:
    """Runs a compiler tool in a folder; skips the test if the tool is missing or too old."""
    if shutil.which(str(words[0])) is None:
        pytest.skip(f"{words[0]} is not on this machine")
    done = subprocess.run(list(map(str, words)), cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"{words[0]} cannot do this: {done.stderr.strip()[:200]}")


def plain(source: Path, folder: Path, *options: str, compiler: str = "gcc") -> Path:
    if compiler not in compilers():
        pytest.skip(f"{compiler} is not on this machine")
    return compile_program(compilers()[compiler], source, folder / "plain", "-O2", "-g", "-Wl,--build-id", *options)


def separated(program: Path, debug: Path) -> Path:
    """Moves the program's debug information to a separate file that the program links to."""
    folder = program.parent
    debug.parent.mkdir(parents=True, exist_ok=True)
    run("objcopy", "--only-keep-debug", program, debug, folder=folder)
    run("strip", program, folder=folder)
    run("objcopy", f"--add-gnu-debuglink={debug}", program, folder=folder)
    return program
