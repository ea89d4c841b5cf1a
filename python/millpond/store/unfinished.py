# SPDX-License-Identifier: BSL-1.0
"""Observations of a run that has not ended, line by line in a hidden file, so that whatever ends it loses nothing.

    STORE/observations/.RUN.rounds      {about the run}         locked by the writer for as long as it lives
                                        [rows of a round]       a line for each outcome, handed to the kernel at once
                                        [rows of a r            a line that was cut off is dropped

A run that ends in order writes its Parquet file and removes this one. Of a run that was killed, whoever uses the store
next makes the Parquet file. A power failure may lose the last rounds: the disk is not waited for while measuring.
"""

from __future__ import annotations

import fcntl
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

from millpond.store import store_files
from millpond.store.relations import observations_table
from millpond.system.errors import Failure, cannot_write

SUFFIX = ".rounds"


class Unfinished:
    """The hidden file of one run, made with its first rows. Not thread-safe."""

    def __init__(self, folder: Path, about: dict[str, Any]) -> None:
        self.path = folder / f".{about['run']}{SUFFIX}"
        self._about = about
        self._file: BinaryIO | None = None

    def append(self, rows: Sequence[dict[str, Any]]) -> None:
        """Adds rows: they survive this process from now on. Failure (status 4) where they cannot be written."""
        try:
            if self._file is None:
                self._file = self.path.open("ab", buffering=0)
                with suppress(OSError):  # a place without locks: nobody will take this run for dead
                    fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                self._file.write(_line(self._about))
            self._file.write(_line(list(rows)))
        except OSError as error:
            raise cannot_write(self.path, error) from error

    def remove(self) -> None:
        """The rows are kept elsewhere now."""
        if self._file is not None:
            self.path.unlink(missing_ok=True)
            self._file.close()
            self._file = None


def _line(data: object) -> bytes:
    return json.dumps(data, separators=(",", ":")).encode() + b"\n"


def salvage(folder: Path) -> list[Path]:
    """Makes the Parquet files of runs that were killed; returns them. What is still being written is left alone."""
    made = []
    for path in _files(folder):
        # Where nothing can be written, others will say so.
        with suppress(OSError, Failure), _abandoned(path) as found:
            if found is None:
                continue
            about, rows = found
            target = path.with_name(f"{about['run']}{store_files.PARQUET}")
            if rows and not target.exists():
                store_files.write_parquet(target, observations_table(rows), about)
                made.append(target)
            path.unlink(missing_ok=True)
    return made


def abandoned(folder: Path) -> list[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """What is known of each run that was killed, and its rows, for whoever may not write."""
    runs = []
    for path in _files(folder):
        with suppress(OSError), _abandoned(path) as found:
            if found is not None:
                runs.append(found)
    return runs


def _files(folder: Path) -> list[Path]:
    return sorted(folder.glob(f".*{SUFFIX}"))


@contextmanager
def _abandoned(path: Path) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]] | None]:
    """The content of a file whose writer is dead; None where it has no beginning. OSError where somebody holds it."""
    with path.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        lines = [_parsed(line) for line in file.read().split(b"\n")[:-1]]
        if not lines or not isinstance(lines[0], dict) or not isinstance(lines[0].get("run"), str):
            yield None  # its writer may be about to begin
        else:
            yield lines[0], [row for line in lines[1:] if isinstance(line, list) for row in line]


def _parsed(line: bytes) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        return None
