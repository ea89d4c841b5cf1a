# SPDX-License-Identifier: BSL-1.0
"""Limits of memory (`ulimit -v`, `ulimit -d`): one sentence where a verb runs out of it, never a traceback.

`prepare` runs before anything large is imported, `failure_of` is asked about an error that nobody expected.
"""

from __future__ import annotations

import errno
import os
import resource
import sys

from millpond.system.errors import Failure, Status

# What the interpreter needs with numpy and the option parser before any verb begins.
LEAST_BYTES = 160 << 20
# With the libraries that read and write the store.
_WANTED_MB = 512

_LIMITS = (
    (resource.RLIMIT_AS, "addresses", "ulimit -v"),
    (resource.RLIMIT_DATA, "data", "ulimit -d"),
)
_THREADS = "OPENBLAS_NUM_THREADS"
# How the dynamic linker and the C library say that there is no memory.
_NO_MEMORY = ("failed to map segment", "cannot allocate memory", "cannot create shared object descriptor")


def prepare() -> None:
    """Makes a verb need as little as it can where a limit is set. Raises: Failure where the limit is hopeless.

    numpy's linear algebra takes some 30 MB of addresses for each processor when it is loaded, and ends the process
    where it gets none. The programs that a verb starts do not see the setting.
    """
    limit = _lowest()
    if limit is None:
        return
    if limit[0] < LEAST_BYTES:
        raise _failure()
    if _THREADS in os.environ or "numpy" in sys.modules:
        return
    os.environ[_THREADS] = "1"
    try:
        import numpy as np

        np.zeros(1)
    finally:
        del os.environ[_THREADS]


def failure_of(error: BaseException) -> Failure | None:
    """Returns: the failure (status 4) for an error that is a lack of memory; None for any other."""
    seen: BaseException | None = error
    while seen is not None:
        if _is_lack_of_memory(seen):
            return _failure()
        seen = seen.__cause__ or seen.__context__
    return None


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
