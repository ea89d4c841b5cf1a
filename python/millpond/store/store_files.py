# SPDX-License-Identifier: BSL-1.0
"""The files of a store: written whole or not at all, and checked before they are used.

    RUN.parquet     checksum of the file, columns and their types, checksum of every page, the run in its name
    RUN.json.gz     gzip's checksum, and that it is one JSON object
    .anything       another process's unfinished file: not looked at

A file that fails becomes a `SkippedFile` with its reason; no reader crashes on one.

Parquet has no checksum of a footer, so ours is before it, where no reader of Parquet looks:

    PAR1 │ pages │ "MILLPOND" crc32 of all else │ footer, which says that the file is sealed │ length │ PAR1
"""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from millpond.store import parquet_codec
from millpond.store.column_table import NUMBER, WHOLE, Columns, ColumnTable
from millpond.store.parquet_footer import (
    NOTHING,
    TAIL_BYTES,
    ParquetFooter,
    footer_bytes,
    footer_offset,
    parse_footer,
    require_pages,
)
from millpond.system import database, memory_limit, output
from millpond.system.input_file import NotRegularError, open_regular, parse_json, read_bytes

PARQUET, DOCUMENT = ".parquet", ".json.gz"
# The key of our metadata about a whole Parquet file.
METADATA_KEY = "millpond"
# The mark before the footer, followed by four bytes of checksum; and the footer's key which says that there is one.
_SEAL, _SEALED_KEY, _SEAL_BYTES = b"MILLPOND", "millpond.checksum", 12


@dataclass(frozen=True)
class SkippedFile:
    """A file in the store that is damaged or not ours, and the reason."""

    path: Path
    reason: str

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}"


class Unreadable(Exception):
    """A file that cannot be used; the message is the reason, a half-sentence."""


def write_parquet(path: Path, table: ColumnTable, about: Mapping[str, Any]) -> None:
    """Writes a table whole or not at all, with `about` in its footer. Failure (status 4) if that is impossible."""
    with output.written_aside(path) as aside:
        aside.write_bytes(parquet_bytes(table, about))


def parquet_bytes(table: ColumnTable, about: Mapping[str, Any]) -> bytes:
    """The content of a Parquet file with `about` in its footer. ValueError if a text cannot be UTF-8. O(size)."""
    text = output.json_text(about, compact=True).rstrip("\n")
    return _sealed(_encoded(table, {METADATA_KEY: text, _SEALED_KEY: "before the footer"}))


def _encoded(table: ColumnTable, metadata: Mapping[str, str]) -> bytes:
    duckdb = database.library()
    try:
        return parquet_codec.encode(table, metadata)
    except duckdb.Error as error:
        memory_limit.raise_lack(error)
        raise ValueError(str(error)) from error


def _sealed(content: bytes) -> bytes:
    at = footer_offset(content)
    body, footer = content[:at], content[at:]
    return b"".join((body, _SEAL, zlib.crc32(footer, zlib.crc32(body)).to_bytes(4, "little"), footer))


def _require_seal(content: bytes, footer: ParquetFooter) -> None:
    """Raises ValueError if the checksum of a file is wrong. Older files have none, but their pages have. O(size)."""
    at = footer_offset(content)
    begin = at - _SEAL_BYTES
    if begin >= 0 and content[begin:at].startswith(_SEAL):
        if zlib.crc32(content[at:], zlib.crc32(content[:begin])) == int.from_bytes(content[at - 4 : at], "little"):
            return
    elif _SEALED_KEY.encode() not in footer.metadata:
        require_pages(content, footer)
        return
    raise ValueError("its checksum is wrong")


def write_document(path: Path, data: Mapping[str, Any]) -> None:
    """Writes a JSON object, compressed, whole or not at all; equal data give equal bytes. Failure (4) as above."""
    text = output.json_text(data, compact=True).rstrip("\n").encode()
    with output.written_aside(path) as aside:
        aside.write_bytes(gzip.compress(text, mtime=0))


def read_document(path: Path) -> dict[str, Any]:
    """The object in a document. Raises Unreadable with the reason; FileNotFoundError if there is no file."""
    try:
        data = parse_json(gzip.decompress(read_bytes(path)))
    except FileNotFoundError:
        raise
    except (OSError, EOFError, zlib.error, ValueError) as error:
        raise Unreadable(_why(path, error)) from error
    if not isinstance(data, dict):
        raise Unreadable("it is not a JSON object")
    return data


def _footer(path: Path) -> ParquetFooter:
    """The footer of a file, without the rest. OSError, ValueError."""
    with open_regular(path) as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - TAIL_BYTES))
        length = footer_bytes(file.read(), size)
        file.seek(size - TAIL_BYTES - length)
        return parse_footer(file.read(length))


def _whole(path: Path) -> tuple[bytes, ParquetFooter]:
    """The content of a file and its footer. OSError, ValueError."""
    content = read_bytes(path)
    return content, parse_footer(content[footer_offset(content) : -TAIL_BYTES])


def about(path: Path) -> dict[str, Any]:
    """The footer's data about the whole file; empty if it has none. Raises Unreadable with the reason."""
    try:
        content, footer = _whole(path)
        _require_seal(content, footer)
        found = footer.metadata.get(METADATA_KEY.encode())
        data = parse_json(found) if found else {}
    except (OSError, ValueError) as error:
        raise Unreadable(_why(path, error)) from error
    return data if isinstance(data, dict) else {}


def check_footer(path: Path, columns: Columns) -> None:
    """Raises Unreadable unless the file is Parquet and has these columns. Reads only the footer."""
    try:
        footer = _footer(path)
    except (OSError, ValueError) as error:
        raise Unreadable(_why(path, error)) from error
    _require_columns(footer, columns)


def _require_columns(footer: ParquetFooter, columns: Columns) -> None:
    missing = [name for name in columns if name not in footer.kinds]
    if missing:
        raise Unreadable(f"not ours: it has no column {', '.join(missing[:3])}{' …' if len(missing) > 3 else ''}")
    for name, kind in columns.items():
        if footer.kinds[name] not in (kind, NOTHING) and (footer.kinds[name], kind) != (WHOLE, NUMBER):
            raise Unreadable(f"not ours: its column {name} holds {footer.kinds[name]}, not {kind}")


def read_parquet(path: Path, columns: Columns, *older: Columns) -> ColumnTable:
    """These columns of a file, or the columns of an older version. Raises Unreadable with the reason. O(size).

    Every byte that has a checksum is checked.
    """
    try:
        content, footer = _whole(path)
        columns = next((each for each in (columns, *older) if each.keys() <= footer.kinds.keys()), columns)
        _require_columns(footer, columns)
        _require_seal(content, footer)
        table = _decoded(content, columns)
    except (OSError, ValueError) as error:
        raise Unreadable(_why(path, error)) from error
    runs = sorted(set(table.column("run")), key=str)
    if runs and runs != [path.name.removesuffix(PARQUET)]:
        raise Unreadable(f"it holds {_runs_text(runs)}, but its name says otherwise: perhaps it is a copy")
    return table


def _decoded(content: bytes, columns: Columns) -> ColumnTable:
    duckdb = database.library()
    try:
        return parquet_codec.decode(content, columns)
    except duckdb.Error as error:
        memory_limit.raise_lack(error)
        raise ValueError("its values cannot be read") from error


def _runs_text(runs: list[object]) -> str:
    return f"the run {runs[0]}" if len(runs) == 1 else f"{len(runs)} runs"


def _why(path: Path, error: Exception) -> str:
    """A short reason: the messages of the libraries are long and about their internals."""
    memory_limit.raise_lack(error)
    if isinstance(error, NotRegularError):
        return f"not ours: {error.strerror}"
    if isinstance(error, OSError) and error.errno:
        return f"cannot be read: {error.strerror}"
    try:
        if path.stat().st_size == 0:
            return "it is empty"
    except OSError:
        return "cannot be read"
    first = str(error).splitlines()[0].partition(". ")[0] if str(error) else type(error).__name__
    return f"damaged: {' '.join(first.split())[:120]}"
