# SPDX-License-Identifier: BSL-1.0
"""Names in stripped libraries: by dynamic symbols, by separate debug files, and by neighbours, which claim nothing."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from compiling import BIN, compile_program, compilers
from debug_forms import run, separated

# Static functions allocate between exported functions, in C and in C++. Each function has its own number of events.
LIBRARY = """
#include <cstdlib>
#define APART __attribute__((noinline, noclone))
#define SHOWN __attribute__((visibility("default"), noinline))
#define BLOCK(bytes) do { void* p = malloc(bytes); asm volatile("" : "+r"(p)); free(p); asm volatile(""); } while (0)
#define TIMES(n) for (int i = 0; i < n; i++)
namespace shop {
class SHOWN book { public: void add(); void drop(); };
namespace { APART void hidden_in_cpp() { TIMES(300) BLOCK(30); } }
void book::add() { TIMES(200) BLOCK(20); hidden_in_cpp(); asm volatile(""); }
void book::drop() { TIMES(100) BLOCK(10); }
}
extern "C" {
SHOWN void first_exported() { TIMES(400) BLOCK(40); }
APART static void hidden_one() { TIMES(500) BLOCK(50); }
APART static void hidden_two() { TIMES(600) BLOCK(60); }
SHOWN void last_exported() { hidden_one(); hidden_two(); TIMES(700) BLOCK(70); }
}
"""
PROGRAM = """
namespace shop { class book { public: void add(); void drop(); }; }
extern "C" { void first_exported(); void last_exported(); }
int main() { shop::book b; b.add(); b.drop(); first_exported(); last_exported(); }
"""
EXPORTED = {"shop::book": 600, "first_exported": 800, "last_exported": 1400}
HIDDEN = {"shop": 600, "hidden_one": 1000, "hidden_two": 1200}


@dataclass(frozen=True)
class Built:
    """A library with debug information, and a program around it."""

    program: Path
    library: Path

    @property
    def folder(self) -> Path:
        return self.library.parent


@pytest.fixture
def built(tmp_path: Path) -> Built:
    gcc = compilers().get("gcc") or pytest.skip("gcc is not on this machine")
    folder = tmp_path / "built"
    folder.mkdir()
    library, program = folder / "libbook.so", folder / "around"
    library.with_suffix(".cpp").write_text(LIBRARY)
    program.with_suffix(".cpp").write_text(PROGRAM)
    shared = ("-O2", "-g", "-Wl,--build-id", "-shared", "-fPIC", "-fvisibility=hidden")
    compile_program(gcc, library.with_suffix(".cpp"), library, *shared)
    compile_program(gcc, program.with_suffix(".cpp"), program, "-O2", *linked(library))
    return Built(program, library)


@pytest.fixture(autouse=True)
def no_places(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MILLPOND_DEBUG_PATH", "MILLPOND_SYSROOT", "DEBUGINFOD_URLS"):
        monkeypatch.delenv(name, raising=False)


def linked(library: Path) -> tuple[str, ...]:
    """Returns the options that link a program with a library next to it."""
    return "-Wl,--no-as-needed", str(library), "-Wl,-rpath,$ORIGIN"


def recorded(one: Built) -> Path:
    trace = one.folder / "trace.mpt"
    command = [BIN / "millpond-record", "-o", trace, "--", one.program]
    subprocess.run(command, capture_output=True, check=True, timeout=120)
    return trace


def analysed(trace: Path) -> dict[str, Any]:
    done = subprocess.run([BIN / "millpond-characterise", trace], capture_output=True, check=True, timeout=120)
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def of_library(data: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Returns the subsystems whose code is in the library, by name."""
    return {s["name"]: s for s in data["subsystems"] if any(Path(m).name == "libbook.so" for m in s["modules"])}


def events(data: dict[str, Any]) -> dict[str, int]:
    return {name: s["events"] for name, s in of_library(data).items()}


def hidden_modules(data: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {Path(m["path"]).name: m for m in data["trace"]["modules_without_symbols"]}


def build_id(module: Path) -> str:
    done = subprocess.run(["readelf", "-n", module], capture_output=True, text=True, check=True)
    return done.stdout.partition("Build ID: ")[2].split()[0]


def addresses(library: Path) -> dict[str, int]:
    """Returns the address of each function of a library with symbols, by its demangled name without parameters."""
    done = subprocess.run(["nm", "-C", "--defined-only", library], capture_output=True, text=True, check=True)
    rows = [line.split(maxsplit=2) for line in done.stdout.splitlines()]
    return {row[2].removesuffix("()"): int(row[0], 16) for row in rows if len(row) == 3 and row[1] in "tT"}


def test_symbols_name_all_functions(built: Built) -> None:
    data = analysed(recorded(built))
    assert events(data) == EXPORTED | HIDDEN
    assert "libbook.so" not in hidden_modules(data)
    assert all(s["near"] is None for s in data["subsystems"] if s["named"])


def test_dynamic_symbols_name_their_functions_and_only_hint_at_others(built: Built) -> None:
    places = addresses(built.library)
    run("strip", built.library, folder=built.folder)
    data = analysed(recorded(built))
    found = of_library(data)
    assert {name: s["events"] for name, s in found.items() if s["named"]} == EXPORTED
    unnamed = [s for s in found.values() if not s["named"]]
    # Each hidden function stays a subsystem of its own, by its place in the file: neighbours join nothing.
    assert sorted(s["events"] for s in unnamed) == sorted(HIDDEN.values())
    assert all(s["kind"] == "unnamed" and s["name"].startswith("libbook.so!f") for s in unnamed)
    true_name = {600: "shop::(anonymous namespace)::hidden_in_cpp", 1000: "hidden_one", 1200: "hidden_two"}
    exported = {"shop::book::add", "shop::book::drop", "first_exported", "last_exported"}
    for s in unnamed:
        own = places[true_name[s["events"]]]
        away = {name: abs(places[name] - own) for name in exported}
        before = max((name for name in exported if places[name] < own), key=lambda n: places[n], default=None)
        after = min((name for name in exported if places[name] > own), key=lambda n: places[n], default=None)
        assert s["near"] in {before, after}, away
    text = json.dumps([c["stack"] for s in unnamed for c in s["top_contexts"]])
    assert all(f"near {s['near']} ({s['name']})" in text for s in unnamed)


def test_hidden_shares_are_those_of_unnamed_functions(built: Built) -> None:
    run("strip", built.library, folder=built.folder)
    data = analysed(recorded(built))
    trace, hidden = data["trace"], hidden_modules(data)["libbook.so"]
    total = sum(s["events"] for s in data["subsystems"])
    unnamed = sum(HIDDEN.values())
    assert hidden["events"] == hidden["near_events"] == unnamed
    assert hidden["bytes"] == sum(s["bytes"] for s in of_library(data).values() if not s["named"])
    assert hidden["share"] == pytest.approx(unnamed / total)
    assert hidden["build_id"] == build_id(built.library)
    assert "stripped" in hidden["why"]
    # A neighbour's name counts as no name.
    named = sum(s["events"] for s in data["subsystems"] if s["named"])
    assert trace["named_share"] == pytest.approx(named / total)
    assert trace["near_share"] == pytest.approx(sum(s["events"] for s in data["subsystems"] if s["near"]) / total)


@pytest.mark.parametrize("way", ["build-id", "link", "flat", "sysroot"])
def test_separate_debug_files_name_all_functions(way: str, built: Built, monkeypatch: pytest.MonkeyPatch) -> None:
    identity = build_id(built.library)
    root = built.folder / "root"
    below = {
        "build-id": f".build-id/{identity[:2]}/{identity[2:]}.debug",
        "link": f"{str(built.folder.resolve()).lstrip('/')}/book.debug",
        "flat": "book.debug",
        "sysroot": f"usr/lib/debug/.build-id/{identity[:2]}/{identity[2:]}.debug",
    }[way]
    separated(built.library, root / below)
    trace = recorded(built)
    without = analysed(trace)
    assert "libbook.so" in hidden_modules(without) and EXPORTED.items() <= events(without).items()
    monkeypatch.setenv("MILLPOND_SYSROOT" if way == "sysroot" else "MILLPOND_DEBUG_PATH", str(root))
    data = analysed(trace)
    assert events(data) == EXPORTED | HIDDEN
    assert "libbook.so" not in hidden_modules(data)


def test_without_any_symbol_nothing_is_claimed(built: Built) -> None:
    """An executable exports nothing, so no neighbour has a name."""
    gcc = compilers()["gcc"]
    whole = built.folder / "whole.cpp"
    whole.write_text(LIBRARY + "int main() { shop::book b; b.add(); b.drop(); first_exported(); last_exported(); }\n")
    program = compile_program(gcc, whole, built.folder / "whole", "-O2", "-fvisibility=hidden", "-Wl,--build-id")
    run("strip", program, folder=built.folder)
    data = analysed(recorded(Built(program, built.library)))
    own = [s for s in data["subsystems"] if s["modules"] == [str(program)]]
    assert own and all(not s["named"] and s["near"] is None for s in own)
    assert hidden_modules(data)["whole"]["events"] == sum(s["events"] for s in own)
    assert hidden_modules(data)["whole"]["near_events"] == 0


def test_files_below_another_root_are_read(built: Built, monkeypatch: pytest.MonkeyPatch) -> None:
    trace = recorded(built)
    expected = analysed(trace)
    moved = built.folder / "root" / str(built.library).lstrip("/")
    moved.parent.mkdir(parents=True)
    built.library.rename(moved)
    gone = analysed(trace)
    assert "libbook.so" in hidden_modules(gone) and not EXPORTED.keys() & {s["name"] for s in gone["subsystems"]}
    monkeypatch.setenv("MILLPOND_SYSROOT", str(built.folder / "root"))
    assert events(analysed(trace)) == events(expected) == EXPORTED | HIDDEN


def test_plans_name_functions_without_a_symbol_by_their_place(built: Built) -> None:
    """A name in a plan does not change if a neighbour gets one."""
    run("strip", built.library, folder=built.folder)
    plans = built.folder / "plans"
    command = [BIN / "millpond-characterise", "--plan-out", plans, recorded(built)]
    subprocess.run(command, capture_output=True, check=True, timeout=120)
    planned = {
        name for file in plans.glob("*.json") for route in json.loads(file.read_text())["routes"]
        for name in route["subsystems"]
    }  # fmt: skip
    assert any(name.startswith("libbook.so!f") for name in planned)
    assert not any("near " in name for name in planned)
