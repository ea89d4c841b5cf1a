# SPDX-License-Identifier: BSL-1.0
"""Observations of a run that has not ended: lines in a hidden file, so that no end of the process loses any.

    STORE/observations/.RUN.rounds      {about the run} ⇥ crc32     locked by the writer for as long as it lives
                                        [rows of a round] ⇥ crc32   a line for each outcome, given to the kernel at
                                        once
                                        [rows of a r                a line that was cut off is dropped

A run that ends normally writes its Parquet file and removes this one. If a run was killed, the next user of the store
writes its Parquet file. A power failure may lose the last rounds, because measuring does not wait for the disk.
"""

from __future__ import annotations

import fcntl
import json
import re
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from millpond.store import store_files
from millpond.store.observations import Observation, RunFacts
from millpond.store.relations import observations_table, read
from millpond.store.version_1 import observation_of
from millpond.system.errors import Failure, cannot_write
from millpond.system.input_file import open_regular, parse_json
from millpond.system.progress import say

SUFFIX = ".rounds"
# The end of a line that has a checksum.
_SEALED = re.compile(rb"\t[0-9a-f]{8}\Z")


class UnfinishedRun:
    """The hidden file of one run, created with its first rows. Not thread-safe."""

    def __init__(self, folder: Path, about: RunFacts) -> None:
        self.path = folder / f".{about.run}{SUFFIX}"
        self._about = about
        self._file: BinaryIO | None = None

    def append(self, rows: Sequence[Observation]) -> None:
        """Adds rows: they survive this process from now on. Failure (status 4) if they cannot be written."""
        try:
            if self._file is None:
                self._file = self.path.open("xb", buffering=0)
                with suppress(OSError):  # without locks, no process takes this run for dead
                    fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                self._file.write(_line(self._about.to_json()))
            self._file.write(_line([row.to_json() for row in rows]))
        except OSError as error:
            raise cannot_write(self.path, error) from error

    def remove(self) -> None:
        """Removes the file, once the rows are kept elsewhere."""
        if self._file is not None:
            self.path.unlink(missing_ok=True)
            self._file.close()
            self._file = None


def _line(data: object) -> bytes:
    text = json.dumps(data, separators=(",", ":")).encode()
    return b"%b\t%08x\n" % (text, zlib.crc32(text))


def _data_in(line: bytes) -> Any:
    """The data in a line. ValueError if its checksum is wrong; a line of an older writer has none."""
    text, tab, seal = line.rpartition(b"\t")
    if tab and seal != b"%08x" % zlib.crc32(text):
        raise ValueError("its checksum is wrong")
    return parse_json(text if tab else line)


def salvage(folder: Path) -> list[Path]:
    """Writes the Parquet files of runs that were killed; returns them. Skips files that are still being written.

    A hidden file is removed only if all of it was understood, and its Parquet file holds its rows (or it had none). A
    damaged one is named on standard error.
    """
    made = []
    for path in _files(folder):
        # If nothing can be written here, other code reports it.
        with suppress(OSError, Failure), _abandoned(path) as found:
            if found is None:
                continue
            if found.about is None:
                say(f"skipped {path}: damaged: the checksum of its first line is wrong")
                continue
            target = folder / f"{found.about.run}{store_files.PARQUET}"
            if found.rows and not target.exists():
                store_files.write_parquet(target, observations_table(found.rows), found.about.to_json())
                made.append(target)
            if found.whole and (not found.rows or _holds(target, found.rows)):
                path.unlink(missing_ok=True)
            elif not found.whole:
                say(f"{path}: damaged lines are left out; delete the file if it is of no use")
    return made


def abandoned(folder: Path) -> list[tuple[RunFacts, list[Observation]]]:
    """The facts and rows of each run that was killed, for processes that may not write."""
    runs = []
    for path in _files(folder):
        with suppress(OSError), _abandoned(path) as found:
            if found is not None and found.about is not None:
                runs.append((found.about, found.rows))
    return runs


@dataclass(frozen=True)
class _KilledRun:
    """The content of a hidden file whose writer is dead. `whole`: at most a line that was cut off is missing.

    `about` is None if the first line is ours and damaged.
    """

    about: RunFacts | None
    rows: list[Observation]
    whole: bool


def _files(folder: Path) -> list[Path]:
    return sorted(folder.glob(f".*{SUFFIX}"))


@contextmanager
def _abandoned(path: Path) -> Iterator[_KilledRun | None]:
    """The content of a file whose writer is dead; None if it is not ours. OSError if another process holds it."""
    if path.is_symlink():
        yield None
        return
    with open_regular(path) as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        first, *lines = file.read().split(b"\n")
        about = _about(first) if lines else None  # without a line end, its writer may be about to begin
        if about is None and _SEALED.search(first):
            yield _KilledRun(None, [], whole=False)
        else:
            yield _killed(about, lines[:-1]) if about and path.name == f".{about.run}{SUFFIX}" else None


def _about(line: bytes) -> RunFacts | None:
    """The facts about the run from the first line; None if they are not those of one of our runs."""
    try:
        return RunFacts.from_json(_data_in(line))
    except ValueError:
        return None


def _killed(about: RunFacts, lines: list[bytes]) -> _KilledRun:
    rows: list[Observation] = []
    whole = True
    for line in lines:
        try:
            rows += _rows_in(line, about.run)
        except ValueError:
            whole = False
    return _KilledRun(about, rows, whole)


def _rows_in(line: bytes, run: str) -> list[Observation]:
    """The rows in a line. ValueError if it holds anything else."""
    found = _data_in(line)
    rows = [observation_of(row) for row in found] if isinstance(found, list) else []
    if not isinstance(found, list) or any(row.run != run for row in rows):
        raise ValueError("no rows of this run")
    return rows


def _holds(target: Path, rows: list[Observation]) -> bool:
    """True if a Parquet file can be read and has every one of these rows."""
    try:
        kept = set(read("observations", target).column("id"))
    except store_files.Unreadable:
        return False
    return kept >= {row.id for row in rows}
