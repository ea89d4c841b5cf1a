# SPDX-License-Identifier: BSL-1.0
"""Reads a Markdown page as the site and the tests see it: headings with their anchors, links, blocks of code."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_FENCE = re.compile(r"\s*(```+|~~~+)\s*(\S*)")
_HEADING = re.compile(r"(#{1,6}) +(.+?)\s*$")
LINK = re.compile(r"(?P<image>!?)\[(?P<label>(?:[^\[\]]|\[[^\]]*\])*)\]\((?P<target>[^()\s]+)\)")
_ANCHOR = re.compile(r'<a (?:id|name)="([^"]+)"')
_CODE = re.compile(r"(`+).+?\1")
_COMMENT = re.compile(r"<!--\s*(.*?)\s*-->\s*$")


@dataclass(frozen=True)
class Heading:
    """A heading. `anchor`: the part of an address after `#`, as Git hosts make it. Lines are numbered from 1."""

    line: int
    level: int
    text: str
    anchor: str


@dataclass(frozen=True)
class Link:
    """A link or an image, in the text outside code."""

    line: int
    label: str
    target: str
    is_image: bool

    @property
    def is_outward(self) -> bool:
        """True for an address with a scheme, such as https:."""
        return re.match(r"[a-z][a-z0-9+.-]+:", self.target) is not None


@dataclass(frozen=True)
class CodeBlock:
    """A fenced block of code. `mark`: the comment `<!-- … -->` on the line before it, or empty."""

    line: int
    language: str
    text: str
    mark: str


def prose_lines(text: str) -> Iterator[tuple[int, str]]:
    """The lines outside fenced code, with their numbers."""
    fence = ""
    for number, line in enumerate(text.splitlines(), 1):
        found = _FENCE.match(line)
        if found and not fence:
            fence = found[1]
        elif found and found[1].startswith(fence) and not found[2]:
            fence = ""
        elif not fence:
            yield number, line


def code_blocks(text: str) -> list[CodeBlock]:
    """The fenced blocks, in their order; an indented block loses its indentation."""
    found: list[CodeBlock] = []
    lines = text.splitlines()
    begin, fence, language = 0, "", ""
    for number, line in enumerate(lines):
        match = _FENCE.match(line)
        if match and not fence:
            begin, fence, language = number, match[1], match[2]
        elif match and match[1].startswith(fence) and not match[2]:
            indent = len(lines[begin]) - len(lines[begin].lstrip())
            body = "".join(f"{one[indent:]}\n" for one in lines[begin + 1 : number])
            comment = _COMMENT.search(lines[begin - 1]) if begin else None
            found.append(CodeBlock(begin + 1, language, body, comment[1] if comment else ""))
            fence = ""
    return found


def headings(text: str) -> list[Heading]:
    """The headings, in their order; the second of two equal anchors ends in -1, as Git hosts write it."""
    found: list[Heading] = []
    taken: dict[str, int] = {}
    for number, line in prose_lines(text):
        if match := _HEADING.match(line):
            anchor = slug(match[2])
            times = taken.get(anchor, 0)
            taken[anchor] = times + 1
            found.append(Heading(number, len(match[1]), match[2], f"{anchor}-{times}" if times else anchor))
    return found


def slug(heading: str) -> str:
    """The anchor of a heading: lower case, without punctuation, a hyphen for each space."""
    plain = LINK.sub(lambda found: found["label"], heading).replace("`", "").replace("*", "")
    return re.sub(r"[^\w\- ]", "", plain.strip().lower()).replace(" ", "-")


def anchors(text: str) -> set[str]:
    """All anchors of a page: those of its headings, and explicit ones."""
    return {one.anchor for one in headings(text)} | set(_ANCHOR.findall(text))


def links(text: str) -> list[Link]:
    """The links and images outside code, in their order. A label may continue on the next line."""
    found: list[Link] = []
    shown = dict(prose_lines(text))
    whole = "\n".join(_without_code(shown.get(number, "")) for number in range(1, text.count("\n") + 2))
    for match in LINK.finditer(whole):
        line = whole.count("\n", 0, match.start()) + 1
        found.append(Link(line, " ".join(match["label"].split()), match["target"], bool(match["image"])))
    return found


def _without_code(line: str) -> str:
    """The line with each piece of code blanked, so that columns stay."""
    return _CODE.sub(lambda found: " " * len(found[0]), line)


def section(text: str, anchor: str) -> list[str]:
    """The lines from a heading to the next one of its level or above; empty if there is no such heading."""
    found = headings(text)
    at = next((index for index, one in enumerate(found) if one.anchor == anchor), None)
    if at is None:
        return []
    lines = text.splitlines()
    end = next((one.line - 1 for one in found[at + 1 :] if one.level <= found[at].level), len(lines))
    return lines[found[at].line - 1 : end]


def title(text: str) -> str:
    """The text of the first heading; empty without one."""
    return next((one.text for one in headings(text)), "")
