# SPDX-License-Identifier: BSL-1.0
"""Limits of memory (`ulimit -v`, `ulimit -d`): a verb that runs out of memory prints one sentence, never a traceback.

`prepare` runs before anything large is imported; `failure_of` recognises a lack of memory in an unexpected error.
"""

from __future__ import annotations

import ctypes
import errno
import os
import resource
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from millpond.system.errors import Failure, Status

# Bytes that the interpreter needs with numpy and the option parser before any verb begins.
LEAST_BYTES = 160 << 20
# The same with the libraries that read and write the store.
_WANTED_MB = 768

_LIMITS = (
    (resource.RLIMIT_AS, "addresses", "ulimit -v"),
    (resource.RLIMIT_DATA, "data", "ulimit -d"),
)
# Bytes that DuckDB needs to load and run. With less, it may end the process.
_DATABASE_BYTES = 200 << 20
_THREADS = "OPENBLAS_NUM_THREADS"
# The C library reserves 128 MiB of addresses for each thread's own heap, unless it is limited to one heap.
_M_ARENA_MAX = -8
# Messages of the dynamic linker and the C library about a lack of memory.
_NO_MEMORY = ("failed to map segment", "cannot allocate memory", "cannot create shared object descriptor")


def prepare() -> None:
    """Makes a verb use as little memory as it can if a limit is set. Raises: Failure if the limit is too low for any
    verb.

    When it is loaded, numpy's linear algebra takes some 30 MB of addresses for each processor, and ends the process if
    it gets none. The programs that a verb starts do not see the setting.
    """
    limit = _lowest()
    if limit is None:
        return
    if limit[0] < LEAST_BYTES:
        raise _failure()
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_M_ARENA_MAX, 1)
    if "numpy" in sys.modules:
        return
    with _setting(_THREADS, "1"):
        import numpy as np

        np.zeros(1)


def require_database() -> None:
    """Raises: MemoryError if a limit leaves too little memory to load DuckDB."""
    if _lowest() is not None:
        _require(_DATABASE_BYTES)


@contextmanager
def _setting(name: str, value: str) -> Iterator[None]:
    """Sets a variable of the environment that a library reads once, unless the user has set it."""
    if name in os.environ:
        yield
        return
    os.environ[name] = value
    try:
        yield
    finally:
        del os.environ[name]


def _require(more_bytes: int) -> None:
    """Raises: MemoryError if fewer addresses are left, because the next import would end the process."""
    used = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * resource.getpagesize()
    allowed = resource.getrlimit(resource.RLIMIT_AS)[0]
    if allowed != resource.RLIM_INFINITY and allowed - used < more_bytes:
        raise MemoryError


def failure_of(error: BaseException) -> Failure | None:
    """Returns: the failure (status 4) for an error that is a lack of memory; None for any other."""
    seen: BaseException | None = error
    while seen is not None:
        if _is_lack_of_memory(seen):
            return _failure()
        seen = seen.__cause__ or seen.__context__
    return None


def raise_lack(error: BaseException) -> None:
    """Raises: Failure if the error is a lack of memory: then the file that was read is not to blame."""
    lack = failure_of(error)
    if lack is not None:
        raise lack from error


def _is_lack_of_memory(error: BaseException) -> bool:
    if isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno == errno.ENOMEM):
        return True
    words = str(error).lower()
    if isinstance(error, ImportError):
        return any(each in words for each in _NO_MEMORY)
    if type(error).__name__ == "OutOfMemoryException":  # duckdb's, which is not imported for this
        return True
    return isinstance(error, RuntimeError) and ("can't start new thread" in words or "std::bad_alloc" in words)


def _lowest() -> tuple[int, str, str] | None:
    found = [(resource.getrlimit(which)[0], what, command) for which, what, command in _LIMITS]
    limited = [each for each in found if each[0] != resource.RLIM_INFINITY]
    return min(limited) if limited else None


def _failure() -> Failure:
    limit = _lowest()
    if limit is None:
        return Failure(Status.ENVIRONMENT, "out of memory: end other programs, or choose a smaller input")
    size, what, command = limit
    raised = max(_WANTED_MB * 1000, 2 * size // 1000)
    return Failure(
        Status.ENVIRONMENT,
        f"out of memory: this process may have {size / 1e6:.0f} MB of {what} ({command}); allow more, for example"
        f" with `{command} {raised}`",
    )
