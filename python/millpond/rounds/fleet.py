# SPDX-License-Identifier: BSL-1.0
"""Characterises many traces, each as one task of an executor, and merges the results as they come.

    patterns ──traces_of──▶ paths ──one task each──▶ UseResult ──▶ FleetRows        the rest of a result is dropped
                               executor: threads over native processes here, or any other

The executor may be any `concurrent.futures.Executor`, also one whose workers are other processes or machines that see
the same files.
"""

from __future__ import annotations

import glob
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Executor
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

from millpond.rounds.fleet_rows import FleetRows
from millpond.rounds.fleet_use import UnusableTrace, use_of
from millpond.rounds.interleaved_rounds import Listener
from millpond.system.errors import Failure, Status
from millpond.system.worker_threads import worker_threads


@dataclass(frozen=True)
class MergedTraces:
    """The rows of all usable traces, the unusable ones, and the warnings of the native programs, a line each."""

    rows: FleetRows
    unusable: tuple[UnusableTrace, ...]
    said: tuple[str, ...]


def traces_of(words: Sequence[str]) -> list[Path]:
    """The traces that words name: paths, and glob patterns (`**` too), whose matches come in the order of their names.
    A trace that is named twice is taken once.

    Failure (status 3) for a pattern without a match. A path need not exist: its task tells that.
    """
    found: dict[Path, Path] = {}
    for word in words:
        is_pattern = glob.has_magic(word) and not Path(word).exists()
        # A Path has no glob for patterns that are absolute.
        matches = sorted(glob.glob(word, recursive=True)) if is_pattern else [word]  # noqa: PTH207
        if not matches:
            raise Failure(
                Status.INPUT, f"no file matches {word!r}; `millpond trace record -o FILE.mpt PROGRAM` writes a trace"
            )
        for match in matches:
            found.setdefault(Path(match).resolve(), Path(match))
    return list(found.values())


def merge_traces(
    traces: Sequence[Path], options: Sequence[str], listener: Listener, executor: Executor | None = None
) -> MergedTraces:
    """Characterises each trace with these options of millpond-characterise, and merges them in the given order.

    `executor`: runs the tasks; by default, a thread for each processor of this process. Failure (status 4) if a task
    fails for another reason than its trace; the tasks that have not begun are then cancelled. An interruption ends the
    native programs of the default executor. Memory: O(rows), and a result for each task that has ended before its turn.
    """
    rows, unusable, said = FleetRows(), list[UnusableTrace](), list[str]()
    listener.begin("characterising", len(traces))
    try:
        with nullcontext(executor) if executor is not None else worker_threads() as workers:
            tasks = deque(workers.submit(use_of, trace, tuple(options)) for trace in traces)
            try:
                while tasks:
                    result = tasks.popleft().result()
                    if result.use is not None:
                        rows.add(result.use)
                        said += result.said
                    if result.unusable is not None:
                        unusable.append(result.unusable)
                    listener.step()
            finally:
                for task in tasks:
                    task.cancel()
    finally:
        listener.end()
    return MergedTraces(rows, tuple(unusable), tuple(said))
