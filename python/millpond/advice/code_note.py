# SPDX-License-Identifier: BSL-1.0
"""The code of an advice: what to change at which place, as data for every report and as a Markdown note."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace

from millpond.advice.advice_data import Advice, Code, SourceChange
from millpond.advice.code_aliases import calls, is_pmr, rewritten
from millpond.advice.code_header import HEADER
from millpond.advice.code_homes import FUNCTION, THREAD, Home, homes
from millpond.advice.code_source import alias_line, changed_line, declaration_line, opening_line, other_lines
from millpond.advice.code_test import TEST
from millpond.advice.container_words import container_text, place_text
from millpond.advice.verdict import MALLOC
from millpond.rounds.characterisation import AllocationPlace, Container, Member
from millpond.system.wording import bytes_text, list_text

NOTE = "millpond_advice.md"
# Where no include folder is at hand, the reader puts theirs in.
INCLUDE_UNKNOWN = "MILLPOND/include"
_CONTAINERS_AT_MOST = 12


def include_folder() -> str:
    """The library's headers, of the source tree or the installation that this is part of."""
    for folder in Path(__file__).resolve().parents[2:6]:
        if (folder / "include" / "millpond" / "millpond.hpp").is_file():
            return str(folder / "include")
    return INCLUDE_UNKNOWN


def changes(home: Home) -> list[SourceChange]:
    """What to change: of a declaration before and after, or in words, each with its place."""
    found: list[SourceChange] = []
    if home.kind == FUNCTION:
        found.append(_scope(home))
    for container in home.containers[:_CONTAINERS_AT_MOST]:
        first = next(iter(container.places), AllocationPlace())
        certain, possible = _candidates(container)
        for member in certain:
            found += [one for one in _of_member(member, home) if one not in found]
        said = calls(home, container)
        if possible:
            what = f"one of these becomes a `{rewritten(possible[0].type, home)}`: "
            what += ", ".join(f"{m.name} ({place_text(m)})" for m in possible)
            found.append(SourceChange(file=first.file, line=first.line, what=what))
        if container.type and not container.members and not said:
            what = "wherever it is declared" + (f", used by {first.function}" if first.function else "")
            before, after = f"{container.type} …;", f"{rewritten(container.type, home)} …;"
            found.append(SourceChange(file=first.file, line=first.line, before=before, after=after, what=what))
        found += [SourceChange(file=first.file, line=first.line, what=sentence) for sentence in said]
    return found


def _scope(home: Home) -> SourceChange:
    """The line that makes the arena of a function: in its place where the source is at hand."""
    statement, what = f"{home.space}::scope scope;", f"as the first line of {home.function}, whose calls own the arena"
    file, declared = home.function_place
    if (opening := opening_line(file, declared)) is not None:
        number, at, line = opening
        after = f"{line[: at + 1]} {statement}{line[at + 1 :]}".strip()
        return SourceChange(file=file, line=number, before=line.strip(), after=after, what=what)
    return SourceChange(file=file, line=declared, after=statement, what=what)


def _candidates(container: Container) -> tuple[list[Member], list[Member]]:
    """The variables that a container is, and those of which it may be any."""
    members = [m for m in container.members if m.kind != "captured"]
    named = [m for m in members if m.named_in_call]
    if named or len(members) <= 1:
        return named or members, []
    return [], members


def _of_member(member: Member, home: Home) -> list[SourceChange]:
    """The declaration of a variable, as the source at hand has it, and the lines that name its iterators."""
    type_, name, kind = member.type, member.name.rsplit(".", 1)[-1], member.kind

    def in_words(what: str) -> list[SourceChange]:
        return [SourceChange(file=member.file, line=member.line, what=f"{kind} {name}: {what}")]

    before, number = f"{type_} {name};", member.line
    if is_pmr(type_):
        return in_words(f"give it `{home.space}::resource()`, where it is constructed")
    after = f"{rewritten(type_, home)} {name};"
    if after == before:
        return []
    if kind == "parameter":
        return in_words(f"what is passed to it becomes a `{rewritten(type_, home)}`")
    if line := declaration_line(member):
        changed = changed_line(line, type_, home)
        if changed == line and (alias := alias_line(member)) is not None:
            number, line = alias
            changed = changed_line(line, type_, home)
        if changed == line:
            return in_words(f"where its type is named, it becomes `{rewritten(type_, home)}`")
        before, after = line.strip(), changed.strip()
    must, may = other_lines(replace(member, line=number), home)
    if may:
        kind += f"; the same type is named in {_line_numbers(may)}: change it there too, where it meets {name}"
    lines = [(number, before, after, kind), *((other, old, new, f"a type of {name}") for other, old, new in must)]
    return [
        SourceChange(file=member.file, line=place, before=old, after=new, what=what) for place, old, new, what in lines
    ]


def _line_numbers(numbers: Sequence[int]) -> str:
    return f"line{'s' if len(numbers) > 1 else ''} {list_text([str(n) for n in numbers])}"


def code_of_rows(advice: Advice) -> dict[str, Code]:
    """For each advised subsystem: the owner, the namespace of the header, and the changes."""
    found: dict[str, Code] = {}
    taken: dict[tuple[str, int], str] = {}  # a template's declaration serves all of its instances
    for home in homes(advice):
        code = Code(
            owner=home.owner, namespace=home.space, first_bytes=home.first_bytes or None,
            first_bytes_reason=home.first_reason, size_classes=home.classes, size_classes_reason=home.classes_reason,
            changes=tuple(_unless_taken(change, home, taken) for change in changes(home)),
        )  # fmt: skip
        found.update(dict.fromkeys(home.subsystems, code))
    return found


def _unless_taken(change: SourceChange, home: Home, taken: dict[tuple[str, int], str]) -> SourceChange:
    """A change, or in words that its line has been changed for another home."""
    place = (change.file, change.line)
    if not change.before or not change.file or taken.setdefault(place, home.space) == home.space:
        return change
    what = f"the same declaration as above: `{taken[place]}` serves this one too"
    return replace(change, before="", after="", what=what)


def with_code(advice: Advice) -> Advice:
    """The advice with the code of each row that something is advised for."""
    code = code_of_rows(advice)
    return replace(advice, subsystems=tuple(replace(row, code=code.get(row.name)) for row in advice.subsystems))


def note(advice: Advice, chosen: Sequence[Home]) -> str:
    """The Markdown note: the verdict, the changes in their places, and how to build and test them."""
    parts = [f"# Advice for {_code(shlex.join(advice.program.argv))}", _plain(advice.verdict)]
    choice = advice.choice
    if chosen:
        code = code_of_rows(advice)
        parts += [_home(home, code[home.subsystems[0]]) for home in chosen] + [_build(advice)]
    elif choice and choice.kind == MALLOC and choice.command:
        parts.append(f"No change of the source. Run the program as:\n\n    {choice.command}")
    else:
        parts.append("There is nothing to change: no header was written.")
    return "\n\n".join(parts) + "\n"


def _plain(text: str) -> str:
    return " ".join(text.split()).replace("<", "\\<").replace("*", "\\*").replace("_", "\\_")


def _code(text: str) -> str:
    """Text of a program as code, whatever it holds."""
    plain = " ".join(text.split())
    marks = "``" if "`" in plain else "`"
    return f"{marks}{plain}{marks}" if marks == "`" else f"{marks} {plain} {marks}"


def _home(home: Home, code: Code) -> str:
    lines = [
        f"## {', '.join(_code(s) for s in home.subsystems)}",
        f"- Owner: {_plain(home.owner)}.",
        f"- First bytes: {_plain(home.first_reason)}.",
        f"- Size classes: {_plain(home.classes_reason)}.",
        "",
        "What it allocates:",
        "",
        *[f"- {bytes_text(c.bytes)}: {_code(container_text(c))}" for c in home.containers[:_CONTAINERS_AT_MOST]],
        *([] if home.containers else ["- no container is named: this advice was made without them"]),
        "",
        f'What to change, after `#include "{HEADER}"`:',
        "",
    ]
    for change in code.changes:
        place = place_text(change, whole=True)
        lines.append(f"- {_code(place) + ': ' if place else ''}{change.what}")
        if change.before:
            lines += ["", "  ```diff", f"  -{change.before}", f"  +{change.after}", "  ```"]
        elif change.after:
            lines += ["", "  ```cpp", f"  {change.after}", "  ```"]
    if home.kind in (FUNCTION, THREAD):
        lines += ["", "The containers must be made while the arena lives, and end before it does."]
    lines += [
        "",
        "A container of the header is another type than the standard one. Where both meet, write the new type there "
        "too (`auto` and templates need no change), or copy the elements.",
    ]
    return "\n".join(lines)


def _build(advice: Advice) -> str:
    shown = shlex.quote(include_folder())
    again = shlex.join(advice.program.argv)
    return f"""\
## Test it

    c++ -std=c++20 -DMILLPOND_CHECKED -I {shown} {TEST} -o millpond_advice_test -pthread
    ./millpond_advice_test

It compares the containers of the header with those of the standard library, in checked mode, which reports every
misuse of an allocator with its place. Build the changed program with `-std=c++20 -DMILLPOND_CHECKED -I {shown}` and run
it once in the same way, then without `-DMILLPOND_CHECKED`: its output must be what it was.

    millpond advise -- {again}

says afterwards whether there is more to gain."""
