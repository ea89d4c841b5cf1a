# SPDX-License-Identifier: BSL-1.0
"""Converts tables to the bytes of Parquet files and back, by DuckDB.

DuckDB reads and writes files, but not bytes in memory. So it gets a file that lies in memory only, by its descriptor:
what it reads is what was checked before, under any name, and what it writes is on no disk.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from millpond.store.column_table import NUMBER, TEXT, TRUTH, WHOLE, Columns, ColumnTable
from millpond.system import database

if TYPE_CHECKING:
    from millpond.store.column_table import Array

_TYPES = {TEXT: "VARCHAR", WHOLE: "BIGINT", NUMBER: "DOUBLE", TRUTH: "BOOLEAN"}


def encode(table: ColumnTable, metadata: Mapping[str, str]) -> bytes:
    """The bytes of a Parquet file, packed by zstd, with texts about the whole file. duckdb.Error. O(size)."""
    texts = ", ".join(f"{_quoted(key)}: ?" for key in metadata)
    with database.connection() as connection, _memory_file(b"") as place:
        rows, parameters = _rows(connection, table)
        options = ["format parquet", "compression zstd", "use_tmp_file false"]
        options += [f"kv_metadata {{{texts}}}"] if metadata else []
        options += ["dictionary_size_limit 0"] if parameters else []  # a dictionary has one NaN for all
        connection.execute(f"copy ({rows}) to '{place}' ({', '.join(options)})", [*parameters, *metadata.values()])
        return Path(place).read_bytes()


def decode(content: bytes, columns: Columns) -> ColumnTable:
    """The columns of a Parquet file. duckdb.Error if it is damaged or a value is out of its kind. O(size)."""
    with database.connection() as connection, _memory_file(content) as place:
        found = connection.execute(f"select {selection(columns)} from {files_in([place])}").fetchnumpy()
    return ColumnTable.of(columns, found)


def create_table(connection: Any, name: str, table: ColumnTable) -> None:
    """Creates a temporary table of the rows, for queries by this connection. duckdb.Error. O(size)."""
    rows, parameters = _rows(connection, table)
    connection.execute(f"create temp table {name} as {rows}", parameters)


def selection(columns: Columns) -> str:
    """The columns, in SQL, each of the type of its kind."""
    return ", ".join(f"{_quoted(name)}::{_TYPES[kind]} as {_quoted(name)}" for name, kind in columns.items())


def files_in(paths: list[str]) -> str:
    """The rows of Parquet files, in SQL. The paths are UTF-8; `*`, `?` and `[` match other files in them."""
    literals = ", ".join("'" + path.replace("'", "''") + "'" for path in paths)
    return f"read_parquet([{literals}], union_by_name = true, hive_partitioning = false)"


def _rows(connection: Any, table: ColumnTable) -> tuple[str, list[object]]:
    """A query for the rows, in their order, with its parameters.

    DuckDB reads arrays in place, but takes a NaN in them for a null; so such columns go as parameters.
    """
    lists = {name: values.tolist() for name, values in table.values.items() if _has_nan(values)}
    arrays = {name: values for name, values in table.values.items() if name not in lists}
    if arrays:
        connection.register("millpond_arrays", arrays)
    if not lists:
        return "from millpond_arrays", []
    columns = ", ".join(f"unnest(?::DOUBLE[]) as {_quoted(name)}" for name in lists)
    sources = [*(["millpond_arrays"] if arrays else []), f"(select {columns}) as millpond_numbers"]
    order = ", ".join(map(_quoted, table.kinds))
    return f"select {order} from {' positional join '.join(sources)}", list(lists.values())


def _has_nan(values: Array) -> bool:
    return values.dtype.kind == "f" and bool((values != values).any())


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


@contextmanager
def _memory_file(content: bytes) -> Iterator[str]:
    """Yields a path by which this process opens a file with this content, which lies in memory only."""
    with os.fdopen(os.memfd_create("parquet", os.MFD_CLOEXEC), "wb") as file:
        file.write(content)
        file.flush()
        yield f"/proc/self/fd/{file.fileno()}"
