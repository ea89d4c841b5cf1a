# SPDX-License-Identifier: BSL-1.0
"""Reads the planted faults and applies one: each changes one header or one source of preload/.

A fault names the text that it replaces. Blanks and line breaks of that text do not matter, so a reformatted header
keeps its faults. A fault whose text is no longer in the code raises an error.
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
    tests: tuple[str, ...]  # programs that should notice it and are tried first: target/source or target


def place_of(file: str) -> Path:
    """Returns the path, below the root, of a file that a fault or a patch may change."""
    return Path(file) if file.startswith(f"{PRELOAD}/") else HEADERS / file


class PlacementError(Exception):
    """The text of a fault does not occur in its header, or occurs more than once."""


def load(folder: Path = ROOT / "tests/faults") -> list[Fault]:
    faults: list[Fault] = []
    for path in sorted(folder.glob("*.toml")):
        for entry in tomllib.loads(path.read_text(encoding="utf-8"))["fault"]:
            faults.append(Fault(**{**entry, "tests": tuple(entry["tests"])}))
    return faults


def pattern(text: str) -> re.Pattern[str]:
    """Returns an expression that finds `text`, however it is broken into lines."""
    return re.compile(r"\s*".join(re.escape(token) for token in re.findall(r"\w+|[^\w\s]", text)))


def plant(header: str, fault: Fault) -> str:
    """Returns the header's text with the fault in it. Raises PlacementError."""
    found = list(pattern(fault.find).finditer(header))
    if len(found) != 1:
        raise PlacementError(
            f"{fault.name}: its text occurs {len(found)} times in {fault.file}, not once: {fault.find!r}"
        )
    return header[: found[0].start()] + fault.replace.strip() + header[found[0].end() :]
