# SPDX-License-Identifier: BSL-1.0
"""Compares the language standard that a written header needs with those that the program was built by."""

from __future__ import annotations

from millpond.advice.code_homes import AdvisedAllocator, C
from millpond.system.wording import list_text

_FILES_AT_MOST = 4
_NEEDED = {C: ("C99", "c11", 1999), "C++": ("C++20", "c++20", 2020)}


def year_of(standard: str) -> int:
    """Returns the year of `C++17` or `C89`; 0 if it names none."""
    digits = "".join(letter for letter in standard if letter.isdigit())[-2:]
    return 0 if not digits else int(digits) + (1900 if int(digits) > 70 else 2000)


def compiled_as(home: AdvisedAllocator) -> list[tuple[str, str]]:
    """Returns the files of an allocator that are in the header's language, with the standard of each."""
    is_cpp = home.language != C
    return [(file, standard) for file, standard in home.standards if ("++" in standard) == is_cpp]


def option_of(home: AdvisedAllocator) -> str:
    """Returns the compiler option under which the header compiles: the program's own standard if that is new enough."""
    name, option, year = _NEEDED[home.language]
    known = [standard for _, standard in compiled_as(home)]
    newest = max(known, key=year_of, default=name)
    return f"-std={newest.lower()}" if year_of(newest) > year else f"-std={option}"


def needs(home: AdvisedAllocator) -> str:
    """Names the files that must be compiled by a newer standard; empty if none must."""
    name, option, year = _NEEDED[home.language]
    files = [(file, standard) for file, standard in compiled_as(home) if year_of(standard) < year]
    said = []
    if files:
        listed = [f"{file.rsplit('/', 1)[-1]} ({standard})" for file, standard in files[:_FILES_AT_MOST]]
        if len(files) > _FILES_AT_MOST:
            listed.append(f"{len(files) - _FILES_AT_MOST} others")
        gnu = f"gnu{option.removeprefix('c')}"
        said.append(f"the header needs {name}: compile {list_text(listed)} with -std={option} or -std={gnu}")
    if home.language != C and (c_files := sorted({f for f, s in home.standards if "++" not in s and s.startswith(C)})):
        listed = [file.rsplit("/", 1)[-1] for file in c_files[:_FILES_AT_MOST]]
        said.append(f"the header is C++, and {list_text(listed)} is C: compile it as C++, or do not change its lines")
    return "; ".join(said)
