# SPDX-License-Identifier: BSL-1.0
"""Reads the public declarations of the library's headers: Doxygen parses them, the comments are taken as written.

Doxygen knows where a declaration is and what belongs to it. Its own reading of comments would join the lines of
drawings, so the comment above a declaration is read from the header.
"""

from __future__ import annotations

import re
import subprocess
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from millpond.system.errors import Failure, Status

HEADERS = Path("include/millpond")
PUBLIC_NAMES = Path("tests/tidy/public_names.toml")
_FILTER = Path(__file__).parent / "theme/doxygen.sed"
_SETTINGS = """
INPUT = {headers}
OUTPUT_DIRECTORY = {folder}
RECURSIVE = YES
FILE_PATTERNS = *.hpp
EXCLUDE_PATTERNS = */detail/*
INPUT_FILTER = "sed -E -f {filter}"
GENERATE_HTML = NO
GENERATE_LATEX = NO
GENERATE_XML = YES
XML_PROGRAMLISTING = NO
EXTRACT_ALL = YES
HAVE_DOT = NO
PREDEFINED = __ELF__=1
QUIET = YES
WARNINGS = NO
"""
_COMMENT = "//"


@dataclass(frozen=True)
class Declaration:
    """A public class, concept, alias, function, variable or enumeration, with its public members.

    `name`: without `millpond::`. `code`: the declaration, without a body. `comment`: the lines above it, without the
    slashes and one blank.
    """

    name: str
    kind: str
    line: int
    code: str
    comment: tuple[str, ...]
    members: tuple[Declaration, ...] = ()


def public_headers(root: Path) -> dict[str, list[str]]:
    """The headers that a program may include, relative to include/millpond, each with its public names."""
    found: dict[str, list[str]] = tomllib.loads((root / PUBLIC_NAMES).read_text(encoding="utf-8"))["headers"]
    return found


def declarations(root: Path, folder: Path) -> dict[str, list[Declaration]]:
    """The public declarations of each public header, in the order of their lines. Writes Doxygen's XML to the folder.

    Raises Failure (status 4) if Doxygen is missing or fails.
    """
    _run_doxygen(root, folder)
    names = public_headers(root)
    found: dict[str, dict[str, Declaration]] = {header: {} for header in names}
    for path in sorted((folder / "xml").glob("*.xml")):
        for one, header in _top_level(path, root):
            if header in names and one.name in names[header]:
                earlier = found[header].get(one.name)
                if earlier is None or not earlier.comment:
                    found[header][one.name] = one
    return {header: sorted(ones.values(), key=lambda one: one.line) for header, ones in found.items()}


def _run_doxygen(root: Path, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    settings = _SETTINGS.format(headers=root / HEADERS, folder=folder, filter=_FILTER)
    try:
        done = subprocess.run(["doxygen", "-"], input=settings, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise Failure(Status.ENVIRONMENT, "doxygen is missing; `scripts/setup docs` installs it") from None
    if done.returncode:
        raise Failure(Status.ENVIRONMENT, f"doxygen failed: {done.stderr.strip()[-300:]}")


def _top_level(path: Path, root: Path) -> Iterator[tuple[Declaration, str]]:
    """The declarations of namespaces in one file of Doxygen, each with its header."""
    for compound in ElementTree.parse(path).getroot().iter("compounddef"):
        kind = compound.get("kind", "")
        if kind in ("class", "struct", "concept"):
            place = _header(compound, root)
            if place and compound.get("prot", "public") == "public":
                yield _compound(compound, kind, root / HEADERS / place), place
        elif kind == "namespace":
            for member in compound.iter("memberdef"):
                if place := _header(member, root):
                    namespace = _unqualified(compound.findtext("compoundname", ""))
                    yield _member(member, root / HEADERS / place, f"{namespace}::" if namespace else ""), place


def _header(element: ElementTree.Element, root: Path) -> str:
    location = element.find("location")
    path = root / location.get("file", "") if location is not None else root  # Doxygen's may be relative to the root
    return path.relative_to(root / HEADERS).as_posix() if path.is_relative_to(root / HEADERS) else ""


def _unqualified(name: str) -> str:
    return name.removeprefix("millpond").removeprefix("::")


def _compound(compound: ElementTree.Element, kind: str, header: Path) -> Declaration:
    name = _unqualified(compound.findtext("compoundname", ""))
    line = int(_attribute(compound, "location", "line"))
    if kind == "concept":
        code = _flat(compound.find("initializer")).replace("millpond::", "", 1)
    else:
        named = (f"{base.get('prot')} {_flat(base)}" for base in compound.findall("basecompoundref"))
        bases = ", ".join(base for base in named if "detail::" not in base)
        code = f"{_template(compound)}{kind} {name}{f' : {bases}' if bases else ''};"
    members = [
        _member(one, header)
        for section in compound.findall("sectiondef")
        for one in section.findall("memberdef")
        if one.get("prot") == "public" and not _is_plain(one)
    ]
    return Declaration(
        name, kind, line, code, _comment_above(header, line), tuple(sorted(members, key=lambda one: one.line))
    )


def _is_plain(member: ElementTree.Element) -> bool:
    """True for a deleted or defaulted member, and for a destructor."""
    arguments = member.findtext("argsstring", "")
    return arguments.endswith(("=delete", "=default")) or member.findtext("name", "").startswith("~")


def _member(member: ElementTree.Element, header: Path, qualification: str = "") -> Declaration:
    kind, name = member.get("kind", ""), member.findtext("name", "")
    line = int(_attribute(member, "location", "line"))
    type_ = _flat(member.find("type"))
    start = _template(member) + ("friend " if kind == "friend" and not type_.startswith("friend") else "")
    start += "static " if member.get("static") == "yes" and kind == "function" and "static" not in type_ else ""
    start += "explicit " if member.get("explicit") == "yes" else ""
    if kind == "typedef":
        code = f"{start}using {name} = {type_};"
    elif kind == "enum":
        values = ", ".join(one.findtext("name", "") for one in member.findall("enumvalue"))
        code = f"enum {'class ' if member.get('strong') == 'yes' else ''}{name} {{ {values} }};"
    else:
        value = _flat(member.find("initializer")) if kind == "variable" else ""
        arguments = _as_written(" ".join(member.findtext("argsstring", "").split()))
        code = f"{start}{type_}{' ' if type_ else ''}{name}{arguments}{' ' + value if value else ''};"
    return Declaration(qualification + name, kind, line, code, _comment_above(header, line))


def _template(element: ElementTree.Element) -> str:
    """The line `template <…>`, and that of a requires clause; empty if the element is no template."""
    parameters = element.find("templateparamlist")
    lines = []
    if parameters is not None and len(parameters):
        shown = []
        for one in parameters.findall("param"):
            name, default = one.findtext("declname", ""), _flat(one.find("defval"))
            type_ = _flat(one.find("type"))
            named = type_ if not name or type_.split()[-1:] == [name] else f"{type_} {name}"
            shown.append(f"{named} = {default}" if default else named)
        lines.append(f"template <{', '.join(shown)}>\n")
    if required := _flat(element.find("requiresclause")):
        lines.append(f"    requires {required}\n")
    return "".join(lines)


def _flat(element: ElementTree.Element | None) -> str:
    """The text of an element; a concept's lines stay, other white space is one blank."""
    if element is None:
        return ""
    text = "".join(element.itertext()).strip()
    return text if "\n" in text and element.tag == "initializer" else _as_written(" ".join(text.split()))


def _as_written(code: str) -> str:
    """The spacing of our sources: `pool<T>&`, where Doxygen has `pool< T > &`."""
    code = re.sub(r"(\w)< ", r"\1<", code)
    code = re.sub(r" (>+)(?=[>,;)&*:]|$)", r"\1", re.sub(r" >(?= >)", ">", code))
    return re.sub(r"(?<=[\w>]) ([*&]+)(?= |$|\w|\.)", r"\1 ", code).rstrip()


def _attribute(element: ElementTree.Element, child: str, name: str) -> str:
    found = element.find(child)
    return found.get(name, "0") if found is not None else "0"


def _comment_above(header: Path, line: int) -> tuple[str, ...]:
    """The comment that ends above the declaration on this line; empty without one."""
    lines = header.read_text(encoding="utf-8").splitlines()
    at = line - 2
    # The lines between are the beginning of the same declaration: template, requires, attributes.
    while at >= 0 and lines[at].strip() and not lines[at].rstrip().endswith((";", "{", "}", ":")):
        if lines[at].lstrip().startswith(_COMMENT):
            break
        at -= 1
    end = at + 1
    while at >= 0 and lines[at].lstrip().startswith(_COMMENT):
        at -= 1
    return tuple(one.strip().removeprefix(_COMMENT).removeprefix(" ") for one in lines[at + 1 : end])
