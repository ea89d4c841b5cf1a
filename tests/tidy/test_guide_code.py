# SPDX-License-Identifier: BSL-1.0
"""The lines of C++ in the tables of docs/how_to compile: each row's code is a statement or a declaration."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
import repository

# Columns with code of ours, and the names that their rows may use.
COLUMNS = ("code", "here")
KNOWN = """
    alignas(16) static char stack[64];
    static millpond::multipool<> pool;
    static millpond::monotonic<> scratch;
    static millpond::fixed_buffer buffer(stack, sizeof stack);
    std::pmr::memory_resource* theirs = std::pmr::get_default_resource();
    using pmr_arena = millpond::resource<millpond::monotonic<>>;
    static pmr_arena memory;
"""
GUIDES = sorted(path for path in repository.files() if path.parts[:2] == ("docs", "how_to"))


def code_cells(page: str) -> list[str]:
    """The first piece of code in each cell of a column with code of ours."""
    found: list[str] = []
    column = None
    for line in page.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")] if line.startswith("|") else []
        if not cells:
            column = None
        elif column is None:
            column = next((at for at, cell in enumerate(cells) if cell in COLUMNS), len(cells))
        elif column < len(cells) and (code := re.search(r"`([^`]*millpond::[^`]*)`", cells[column])):
            found.append(code[1])
    return found


def statement(code: str) -> str:
    """The code as a block of its own; a type becomes a declaration."""
    return f"{{ {code if code.endswith(';') else f'[[maybe_unused]] {code}* of_this_type = nullptr;'} }}"


def test_code_in_tables_is_found() -> None:
    assert code_cells("| a | code |\n|---|---|\n| x | `millpond::arena a;` and `b` |\n\n`millpond::c`") == [
        "millpond::arena a;"
    ]
    assert sum(len(code_cells(repository.text(path))) for path in GUIDES) > 30


@pytest.mark.lengthy
def test_code_in_tables_compiles() -> None:
    lines = [f'#line 1 "{path}"\n{statement(code)}' for path in GUIDES for code in code_cells(repository.text(path))]
    prelude = "#include <bits/stdc++.h>\n#include <millpond/millpond.hpp>\n"
    source = f"{prelude}void shown() {{{KNOWN}{chr(10).join(lines)}\n}}\n"
    flags = ["-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Wno-unused", "-I", "include", "-x", "c++", "-"]
    command = ["g++", *flags]
    done = subprocess.run(
        command, input=source, cwd=repository.ROOT, capture_output=True, text=True, check=False
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_tutorial_programs_are_in_its_folder() -> None:
    folder = repository.ROOT / "examples" / "tutorial"
    shown = re.findall(r"\b(\w+)\.cpp", "".join(repository.text(path) for path in Path("docs/tutorial").glob("*.md")))
    assert {path.stem for path in folder.glob("*.cpp")} <= set(shown)
