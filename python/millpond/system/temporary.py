# SPDX-License-Identifier: BSL-1.0
"""Temporary folders: gone when their block ends, and after a kill at the next start of any verb.

    /tmp/millpond-x1y2/               0700
        .millpond-owner               our words, locked by the process that made the folder, while it lives

A folder is removed as stale only if all of this holds: it is named as ours are, it belongs to this user, its marker is
a regular file that holds exactly our words, and the marker's lock is free. The marker appears locked, so that no
moment exists in which a living folder looks stale. Process ids, which are used again, decide nothing.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from millpond.system.errors import cannot_write
from millpond.system.input_file import open_regular

PREFIX = "millpond-"
MARKER = ".millpond-owner"
_WORDS = b"A temporary folder of millpond. Removed when the process that holds this file's lock has ended.\n"


@contextmanager
def temporary_folder(place: Path | None = None) -> Iterator[Path]:
    """A new folder for this process alone, in `place` or where temporary files go; removed when the block ends.

    Removes stale ones of the same place first. Failure (status 4) where none can be made.
    """
    try:
        where = Path(tempfile.gettempdir()) if place is None else place
        remove_stale(where)
        folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=where))
    except OSError as error:
        raise cannot_write("a temporary folder" if place is None else place, error) from error
    lock: BinaryIO | None = None
    try:
        lock = _mark(folder)
        yield folder
    finally:
        _remove(folder)
        if lock is not None:
            lock.close()


def _mark(folder: Path) -> BinaryIO | None:
    """Puts a locked marker into the folder; None where the place has no locks: then nobody takes it for stale."""
    unnamed = folder / f"{MARKER}.new"
    file = unnamed.open("xb", buffering=0)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        file.write(_WORDS)
        unnamed.rename(folder / MARKER)
    except OSError:
        file.close()
        return None
    return file


def remove_stale(place: Path) -> list[Path]:
    """Removes folders of ours whose process was killed; returns them. What cannot be proven to be one stays."""
    removed = []
    with suppress(OSError), os.scandir(place) as entries:
        found = [Path(entry.path) for entry in entries if entry.name.startswith(PREFIX)]
        for folder in found:
            with suppress(OSError):
                if _remove_if_stale(folder):
                    removed.append(folder)
    return removed


def _remove_if_stale(folder: Path) -> bool:
    state = folder.lstat()
    if not stat.S_ISDIR(state.st_mode) or state.st_uid != os.getuid():
        return False
    marker = folder / MARKER
    if marker.is_symlink():
        return False
    with open_regular(marker) as file:
        if os.fstat(file.fileno()).st_uid != os.getuid() or file.read(len(_WORDS) + 1) != _WORDS:
            return False
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # OSError: its owner lives
        _remove(folder)
    return not folder.exists()


def _remove(folder: Path) -> None:
    """Removes all that can be removed, the marker last: what a kill leaves here can still be told to be ours."""
    with suppress(OSError):
        for path in folder.iterdir():
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
            elif path.name != MARKER:
                path.unlink()
        (folder / MARKER).unlink(missing_ok=True)
        folder.rmdir()
