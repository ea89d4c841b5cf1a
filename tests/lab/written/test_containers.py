# SPDX-License-Identifier: BSL-1.0
"""Containers have the names of the source, for every compiler and its options."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from compiling import HERE, characterised, compile_program, compilers

from tiers import mostly_more

SOURCE = HERE / "all_containers.cpp"
# Function of the program → the container that it fills.
EXPECTED = dict(re.findall(r"^// (use_\w+): (.*)$", SOURCE.read_text(), re.MULTILINE))
RIGHT_AT_LEAST = 0.95
# Without debug information, names come from what was not inlined: adaptors and streams show their insides.
WRONG_AT_MOST = 0.10


def is_right(container: dict[str, Any], expected: str) -> bool:
    """Returns whether a container is the one (or one of the two) that the function fills."""
    if expected == "nothing":
        return container["type"] is None
    return container["type"] in expected.split(" in ")


def shares(found: dict[str, dict[str, Any]]) -> tuple[float, float, list[str]]:
    """Returns the shares of bytes with right and wrong names, and the wrong names."""
    total = right = wrong = 0
    complaints = []
    for function, expected in EXPECTED.items():
        assert function in found, f"{function} has no subsystem"
        subsystem = found[function]
        counted = sum(c["bytes"] for c in subsystem["containers"])
        assert counted == subsystem["bytes"], "every byte is of one container"
        for container in subsystem["containers"]:
            total += container["bytes"]
            if is_right(container, expected):
                right += container["bytes"]
                continue
            wrong += container["bytes"] if container["type"] else 0
            complaints.append(
                f"{function}: {container['bytes']} bytes are {container['type'] or container['why_null']}"
            )
    return right / total, wrong / total, complaints


@pytest.mark.parametrize(
    ("compiler", "options"),
    mostly_more(
        [("gcc", "-O0 -g"), ("gcc", "-O2 -g"), ("clang", "-O2 -g"), ("libc++", "-O2 -g"), ("libc++", "-O0")],
        "gcc -O2 -g",
    ),
)
def test_names_nearly_all_bytes(compiler: str, options: str, tmp_path: Path) -> None:
    if compiler not in compilers():
        pytest.skip(f"{compiler} is not on this machine")
    program = compile_program(compilers()[compiler], SOURCE, tmp_path / "all", *options.split())
    right, _, complaints = shares(characterised(program))
    assert right >= RIGHT_AT_LEAST, "\n".join(complaints)


def test_guesses_nothing_without_debug_information(tmp_path: Path) -> None:
    program = compile_program(next(iter(compilers().values())), SOURCE, tmp_path / "all", "-O2")
    found = characterised(program)
    _, wrong, complaints = shares(found)
    assert wrong <= WRONG_AT_MOST, "\n".join(complaints)
    unnamed = [c for s in found.values() for c in s["containers"] if c["type"] is None and c["call"] is None]
    assert any("build with -g to name it" in c["why_null"] for c in unnamed)
    assert not any(c["members"] or p["line"] for c in unnamed for p in c["places"])


@pytest.mark.parametrize("compiler", mostly_more(["gcc", "clang", "libc++"], "gcc"))
def test_tells_members_and_places(compiler: str, tmp_path: Path) -> None:
    if compiler not in compilers():
        pytest.skip(f"{compiler} is not on this machine")
    source = HERE / "shapes.cpp"
    program = compile_program(compilers()[compiler], source, tmp_path / "shapes", "-O1", "-g")
    lines = source.read_text().split("\n")
    found = characterised(program)
    containers = {c["type"]: c for s in found.values() for c in s["containers"] if c["members"]}
    for type_, name, kind in (
        ("std::list<hidden>", "recent_", "member"),
        ("std::unordered_multimap<int, hidden>", "by_key_", "member"),
        ("std::multiset<int>", "numbers", "member"),
        ("std::set<int>", "seen", "local variable"),
    ):
        member = next(m for m in containers[type_]["members"] if m["kind"] != "captured")
        assert (member["name"], member["kind"], member["holds"]) == (name, kind, "itself")
        assert Path(member["file"]).name == "shapes.cpp" and name in lines[member["line"] - 1]
        place = containers[type_]["places"][0]
        assert Path(place["file"]).name == "shapes.cpp" and name in lines[place["line"] - 1]


def test_names_the_containers_of_however_many_contexts(tmp_path: Path) -> None:
    """Contexts with the same addresses up to the owner are resolved once, so there is no limit."""
    program = compile_program(
        next(iter(compilers().values())), HERE / "many_contexts.cpp", tmp_path / "many", "-O1", "-g"
    )
    branches = characterised(program)["branches"]
    assert branches["contexts"] > 4000
    (container,) = branches["containers"]
    assert container["type"] == "std::list<int>" and container["bytes"] == branches["bytes"]
    assert [m["name"] for m in container["members"]] == ["depths_"]
