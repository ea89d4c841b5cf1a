# SPDX-License-Identifier: BSL-1.0
"""Folders that this process created for its results, so that it can remove the ones that stay empty."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

_made: list[Path] = []


def make_folder(folder: Path) -> None:
    """Creates the folder and its parents, as `mkdir -p` does, and remembers the new ones. OSError."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    _made.extend(path.absolute() for path in reversed(missing))


def remove_empty_folders() -> None:
    """Removes the folders created here that are empty; all others stay."""
    while _made:
        with suppress(OSError):
            _made.pop().rmdir()
