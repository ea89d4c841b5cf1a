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
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from millpond.system import memory_limit, output
from millpond.system.any_bytes import kept
from millpond.system.input_file import NotRegularError, parse_json, read_bytes, require_regular

PARQUET, DOCUMENT = ".parquet", ".json.gz"
# The key of our metadata about a whole Parquet file.
METADATA_KEY = b"millpond"
# The mark before the footer, followed by four bytes of checksum; and the footer's key which says that there is one.
_SEAL, _SEALED_KEY, _SEAL_BYTES = b"MILLPOND", b"millpond.checksum", 12
# Kinds of columns, by their values.
TEXT, WHOLE, NUMBER, TRUTH = "text", "whole numbers", "numbers", "true or false"
Columns = Mapping[str, str]


@dataclass(frozen=True)
class SkippedFile:
    """A file in the store that is damaged or not ours, and the reason."""

    path: Path
    reason: str

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}"


class Unreadable(Exception):
    """A file that cannot be used; the message is the reason, a half-sentence."""


def schema_of(columns: Columns) -> Any:
    """The Arrow schema of a relation."""
    pa = memory_limit.arrow()

    types = {TEXT: pa.string(), WHOLE: pa.int64(), NUMBER: pa.float64(), TRUTH: pa.bool_()}
    return pa.schema([(name, types[kind]) for name, kind in columns.items()])


def write_parquet(path: Path, table: Any, about: Mapping[str, Any]) -> None:
    """Writes a table whole or not at all, with `about` in its footer. Failure (status 4) if that is impossible."""
    import pyarrow.parquet as parquet

    text = output.json_text(about, compact=True).rstrip("\n").encode()
    with output.written_aside(path) as aside:
        table = table.replace_schema_metadata({METADATA_KEY: text, _SEALED_KEY: b"before the footer"})
        with _for_arrow(aside) as file:
            parquet.write_table(table, file, compression="zstd", write_page_checksum=True, write_statistics=False)
        _seal(aside)


def _seal(path: Path) -> None:
    content = path.read_bytes()
    at = _footer_at(content)
    body, footer = content[:at], content[at:]
    path.write_bytes(b"".join((body, _SEAL, zlib.crc32(footer, zlib.crc32(body)).to_bytes(4, "little"), footer)))


def _footer_at(content: bytes) -> int:
    """The offset of the footer of a Parquet file; less than 0 without a footer."""
    return len(content) - 8 - int.from_bytes(content[-8:-4], "little")


def _require_seal(path: Path, metadata: Mapping[bytes, bytes]) -> None:
    """Raises Unreadable if the checksum of a file is wrong. Older files have none. OSError. O(size)."""
    content = read_bytes(path)
    at = _footer_at(content)
    begin = at - _SEAL_BYTES
    if begin >= 0 and content[begin:].startswith(_SEAL):
        if zlib.crc32(content[at:], zlib.crc32(content[:begin])) == int.from_bytes(content[at - 4 : at], "little"):
            return
    elif _SEALED_KEY not in metadata:
        return
    raise Unreadable("damaged: its checksum is wrong")


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


def _schema(path: Path) -> Any:
    import pyarrow.parquet as parquet

    with _for_arrow(path) as name:
        return parquet.read_schema(name)


@contextmanager
def _for_arrow(path: Path) -> Iterator[str]:
    """The path in a form that Arrow can open: for a path that is not UTF-8, a descriptor that is open while the block
    runs.

    A Python file object would not do: if an Arrow thread calls one while the interpreter ends, the process ends.
    """
    if kept(str(path)) == str(path):
        yield str(path)
        return
    descriptor = os.open(path, os.O_RDWR if os.access(path, os.W_OK) else os.O_RDONLY)
    try:
        yield f"/proc/self/fd/{descriptor}"
    finally:
        os.close(descriptor)


def about(path: Path) -> dict[str, Any]:
    """The footer's data about the whole file; empty if it has none. Raises Unreadable with the reason."""
    pa = memory_limit.arrow()

    try:
        require_regular(path)
        metadata = _schema(path).metadata or {}
        _require_seal(path, metadata)
        found = metadata.get(METADATA_KEY)
        data = parse_json(found) if found else {}
    except (OSError, ValueError, pa.ArrowException) as error:
        raise Unreadable(_why(path, error)) from error
    return data if isinstance(data, dict) else {}


def check_footer(path: Path, columns: Columns) -> None:
    """Raises Unreadable unless the file is Parquet and has these columns. Reads only the footer."""
    pa = memory_limit.arrow()

    try:
        require_regular(path)
        schema = _schema(path)
    except (OSError, ValueError, pa.ArrowException) as error:
        raise Unreadable(_why(path, error)) from error
    missing = [name for name in columns if name not in schema.names]
    if missing:
        raise Unreadable(f"not ours: it has no column {', '.join(missing[:3])}{' …' if len(missing) > 3 else ''}")
    for name, kind in columns.items():
        if not _fits(schema.field(name).type, kind):
            raise Unreadable(f"not ours: its column {name} holds {schema.field(name).type}, not {kind}")


def columns_of(path: Path) -> set[str]:
    """The names of a file's columns; none if it cannot be read."""
    pa = memory_limit.arrow()

    try:
        require_regular(path)
        return set(_schema(path).names)
    except (OSError, ValueError, pa.ArrowException) as error:
        memory_limit.raise_lack(error)
        return set()


def read_parquet(path: Path, columns: Columns) -> Any:
    """The whole table, every page checked. Raises Unreadable with the reason. O(size)."""
    pa = memory_limit.arrow()
    import pyarrow.parquet as parquet

    check_footer(path, columns)
    try:
        _require_seal(path, _schema(path).metadata or {})
        with _for_arrow(path) as name, parquet.ParquetFile(name, page_checksum_verification=True) as file:
            table = file.read()
    except (OSError, ValueError, pa.ArrowException) as error:
        raise Unreadable(_why(path, error)) from error
    runs = table.column("run").unique().to_pylist()
    if runs and runs != [path.name.removesuffix(PARQUET)]:
        raise Unreadable(f"it holds {_runs_text(runs)}, but its name says otherwise: perhaps it is a copy")
    return table


def _runs_text(runs: list[object]) -> str:
    return f"the run {runs[0]}" if len(runs) == 1 else f"{len(runs)} runs"


def _fits(kind: Any, wanted: str) -> bool:
    pa = memory_limit.arrow()
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    tests = {
        TEXT: (pa.types.is_string, pa.types.is_large_string),
        WHOLE: (pa.types.is_integer,),
        NUMBER: (pa.types.is_floating, pa.types.is_integer),
        TRUTH: (pa.types.is_boolean,),
    }
    return pa.types.is_null(kind) or any(test(kind) for test in tests[wanted])


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
