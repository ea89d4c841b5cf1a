# SPDX-License-Identifier: BSL-1.0
"""Writes results where the user wants them: whole or not at all. Tests a target before hours of rounds, not after."""

from __future__ import annotations

import errno
import io
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from millpond.system.any_bytes import SHOWN_ERRORS, kept, shown
from millpond.system.arguments import STDOUT
from millpond.system.errors import cannot_write

_NAMES_TRIED = 1000


def prove_writable(target: str | None) -> None:
    """Raises now the failure (status 4) that writing `target` later would meet. Does nothing for None and standard
    output.
    """
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
    """A new file next to `path` to write to; renamed to `path` when the block ends, removed if it fails (status 4).

    If a file with the new one's name exists already, it is left untouched, and another name is taken.
    """
    aside: Path | None = None
    try:
        aside = _made_next_to(path)
        yield aside
        aside.rename(path)
        aside = None
    except OSError as error:
        raise cannot_write(path, error) from error
    finally:
        if aside is not None:
            with suppress(OSError):
                aside.unlink(missing_ok=True)


def _made_next_to(path: Path) -> Path:
    """Creates an empty file next to `path`, with the usual permissions of a new file."""
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
    """Writes text for readers as UTF-8, as `write_bytes` does; bytes of names that are not UTF-8 are replaced."""
    write_bytes(path, shown(text).encode())


def json_text(data: Any, *, compact: bool = False) -> str:
    """JSON as all verbs write it: indented for a reader, or `compact` for a program; ends with a new line.

    Texts of any bytes have their kept form (system/any_bytes.py). ValueError for values that JSON cannot represent.
    """
    form: dict[str, Any] = {"separators": (",", ":")} if compact else {"indent": 2}
    return kept(json.dumps(data, ensure_ascii=False, allow_nan=False, **form)) + "\n"


def write_json(data: Any, target: str | None) -> None:
    """Writes JSON to a file, to standard output for `-`, or nowhere without a target."""
    if target is None:
        return
    text = json_text(data)
    if target == STDOUT:
        print_bytes(text.encode())
    else:
        write_bytes(Path(target), text.encode())


def print_bytes(content: bytes) -> None:
    """Writes bytes to standard output unchanged in any locale, for programs that read them."""
    sys.stdout.flush()
    sys.stdout.buffer.write(content)
    sys.stdout.buffer.flush()


class _ShownOutput(io.TextIOWrapper):
    """An output for readers: replaces characters that its encoding lacks, and bytes that are not text."""

    def write(self, text: str) -> int:
        return super().write(shown(text))


def show_any_bytes() -> None:
    """Lets standard output and standard error take names of any bytes, in any locale."""
    for name in ("stdout", "stderr"):
        of = getattr(sys, name)
        if isinstance(of, io.TextIOWrapper):
            of.flush()
            lines, at_once = of.line_buffering or name == "stderr", of.write_through
            shows = _ShownOutput(of.buffer, of.encoding, SHOWN_ERRORS, line_buffering=lines, write_through=at_once)
            setattr(sys, name, shows)
