# SPDX-License-Identifier: BSL-1.0
"""Which package of the system a file belongs to: who uses it does not build it, and its maintainers could change it."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from millpond.system.wording import list_text

# Where a system's packages put their files. What a user installs by hand lies elsewhere.
_SYSTEM_FOLDERS = (Path("/usr"), Path("/lib"), Path("/lib64"), Path("/bin"), Path("/sbin"))
_BY_HAND = (Path("/usr/local"), Path("/usr/src"))
# Each asks its own database, by a whole path, and answers within a second; from the answer's first line the name.
_ASKED = (("dpkg-query", "--search"), ("rpm", "-qf", "--qf", "%{NAME}\n"), ("pacman", "-Qqo"), ("apk", "info", "-qW"))


@cache
def package_of(path: str) -> str | None:
    """The package that a file belongs to; None where it belongs to none, or nobody here can say.

    Cost: a process or two for each file that lies where packages do, once.
    """
    file = Path(path)
    if not any(file.is_relative_to(f) for f in _SYSTEM_FOLDERS) or any(file.is_relative_to(f) for f in _BY_HAND):
        return None
    for command in _ASKED:
        # A package has put the file there by one of its names.
        for name in dict.fromkeys((path, str(file.resolve()), f"/usr{path}", path.removeprefix("/usr"))):
            if found := _first_line([*command, name]):
                return found.partition(":")[0].strip()
    return None


def packages_of(paths: Sequence[str]) -> str | None:
    """The packages of some files, as words; None where one of them belongs to none, and where there are no files."""
    found = [package_of(path) for path in paths]
    names = [name for name in found if name]
    return list_text(sorted(set(names))) if names and len(names) == len(found) else None


def _first_line(command: list[str]) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.partition("\n")[0] if done.returncode == 0 else ""
