# SPDX-License-Identifier: BSL-1.0
"""The planted faults: one change to one header, or to one source of preload/, each, as data, and how a change is made.

A fault names the text that it replaces. Blanks and line breaks of that text mean nothing, so a header that is
formatted anew keeps its faults; a header whose code changes shows at once which of them have lost their place.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HEADERS = Path("include/millpond")
PRELOAD = Path("preload")


@dataclass(frozen=True)
class Fault:
    name: str
    file: str  # below include/millpond, or preload/…
    what: str  # the mistake, in one sentence
    find: str
    replace: str
    tests: tuple[str, ...]  # the programs that are expected to notice it, tried first: target/source or target


def place_of(file: str) -> Path:
    """Where a fault's file, or any other that may change, lies below the root."""
    return Path(file) if file.startswith(f"{PRELOAD}/") else HEADERS / file


class Misplaced(Exception):
    """A fault whose text is not in its header, or is there more than once."""


def load(folder: Path = ROOT / "tests/faults") -> list[Fault]:
    faults: list[Fault] = []
    for path in sorted(folder.glob("*.toml")):
        for entry in tomllib.loads(path.read_text(encoding="utf-8"))["fault"]:
            faults.append(Fault(**{**entry, "tests": tuple(entry["tests"])}))
    return faults


def pattern(text: str) -> re.Pattern[str]:
    """What finds `text` however it is broken into lines."""
    return re.compile(r"\s*".join(re.escape(token) for token in re.findall(r"\w+|[^\w\s]", text)))


def plant(header: str, fault: Fault) -> str:
    """The header's text with the fault in it. Raises Misplaced."""
    found = list(pattern(fault.find).finditer(header))
    if len(found) != 1:
        raise Misplaced(f"{fault.name}: its text occurs {len(found)} times in {fault.file}, not once: {fault.find!r}")
    return header[: found[0].start()] + fault.replace.strip() + header[found[0].end() :]
