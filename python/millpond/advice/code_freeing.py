# SPDX-License-Identifier: BSL-1.0
"""Finds the places where the blocks of an allocator are freed and resized, and replaces their calls.

A place that stays unchanged would pass a block of the pool to the program's own free. So each place is listed with its
counts, and with the number of other blocks that pass the same call. If blocks of several allocators pass it, its one
change asks each of them in turn.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from millpond.advice.advice_data import SourceChange
from millpond.advice.code_homes import AdvisedAllocator
from millpond.advice.code_source import lines_of, source_line
from millpond.advice.container_text import place_text
from millpond.rounds.characterisation import FreeingPlace
from millpond.system.wording import list_text

PLACES_AT_MOST = 12
# Most containers of the library allocate and free by themselves; these free objects that the program has made.
_FREES_FOR_THE_PROGRAM = ("std::default_delete", "std::unique_ptr", "std::__uniq_ptr", "std::_Sp_counted_ptr<",
                          "std::_Sp_counted_deleter")  # fmt: skip


@dataclass(frozen=True)
class Replacements:
    """Names of a header's functions that replace free, realloc and delete; empty if it cannot find a block by its
    address.
    """

    free: str
    resize: str
    owns: str
    sized_free: str
    sized_resize: str
    destroy: str = ""  # C++ only


# By file and line: the functions of all allocators whose blocks are freed or resized there.
Passing = Mapping[tuple[str, int], Sequence[Replacements]]


def passing(known: Sequence[tuple[AdvisedAllocator, Replacements]]) -> Passing:
    """Returns for each place in the program's own code the functions of the allocators whose blocks pass it."""
    found: dict[tuple[str, int], list[Replacements]] = {}
    for home, functions in known:
        for place in own_places(home):
            found.setdefault((place.file, place.line), []).append(functions)
    return found


def freeing_changes(home: AdvisedAllocator, known: Replacements, all_passing: Passing) -> list[SourceChange]:
    """Returns the changes of the places where the program's own code frees or resizes the blocks of an allocator."""
    places = own_places(home)
    found = []
    for place in places[:PLACES_AT_MOST]:
        others = [one for one in all_passing.get((place.file, place.line), ()) if one != known]
        found.append(_at(place, known, others))
    left = sum(p.own for p in places[PLACES_AT_MOST:]) + home.freed_elsewhere
    if left:
        found.append(SourceChange(
            file="", line=0, kind="free",
            what=f"{left} more of these blocks are freed or resized at places that are not listed: search for "
            "every `free`, `realloc` and `delete` that they can reach",
        ))  # fmt: skip
    if home.frees and not any(place.frees for place in home.freed_at):
        found.append(SourceChange(
            file="", line=0, kind="free",
            what="the places that free these blocks were not recorded: first find every `free` and `delete` "
            "that they can reach (`millpond trace record --with frees` records the places)",
        ))  # fmt: skip
    return found


def own_places(home: AdvisedAllocator) -> list[FreeingPlace]:
    """Returns the places where the program's own code frees or resizes blocks that it has made."""
    return [place for place in home.freed_at if place.through is None or _for_the_program(place.through)]


def _for_the_program(through: str) -> bool:
    return through.startswith(_FREES_FOR_THE_PROGRAM) or through.startswith("operator delete")


def shares_places(home: AdvisedAllocator) -> bool:
    """True if a call that frees blocks of an allocator frees others, too."""
    return any(place.of_others for place in own_places(home))


def _counts(place: FreeingPlace) -> str:
    did = [f"frees {place.frees}"] if place.frees else []
    did += [f"resizes {place.resizes}"] if place.resizes else []
    text = f"{list_text(did)} of these blocks"
    if place.of_others:
        share = 100 * place.of_others / (place.of_others + place.own)
        text += f", and {place.of_others} of others ({share:.0f} % of the calls here)"
    return text + (" and no others" if not place.of_others else "")


def _at(place: FreeingPlace, known: Replacements, others: Sequence[Replacements]) -> SourceChange:
    """Returns the change of one place: of its line if the source is available, and always in words.

    `others`: the functions of the other allocators whose blocks pass it.
    """
    kind = "free" if place.frees else "resize"
    said = f"{place.function} {_counts(place)}"
    if place.through and _for_the_program(place.through) and not place.through.startswith("operator delete"):
        what = f"{said}, through {place.through}: the pointer's type must change there, and with it the ABI"
        return SourceChange(file=place.file, line=place.line, what=what, kind=kind)
    text, how = "", ""
    if line := source_line(place.file, place.line, _CALL):
        number, text = line
        changed = _changed(text, place, known, others)
        if changed and changed != text:
            return SourceChange(
                file=place.file, line=number, before=text.strip(), after=changed.strip(), kind=kind,
                what=f"{said}{_callers(place, known)}",
            )  # fmt: skip
    elif lines_of(place.file):
        how = "through a call on this line (after a tail call, the calling function is unknown): "
    what = f"{said}: {how}{_words(place, known, text)}{_first_ask(others, place)}"
    return SourceChange(file=place.file, line=place.line, what=what, kind=kind)


def _first_ask(others: Sequence[Replacements], place: FreeingPlace) -> str:
    """Returns a sentence on the other allocators whose blocks pass the same call, which must be asked first."""
    resizes = bool(place.resizes and not place.frees)
    asked = [f"where `{o.owns}(p)`, `{o.resize if resizes else o.free}`" for o in others if o.owns]
    text = f". First check the other pools whose blocks pass here: {list_text(asked)}" if asked else ""
    for other in others:
        if not other.owns:
            text += f". Blocks of `{other.sized_free}` pass here too, and nothing tells to which pool they belong"
    return text


_CALL = re.compile(r"\b(?:free|cfree|realloc|reallocarray)\s*\(|\bdelete\b(?!\s*;)")


_POINTER = r"[\w.>\-]+"  # an expression that may be evaluated twice


def _changed(line: str, place: FreeingPlace, known: Replacements, others: Sequence[Replacements]) -> str:
    """Returns the line with calls of the header; empty if it has another form than a plain call."""
    if not all(other.owns for other in others) or (place.of_others and known.free and not known.owns):
        return ""  # nothing tells to which pool a block belongs
    for is_there, name, own in ((place.resizes, "realloc", known.resize), (place.frees, "free", known.free)):
        if is_there and own and len(re.findall(rf"(?<![\w.>:])(?:std::)?{name}\s*\(", line)) == 1:
            if not others:
                return re.sub(rf"(?<![\w.>:])(?:std::)?{name}(?=\s*\()", own, line)
            return _asking_each(line, name, own, others)
    found = re.search(r"\bdelete\s+(?!\[)([^;{}]+);", line)
    if not (place.frees and found and known.destroy and line.count("delete") == 1):
        return ""
    pointer = found[1].strip()
    if not place.of_others and not others:
        return line.replace(found[0], f"{known.destroy}({pointer});")
    asked = [known, *others]
    if not all(one.owns and one.destroy for one in asked) or not re.fullmatch(_POINTER, pointer):
        return ""
    each = "".join(f"if ({one.owns}({pointer})) {one.destroy}({pointer}); else " for one in asked)
    return line.replace(found[0], f"{{ {each}delete {pointer}; }}")


def _asking_each(line: str, name: str, own: str, others: Sequence[Replacements]) -> str:
    """Returns the line with a call of the allocator that owns the block, or of `own`, which handles malloc's, too."""
    arguments = r"[^()]*" if name == "free" else r"[^(),]*,[^()]*"
    found = re.search(rf"(?<![\w.>:])(?:std::)?{name}\s*\(({arguments})\)", line)
    if found is None:
        return ""
    pointer = found[1].split(",")[0].strip()
    if not re.fullmatch(_POINTER, pointer):
        return ""
    call = f"{own}({found[1]})"
    for other in others:
        call = f"{other.owns}({pointer}) ? {other.resize if name == 'realloc' else other.free}({found[1]}) : {call}"
    return line.replace(found[0], f"({call})")


def _callers(place: FreeingPlace, known: Replacements) -> str:
    """Names the callers that free only these blocks, if the place frees others, too."""
    alone = [one for one in place.callers if not one.of_others and one.file]
    if not place.of_others or not alone:
        return ""
    listed = list_text([f"{one.function} ({place_text(one)})" for one in alone])
    return f". {listed} frees no others: `{known.sized_free}(p, bytes)` may replace the call there"


def _words(place: FreeingPlace, known: Replacements, line: str) -> str:
    """Returns instructions for a place whose line is not available, or has no plain call."""
    if place.of_others and not known.owns:
        return (
            "other blocks pass here, and nothing tells them apart: give these blocks a call of their own, "
            f"which calls `{known.sized_free}`"
        )
    if place.resizes and not place.frees:
        calls = [f"`realloc(p, bytes)` becomes `{known.resize}(p, bytes)`"] if known.resize else []
        by_size = f"`{known.sized_resize}(p, held, bytes)`"
    else:
        calls = [f"`free(p)` becomes `{known.free}(p)`"] if known.free else []
        by_size = f"`{known.sized_free}(p, bytes)`"
    if re.search(r"\bdelete\s*\[", line):
        calls = [f"`delete[] p` becomes `{known.free}(p)`, after the destructors"] if known.free else []
    elif known.destroy and place.frees and not (line and "delete" not in line):
        others = calls if not line or "free" in line else []
        calls = [f"`delete p` becomes `{known.destroy}(p)`", *others]
    if not calls:
        return f"pass the requested size there: {by_size}; it cannot be found from the block"
    said = list_text(calls)
    if place.of_others:
        return (
            f"if `{known.owns}(p)`, {said}; otherwise the old call stays; `{known.free}` does so by itself "
            f"for malloc's blocks{_callers(place, known)}"
        )
    return f"{said}; if the requested size is known, {by_size} works as well"
