# SPDX-License-Identifier: BSL-1.0
"""Gathers the pages of the site, and makes of them the folder that Sphinx reads.

A page is named by its place in the repository, as `docs/reference/limits.md`; generated pages have such a place, too.
A README.md (or index.md) is the index of its folder. Each index lists the pages of its folder, so that a new page is
found without an edit elsewhere.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from millpond_docs import page_text
from millpond_docs.command_pages import COMMANDS, page_of

DOCS = "docs"
# Pages outside docs/ that the site has, too.
PROJECT = ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
# The folders of the site in the order of its navigation, with their titles.
SECTIONS = {
    "tutorial": "Tutorial",
    "how_to": "How-to guides",
    "reference": "Reference",
    "explanation": "Explanation",
    "results": "Results",
    "project": "Project",
}
# Folders whose pages are found by their index and the search. In the navigation, which each page repeats, they would
# take a third of the time of a build.
LEAVES = (f"{DOCS}/reference/library", f"{DOCS}/reference/schemas")
INDEX = "README.md"
INDEXES = (INDEX, "index.md")
_INLINE_CODE = re.compile(r"(?<![\[`])`(millpond(?:-bench)? [a-z][a-z ]*)`(?![\]`])")


def written_pages(root: Path) -> dict[str, str]:
    """The pages that lie in the repository, by their places."""
    found = {path.relative_to(root).as_posix(): path for path in sorted((root / DOCS).rglob("*.md"))}
    found |= {name: root / name for name in PROJECT if (root / name).is_file()}
    return {place: path.read_text(encoding="utf-8") for place, path in found.items()}


def with_indexes(pages: Mapping[str, str]) -> dict[str, str]:
    """Adds an index to each folder of docs/ that has none: a list of its pages."""
    found = dict(pages)
    for folder in sorted({posixpath.dirname(place) for place in pages if place.startswith(f"{DOCS}/")}):
        if not folder.startswith(tuple(f"{leaf}/" for leaf in LEAVES)) and index_of(pages, folder) not in found:
            name = posixpath.basename(folder)
            rows = [f"- [{page_text.title(pages[place])}]({posixpath.relpath(place, folder)})"
                    for place in children(pages, folder)]  # fmt: skip
            found[f"{folder}/{INDEX}"] = f"# {SECTIONS.get(name, name.capitalize())}\n\n" + "\n".join(rows) + "\n"
    return found


def index_of(pages: Mapping[str, str], folder: str) -> str:
    """The index of a folder; its usual place if the folder has no index yet."""
    return next((f"{folder}/{name}" for name in INDEXES if f"{folder}/{name}" in pages), f"{folder}/{INDEX}")


def is_index(place: str) -> bool:
    """True for the index of a folder."""
    return posixpath.basename(place) in INDEXES


def children(pages: Mapping[str, str], folder: str) -> list[str]:
    """The pages directly below an index: those of its folder, and the indexes of the folders in it.

    Those that the index links to come first, in the order of its links.
    """
    own = index_of(pages, folder)
    found = [
        place
        for place in pages
        if place != own and posixpath.dirname(posixpath.dirname(place) if is_index(place) else place) == folder
    ]
    linked = [target for one in page_text.links(pages.get(own, "")) if (target := resolved(own, one.target))]
    return sorted(found, key=lambda place: (linked.index(place) if place in linked else len(linked), place))


def resolved(place: str, target: str) -> str:
    """The place in the repository to which a link of a page leads, without the anchor; empty for other addresses."""
    path = target.partition("#")[0]
    if re.match(r"[a-z][a-z0-9+.-]+:", target):
        return ""
    return posixpath.normpath(posixpath.join(posixpath.dirname(place), path)) if path else place


def staged_place(place: str) -> str:
    """The place of a page below Sphinx's folder."""
    inside = place.removeprefix(f"{DOCS}/") if place.startswith(f"{DOCS}/") else f"project/{place}"
    return posixpath.join(posixpath.dirname(inside), "index.md") if is_index(inside) else inside


def stage(root: Path, generated: Mapping[str, str], source: Path) -> None:
    """Writes all pages and their images to Sphinx's folder. A file that has not changed is left, one that should not be
    there is removed: Sphinx then reads again what has changed.
    """
    contents = staged_files(root, with_indexes({**written_pages(root), **generated}))
    for path in [path for path in source.rglob("*") if path.is_file()]:
        if path.relative_to(source).as_posix() not in contents:
            path.unlink()
    for name, content in contents.items():
        path = source / name
        if not path.is_file() or path.read_bytes() != content:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)


def staged_files(root: Path, pages: Mapping[str, str]) -> dict[str, bytes]:
    """The files of Sphinx's folder by their places in it."""
    found = {
        path.relative_to(root / DOCS).as_posix(): path.read_bytes()
        for path in (root / DOCS).rglob("*")
        if path.is_file() and path.suffix != ".md"
    }
    for place, text in pages.items():
        staged = _with_links(place, text, pages, root)
        if is_index(place):
            folder = posixpath.dirname(place)
            below = _sections(pages) if folder == DOCS else children(pages, folder)
            staged += _contents(below, staged_place(place)) if folder not in LEAVES else ""
        elif leaf := next((leaf for leaf in LEAVES if place.startswith(f"{leaf}/")), ""):
            staged = _leaf(place, staged, pages, leaf)
        found[staged_place(place)] = staged.encode()
    project = [staged_place(name) for name in PROJECT if name in pages]
    rows = "".join(f"- [{page_text.title(pages[posixpath.basename(one)])}]({posixpath.basename(one)})\n"
                   for one in project)  # fmt: skip
    text = f"# {SECTIONS['project']}\n\n{rows}" + _toctree(posixpath.basename(one) for one in project)
    return {**found, "project/index.md": text.encode()}


def _leaf(place: str, staged: str, pages: Mapping[str, str], leaf: str) -> str:
    """A page outside the navigation, with the way up below its title."""
    here = posixpath.dirname(staged_place(place))
    indexes = [index_of(pages, posixpath.dirname(leaf)), index_of(pages, leaf)]
    way = " / ".join(
        f"[{page_text.title(pages[one])}]({posixpath.relpath(staged_place(one), here)})" for one in indexes
    )
    title, _, rest = staged.partition("\n")
    return f"---\norphan: true\n---\n{title}\n\n{way}\n{rest}"


def _sections(pages: Mapping[str, str]) -> list[str]:
    """The children of the site's first page: the sections in their order, then the other pages."""
    found = children(pages, DOCS)
    sections = [index_of(pages, f"{DOCS}/{name}") for name in SECTIONS]
    return [*(one for one in sections if one in found), *(one for one in found if one not in sections)]


def _contents(places: Iterable[str], index: str) -> str:
    below = [posixpath.relpath(staged_place(place), posixpath.dirname(index) or ".") for place in places]
    return _toctree([*below, *(["project/index.md"] if index == "index.md" else [])])


def _toctree(names: Iterable[str]) -> str:
    lines = "\n".join(name.removesuffix(".md") for name in names)
    return f"\n```{{toctree}}\n:hidden:\n\n{lines}\n```\n"


def _with_links(place: str, text: str, pages: Mapping[str, str], root: Path) -> str:
    """The page with links as Sphinx's folder needs them; verbs in code become links to their pages.

    A link to a file that the site does not have becomes the file's place in code.
    """
    here = posixpath.dirname(staged_place(place)) or "."
    verbs = {f"{command} {verb.name}": f"{DOCS}/{page_of(command, verb)}"
             for command, (all_verbs, _) in COMMANDS.items() for verb in all_verbs}  # fmt: skip

    def link(label: str, target: str, image: str) -> str:
        aim = resolved(place, target)
        anchor = f"#{target.partition('#')[2]}" if "#" in target else ""
        if not aim or aim == place:
            return f"{image}[{label}]({target})"
        if aim not in pages:
            aim = index_of(pages, aim) if index_of(pages, aim) in pages else aim
        if aim in pages:
            return f"{image}[{label}]({posixpath.relpath(staged_place(aim), here)}{anchor})"
        if aim.startswith(f"{DOCS}/") and (root / aim).is_file():
            return f"{image}[{label}]({posixpath.relpath(aim.removeprefix(f'{DOCS}/'), here)})"
        return label if aim.endswith(label.strip("`")) else f"{label} (`{aim}`)"

    def verb_link(found: re.Match[str]) -> str:
        aim = verbs.get(found[1])
        if aim is None or aim == place or aim not in pages:
            return found[0]
        return f"[{found[0]}]({posixpath.relpath(staged_place(aim), here)})"

    lines = text.splitlines()
    prose = {number for number, line in page_text.prose_lines(text) if not line.startswith("#")}
    for first, last in _runs(sorted(prose)):
        block = "\n".join(lines[first - 1 : last])
        if not place.startswith(f"{DOCS}/results/"):
            block = _INLINE_CODE.sub(verb_link, block)
        block = page_text.LINK.sub(lambda found: link(found["label"], found["target"], found["image"]), block)
        lines[first - 1 : last] = block.split("\n")
    return "\n".join(lines) + "\n"


def _runs(numbers: list[int]) -> list[tuple[int, int]]:
    """Groups numbers that follow one another."""
    found: list[tuple[int, int]] = []
    for number in numbers:
        if found and found[-1][1] == number - 1:
            found[-1] = (found[-1][0], number)
        else:
            found.append((number, number))
    return found
