# SPDX-License-Identifier: BSL-1.0
"""The folder where the inputs of real programs are made: where it lies, and who may use it at a time."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from millpond.cluster.workplace import Workplace
from millpond.system.errors import Failure, cannot_write


def on_worker(place: Workplace, conductors: Path) -> Path:
    """The folder of the inputs on a worker: the conductor's path, where this machine can write it.

    Command lines are then equal on all machines. A program keeps its command line at the top of its stack, and copies
    paths into its heap, so that their length changes its references. Otherwise a folder of the worker.
    """
    try:
        with held(conductors):
            return conductors
    except Failure:
        own = place.folder / "inputs"
        own.mkdir(exist_ok=True)
        return own


@contextmanager
def held(inputs: Path) -> Iterator[None]:
    """Keeps other threads and processes out of the folder for the length of the block. Failure (4) if it cannot be
    written.
    """
    try:
        inputs.mkdir(parents=True, exist_ok=True)
        file = (inputs / ".lock").open("ab")
    except OSError as error:
        raise cannot_write(inputs, error) from error
    with file:
        with suppress(OSError):  # a file system without locks
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
