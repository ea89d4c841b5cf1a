# SPDX-License-Identifier: BSL-1.0
"""The code of an advice compiles, holds in checked mode, and leaves a program's output as it was."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
from compiling import HERE, INCLUDE, characterised, compile_program, compilers

from millpond.advice.advice_data import Advice
from millpond.advice.code_changes import with_code
from millpond.advice.code_header import ALIASES, HEADER
from millpond.advice.code_test import TEST
from millpond.advice.code_writing import NOTE, write
from tiers import mostly_more

OTHERS = ("std::wstring", "std::basic_string<char16_t>", "std::pmr::list<int>", "std::function<int()>", None)
FEW = ("std::map<int, int>", "std::string", "std::vector<int>", "std::pmr::list<int>", None)
SCOPES: dict[str, dict[str, Any]] = {
    "multipool": {}, "synchronized(multipool)": {}, "function": {"function": "f"}, "outermost": {"function": "g"},
    "thread": {"thread": True}, "phase": {"phase": True}, "shared phase": {"phase": True},
}  # fmt: skip


def container(type_: str | None, bytes_: int = 720, allocations: int = 10) -> dict[str, Any]:
    """Returns a container as characterise describes one."""
    return {"type": type_, "element_of": None, "call": None, "bytes": bytes_, "allocations": allocations, "share": 0.1,
            "why_null": None if type_ else "its own code", "places": [], "members": []}  # fmt: skip


def advice_of(rows: list[dict[str, Any]], routes: list[dict[str, Any]]) -> Advice:
    """Returns an advice whose plan has these routes."""
    return Advice.from_json({
        "program": {"argv": ["./program", "a b"]}, "verdict": "Give it a pool.", "choice": {"kind": "plan"},
        "effects": {}, "sums": {}, "rounds": 11, "trace": {}, "notes": [],
        "subsystems": [{"best": "multipool", **row} for row in rows],
        "plan": {"program": {"path": "./program", "build_id": "ab"}, "routes": routes},
    })  # fmt: skip


def every_home() -> Advice:
    """Returns an advice with all kinds of homes, each with everything that a header can offer."""
    types = [*(f"std::{name}<int, int>" for name in ALIASES if name not in ("string", "wstring", "basic_string"))]
    rows, routes = [], []
    for number, (name, scope) in enumerate(SCOPES.items()):
        legality = "legal for the outermost call" if name == "outermost" else "legal"
        judged = [
            {
                "scope": kind,
                "name": scope.get("function") if kind == "function" else "all",
                "legality": legality,
                "legal": True,
                "instance_bytes": {"p95": 5000},
            }
            for kind in scope
        ]
        # All containers over one allocator of each shape; the others have a few, to keep compiling short.
        offered = (*types, "std::string", *OTHERS) if name in ("multipool", "function") else FEW
        owner = f"app::(anonymous namespace)::{name}<int>::{{lambda#{number}}}"
        rows.append({"name": owner, "W": 2 if name == "shared phase" else 1, "peak_live_bytes": 100_000,
                     "legality": judged, "containers": [container(t) for t in offered]})  # fmt: skip
        strategy = name if "multipool" in name else "monotonic"
        routes.append(
            {"subsystems": [owner], "pool": owner, "strategy": strategy} | ({"scope": scope} if scope else {})
        )
    rows.append({"name": "7 nodes", "W": 1, "peak_live_bytes": 0, "containers": [container("std::map<int, int>")]})
    routes.append({"subsystems": ["7 nodes"], "pool": "7 nodes", "strategy": "multipool"})
    rows.append(
        {"name": "queues", "W": 1, "peak_live_bytes": 9000, "containers": [container(t) for t in (*types, None)]}
    )
    keys = [{"module": "4f1c", "address": "1a40", "word": "rbx"}]
    routes.append({"subsystems": ["queues"], "pool": "queues", "strategy": "multipool", "instances": keys})
    return advice_of(rows, routes)


@pytest.mark.more
def test_elements_of_an_instance_use_its_pool(tmp_path: Path) -> None:
    rows = [{"name": "queues", "W": 1, "containers": [container("std::string"), container("std::vector<std::string>")]}]
    keys = [{"module": "4f1c", "address": "1a40", "word": "rbx"}]
    route = {"subsystems": ["queues"], "pool": "queues", "strategy": "multipool", "instances": keys}
    write(advice_of(rows, [route]), tmp_path / "written")
    source = tmp_path / "elements.cpp"
    source.write_text(
        f'#include "{tmp_path / "written" / HEADER}"\n'
        "using own = millpond_advice::queues_memory;\n"
        "int main() {\n"
        "    std::vector<own::string, own::scoped_allocator<own::string>> a, b;\n"
        '    for (int i = 0; i < 100; ++i) a.emplace_back("a text that is longer than a string holds by itself");\n'
        "    b = a;\n"
        "    const bool shares = a[0].get_allocator() == own::allocator<char>(a.get_allocator());\n"
        "    return shares && b == a && !(b.get_allocator() == a.get_allocator()) ? 0 : 1;\n"
        "}\n"
    )
    for words in compilers().values():
        program = compile_program(words, source, tmp_path / "elements", "-I", str(INCLUDE), "-DMILLPOND_CHECKED")
        assert subprocess.run([program], check=False, timeout=60).returncode == 0


@pytest.mark.parametrize("compiler", mostly_more(["gcc", "clang", "libc++"]))
def test_every_home_compiles_and_holds_in_checked_mode(compiler: str, tmp_path: Path) -> None:
    if compiler not in compilers():
        pytest.skip(f"{compiler} is not on this machine")
    folder = tmp_path / "written"
    write(every_home(), folder)
    options = ["-Wall", "-Wextra", "-Werror", "-I", str(INCLUDE)]
    words = compilers()[compiler]
    single = tmp_path / "single.cpp"
    single.write_text(f'#include "{folder / HEADER}"\n#include "{folder / HEADER}"\n')
    compile_program(words, single, tmp_path / "single.o", *options, "-fsyntax-only")
    program = compile_program(words, folder / TEST, tmp_path / "test", *options, "-DMILLPOND_CHECKED")
    done = subprocess.run([program, "20260101"], capture_output=True, text=True, check=False, timeout=120)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert done.stdout == "seed 20260101\nok\n"


def changed(advice: Advice, source: Path) -> tuple[str, int]:
    """Returns the source with every change that has a line, and the number of changes."""
    lines, count = source.read_text().split("\n"), 0
    changes = {
        (c.line, c.before, c.after)
        for row in with_code(advice).subsystems
        for c in (row.code.changes if row.code else ())
        if c.before and c.file == str(source)
    }
    for number, before, after in changes:
        assert before in lines[number - 1]
        lines[number - 1] = lines[number - 1].replace(before, after)
        count += 1
    return f'#include "{HEADER}"\n' + "\n".join(lines), count


@pytest.mark.parametrize("strategy", mostly_more(["multipool", "monotonic"], "multipool"))
def test_changed_programs_print_the_same(strategy: str, tmp_path: Path) -> None:
    source = tmp_path / "shapes.cpp"
    source.write_text((HERE / "shapes.cpp").read_text())
    original = compile_program(next(iter(compilers().values())), source, tmp_path / "shapes", "-O1", "-g")
    found = characterised(original)
    rows = [s for s in found.values() if s["kind"] in ("type", "function") and s["name"] != "main"]
    scope = {"scope": {"phase": True}} if strategy == "monotonic" else {}
    routes = [{"subsystems": [r["name"]], "pool": r["name"], "strategy": strategy} | scope for r in rows]
    advice = advice_of(rows, routes)
    folder = tmp_path / "written"
    write(advice, folder)
    text, count = changed(advice, source)
    assert count >= 8 and "recent_" in (folder / NOTE).read_text()
    new = folder / "changed.cpp"
    new.write_text(text)
    expected = subprocess.run([original], capture_output=True, text=True, check=True, timeout=60).stdout
    for words in compilers().values():
        program = compile_program(words, new, tmp_path / "changed", "-I", str(INCLUDE), "-DMILLPOND_CHECKED")
        done = subprocess.run([program], capture_output=True, text=True, check=False, timeout=60)
        assert (done.returncode, done.stdout, done.stderr) == (0, expected, "")
