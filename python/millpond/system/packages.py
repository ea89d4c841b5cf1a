# SPDX-License-Identifier: BSL-1.0
"""The package of the system that a file belongs to. Its users do not build it, but its maintainers could change it."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from millpond.system.wording import list_text

# Folders of a system's packages. Files that a user installs by hand lie elsewhere.
_SYSTEM_FOLDERS = (Path("/usr"), Path("/lib"), Path("/lib64"), Path("/bin"), Path("/sbin"))
_BY_HAND = (Path("/usr/local"), Path("/usr/src"))
# The package databases' queries for a whole path. Each answers within a second; the name is in the first line.
_ASKED = (("dpkg-query", "--search"), ("rpm", "-qf", "--qf", "%{NAME}\n"), ("pacman", "-Qqo"), ("apk", "info", "-qW"))


# The commands that install the symbols of a package, by its package database.
_SYMBOLS = {"dpkg-query": "apt install {}-dbgsym", "rpm": "dnf debuginfo-install {}"}
_OTHER_SYMBOLS = {"libc6": "apt install libc6-dbg"}


def package_of(path: str) -> str | None:
    """The package that a file belongs to; None if it belongs to none, or no package manager here can tell.

    Cost: a process or two, once, for each file that lies where packages do.
    """
    return known_package(path)[1]


def symbols_command(path: str) -> str:
    """The command that installs the symbols of the package that a file belongs to; empty if none is known."""
    database, package = known_package(path)
    if package is None or database not in _SYMBOLS:
        return ""
    usual = _SYMBOLS[database].format(package)
    return _OTHER_SYMBOLS.get(package, usual) if database == "dpkg-query" else usual


@cache
def known_package(path: str) -> tuple[str, str | None]:
    """The command of the package database that knows a file, and the package; empty and None if none does."""
    file = Path(path)
    if not any(file.is_relative_to(f) for f in _SYSTEM_FOLDERS) or any(file.is_relative_to(f) for f in _BY_HAND):
        return "", None
    for command in _ASKED:
        # The package has recorded the file under one of these paths.
        for name in dict.fromkeys((path, str(file.resolve()), f"/usr{path}", path.removeprefix("/usr"))):
            if found := _first_line([*command, name]):
                return command[0], found.partition(":")[0].strip()
    return "", None


def packages_of(paths: Sequence[str]) -> str | None:
    """The packages of some files, as text; None if one of them belongs to none, and if there are no files."""
    found = [package_of(path) for path in paths]
    names = [name for name in found if name]
    return list_text(sorted(set(names))) if names and len(names) == len(found) else None


def _first_line(command: list[str]) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.partition("\n")[0] if done.returncode == 0 else ""
