# SPDX-License-Identifier: BSL-1.0
"""Includes and imports point only downward. The order of the rooms (docs/design.md) is written down here."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest
import repository

# Rooms in one line may not include one another; a room may include itself and everything on the lines above.
ORDER = [
    ["include/millpond/core"],
    ["include/millpond/os"],
    ["src/os"],
    ["include/millpond/block"],
    ["include/millpond/local", "include/millpond/classic"],
    ["include/millpond/wrap"],
    ["include/millpond/bind"],
    ["include/millpond/container"],
    ["include/millpond/advise"],
    ["include/millpond"],
    ["preload"],
    ["lab/program"],
    ["lab/trace"],
    ["lab/symbols"],
    ["lab/plan"],
    ["lab/measure"],
    ["lab/references"],
    ["lab/layout"],
    ["lab/simulate"],
    ["lab/attribution"],
    ["lab/probes"],
    ["lab/attach"],
    ["lab/record", "lab/litter", "lab/mallocs", "lab/characterise", "lab/trial", "lab/replay"],
    ["lab/suites/common"],
    ["lab/suites/frame"],
    [
        "lab/suites/known_truth",
        "lab/suites/layouts",
        "lab/suites/library",
        "lab/suites/malloc",
        "lab/suites/p0089",
        "lab/suites/recording",
        "lab/suites/reserve_commit",
        "lab/suites/suballocator",
        "lab/suites/unique_chars",
    ],
    ["examples"],
    ["tests"],
]
LEVEL = {room: level for level, rooms in enumerate(ORDER) for room in rooms}
INCLUDE = re.compile(r'^\s*#\s*include\s+(?:"([^"]+)"|<(millpond/[^>]+)>)', re.MULTILINE)


def room_of(path: Path) -> str | None:
    """Returns the innermost room of a file. An umbrella header (millpond/local.hpp) belongs to the room it names."""
    named = path.with_suffix("").as_posix()
    if named in LEVEL and named.startswith("include/"):
        return named
    return next((folder.as_posix() for folder in path.parents if folder.as_posix() in LEVEL), None)


def resolve(including: Path, name: str) -> Path | None:
    """Returns our file that an include names: next to the including file, from the root, or from include/."""
    for folder in (including.parent, Path(), Path("include")):
        found = (repository.ROOT / folder / name).resolve()
        if found.is_file() and found.is_relative_to(repository.ROOT):
            return found.relative_to(repository.ROOT)
    return None


def upward(including: Path, included: Path) -> bool:
    own, other = room_of(including), room_of(included)
    if own is None or other is None or own == other:
        return False
    return LEVEL[other] >= LEVEL[own]


def includes(path: Path) -> list[str]:
    return [quoted or angled for quoted, angled in INCLUDE.findall(repository.text(path))]


def test_every_source_lies_in_a_room() -> None:
    homeless = [str(path) for path in repository.cxx_files() if room_of(path) is None]
    assert not homeless, f"add the room to ORDER in {Path(__file__).name}, at its level: {homeless}"


def test_every_room_of_the_order_exists() -> None:
    lost = [room for room in LEVEL if not (repository.ROOT / room).is_dir()]
    assert not lost, lost


def test_includes_point_downward() -> None:
    wrong = []
    for path in repository.cxx_files():
        for name in includes(path):
            included = resolve(path, name)
            if included and upward(path, included):
                wrong.append(f"{path} includes {included}")
    assert not wrong, "\n".join(wrong)


def test_every_include_of_ours_is_found() -> None:
    """Includes start at the file's own folder or at the root, so a reader needs no build system to follow them."""
    outside = re.compile(r"^(gtest|gmock|rapidcheck|benchmark|fmt|CLI|nlohmann)/")
    lost = [
        f"{path}: {name}"
        for path in repository.cxx_files()
        for name in includes(path)
        if not outside.match(name) and resolve(path, name) is None and path.parts[:2] != ("tests", "consumer")
    ]
    assert not lost, "\n".join(lost)


# The suites still include files of their own folder by bare names.
NATIVE = [path for path in repository.cxx_files() if path.parts[0] in ("lab", "preload") and path.parts[1] != "suites"]
NAMESPACE = re.compile(r"^namespace millpond::(\w+) \{", re.MULTILINE)


def test_native_includes_are_written_from_the_root() -> None:
    """A reader sees the room of an included file, and a file that moves keeps its includes."""
    bare = [
        f"{path}: {name}"
        for path in NATIVE
        for name in includes(path)
        if (repository.ROOT / path.parent / name).is_file()
    ]
    assert not bare, "\n".join(bare)


def test_native_namespaces_are_those_of_their_folders() -> None:
    wrong = []
    for path in NATIVE:
        for namespace in NAMESPACE.findall(repository.text(path)):
            # A library gives the malloc layer its backend; `pairs` is a program that is tried.
            if namespace not in (path.parent.name, "preload") and path.name != "pairs_main.cpp":
                wrong.append(f"{path}: millpond::{namespace}")
    assert not wrong, "\n".join(wrong)


def test_upward_includes_are_recognised() -> None:
    """Tests the test itself."""
    core, local = Path("include/millpond/core/bits.hpp"), Path("include/millpond/local/multipool.hpp")
    umbrella = Path("include/millpond/local.hpp")
    assert upward(core, local)
    assert not upward(local, core)
    assert upward(Path("lab/suites/p0089/main.cpp"), Path("lab/suites/library/slots.cpp"))
    assert not upward(umbrella, local)
    assert upward(Path("preload/real.cpp"), Path("lab/trace/reader.hpp"))
    assert upward(Path("lab/trial/router.cpp"), Path("lab/record/events.hpp"))
    assert not upward(Path("lab/trial/router.cpp"), Path("lab/plan/plan.hpp"))


# The rooms of each package, the lowest first. The modules of a package that lie in no room stand above its rooms.
ROOMS = {
    "millpond": (
        "system", "statistics", "cells", "store", "rounds", "doctor", "cluster", "advice", "report", "verbs",
        "commands",
    ),
    "millpond_bench": (
        "programs", "accuracy", "experiments", "claims", "tables", "laboratory", "runs", "pages", "suites",
    ),
    "millpond_docs": (),
}  # fmt: skip
# The modules above the verbs: no other module may import the command line.
ABOVE = {"millpond.__main__"}


def imported_modules(path: Path) -> set[str]:
    """Returns the absolute names of imported modules; from X import Y counts as X.Y."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(repository.text(path))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                base = ".".join(["millpond", *([base] if base else [])])
            names |= {base, *(f"{base}.{alias.name}" for alias in node.names)}
    return names


def package_graph() -> dict[str, set[str]]:
    """Returns the modules of all packages, each with the modules that it imports."""
    paths = [path for path in repository.python_files() if path.parts[0] == "python" and path.stem != "__init__"]
    modules = {".".join(path.relative_to("python").with_suffix("").parts): path for path in paths}
    imports = {name: imported_modules(path) for name, path in modules.items()}
    return {name: {other for other in modules if other in imports[name]} - {name} for name in modules}


def level(module: str) -> tuple[int, int]:
    """Returns the level of a module: its package, then its room; modules without a room are above all rooms."""
    package, room, *rest = module.split(".")
    rooms = ROOMS[package]
    return list(ROOMS).index(package), rooms.index(room) if rest else len(rooms)


def test_python_imports_have_no_cycle() -> None:
    try:
        TopologicalSorter(package_graph()).prepare()
    except CycleError as error:
        pytest.fail(f"Python modules import in a circle: {' > '.join(error.args[1])}")


def test_python_imports_point_downward() -> None:
    """In particular, nothing in millpond imports millpond_bench."""
    graph = package_graph()
    pairs = [(name, other) for name, imports in graph.items() for other in imports]
    wrong = [f"{name} imports {other}" for name, other in pairs if level(other) > level(name)]
    wrong += [f"{name} imports cli" for name, other in pairs if other == "millpond.cli" and name not in ABOVE]
    assert not wrong, "\n".join(sorted(wrong))


def test_verbs_import_no_other_verb() -> None:
    """A verb is one file of `commands`, next to the options that they share."""
    shared = {"millpond.commands.writing"}
    graph = package_graph()
    wrong = [
        f"{name} imports {other}"
        for name, imports in graph.items()
        for other in imports - shared
        if name.startswith("millpond.commands.") and other.startswith("millpond.commands.")
    ]
    assert not wrong, "\n".join(sorted(wrong))


def test_every_folder_of_the_packages_is_a_room() -> None:
    have: dict[str, set[str]] = {}
    for package, room, *rest in (name.split(".") for name in package_graph()):
        if rest:
            have.setdefault(package, set()).add(room)
    assert have == {package: set(rooms) for package, rooms in ROOMS.items() if rooms}


def test_module_names_are_unique() -> None:
    """A reader who searches for a file name finds one file. (A verb may have the name of the room that serves it.)"""
    names = [name.rpartition(".")[2] for name in package_graph()]
    assert not {name for name in names if names.count(name) > 1}


def test_python_talks_to_native_code_by_command_lines_only() -> None:
    bridges = {"ctypes", "cffi", "pybind11", "cython"}
    of_the_c_library = Path("python/millpond/system/memory_limit.py")  # makes glibc's malloc use one heap
    wrong = [
        f"{path} imports {name}"
        for path in repository.python_files()
        if path.parts[0] == "python" and path != of_the_c_library
        for name in imported_modules(path)
        if name.split(".")[0] in bridges
    ]
    assert not wrong, "\n".join(wrong)


def test_packages_import_only_what_they_declare() -> None:
    """A package that only tests use is not on a user's machine. MarkupSafe and Dask come with declared packages."""
    project = tomllib.loads(repository.text(Path("pyproject.toml")))["project"]
    required = [*project["dependencies"], *project["optional-dependencies"]["cluster"], "dask", "markupsafe"]
    declared = {re.split(r"[^\w-]", name)[0] for name in required}
    wrong = {
        f"{path} imports {name}"
        for path in repository.python_files()
        if path.parts[:2] in (("python", "millpond"), ("python", "millpond_bench"))
        for name in {each.split(".")[0] for each in imported_modules(path)}
        if name not in declared | sys.stdlib_module_names | {"millpond", "millpond_bench"}
    }
    assert not wrong, "\n".join(sorted(wrong))


def test_class_names_are_unique() -> None:
    """A reader who searches for a class finds one."""
    modules: dict[str, list[str]] = {}
    for path in repository.python_files():
        if path.parts[0] == "python":
            for node in ast.parse(repository.text(path)).body:
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    modules.setdefault(node.name, []).append(str(path))
    twice = {name: paths for name, paths in modules.items() if len(paths) > 1}
    assert not twice, twice
