# SPDX-License-Identifier: BSL-1.0
"""Checks once for each file of a store whether it can be used. Keeps the reason for each skipped file.

STORE ├─ a relation's folder     *.parquet     of that relation's columns
      ├─ a kind of documents     *.json.gz
      ├─ anything else           skipped: not ours
      └─ .anything               not looked at, here and in every folder
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from millpond.store import store_files
from millpond.store.relations import READERS, RELATIONS, read
from millpond.store.store_files import DOCUMENT, PARQUET, SkippedFile, Unreadable
from millpond.system.errors import Failure, Status

KIND = re.compile(r"[a-z][a-z_]*")
# Too large for a check that reads them whole; every reader of these reads the whole file anyway.
_LARGE = ("contexts",)
# The errors that Python raises if data have another form than their reader expects.
WRONG_DATA = (KeyError, IndexError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError)
Made = TypeVar("Made")


def place(kind: str, run: str) -> str:
    """The path of a kind of file of a run, relative to the store's folder."""
    return f"{kind}/{run}{PARQUET if kind in RELATIONS else DOCUMENT}"


class Inspector:
    """Checks the files below one folder. A file that was whole is not read again unless its size or time changes."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._checked: dict[Path, tuple[int, int]] = {}
        self._skipped: dict[Path, SkippedFile] = {}
        self._misfits: dict[Path, SkippedFile] = {}

    def path(self, kind: str, run: str) -> Path:
        """The path of a kind of file of a run."""
        return self._folder / place(kind, run)

    def content(self, kind: str, run: str) -> Any:
        """The content of a file (see READERS; a document as plain data). None if it is missing or damaged."""
        path = self.path(kind, run)
        try:
            if kind in READERS:
                return READERS[kind](path) if path.exists() else None
            return store_files.read_document(path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except Unreadable as reason:
            self.skip(path, reason)
            return None

    def made(self, kind: str, run: str, content: Any, make: Callable[[Any], Made]) -> Made | None:
        """Returns `make` of the content of a file; None, and the file is a misfit, if it raises WRONG_DATA."""
        try:
            return make(content)
        except WRONG_DATA as error:
            self.misfit(kind, run, error)
            return None

    def good(self, relation: str, *, whole: bool = True) -> list[Path]:
        """The files of a relation that are ours and whole (or at least begin and end as they should)."""

        def check(path: Path) -> None:
            if whole:
                read(relation, path)
            else:
                store_files.check_footer(path, RELATIONS[relation])

        return [
            path
            for path in self._listed(self._folder / relation, PARQUET)
            if path not in self._misfits and self._is_good(path, check, remember=whole)
        ]

    def documents(self) -> list[tuple[str, Path]]:
        """Every document with a valid name and kind, unread."""
        return [(folder.name, path) for folder in self.kinds() for path in self._listed(folder, DOCUMENT)]

    def skip(self, path: Path, reason: object) -> None:
        """Records that a file was skipped."""
        self._skipped[path] = SkippedFile(path, str(reason))

    def misfit(self, kind: str, run: str, error: Exception) -> None:
        """Records, for the lifetime of this object, that a file is whole but its content is not what its kind has."""
        path = self.path(kind, run)
        what = " ".join(f"{type(error).__name__} {error}".split())[:120]
        self._misfits[path] = SkippedFile(path, f"damaged, or of another version: its content does not fit ({what})")

    def skipped_in(self, relation: str) -> list[SkippedFile]:
        """The files of a relation that were skipped so far."""
        return [skipped for path, skipped in sorted(self._skipped.items()) if path.parent.name == relation]

    def inspect(self) -> list[SkippedFile]:
        """Checks everything. Returns the files that are damaged or not ours, by path."""
        for path in _entries(self._folder):
            if not path.is_dir():
                self.skip(path, "not ours: a store has no file here")
        for relation in RELATIONS:
            self.good(relation, whole=relation not in _LARGE)
        for _, path in self.documents():
            self._is_good(path, store_files.read_document)
        return [skipped for _, skipped in sorted({**self._skipped, **self._misfits}.items())]

    def _is_good(self, path: Path, check: Callable[[Path], object], *, remember: bool = True) -> bool:
        try:
            state = path.stat()
            signature = (state.st_size, state.st_mtime_ns)
            if self._checked.get(path) != signature:
                check(path)
                if remember:
                    self._checked[path] = signature
        except FileNotFoundError:
            return False
        except Unreadable as reason:
            self.skip(path, reason)
            return False
        if remember:
            self._skipped.pop(path, None)
        return True

    def kinds(self) -> list[Path]:
        """The folders of documents."""
        folders = [p for p in _entries(self._folder) if p.is_dir() and p.name not in RELATIONS]
        for folder in folders:
            if not KIND.fullmatch(folder.name):
                self.skip(folder, "not ours: a store has no folder of this name")
        return [folder for folder in folders if KIND.fullmatch(folder.name)]

    def _listed(self, folder: Path, suffix: str) -> list[Path]:
        """The files of a folder with valid names; the others are skipped."""
        result = []
        for path in _entries(folder):
            if path.name.endswith(suffix) and path.is_file():
                result.append(path)
            else:
                self.skip(path, f"not ours: not a *{suffix} file")
        return result


def _entries(folder: Path) -> list[Path]:
    """The entries of a folder, except hidden files: those are unfinished."""
    try:
        return sorted(path for path in folder.iterdir() if not path.name.startswith("."))
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise Failure(Status.INPUT, f"cannot read the folder {folder}: {error.strerror}") from error
