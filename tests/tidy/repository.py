# SPDX-License-Identifier: BSL-1.0
"""The files of the repository, as the tidy tests see them: tracked ones, and new ones that git does not ignore."""

from __future__ import annotations

import subprocess
import tomllib
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

CXX_SUFFIXES = (".hpp", ".h", ".cpp", ".c")


@cache
def files() -> tuple[Path, ...]:
    """Returns every file that git tracks or would add, relative to the root."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return tuple(sorted(Path(name) for name in set(listed.split("\0")) if name and (ROOT / name).is_file()))


def text(path: Path) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def cxx_files() -> list[Path]:
    return [path for path in files() if path.suffix in CXX_SUFFIXES]


def library_headers() -> list[Path]:
    return [path for path in files() if path.parts[0] == "include" and path.suffix == ".hpp"]


def public_names() -> dict[str, list[str]]:
    """Returns the headers below include/millpond that a program may include, with the names that each declares."""
    listed: dict[str, list[str]] = tomllib.loads(text(Path("tests/tidy/public_names.toml")))["headers"]
    return listed


def python_files() -> list[Path]:
    return [path for path in files() if path.suffix == ".py"]


def scripts() -> list[Path]:
    """Returns executable texts without a suffix: scripts/* and .ci/*."""
    return [path for path in files() if path.parts[0] in ("scripts", ".ci") and path.suffix == ""]


def is_text(path: Path) -> bool:
    try:
        text(path)
    except UnicodeDecodeError:
        return False
    return True
