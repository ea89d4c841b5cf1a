# SPDX-License-Identifier: BSL-1.0
"""The store: a folder of immutable files, one of each kind for each run, and DuckDB as the query engine over them.

    STORE/observations/RUN.parquet        every value of every round                     a relation
          subsystems/RUN.parquet          one characterised trace                        a relation
          contexts/RUN.parquet            its call tree                                  a relation
          characterisation/RUN.json.gz    the rest of it
          advice/RUN.json.gz …            documents, one kind a folder

A file is written under another name and then renamed, so it is there whole or not at all. There are no locks; to merge
the stores of two machines, copy their files. Files that are damaged or not ours are skipped: `skipped` lists them,
`finish` exits with status 3.
"""

from __future__ import annotations

import datetime
import os
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from millpond.store import store_files
from millpond.store.call_tree import CallTree
from millpond.store.check import KIND, Inspector, Made
from millpond.store.column_table import ColumnTable
from millpond.store.observations import Journal
from millpond.store.parquet_codec import create_table, files_in, selection
from millpond.store.relations import (
    OLD_COLUMN,
    RELATIONS,
    contexts_table,
    observations_table,
    read,
    subsystems_table,
)
from millpond.store.run_contents import RunContents
from millpond.store.store_files import DOCUMENT, PARQUET, SkippedFile
from millpond.store.unfinished import salvage
from millpond.system import database, output
from millpond.system.any_bytes import kept
from millpond.system.errors import Failure, Status, cannot_write
from millpond.system.machine import this_machine
from millpond.system.new_folders import make_folder

DEFAULT = Path("results/store")
LATEST = "latest"
_OBSERVATIONS, _SUBSYSTEMS, _CONTEXTS, _CHARACTERISATION = "observations", "subsystems", "contexts", "characterisation"
# Characters of a path that match other files in SQL.
_NO_SQL_PATH = re.compile(r"[*?\[]")
_STAMP = "%Y%m%dT%H%M%S"


@dataclass(frozen=True)
class Run:
    """One run of one verb. `time_utc`: when it began, ISO 8601."""

    run: str
    experiment: str
    workload: str
    machine: str
    time_utc: str


class Store:
    """The store in one folder. Several processes may call every method at the same time; one object belongs to one
    thread.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._inspector = Inspector(folder)

    def prepare(self) -> None:
        """Creates the folder and tests that it can be written: before an hour of rounds, not after it.

        Also writes the files of runs that were killed before they could.
        """
        salvage(self._folder_for(_OBSERVATIONS))

    def _folder_for(self, kind: str) -> Path:
        folder = self.folder / kind
        try:
            make_folder(folder)
            with tempfile.TemporaryFile(dir=folder):
                pass
        except OSError as error:
            raise cannot_write(f"the store {folder}", error) from error
        return folder

    def write(self, journal: Journal) -> Path:
        """Writes the run's observations; returns the path. Failure (status 4) leaves no half-written file behind."""
        path = self._folder_for(_OBSERVATIONS) / f"{journal.run}{PARQUET}"
        store_files.write_parquet(path, observations_table(journal.rows), journal.about().to_json())
        return path

    def write_document(self, kind: str, run: str, data: Mapping[str, Any]) -> Path:
        """Keeps a document of a run, and replaces an older one. Failure (status 4) if that is impossible."""
        path = self._folder_for(_document_kind(kind)) / f"{run}{DOCUMENT}"
        store_files.write_document(path, data)
        return path

    def remove_document(self, kind: str, run: str) -> None:
        """Removes a document of a run, if it has one."""
        with suppress(OSError):
            (self.folder / _document_kind(kind) / f"{run}{DOCUMENT}").unlink()

    def write_characterisation(self, run: str, data: Mapping[str, Any]) -> None:
        """Keeps "millpond.characterisation/1": its subsystems as a relation, all else as a document. Failure (4)."""
        rest = {key: value for key, value in data.items() if key != "subsystems"}
        path = self._folder_for(_SUBSYSTEMS) / f"{run}{PARQUET}"
        store_files.write_parquet(path, subsystems_table(run, data.get("subsystems", [])), {"run": run})
        self.write_document(_CHARACTERISATION, run, rest)

    def write_contexts(self, run: str, tree: CallTree) -> None:
        """Keeps the call tree of a run. Failure (status 4) if that is impossible."""
        path = self._folder_for(_CONTEXTS) / f"{run}{PARQUET}"
        rest = {name: getattr(tree, name) for name in ("schema", "functions", "subsystems", "peak_bytes")}
        store_files.write_parquet(path, contexts_table(run, tree), rest)

    def contents(self) -> dict[str, bytes]:
        """The content of each finished file, by its path in the store."""
        found = (path for path in sorted(self.folder.glob("*/*")) if path.is_file() and path.name[0] != ".")
        return {str(path.relative_to(self.folder)): path.read_bytes() for path in found}

    def take_in(self, contents: Mapping[str, bytes]) -> None:
        """Adds the contents of another store. Failure (status 4) if that is impossible."""
        for place, content in contents.items():
            kind, _, name = place.partition("/")
            with output.written_aside(self._folder_for(kind) / name) as aside:
                aside.write_bytes(content)

    def load(self, run: str) -> RunContents:
        """Everything that the run with this id left here; empty contents if it left nothing."""
        known = (*RELATIONS, *(folder.name for folder in self._inspector.kinds()))
        kinds = frozenset(kind for kind in known if self.has(kind, run))
        contents = {kind: self._inspector.content(kind, run) for kind in kinds - RELATIONS.keys()}
        documents = {kind: content for kind, content in contents.items() if content is not None}
        return RunContents(run, kinds, documents, self._inspector)

    def load_measured(self, run: str | None = None) -> list[RunContents]:
        """The contents of one run, or of each run with observations, by id.

        Failure (status 3) if the store has no observations at all.
        """
        measured = [path.name.removesuffix(PARQUET) for path in self.files(_OBSERVATIONS)] or self._no_observations()
        return [self.load(one) for one in (measured if run is None else [run])]

    def records(
        self, kind: str, make: Callable[[dict[str, Any]], Made], *, here: bool = False
    ) -> Iterator[tuple[str, Made]]:
        """Yields `make` of each document of one kind, with its run, the latest first. Skips documents that do not fit.

        `here`: only of documents that were written on this machine.
        """
        runs = sorted(path.name.removesuffix(DOCUMENT) for of, path in self._inspector.documents() if of == kind)
        for run in reversed(runs):
            document = self._inspector.content(kind, run)
            if document is not None and (not here or document.get("machine") == str(this_machine())):
                found = self._inspector.made(kind, run, document, make)
                if found is not None:
                    yield run, found

    def blame(self, kind: str, run: str, error: Exception) -> None:
        """Adds a file to the skipped ones: it is whole, but its content raised that error in a reader."""
        self._inspector.misfit(kind, run, error)

    def has(self, kind: str, run: str) -> bool:
        """True if such a file exists, readable or not."""
        return os.path.lexists(self._inspector.path(kind, run))

    def runs(self) -> list[Run]:
        """Every run that has left a file here, the oldest first."""
        sql = (
            "select run, any_value(experiment) experiment, any_value(workload) workload, any_value(machine) machine, "
            "min(time_utc) time_utc from observations group by run"
        )
        rows = self.query(sql) if self.files(_OBSERVATIONS) else []
        found = {r["run"]: Run(r["run"], r["experiment"], r["workload"], r["machine"], r["time_utc"]) for r in rows}
        for kind, path in self._inspector.documents():
            run = path.name.removesuffix(DOCUMENT)
            document = self._inspector.content(kind, run) if run not in found else None
            if document is not None:
                found[run] = _run_of(run, kind, document)
        return sorted((_begun(run) for run in found.values()), key=lambda r: (r.time_utc, r.run))

    def find_run(self, text: str) -> Run:
        """The run with that id, the only one whose id begins with it, or the `latest`. Failure (status 3) otherwise."""
        runs = self.runs()
        if not runs:
            raise Failure(Status.INPUT, f"the store {self.folder} has no runs; `millpond advise` writes them")
        if text == LATEST:
            return runs[-1]
        found = [r for r in runs if r.run == text] or [r for r in runs if r.run.startswith(text)]
        if len(found) == 1:
            return found[0]
        ids = ", ".join(r.run for r in (found or runs)[-5:])
        what = f"{len(found)} runs begin with {text!r}" if found else f"no run begins with {text!r}"
        raise Failure(Status.INPUT, f"{what} in the store {self.folder}; the latest of them: {ids}")

    def query(self, sql: str, parameters: Sequence[object] = ()) -> list[dict[str, Any]]:
        """The rows of a query over the relations that it names: observations, subsystems, contexts.

        Files that are damaged or foreign are left out, and are then among `skipped`. Failure (status 3) if there is no
        observation to query.
        """
        duckdb = database.library()
        with database.connection() as connection:
            try:
                for relation in RELATIONS:
                    if re.search(rf"\b{relation}\b", sql):
                        self._add_relation(connection, relation)
                answer = connection.execute(sql, list(parameters))
                names = [column[0] for column in answer.description or []]
                return [dict(zip(names, row, strict=True)) for row in answer.fetchall()]
            except (duckdb.IOException, duckdb.InvalidInputException) as error:
                raise Failure(Status.INPUT, f"the store {self.folder} cannot be read: {error}") from error

    def _add_relation(self, connection: Any, relation: str) -> None:
        """Makes the rows of a relation a view of its files, or a table if a file must be converted or has a name that
        SQL cannot have.
        """
        columns, files = RELATIONS[relation], self.files(relation)
        if not files and relation == _OBSERVATIONS:
            self._no_observations()
        paths = [str(path) for path in files]
        if files and not any(_NO_SQL_PATH.search(path) or kept(path) != path for path in paths):
            rows = files_in(paths)
            names = {name for name, *_ in connection.execute(f"describe from {rows}").fetchall()}
            if not (relation == _OBSERVATIONS and OLD_COLUMN in names):
                connection.execute(f"create temp view {relation} as select {selection(columns)} from {rows}")
                return
        create_table(connection, relation, ColumnTable.joined(columns, [read(relation, path) for path in files]))

    def _no_observations(self) -> NoReturn:
        why = "; ".join(map(str, self._inspector.skipped_in(_OBSERVATIONS)))
        reason = f" that can be read ({why})" if why else "; `millpond advise` writes them"
        raise Failure(Status.INPUT, f"the store {self.folder} has no observations{reason}")

    def files(self, relation: str) -> list[Path]:
        """The files of a relation that are whole and ours."""
        return self._inspector.good(relation)

    @property
    def skipped(self) -> list[SkippedFile]:
        """The files in this store that are damaged or not ours, by path. Contexts are read whole only on request."""
        return self._inspector.inspect()

    def finish(self) -> None:
        """The last step of a verb that has read the store. Failure (status 3), which names the skipped files, if there
        are any.
        """
        found = self.skipped
        if found:
            files = "1 file" if len(found) == 1 else f"{len(found)} files"
            raise Failure(Status.INPUT, f"{files} of the store skipped: {'; '.join(map(str, found))}")


def _document_kind(kind: str) -> str:
    if not KIND.fullmatch(kind) or kind in RELATIONS:
        raise ValueError(f"{kind!r} is not a kind of document")
    return kind


def _run_of(run: str, kind: str, document: Mapping[str, Any]) -> Run:
    """The run, from its document, if it has left no observations."""
    program = document.get("program")
    argv = program.get("argv") if isinstance(program, dict) else None
    words = argv if isinstance(argv, list) else []
    return Run(run, kind, " ".join(map(str, words)), str(document.get("machine") or ""), "")


def _begun(run: Run) -> Run:
    """The run with the time from its id; if the id has none, with the time of its first value."""
    try:
        begun = datetime.datetime.strptime(run.run.partition("-")[0], _STAMP).replace(tzinfo=datetime.UTC)
    except ValueError:
        return run
    return Run(run.run, run.experiment, run.workload, run.machine, begun.isoformat())
