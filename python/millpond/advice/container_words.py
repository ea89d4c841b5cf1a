# SPDX-License-Identifier: BSL-1.0
"""The containers of a subsystem in words: the type, the member that it is, and where the source asks for it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote

from millpond.system.wording import bytes_text

# Below this share of a subsystem's bytes, its largest container does not stand for it.
_STANDS_FOR_SHARE = 0.3
_TYPE_LETTERS = 120


def place_text(place: Mapping[str, Any] | None, *, whole: bool = False) -> str:
    """`book.cpp:18`, or with its folder; empty where it is not known."""
    if not place or not place.get("file") or not place.get("line"):
        return ""
    file = str(place["file"])
    return f"{file if whole else file.rsplit('/', 1)[-1]}:{place['line']}"


def editor_link(place: Mapping[str, Any] | None) -> str:
    """An address that opens the place in an editor; empty where it is not known."""
    if not place_text(place) or not str((place or {})["file"]).startswith("/"):
        return ""
    return f"vscode://file{quote(str((place or {})['file']))}:{(place or {})['line']}"


def member_of(container: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The member or variable that a container is, if it is known which."""
    members = container.get("members") or []
    named = [m for m in members if m.get("named_in_call")]
    first = (named or members)[:1]
    return first[0] if first and (len(members) == 1 or len(named) == 1) else None


def type_text(container: Mapping[str, Any]) -> str:
    """The type, shortened, or why there is none."""
    text = str(container.get("type") or container.get("why_null") or "not known")
    return text if len(text) <= _TYPE_LETTERS else text[: _TYPE_LETTERS - 1] + "…"


def container_text(container: Mapping[str, Any]) -> str:
    """`std::map<int, shop::order> orders_ (book.hpp:12), filled at book.cpp:18`."""
    text = type_text(container)
    if container.get("element_of"):
        text += f" in {container['element_of']}"
    member = member_of(container)
    if member is not None:
        inside = "" if member.get("holds") == "itself" else "in "
        where = place_text(member)
        text += f", {inside}{member['kind']} {member['name']}" + (f" ({where})" if where else "")
    elif members := container.get("members") or []:
        text += ", one of " + ", ".join(f"{m['name']} ({place_text(m)})" for m in members[:4])
    place = place_text(next(iter(container.get("places") or []), None))
    return text + (f", allocated at {place}" if place else "")


def largest(row: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The container that most of a subsystem's bytes are for, where it is named and a large part of them."""
    containers = row.get("containers") or []
    named = [c for c in containers if c.get("type") and (c.get("share") or 0) >= _STANDS_FOR_SHARE]
    return named[0] if named else None


def mostly(row: Mapping[str, Any]) -> str:
    """What stands behind an advised subsystem's reason; empty where no container is named."""
    found = largest(row)
    if found is None:
        return ""
    return f"; {100 * (found.get('share') or 0):.0f} % of its bytes are {container_text(found)}"


def named_with_container(name: str, rows: Iterable[Mapping[str, Any]]) -> str:
    """A subsystem with its largest container, for a sentence."""
    row = next((r for r in rows if r["name"] == name), None)
    found = largest(row) if row else None
    if found is None:
        return name
    member = member_of(found)
    place = place_text(member) or place_text(next(iter(found.get("places") or []), None))
    what = type_text(found) + (f" {member['name']}" if member is not None else "")
    return f"{name} ({what}{f', {place}' if place else ''})"


def lines(row: Mapping[str, Any], most: int = 6) -> list[str]:
    """A line for each of the largest containers, with its bytes."""
    containers = row.get("containers") or []
    said = [f"{bytes_text(c.get('bytes'))}: {container_text(c)}" for c in containers[:most]]
    if len(containers) > most:
        rest = sum(c.get("bytes") or 0 for c in containers[most:])
        said.append(f"{bytes_text(rest)}: {len(containers) - most} others")
    return said


def change_lines(code: Mapping[str, Any], most: int = 8) -> list[str]:
    """What to change, a line each: `change book.hpp:12 to …`."""
    said = []
    for change in code["changes"][:most]:
        place = place_text(change)
        if change["after"] and change["before"]:
            said.append(f"change {place + ' ' if place else ''}{change['before']}  →  {change['after']}")
        elif change["after"]:
            said.append(f"add {change['after']} {change['what']}")
        else:
            said.append(f"{place + ': ' if place else ''}{change['what'].replace('`', '')}")
    return said
