# SPDX-License-Identifier: BSL-1.0
"""Describes the containers of a subsystem in words: the type, the member, and the place in the source."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol
from urllib.parse import quote

from millpond.advice.advice_data import Code
from millpond.rounds.characterisation import Container, Member, SubsystemFacts
from millpond.system.wording import bytes_text

# Below this share of a subsystem's bytes, its largest container does not represent it.
_STANDS_FOR_SHARE = 0.3
_TYPE_LETTERS = 120


class SourcePlace(Protocol):
    """Anything with a place in a source; an empty file or line 0 if it is unknown."""

    @property
    def file(self) -> str: ...
    @property
    def line(self) -> int: ...


def place_text(place: SourcePlace | None, *, whole: bool = False) -> str:
    """Returns `book.cpp:18`, or with its folder; empty if it is unknown."""
    if place is None or not place.file or not place.line:
        return ""
    return f"{place.file if whole else place.file.rsplit('/', 1)[-1]}:{place.line}"


def editor_link(place: SourcePlace | None) -> str:
    """Returns an address that opens the place in an editor; empty if it is unknown."""
    if place is None or not place_text(place) or not place.file.startswith("/"):
        return ""
    return f"vscode://file{quote(place.file)}:{place.line}"


def member_of(container: Container) -> Member | None:
    """Returns the member or variable that a container is, or None if unknown."""
    members = container.members
    named = [m for m in members if m.named_in_call]
    first = (named or members)[:1]
    return first[0] if first and (len(members) == 1 or len(named) == 1) else None


def type_text(container: Container) -> str:
    """Returns the type, shortened, or why it is unknown."""
    text = container.type or container.why_null or "not known"
    return text if len(text) <= _TYPE_LETTERS else text[: _TYPE_LETTERS - 1] + "…"


def container_text(container: Container) -> str:
    """Returns `std::map<int, shop::order> orders_ (book.hpp:12), filled at book.cpp:18`."""
    text = type_text(container)
    if container.element_of:
        text += f" in {container.element_of}"
    member = member_of(container)
    if member is not None:
        inside = "" if member.holds == "itself" else "in "
        where = place_text(member)
        text += f", {inside}{member.kind} {member.name}" + (f" ({where})" if where else "")
    elif container.members:
        text += ", one of " + ", ".join(f"{m.name} ({place_text(m)})" for m in container.members[:4])
    place = place_text(next(iter(container.places), None))
    return text + (f", allocated at {place}" if place else "")


def largest(row: SubsystemFacts) -> Container | None:
    """Returns the container with most of a subsystem's bytes, if it is named and has a large part of them."""
    named = [c for c in row.containers or () if c.type and c.share >= _STANDS_FOR_SHARE]
    return named[0] if named else None


def mostly(row: SubsystemFacts) -> str:
    """Returns the end of an advised subsystem's reason, on its container; empty if no container is named."""
    found = largest(row)
    if found is None:
        return ""
    return f"; {100 * found.share:.0f} % of its bytes are {container_text(found)}"


def named_with_container(name: str, rows: Iterable[SubsystemFacts]) -> str:
    """Names a subsystem with its largest container, for a sentence."""
    row = next((r for r in rows if r.name == name), None)
    found = largest(row) if row else None
    if found is None:
        return name
    member = member_of(found)
    place = place_text(member) or place_text(next(iter(found.places), None))
    what = type_text(found) + (f" {member.name}" if member is not None else "")
    return f"{name} ({what}{f', {place}' if place else ''})"


def without_members(containers: Iterable[Container]) -> list[str]:
    """Returns why containers of a table have no members, each reason once."""
    reasons = {c.why_no_members: None for c in containers if c.why_no_members and not c.members}
    return [f"which members these are is not known: {reason}" for reason in reasons]


def lines(row: SubsystemFacts, most: int = 6) -> list[str]:
    """Returns a line for each of the largest containers, with its bytes; then why some have no members."""
    containers = row.containers or ()
    said = [f"{bytes_text(c.bytes)}: {container_text(c)}" for c in containers[:most]]
    if len(containers) > most:
        rest = sum(c.bytes for c in containers[most:])
        said.append(f"{bytes_text(rest)}: {len(containers) - most} others")
    return said + without_members(containers[:most])


def change_lines(code: Code, most: int = 12) -> list[str]:
    """Returns one line for each change, such as `change book.hpp:12 to …`; first the change of the build."""
    said = [f"the build: {code.needs}"] if code.needs else []
    for change in code.changes[:most]:
        place = place_text(change)
        if change.after and change.before:
            said.append(f"change {place + ' ' if place else ''}{change.before}  →  {change.after}")
        elif change.after:
            said.append(f"add {change.after} {change.what}")
        else:
            said.append(f"{place + ': ' if place else ''}{change.what.replace('`', '')}")
    return said
