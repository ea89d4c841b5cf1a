# SPDX-License-Identifier: BSL-1.0
"""The code of an advice: what to change at which place, as data for every report and as a Markdown note."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from millpond.advice.choice import MALLOC
from millpond.advice.code_aliases import calls, is_pmr, rewritten
from millpond.advice.code_header import HEADER
from millpond.advice.code_homes import FUNCTION, THREAD, Home, homes
from millpond.advice.code_source import alias_line, changed_line, declaration_line, opening_line, other_lines
from millpond.advice.code_test import TEST
from millpond.advice.container_words import container_text, place_text
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


def changes(home: Home) -> list[dict[str, Any]]:
    """What to change: of a declaration before and after, or in words, each with its place."""
    found: list[dict[str, Any]] = []
    if home.kind == FUNCTION:
        found.append(_scope(home))
    for container in home.containers[:_CONTAINERS_AT_MOST]:
        first: Mapping[str, Any] = next(iter(container.get("places") or []), {})
        certain, possible = _candidates(container)
        for member in certain:
            found += [one for one in _of_member(member, home) if one not in found]
        if possible:
            found.append({
                "file": first.get("file", ""), "line": first.get("line", 0), "before": "", "after": "",
                "what": f"one of these becomes a `{rewritten(str(possible[0]['type']), home)}`: "
                + ", ".join(f"{m['name']} ({place_text(m)})" for m in possible),
            })  # fmt: skip
        if container.get("type") and not container.get("members") and not calls(home, container):
            found.append({
                "file": first.get("file", ""), "line": first.get("line", 0), "before": f"{container['type']} …;",
                "after": f"{rewritten(str(container['type']), home)} …;",
                "what": "wherever it is declared" + (f", used by {first['function']}" if first.get("function") else ""),
            })  # fmt: skip
        for sentence in calls(home, container):
            found.append({
                "file": first.get("file", ""), "line": first.get("line", 0), "before": "", "after": "",
                "what": sentence,
            })  # fmt: skip
    return found


def _scope(home: Home) -> dict[str, Any]:
    """The line that makes the arena of a function: in its place where the source is at hand."""
    statement, what = f"{home.space}::scope scope;", f"as the first line of {home.function}, whose calls own the arena"
    place = {"file": home.function_place[0], "line": home.function_place[1]}
    if (opening := opening_line(*home.function_place)) is not None:
        number, at, line = opening
        return {**place, "line": number, "before": line.strip(), "what": what,
                "after": f"{line[: at + 1]} {statement}{line[at + 1 :]}".strip()}  # fmt: skip
    return {**place, "before": "", "after": statement, "what": what}


def _candidates(container: Mapping[str, Any]) -> tuple[list[Mapping[str, Any]], list[Mapping[str, Any]]]:
    """The variables that a container is, and those of which it may be any."""
    members = [m for m in container.get("members") or [] if m["kind"] != "captured"]
    named = [m for m in members if m.get("named_in_call")]
    if named or len(members) <= 1:
        return named or members, []
    return [], members


def _of_member(member: Mapping[str, Any], home: Home) -> list[dict[str, Any]]:
    """The declaration of a variable, as the source at hand has it, and the lines that name its iterators."""
    type_, name = str(member["type"]), str(member["name"]).rsplit(".", 1)[-1]
    place = {"file": member["file"], "line": member["line"]}
    before, kind = f"{type_} {name};", str(member["kind"])
    words = {**place, "before": "", "after": ""}
    if is_pmr(type_):
        return [{**words, "what": f"{kind} {name}: give it `{home.space}::resource()`, where it is constructed"}]
    after = f"{rewritten(type_, home)} {name};"
    if after == before:
        return []
    if kind == "parameter":
        return [{**words, "what": f"parameter {name}: what is passed to it becomes a `{rewritten(type_, home)}`"}]
    if line := declaration_line(member):
        number, changed = int(member["line"]), changed_line(line, type_, home)
        if changed == line and (alias := alias_line(member)) is not None:
            number, line = alias
            changed = changed_line(line, type_, home)
        if changed == line:
            return [{**words, "what": f"{kind} {name}: where its type is named, it becomes `{rewritten(type_, home)}`"}]
        place["line"], before, after = number, line.strip(), changed.strip()
    must, may = other_lines({**member, "line": place["line"]}, home)
    if may:
        kind += f"; the same type is named in {_line_numbers(may)}: change it there too, where it meets {name}"
    changed_lines = [{**place, "before": before, "after": after, "what": kind}]
    return changed_lines + [
        {"file": member["file"], "line": number, "before": old, "after": new, "what": f"a type of {name}"}
        for number, old, new in must
    ]


def _line_numbers(numbers: Sequence[int]) -> str:
    return f"line{'s' if len(numbers) > 1 else ''} {list_text([str(n) for n in numbers])}"


def code_of_rows(advice: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """For each advised subsystem: the owner, the namespace of the header, and the changes."""
    found = {}
    taken: dict[tuple[str, int], str] = {}  # a template's declaration serves all of its instances
    for home in homes(advice):
        all_changes = [_unless_taken(change, home, taken) for change in changes(home)]
        code = {
            "owner": home.owner, "namespace": home.space, "first_bytes": home.first_bytes or None,
            "first_bytes_reason": home.first_reason, "size_classes": list(home.classes),
            "size_classes_reason": home.classes_reason, "changes": all_changes,
        }  # fmt: skip
        found.update(dict.fromkeys(home.subsystems, code))
    return found


def _unless_taken(change: dict[str, Any], home: Home, taken: dict[tuple[str, int], str]) -> dict[str, Any]:
    """A change, or in words that its line has been changed for another home."""
    place = (str(change["file"]), int(change["line"]))
    if not change["before"] or not place[0] or taken.setdefault(place, home.space) == home.space:
        return change
    what = f"the same declaration as above: `{taken[place]}` serves this one too"
    return {**change, "before": "", "after": "", "what": what}


def with_code(advice: dict[str, Any]) -> dict[str, Any]:
    """The advice with "code" in each row: null where nothing is advised."""
    code = code_of_rows(advice)
    rows = [{**row, "code": code.get(str(row["name"]))} for row in advice["subsystems"]]
    return {**advice, "subsystems": rows}


def note(advice: Mapping[str, Any], chosen: Sequence[Home]) -> str:
    """The Markdown note: the verdict, the changes in their places, and how to build and test them."""
    program = shlex.join(map(str, advice["program"]["argv"]))
    parts = [f"# Advice for {_code(program)}", _plain(str(advice["verdict"]))]
    choice = advice.get("choice") or {}
    if chosen:
        code = code_of_rows(advice)
        parts += [_home(home, code[home.subsystems[0]]) for home in chosen] + [_build(advice)]
    elif choice.get("kind") == MALLOC and choice.get("command"):
        parts.append(f"No change of the source. Run the program as:\n\n    {choice['command']}")
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


def _home(home: Home, code: Mapping[str, Any]) -> str:
    lines = [
        f"## {', '.join(_code(s) for s in home.subsystems)}",
        f"- Owner: {_plain(home.owner)}.",
        f"- First bytes: {_plain(home.first_reason)}.",
        f"- Size classes: {_plain(home.classes_reason)}.",
        "",
        "What it allocates:",
        "",
        *[f"- {bytes_text(c.get('bytes'))}: {_code(container_text(c))}" for c in home.containers[:_CONTAINERS_AT_MOST]],
        *([] if home.containers else ["- no container is named: this advice was made without them"]),
        "",
        f'What to change, after `#include "{HEADER}"`:',
        "",
    ]
    for change in code["changes"]:
        place = place_text(change, whole=True)
        lines.append(f"- {_code(place) + ': ' if place else ''}{change['what']}")
        if change["before"]:
            lines += ["", "  ```diff", f"  -{change['before']}", f"  +{change['after']}", "  ```"]
        elif change["after"]:
            lines += ["", "  ```cpp", f"  {change['after']}", "  ```"]
    if home.kind in (FUNCTION, THREAD):
        lines += ["", "The containers must be made while the arena lives, and end before it does."]
    lines += [
        "",
        "A container of the header is another type than the standard one. Where both meet, write the new type there "
        "too (`auto` and templates need no change), or copy the elements.",
    ]
    return "\n".join(lines)


def _build(advice: Mapping[str, Any]) -> str:
    include = include_folder()
    argv = [str(word) for word in advice["program"]["argv"]]
    shown = shlex.quote(include)
    again = shlex.join(argv)
    return f"""\
## Test it

    c++ -std=c++20 -DMILLPOND_CHECKED -I {shown} {TEST} -o millpond_advice_test -pthread
    ./millpond_advice_test

It compares the containers of the header with those of the standard library, in checked mode, which reports every
misuse of an allocator with its place. Build the changed program with `-std=c++20 -DMILLPOND_CHECKED -I {shown}` and run
it once in the same way, then without `-DMILLPOND_CHECKED`: its output must be what it was.

    millpond advise -- {again}

says afterwards whether there is more to gain."""
