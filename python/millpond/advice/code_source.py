# SPDX-License-Identifier: BSL-1.0
"""The lines of the program's own source that a change touches, where the source is at hand and is what was compiled."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from millpond.advice.code_aliases import ALIASES, container_of, is_pmr, wanted
from millpond.advice.code_homes import Home
from millpond.rounds.characterisation import Member

_BYTES_MAX = 4 << 20
_OTHERS_MAX = 8
_HEAD_LINES = 8  # of a function before its body


@cache
def lines_of(file: str) -> tuple[str, ...]:
    """The lines of a source file; none where it cannot be read."""
    path = Path(file)
    try:
        if not path.is_file() or path.stat().st_size > _BYTES_MAX:
            return ()
        return tuple(path.read_text(encoding="utf-8", errors="replace").split("\n"))
    except OSError:
        return ()


def declaration_line(member: Member) -> str:
    """The line on which a variable is declared, if it still has its name; else empty."""
    lines, number = lines_of(member.file), member.line
    name = member.name.rsplit(".", 1)[-1]
    if not 0 < number <= len(lines) or not re.search(rf"\b{re.escape(name)}\b", lines[number - 1]):
        return ""
    return lines[number - 1].rstrip("\r")


def changed_line(line: str, type_: str, home: Home) -> str:
    """A line with the home's container in the place of the standard one of this type, whether or not it says `std::`.

    Only the container itself is another one: its elements keep their types, so that what is put in still fits.
    """
    name = container_of(type_)
    if name not in ALIASES or name not in wanted(home) or is_pmr(type_):
        return line
    template = rf"(?<![\w:.>])(?:::)?(?:std::)?{re.escape(name)}\b(?=\s*<)"
    alias = rf"(?<![\w:])(?:::)?std::{re.escape(name)}\b(?!\s*<|::)"
    return re.sub(f"{template}|{alias}", f"{home.space}::{name}", line, count=1)


def opening_line(file: str, line: int) -> tuple[int, int, str] | None:
    """Where the body of the function that is declared there opens: number of the line, place of the brace, the line.

    None where the source is not at hand, or where the brace may be another one, as behind a constructor's initialisers.
    """
    lines = lines_of(file)
    if not 0 < line <= len(lines):
        return None
    text = "\n".join(lines[line - 1 : line + _HEAD_LINES])
    found = re.search(r"\)\s*(?:const\b|noexcept\b|override\b|final\b|&|\s|->\s*[\w:<>, *&]+?)*\{", text)
    if found is None or ";" in text[: found.end()] or re.search(r"\)\s*:(?!:)", text[: found.end()]):
        return None
    before = text[: found.end() - 1]
    return line + before.count("\n"), len(before) - (before.rfind("\n") + 1), lines[line - 1 + before.count("\n")]


def alias_line(member: Member) -> tuple[int, str] | None:
    """The line that declares the alias by which a variable's type is named in its declaration, in the same file."""
    declared, type_ = declaration_line(member), member.type
    pattern = re.compile(rf"(?<![\w:.>])(?:std::)?{re.escape(container_of(type_))}\s*<")
    for number, line in enumerate(lines_of(member.file), 1):
        alias = re.search(r"\busing\s+(\w+)\s*=|\btypedef\b.*\b(\w+)\s*;", line)
        found = pattern.search(line)
        if alias is None or found is None or not re.search(rf"\b{alias[1] or alias[2]}\b", declared):
            continue
        past = _closing(line, found.end() - 1)
        if past is not None and _bare(line[found.start() : past]) == _bare(type_):
            return number, line.rstrip("\r")
    return None


def other_lines(member: Member, home: Home) -> tuple[list[tuple[int, str, str]], list[int]]:
    """Other lines of the file with the type of a variable: those that name its iterators, before and after, and the
    numbers of the rest, which the change may or may not concern.
    """
    type_ = member.type
    name = container_of(type_)
    if is_pmr(type_) or name not in ALIASES:
        return [], []
    # As the compiler writes the type and as the declaration does, which may name a template's parameter.
    same = {_bare(type_)} | ({_bare(own)} if (own := _type_on(declaration_line(member), name)) else set())
    pattern = re.compile(rf"(?<![\w:.>])(?:std::)?{re.escape(name)}\s*<")
    must: list[tuple[int, str, str]] = []
    may: list[int] = []
    for number, line in enumerate(lines_of(member.file), 1):
        found = pattern.search(line)
        if number == member.line or found is None or line.lstrip().startswith(("//", "#", "*")):
            continue
        past = _closing(line, found.end() - 1)
        if past is None or _bare(line[found.start() : past]) not in same:
            continue
        if line[past:].lstrip().startswith("::"):
            must.append((number, line.strip(), changed_line(line, type_, home).strip()))
        else:
            may.append(number)
    return must[:_OTHERS_MAX], may[:_OTHERS_MAX]


def _type_on(line: str, name: str) -> str:
    """The instance of a container's template that a line names first; empty where it names none."""
    found = re.search(rf"(?<![\w:.>])(?:std::)?{re.escape(name)}\s*<", line)
    past = _closing(line, found.end() - 1) if found else None
    return line[found.start() : past] if found and past else ""


def _closing(line: str, opening: int) -> int | None:
    depth = 0
    for at in range(opening, len(line)):
        depth += {"<": 1, ">": -1}.get(line[at], 0)
        if depth == 0:
            return at + 1
    return None


def _bare(type_: str) -> str:
    """A type without the scopes of its names, blanks and the spellings that compilers choose."""
    text = re.sub(r"\b\w+::", "", type_)
    text = re.sub(r"\bunsigned int\b|\buint32_t\b", "unsigned", text)
    text = re.sub(r"\bint32_t\b", "int", text)
    return re.sub(r"\s+", "", text)
