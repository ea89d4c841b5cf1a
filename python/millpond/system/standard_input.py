# SPDX-License-Identifier: BSL-1.0
"""The user's standard input, stored so that every round of a program gets the same bytes.

    a file       ──copied from its current position──▶ spool ──▶ every run
    a pipe       ──pumped through to the first run──▶ spool ──▶ every later run
    a terminal, or nothing ─────────────────────▶ empty input

A pipe is never read before the first run reads it: a program that ignores its input must not wait for it. Bytes that a
program did not read are not in the spool, so later runs see the same input as the first one.
"""

from __future__ import annotations

import os
import select
import shutil
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from millpond.system.errors import cannot_write

_STDIN = 0
_PIECE = 1 << 16


class StandardInput:
    """Spools descriptor 0 into a file below `folder`. Not thread-safe; `first` is used at most once."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "stdin"
        try:
            self.path.touch()
            self._is_stream = self._spool_file()
        except OSError as error:
            raise cannot_write(self.path, error) from error

    def _spool_file(self) -> bool:
        """Copies a regular file; returns true if the input is a stream, which only the first run may consume."""
        try:
            mode = os.fstat(_STDIN).st_mode
        except OSError:
            return False
        if stat.S_ISREG(mode):
            with os.fdopen(os.dup(_STDIN), "rb") as source, self.path.open("wb") as spool:
                shutil.copyfileobj(source, spool)
            return False
        return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)

    @property
    def is_stream(self) -> bool:
        """True if the spool is empty until the first run has read its input."""
        return self._is_stream

    @contextmanager
    def first(self) -> Iterator[int]:
        """A descriptor for the first run's standard input; when the block ends, the spool is complete."""
        if not self._is_stream:
            descriptor = os.open(self.path, os.O_RDONLY)
            try:
                yield descriptor
            finally:
                os.close(descriptor)
            return
        self._is_stream = False
        reading, writing = os.pipe()
        stop_reading, stop_writing = os.pipe()
        pump = threading.Thread(target=self._pump, args=(writing, stop_reading), daemon=True)
        pump.start()
        try:
            yield reading
        finally:
            os.close(reading)  # frees a pump that is blocked on a full pipe
            os.close(stop_writing)
            pump.join()
            os.close(stop_reading)

    def _pump(self, writing: int, stop: int) -> None:
        try:
            with self.path.open("wb") as spool:
                while True:
                    ready, _, _ = select.select([_STDIN, stop], [], [])
                    piece = b"" if stop in ready else os.read(_STDIN, _PIECE)
                    if not piece:
                        return
                    spool.write(piece)
                    left = memoryview(piece)
                    while left:
                        left = left[os.write(writing, left) :]
        except OSError:
            return  # the program stopped reading, or the disk is full: the spool holds what it read
        finally:
            os.close(writing)
