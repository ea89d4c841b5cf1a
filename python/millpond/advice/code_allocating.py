# SPDX-License-Identifier: BSL-1.0
"""Finds the places where the program's own code allocates by new, malloc or a wrapper, and replaces their calls.

Each place gets one change: a new line if the source is available and has a plain call, otherwise instructions.
"""

from __future__ import annotations

import re

from millpond.advice.advice_data import SourceChange
from millpond.advice.code_bytes import found_by, replacements_of
from millpond.advice.code_homes import AdvisedAllocator, C
from millpond.advice.code_source import source_line
from millpond.rounds.characterisation import AllocationPlace, Container

_NEW = re.compile(r"(?<![\w:.>])(?:::)?new\s+((?:::)?[A-Za-z_]\w*(?:::\w+)*(?:<[^<>;()]*>)?)\s*([({;,)]|$)")
_MALLOC = re.compile(r"(?<![\w.>:])(?:std::)?(malloc|calloc|realloc|strdup|strndup|aligned_alloc)\s*\(")
_ANY = re.compile(rf"{_MALLOC.pattern}|\bnew\b")


def allocating_changes(home: AdvisedAllocator, container: Container) -> list[SourceChange]:
    """Returns one change for each place that allocates blocks of a container without a type."""
    places = container.places or (AllocationPlace(),)
    return [_at(home, container, place) for place in places]


def allocate_name(home: AdvisedAllocator) -> str:
    """Returns the name of the function that replaces malloc."""
    return f"{home.name}_allocate" if home.language == C else f"{home.space}::allocate_bytes"


def _at(home: AdvisedAllocator, container: Container, place: AllocationPlace) -> SourceChange:
    where, allocate = (place.function or "the program"), allocate_name(home)
    if container.call:
        found = _line_of_call(home, container.call, place)
        if found is not None:
            return found
        what = (
            f"{where} allocates here through `{container.call}`: call `{allocate}(bytes)` instead, and also do "
            f"whatever else `{container.call}` does, such as counting bytes or handling a failure"
        )
        return SourceChange(file=place.file, line=place.line, what=what, kind="allocate")
    if line := source_line(place.file, place.line, _ANY):
        number, text = line
        changed = new_line(text, home) or malloc_line(text, home)
        if changed:
            return SourceChange(
                file=place.file, line=number, before=text.strip(), after=changed.strip(), kind="allocate",
                what=f"{where} allocates blocks here",
            )  # fmt: skip
        return SourceChange(file=place.file, line=number, what=f"{where}: {_words(text, home)}", kind="allocate")
    return SourceChange(file=place.file, line=place.line, what=f"{where}: {_words('', home)}", kind="allocate")


def _line_of_call(home: AdvisedAllocator, call: str, place: AllocationPlace) -> SourceChange | None:
    """Returns the change of a line with a plain call of malloc; None if it calls a function that does more."""
    if call not in ("malloc", "calloc", "strdup", "realloc"):
        return None
    line = source_line(place.file, place.line, _MALLOC)
    changed = malloc_line(line[1], home) if line else ""
    if not line or not changed:
        return None
    return SourceChange(
        file=place.file, line=line[0], before=line[1].strip(), after=changed.strip(), kind="allocate",
        what=f"{place.function or 'the program'} allocates blocks here",
    )  # fmt: skip


def malloc_line(line: str, home: AdvisedAllocator) -> str:
    """Returns the line with the header's function in place of its one malloc or realloc; empty for another form."""
    calls = _MALLOC.findall(line)
    if len(calls) != 1 or "new" in re.findall(r"\bnew\b", line):
        return ""
    if calls[0] == "malloc":
        return _MALLOC.sub(f"{allocate_name(home)}(", line)
    resize = replacements_of(home).resize
    return _MALLOC.sub(f"{resize}(", line) if calls[0] == "realloc" and resize else ""


def new_line(line: str, home: AdvisedAllocator) -> str:
    """Returns the line with `make` in place of its one `new T(…)`; empty if it has another form."""
    found = _NEW.search(line)
    if home.language == C or found is None or len(re.findall(r"\bnew\b", line)) != 1:
        return ""
    make = f"{home.space}::make<{found[1]}>"
    before, after = line[: found.start()], line[found.end() :]
    if found[2] == "(":
        return f"{before}{make}({after}"
    if found[2] == "{":
        depth = 1
        for at, letter in enumerate(after):
            depth += {"{": 1, "}": -1}.get(letter, 0)
            if depth == 0:
                return f"{before}{make}({after[:at]}){after[at + 1 :]}"
        return ""
    return f"{before}{make}(){found[2]}{after}"


def _words(line: str, home: AdvisedAllocator) -> str:
    """Returns instructions for a line that has no plain call, or is not available."""
    allocate = allocate_name(home)
    by_malloc = f"`malloc(bytes)` becomes `{allocate}(bytes)`"
    if re.search(r"\bcalloc\s*\(", line):
        return f"`calloc(n, bytes)` becomes `{allocate}(n * bytes)`, then a memset to zero"
    if re.search(r"\bstrn?dup\s*\(", line):
        return f"`strdup(text)` becomes `{allocate}(strlen(text) + 1)` and a memcpy"
    if re.search(r"\bnew\s+[\w:<>, ]+\[", line):
        return (
            f"`new T[n]` becomes `static_cast<T*>({allocate}(n * sizeof(T)))` where T needs no constructor, and its "
            "`delete[]` becomes the replacement of free"
        )
    if home.language == C or (_MALLOC.search(line) and "new" not in line):
        return by_malloc
    return (
        f"this place has either `new T(…)`, which becomes `{home.space}::make<T>(…)`, or "
        f"`malloc(bytes)`, which becomes `{allocate}(bytes)`"
    )


def freeing_note(home: AdvisedAllocator) -> str:
    """Returns the requirement on all places that free; empty if the block's address is enough."""
    how = found_by(home)
    if how == "size":
        return "blocks have no head, so each place that frees one must know the requested size"
    if how == "head":
        return "each block of allocate_bytes has a head of 16 bytes, which the trial's had not, so the peak is higher"
    return ""
