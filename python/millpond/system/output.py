# SPDX-License-Identifier: BSL-1.0
"""Writes results where the user wants them: whole or not at all, and tried before hours of rounds, not after."""

from __future__ import annotations

import errno
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from millpond.system.arguments import STDOUT
from millpond.system.errors import cannot_write

_NAMES_TRIED = 1000


def prove_writable(target: str | None) -> None:
    """Raises the failure (status 4) that writing `target` later would meet. Nothing for None and standard output."""
    if target is None or target == STDOUT:
        return
    path = Path(target)
    try:
        if path.is_dir():
            raise IsADirectoryError(21, os.strerror(21))
        if path.exists() and not path.is_file():
            with path.open("ab"):
                return
        with tempfile.TemporaryFile(dir=path.parent):
            pass
    except OSError as error:
        raise cannot_write(path, error) from error


@contextmanager
def written_aside(path: Path) -> Iterator[Path]:
    """A new file next to `path` to write to; renamed to `path` when the block ends, removed where it fails (status 4).

    A file that has the name of the new one already is left alone, and another name is taken.
    """
    aside: Path | None = None
    try:
        aside = _made_beside(path)
        yield aside
        aside.rename(path)
        aside = None
    except OSError as error:
        raise cannot_write(path, error) from error
    finally:
        if aside is not None:
            with suppress(OSError):
                aside.unlink(missing_ok=True)


def _made_beside(path: Path) -> Path:
    """An empty file that did not exist, with the permissions that a new file of this process has."""
    for number in range(_NAMES_TRIED):
        suffix = f"-{number}" if number else ""
        aside = path.with_name(f".{path.name}.{os.getpid()}{suffix}.part")
        with suppress(FileExistsError):
            os.close(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666))
            return aside
    raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path))


def write_bytes(path: Path, content: bytes) -> None:
    """Writes a file whole or not at all; a device or a pipe is written directly. Failure (status 4) if it cannot."""
    if path.exists() and not path.is_file():
        try:
            path.write_bytes(content)
        except OSError as error:
            raise cannot_write(path, error) from error
        return
    with written_aside(path) as aside:
        aside.write_bytes(content)


def write_text(path: Path, text: str) -> None:
    """The same for text, as UTF-8; half a pair of surrogates, which UTF-8 does not have, is written as `\\ud800`."""
    write_bytes(path, text.encode(errors="backslashreplace"))


def json_text(data: Any, *, compact: bool = False) -> str:
    """JSON as all our verbs write it: indented for a reader, or `compact` for a program; ends with a new line.

    ValueError for what JSON has no number for.
    """
    form: dict[str, Any] = {"separators": (",", ":")} if compact else {"indent": 2}
    return json.dumps(data, ensure_ascii=False, allow_nan=False, **form) + "\n"


def write_json(data: Any, target: str | None) -> None:
    """Writes JSON to a file, to standard output for `-`, or nowhere without a target."""
    if target is None:
        return
    text = json_text(data)
    if target == STDOUT:
        sys.stdout.write(text)
        sys.stdout.flush()
    else:
        write_text(Path(target), text)
