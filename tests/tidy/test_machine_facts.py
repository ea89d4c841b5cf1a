# SPDX-License-Identifier: BSL-1.0
"""Sizes of pages, registers and the order of bytes are assumed only in files that say so, in machine_facts.toml."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from repository import CXX_SUFFIXES, files, text

ROOMS = ("src", "include", "preload", "lab", "python")
LISTED: dict[str, dict[str, str]] = tomllib.loads(text(Path("tests/tidy/machine_facts.toml")))

# 4 KiB as a number, its mask, or the bits of an address behind it.
_NUMBER = r"(?:4'?096|4095|0x1000|0xfff)[uUlL]*(?![\w.'])"
_FOUR_KIB = re.compile(rf"(?<![\w.'-]){_NUMBER}|\b4 << 10\b")
_OF_PAGES = re.compile(r"page|alignas|address", re.IGNORECASE)
# The number as an operand, where a name would tell what it is; and a shift by its bits.
_OPERAND = re.compile(rf"(?:[-+*/%&|~]|[<>]=?)=? [-~]?{_NUMBER}|{_NUMBER} [-+*/%&|]|(?<!\b1 )(?:<<|>>) 12\b")
_ASKS_THE_SYSTEM = re.compile(r"\b(?:_SC_PAGE_?SIZE|AT_PAGESZ|getpagesize)\b|\bmmap\.PAGESIZE\b")
# An empty instruction is a barrier of the compiler.
_REGISTERS = re.compile(
    r"__x86_64__|__i386__|__aarch64__|__builtin_ia32|\bREG_[ER]|uc_mcontext|\bguest_R|intrin\.h|cpuid\.h"
    r"|\b(?:asm|__asm__)(?: volatile)?\((?!\"\")"
)
_BYTE_ORDER = re.compile(r"__BYTE_ORDER__|\bendian\b|\bbyteorder\b|\bbswap|\bbyteswap|ELFDATA2|\\x7fELF\\x02")
_COMMENT = {".py": re.compile(r"#[^\n]*|\"\"\".*?\"\"\"", re.DOTALL)}
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_CXX_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)


def code_of(path: Path, content: str) -> list[str]:
    """The lines of a file, without comments and docstrings."""
    comment = _COMMENT.get(path.suffix, _CXX_COMMENT)
    return comment.sub(lambda found: "\n" * found[0].count("\n"), content).split("\n")


def is_page_size(line: str) -> bool:
    """Returns whether a line of code has 4 KiB as the size of a page, or without a name."""
    if _ASKS_THE_SYSTEM.search(line):
        return True
    line = _STRING.sub('""', line)
    if "^=" in line:  # random numbers
        return False
    return _OPERAND.search(line) is not None or (
        _FOUR_KIB.search(line) is not None and _OF_PAGES.search(line) is not None
    )


# Each fact with what a file that assumes it has somewhere, and whether a line of its code does.
RULES = {
    "page_size": (re.compile(rf"{_NUMBER}|<< 10|(?:<<|>>) 12|{_ASKS_THE_SYSTEM.pattern}"), is_page_size),
    "registers": (_REGISTERS, lambda line: _REGISTERS.search(line) is not None),
    "byte_order": (_BYTE_ORDER, lambda line: _BYTE_ORDER.search(line) is not None),
}


def lines_that_assume(fact: str, path: Path) -> list[int]:
    somewhere, is_assumed = RULES[fact]
    content = text(path)
    if somewhere.search(content) is None:
        return []
    return [number for number, line in enumerate(code_of(path, content), 1) if is_assumed(line)]


def sources() -> list[Path]:
    return [path for path in files() if path.parts[0] in ROOMS and path.suffix in (*CXX_SUFFIXES, ".py")]


def is_listed(path: Path, listed: dict[str, str]) -> bool:
    return str(path) in listed or any(f"{folder}/" in listed for folder in path.parents)


@pytest.mark.parametrize("fact", RULES)
def test_facts_are_assumed_only_in_listed_files(fact: str) -> None:
    assumed = {path: lines_that_assume(fact, path) for path in sources()}
    places = [f"{path}:{number}" for path, numbers in assumed.items() for number in numbers]
    unlisted = [place for place in places if not is_listed(Path(place.split(":")[0]), LISTED[fact])]
    assert not unlisted, (
        f"these lines assume a machine's {fact.replace('_', ' ')}. Use os::pages::size(), preload/machine.hpp or "
        "lab/program/model_page.hpp, name a number that is no page, or list the file with its reason in "
        f"tests/tidy/machine_facts.toml: {unlisted}"
    )
    used = {
        entry for entry in LISTED[fact] for path, numbers in assumed.items() if numbers and is_listed(path, {entry: ""})
    }
    assert set(LISTED[fact]) == used, f"listed without need: {sorted(set(LISTED[fact]) - used)}"


@pytest.mark.parametrize(
    "line",
    [
        "constexpr std::size_t page_bytes = 4096;",
        "struct alignas(4096) words {",
        "return (address >> 12) & 0xffff;",
        "const std::size_t whole = (bytes + 4095) & ~std::size_t{4095};",
        "if (::sysconf(_SC_PAGESIZE) != expected) refuse();",
        "if (at < 4096) return false;",
        "_PAGE_BYTES = 4096",
    ],
)
def test_page_sizes_in_code_are_seen(line: str) -> None:
    assert is_page_size(line)


@pytest.mark.parametrize(
    "line",
    [
        "constexpr std::size_t path_bytes = 4096;",
        "char path[4096];",
        "class_map<64, 512, 4096> classes;",
        "const std::size_t page_bytes = os::pages::size();",
    ],
)
def test_other_sizes_pass(line: str) -> None:
    assert not is_page_size(line)
