# SPDX-License-Identifier: BSL-1.0
"""The memory of a run: keeps each outcome as it comes, and recalls the outcomes of earlier runs of the same.

    run 1   rounds 1 2 3 4 ✗ killed         every outcome was in the store at once
    run 2   ···· 1 2 3 recalled, 4 5 6 …    round 4 was not whole: it is run again, so that pairs stay pairs

*The same* means: the same cell, stage and seed, on the same machine, by the same version, of the same subject
(program, input, the files that its arguments name). If cells have programs of their own, each cell's must be the same.
Another seed starts from zero.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from millpond.cells.cell import Cell, Outcome
from millpond.cells.metrics import Metrics
from millpond.store import store_files
from millpond.store.observations import Journal, Observation, Programs, RunFacts, columns_of
from millpond.store.relations import observations_in
from millpond.store.store import Store
from millpond.store.unfinished import UnfinishedRun, abandoned
from millpond.system.interruption import note_kept
from millpond.system.temporary import temporary_folder
from millpond.system.wording import plural


def subject_of(argv: Sequence[str], files: Sequence[Path] = (), content: Path | None = None) -> str:
    """Identifies what is measured, in sixteen digits: the arguments, and every file among them or in `files`.

    A file is identified by its size and time, `content` (stored standard input) by its bytes. O(size of `content`).
    """
    program = shutil.which(argv[0]) if argv else None
    known = hashlib.sha256(json.dumps(list(argv)).encode())
    for path in [Path(program or ""), *map(Path, argv[1:]), *files]:
        known.update(_state(path))
    if content is not None and content.is_file():
        known.update(hashlib.sha256(content.read_bytes()).digest())
    return known.hexdigest()[:16]


def _state(path: Path) -> bytes:
    try:
        state = path.stat()
        known = f"{path.resolve()}\0{state.st_size}\0{state.st_mtime_ns}\0"
        return known.encode(errors="surrogateescape") if path.is_file() else b"\0"
    except (OSError, ValueError):
        return b"\0"


class RoundLog:
    """A memory for `interleaved_rounds.run_rounds` in a store. Without `resume` it recalls nothing.

    `rounds` are the measured ones that were kept so far.
    """

    def __init__(self, store: Store, journal: Journal, *, resume: bool) -> None:
        self.journal = journal
        self._store = store
        self._resume = resume
        self._unfinished = UnfinishedRun(store.folder / "observations", journal.about())
        self._written = 0
        self._kept: set[tuple[Cell, str, int]] = set()
        self.rounds: set[int] = set()

    def keep(self, outcome: Outcome, metrics: Metrics | None = None) -> None:
        """Adds the outcome to the journal and to the store. Failure (status 4) if it cannot be written."""
        self.journal.add_outcomes([outcome], metrics)
        self._unfinished.append(self.journal.rows[self._written :])
        self._written = len(self.journal.rows)
        self._kept.add((outcome.cell, outcome.stage, outcome.round))
        if outcome.round > 0:
            self.rounds.add(outcome.round)

    def adopt(self, outcomes: Sequence[Outcome]) -> int:
        """Copies the outcomes of earlier runs into this run, so that its file has all rounds that it rests on.

        Returns the number of measured rounds that were copied. Failure (status 4) if they cannot be written.
        """
        earlier = [o for o in outcomes if (o.cell, o.stage, o.round) not in self._kept]
        for outcome in earlier:
            self.keep(outcome)
        return len({outcome.round for outcome in earlier if outcome.round > 0})

    def recall(self, cells: Sequence[Cell], stage: str) -> list[list[Outcome]]:
        """The outcomes of these cells in that stage of each earlier run of the same, the oldest run first."""
        if not self._resume:
            return []
        about = self.journal.about()
        runs = [observations_in(path) for path in self._store.files("observations") if _is_same(path, about)]
        runs += [rows for found, rows in abandoned(self._store.folder / "observations") if about.is_same(found)]
        return [outcomes_of(rows, cells, stage, self.journal.programs) for rows in runs]

    def finish(self) -> None:
        """Writes the run's file, and removes the unfinished one. Failure (status 4) keeps the latter."""
        if self.journal.rows:
            self._store.write(self.journal)
        self._unfinished.remove()

    def discard(self) -> None:
        """Discards a run without results."""
        self._unfinished.remove()


def _is_same(path: Path, about: RunFacts) -> bool:
    """True if the run of a file can be continued; an old file does not say enough to tell."""
    with suppress(ValueError):
        return about.is_same(RunFacts.from_json(store_files.about(path)))
    return False


@contextmanager
def logged(store: Store, journal: Journal, *, resume: bool = False) -> Iterator[RoundLog]:
    """A log that is finished when the block ends, in any way: half a run is worth keeping, if it has a round."""
    log = RoundLog(store, journal, resume=resume)
    try:
        yield log
    except BaseException:
        if log.rounds:
            log.finish()
            again = (
                "the same command continues from there"
                if resume
                else f"`millpond report {store.folder} --run {journal.run} -o rounds.csv` writes them as a table"
            )
            note_kept(f"{plural(len(log.rounds), 'round')} in {store.folder} (run {journal.run}); {again}")
        else:
            log.discard()
        raise
    log.finish()


@contextmanager
def logged_anyway(store: Store | None, journal: Journal) -> Iterator[RoundLog]:
    """A log that continues from the store; without a store, in a folder that is removed afterwards, so that callers
    need one path only.
    """
    with ExitStack() as stack:
        place = store or Store(stack.enter_context(temporary_folder()))
        place.prepare()
        yield stack.enter_context(logged(place, journal, resume=store is not None))


def outcomes_of(
    rows: Iterable[Observation], cells: Sequence[Cell], stage: str, programs: Programs | None = None
) -> list[Outcome]:
    """The outcomes of these cells in that stage, rebuilt from their observations, in their order.

    `programs`: only of cells that the same program ran.
    """
    wanted = {tuple(columns_of(cell).values()): cell for cell in cells}
    found: dict[tuple[Cell, int], Outcome] = {}
    for row in rows:
        cell = wanted.get(row.cell) if row.stage == stage else None
        if cell is None or (programs and row.program != programs.identity_of(cell)):
            continue
        outcome = found.setdefault((cell, row.round), Outcome(
            cell, stage, row.round, {}, row.time_utc, row.status,
            "" if row.status == "ok" else row.why_null or "did not end as the bare program, in an earlier run",
            row.exit_status or 0, row.signal or 0, kind="simulated" if row.kind == "simulated" else "",
        ))  # fmt: skip
        if row.value is not None:
            outcome.values[row.metric] = row.value
        elif row.status == "ok":
            outcome.absent[row.metric] = row.why_null or ""
    return list(found.values())
