# SPDX-License-Identifier: BSL-1.0
"""Finds variables that a function returns: if their type changes, the result's type and the function's ABI change."""

from __future__ import annotations

import re
from collections.abc import Iterable

from millpond.advice.code_source import lines_of
from millpond.rounds.characterisation import Member

_RESULTS_AT_MOST = 4
# The number of lines in which a function's first line is searched.
_LINES_BACK = 200


def returned_at(member: Member, files: Iterable[str] = ()) -> list[tuple[str, int]]:
    """Returns the lines that return a variable by name: in its own function, or anywhere in the files for a member."""
    name = re.escape(member.name.rsplit(".", 1)[-1])
    pattern = re.compile(rf"\breturn\s+(?:std::move\s*\(\s*)?(?:this->)?{name}\s*\)?\s*;")
    if member.kind == "member":
        return [
            (file, number)
            for file in dict.fromkeys((member.file, *files))
            for number, line in enumerate(lines_of(file), 1)
            if pattern.search(line)
        ]
    if member.kind != "local variable":
        return []
    found = []
    for number, line in enumerate(lines_of(member.file)[member.line - 1 :], member.line):
        if number > member.line and _ends_function(line, member):
            break
        if pattern.search(line):
            found.append((member.file, number))
    return found


def _ends_function(line: str, member: Member) -> bool:
    """True for a closing brace further out than the declaration."""
    declared = lines_of(member.file)[member.line - 1]
    indent = len(declared) - len(declared.lstrip())
    return line.startswith("}") or (line.strip().startswith("}") and len(line) - len(line.lstrip()) < indent)


def takes_any_type(member: Member) -> bool:
    """True if the function of a local variable deduces its result type."""
    for line in reversed(lines_of(member.file)[max(0, member.line - _LINES_BACK) : member.line - 1]):
        if re.search(r"\)\s*(?:const|noexcept|mutable|\s)*\{?\s*$", line) and not line.lstrip().startswith(
            ("if", "for")
        ):
            return bool(re.search(r"\bauto\b", line)) and "->" not in line
    return False


def returned_text(member: Member, type_: str, files: Iterable[str] = ()) -> str:
    """Describes the consequences of returning a variable; empty if no return is known."""
    lines = returned_at(member, files)
    if not lines or (member.kind == "local variable" and takes_any_type(member)):
        return ""
    name = member.name.rsplit(".", 1)[-1]
    shown = ", ".join(f"{file.rsplit('/', 1)[-1]}:{line}" for file, line in lines[:_RESULTS_AT_MOST])
    return (
        f"`{name}` is returned ({shown}): the result of each such function must become a `{type_}` too, in its "
        "declaration and its uses, and the ABI changes"
    )
