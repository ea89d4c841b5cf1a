# SPDX-License-Identifier: BSL-1.0
"""DuckDB, which reads and writes the store's Parquet files and answers SQL: one instance for the process.

A new instance costs some 40 ms (2.8 GHz Xeon), because it fills its catalogue of functions; another connection to an
instance costs less than 1 ms. The instance holds no data of its own, and a connection's views and temporary tables are
seen by that connection only.
"""

from __future__ import annotations

import sys
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


def library() -> Any:
    """Returns: the module `duckdb`. Raises: MemoryError if a limit leaves too little memory to load it."""
    if "duckdb" not in sys.modules:
        memory_limit.require_database()
    import duckdb

    return duckdb


@contextmanager
def connection() -> Iterator[Any]:
    """Yields a connection that is closed when the block ends. Any thread may have one; it belongs to that thread.

    Raises: an error that `memory_limit` recognises if memory lacks; other errors of DuckDB are `duckdb.Error`.
    """
    global _instance  # noqa: PLW0603
    duckdb = library()
    with _lock:
        if _instance is None:
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
