# SPDX-License-Identifier: BSL-1.0
"""Threads that run native programs, a thread for each processor."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from millpond.system import process_tree
from millpond.system.machine import this_machine


@contextmanager
def worker_threads(count: int | None = None) -> Iterator[ThreadPoolExecutor]:
    """Yields an executor of `count` threads, by default one for each processor of this process.

    An exception in the block cancels what has not begun, and ends the native programs that run.
    """
    pool = ThreadPoolExecutor(count or this_machine().cores)
    try:
        yield pool
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        process_tree.kill_descendants()
        raise
    finally:
        pool.shutdown()
