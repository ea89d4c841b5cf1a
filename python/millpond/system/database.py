# SPDX-License-Identifier: BSL-1.0
"""DuckDB, which reads and writes the store's Parquet files and answers SQL: one instance for the process.

A new instance fills a catalogue of functions for 25 ms; another connection to an instance costs 0.5 ms. The instance
holds no data of its own, and a connection's views and temporary tables are seen by that connection only.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from millpond.system import memory_limit

# No threads of its own: sums are the same every time, a fork loses none, and an idle process has none.
_SETTINGS: dict[str, str | bool | int | float | list[str]] = {
    "threads": "1",
    "async_threads": "0",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "enable_external_file_cache": "false",  # it takes a new file under an old name for the old one
    "python_enable_replacements": "false",  # a table's name never means a variable of a caller
    "pandas_analyze_sample": "0",  # arrays of objects are texts
    "temp_directory": "",  # a query that does not fit in memory fails; no folder appears where the user works
}
_lock = threading.Lock()
_instance: Any = None


@contextmanager
def connection() -> Iterator[Any]:
    """Yields a connection that is closed when the block ends. Any thread may have one; it belongs to that thread.

    Raises: an error that `memory_limit` recognises if memory lacks; other errors of DuckDB are `duckdb.Error`.
    """
    global _instance  # noqa: PLW0603
    import duckdb

    with _lock:
        if _instance is None:
            memory_limit.require_database()
            _instance = duckdb.connect(config=_SETTINGS)
        own = _instance.cursor()
    try:
        with own:
            yield own
    except (duckdb.FatalException, duckdb.InternalException):
        # Every connection of such an instance fails from now on.
        with _lock:
            _instance = None
        raise
