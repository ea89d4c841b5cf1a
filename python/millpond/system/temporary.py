# SPDX-License-Identifier: BSL-1.0
"""Temporary folders. Each is removed when its block ends, or after a kill when any verb next starts.

    /tmp/millpond-x1y2/               0700
        .millpond-owner               a fixed text, locked by the process that made the folder, while it lives

A folder is removed as stale only if all of this holds: its name is one of ours, it belongs to this user, its marker is
a regular file that holds exactly our text, and the marker's lock is free. The marker is locked before it appears, so
that a living folder never looks stale. Process ids play no part, because they are reused.
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
    """A new folder that only this process uses, in `place` or the system's temporary folder; removed when the block
    ends.

    First removes stale ones in the same place. Failure (status 4) if none can be made.
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
    """Puts a locked marker into the folder. Returns None if the file system has no locks: then no process removes it
    as stale.
    """
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
    """Removes folders of ours whose process was killed; returns them. A folder that may be something else stays."""
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
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # raises OSError while its owner lives
        _remove(folder)
    return not folder.exists()


def _remove(folder: Path) -> None:
    """Removes all that can be removed, the marker last: if a kill stops this, the rest is still known as ours."""
    with suppress(OSError):
        for path in folder.iterdir():
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
            elif path.name != MARKER:
                path.unlink()
        (folder / MARKER).unlink(missing_ok=True)
        folder.rmdir()
