# SPDX-License-Identifier: BSL-1.0
"""Programs of C++ modules and of Go have owners, containers, members and lines, or a reason for no recording."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from compiling import BIN, characterised, compilers

from tiers import mostly_more

MODULE = """module;
#include <map>
#include <string>
export module shop;
export namespace shop {
class book {
    std::map<int, std::string> orders_;
  public:
    __attribute__((noinline)) void add(int i) { orders_[i] = "a text that is much too long for the small buffer"; }
};
}
"""
MAIN = "import shop;\nint main() { shop::book b; for (int i = 0; i < 1000; ++i) b.add(i); }\n"
GO = """package main
func main() { println(len(make([]byte, 1000))) }
"""
CGO = """package main
// #include <stdlib.h>
// void* make_block(int n) { return malloc(n); }
import "C"
func main() { for i := 0; i < 1000; i++ { C.free(C.make_block(C.int(i % 50 + 1))) } }
"""


def steps(folder: Path, *commands: str, **variables: str) -> None:
    """Builds in a folder; skips the test if a compiler does not support this."""
    for command in commands:
        done = subprocess.run(
            command.split(), cwd=folder, env={**os.environ, **variables}, capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            pytest.skip(f"{command}: {done.stderr.strip()[:200]}")


@pytest.mark.parametrize("compiler", mostly_more(["gcc", "clang"]))
def test_modules_name_the_same_containers_as_headers(compiler: str, tmp_path: Path) -> None:
    if compiler not in compilers():
        pytest.skip(f"{compiler} is not on this machine")
    (tmp_path / "shop.cppm").write_text(MODULE)
    (tmp_path / "main.cpp").write_text(MAIN)
    build = " ".join([*compilers()[compiler], "-std=c++20 -O1 -g"])
    if compiler == "gcc":
        build += " -fmodules-ts"
        steps(tmp_path, f"{build} -x c++ -c shop.cppm -o shop.o", f"{build} main.cpp shop.o -o main")
    else:
        steps(
            tmp_path, f"{build} shop.cppm --precompile -o shop.pcm", f"{build} -c shop.pcm -o shop.o",
            f"{build} main.cpp -fmodule-file=shop=shop.pcm shop.o -o main",
        )  # fmt: skip
    [book] = [c for c in characterised(tmp_path / "main")["shop::book"]["containers"] if "map" in (c["type"] or "")]
    assert book["type"] == "std::map<int, std::string>"
    assert book["places"][0]["line"] == 9
    assert [(m["name"], m["line"]) for m in book["members"]] == [("orders_", 7)]


def go_program(folder: Path, source: str, cgo: str) -> Path:
    if shutil.which("go") is None:
        pytest.skip("go is not on this machine")
    (folder / "main.go").write_text(source)
    steps(folder, "go build -o main main.go", CGO_ENABLED=cgo, GOPROXY="off")
    return folder / "main"


def test_go_programs_own_allocations_of_their_c_code(tmp_path: Path) -> None:
    program = go_program(tmp_path, CGO, "1")
    subsystems = characterised(program)
    assert any("make_block" in name for name in subsystems), list(subsystems)


def test_go_without_a_dynamic_linker_is_refused(tmp_path: Path) -> None:
    program = go_program(tmp_path, GO, "0")
    command = [str(BIN / "millpond-record"), "-o", str(tmp_path / "a.mpt"), "--", str(program)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 4 and "it is statically linked" in done.stderr and done.stderr.count("\n") == 1
