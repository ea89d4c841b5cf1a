# SPDX-License-Identifier: BSL-1.0
"""Makes a page for each public header of the library: its comment, its example, and its declarations."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import groupby
from pathlib import Path

from millpond_docs.header_declarations import HEADERS, Declaration, declarations, public_headers

FOLDER = "reference/library"
# An example is indented by five blanks behind the slashes, as tests/unit/header_examples.cmake reads it.
_EXAMPLE = "Example:"


def page_of(header: str) -> str:
    """The place of a header's page below docs/."""
    return f"{FOLDER}/{header.removesuffix('.hpp')}.md"


def pages(root: Path, folder: Path) -> dict[str, str]:
    """The pages by their places below docs/: one for each public header, and an index.

    Writes Doxygen's files to the folder. Raises Failure (status 4) if Doxygen is missing or fails.
    """
    found = declarations(root, folder)
    return {f"{FOLDER}/README.md": index(root), **{page_of(name): _page(root, name, found[name]) for name in found}}


def index(root: Path) -> str:
    """The index: the headers of each folder, with the first sentence of each. Needs no Doxygen."""
    lines = ["# Library", "", "`#include <millpond/millpond.hpp>` has everything, `<millpond/FOLDER.hpp>` one folder.",
             "All names lie in namespace `millpond`. Doxygen reads the declarations; the texts are the headers' own.",
             ]  # fmt: skip
    for folder, headers in groupby(public_headers(root), lambda header: header.split("/")[0]):
        lines += ["", f"## {folder}", ""]
        for header in headers:
            paragraphs = _markdown(_opening(root, header))
            first = re.split(r"(?<=[.;]) ", paragraphs[0])[0].rstrip(".;") if paragraphs else ""
            lines.append(f"- [`{Path(header).stem}`]({header.removesuffix('.hpp')}.md): {first}.")
    return "\n".join(lines) + "\n"


def _opening(root: Path, header: str) -> list[str]:
    """The comment at the head of a header, below the licence, without slashes and the `NAME: ` at its beginning."""
    lines = (root / HEADERS / header).read_text(encoding="utf-8").splitlines()
    end = next((number for number, line in enumerate(lines) if not line.startswith("//")), len(lines))
    found = [line.removeprefix("//").removeprefix(" ") for line in lines[1:end]]
    first = re.sub(r"^[\w, ]+: ", "", found[0]) if found else ""
    return [first[:1].upper() + first[1:], *found[1:]]


def _page(root: Path, header: str, found: Sequence[Declaration]) -> str:
    opening = _markdown(_opening(root, header))
    lines = [f"# {Path(header).stem}", "", "```cpp", f"#include <millpond/{header}>", "```", *_spaced(opening)]
    shown_above = {" ".join(paragraph.split()) for paragraph in opening}
    for one in found:
        lines += ["", f"## {one.name}", "", *_code([one])]
        lines += _spaced(part for part in _markdown(one.comment) if " ".join(part.split()) not in shown_above)
        plain = [member for member in one.members if member.kind in ("variable", "typedef") and not member.comment]
        lines += ["", *_code(plain)] if plain else []
        for name, group in groupby([one for one in one.members if one not in plain], lambda member: member.name):
            overloads = list(group)
            own = one.name.rpartition("::")[2]
            lines += ["", f"### {'Construction' if name == own else f'{own}::{name}'}", ""]
            for member in overloads:
                lines += [*_code([member]), *_spaced(_markdown(member.comment)), ""]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)) + "\n"


def _code(ones: Sequence[Declaration]) -> list[str]:
    return ["```cpp", *(one.code for one in ones), "```"]


def _spaced(parts: Iterable[str]) -> list[str]:
    return [line for part in parts for line in ("", part)]


def _markdown(comment: Sequence[str]) -> list[str]:
    """The parts of a comment as Markdown: paragraphs, drawings as blocks of text, the example as C++."""
    parts: list[str] = []
    is_example = False
    for kind, group in groupby(comment, _kind):
        lines = list(group)
        if kind == "blank":
            continue
        if kind == "drawn":
            language = "cpp" if is_example else "text"
            indent = min(len(line) - len(line.lstrip()) for line in lines if line.strip())
            body = "\n".join(line[indent:] for line in lines)
            previous = parts[-1] if parts and parts[-1].startswith(f"```{language}\n") else ""
            if previous:  # after a blank line of the same drawing
                parts[-1] = f"{previous[:-4]}\n\n{body}\n```"
            else:
                parts.append(f"```{language}\n{body}\n```")
            continue
        is_example = lines[-1].strip() == _EXAMPLE
        text = " ".join(lines[:-1] if is_example else lines)
        if text.startswith("- "):
            parts.append("\n".join(_escaped(item) for item in re.split(r" (?=- )", text)))
        elif text:
            parts.append(_escaped(text))
        if is_example:
            parts.append("Example:")
    return parts


def _kind(line: str) -> str:
    if not line.strip():
        return "blank"
    return "drawn" if line.startswith("  ") else "prose"


def _escaped(text: str) -> str:
    """Escapes what Markdown would read as markup, outside code."""
    pieces = re.split(r"(`[^`]*`)", text)
    escaped = "".join(one if one.startswith("`") else re.sub(r"([\\*_<>\[\]#|])", r"\\\1", one) for one in pieces)
    return re.sub(r"^(\d+)\.", r"\1\\.", escaped)
