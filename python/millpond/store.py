# SPDX-License-Identifier: BSL-1.0
"""The store: a folder of immutable Parquet files, one for each run, and DuckDB as the query engine over it.

    STORE/observations/20260102T030405-1a2b3c4d.parquet     written aside, then renamed: there whole or not at all

Nothing to lock, nothing to corrupt; merging the stores of two machines is copying files.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from millpond import output
from millpond.errors import Failure, Status, cannot_write
from millpond.observations import FIELDS, Journal

DEFAULT = Path("results/store")


class Store:
    """Observations below one folder. Every method may be used from several processes at once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "observations"

    def prepare(self) -> None:
        """Makes the folder and proves that it can be written: before an hour of rounds, not after it."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=self.folder):
                pass
        except OSError as error:
            raise cannot_write(f"the store {self.folder}", error) from error

    def write(self, journal: Journal) -> Path:
        """Writes the run's file; returns its path. Failure (status 4) leaves no half-written file behind."""
        import pyarrow as pa
        import pyarrow.parquet as parquet

        numeric = {"value": pa.float64(), "round": pa.int64()}
        schema = pa.schema([(name, numeric.get(name, pa.string())) for name in FIELDS])
        table = pa.Table.from_pylist(journal.rows, schema=schema)
        path = self.folder / f"{journal.run}.parquet"
        self.prepare()
        with output.written_aside(path) as aside:
            parquet.write_table(table, aside, compression="zstd")
        return path

    def query(self, sql: str, parameters: Sequence[object] = ()) -> list[dict[str, Any]]:
        """The rows of a query over the relation `observations`. Failure (status 3) where a file of it is damaged."""
        import duckdb

        if not any(self.folder.glob("[!.]*.parquet")):
            raise Failure(Status.INPUT, f"the store {self.folder} has no observations; `millpond advise` writes them")
        with duckdb.connect() as connection:
            try:
                files = connection.read_parquet(str(self.folder / "[!.]*.parquet"), union_by_name=True)
                files.create_view("observations")
                answer = connection.execute(sql, list(parameters))
                names = [column[0] for column in answer.description or []]
                return [dict(zip(names, row, strict=True)) for row in answer.fetchall()]
            except (duckdb.IOException, duckdb.InvalidInputException) as error:
                raise Failure(Status.INPUT, f"the store {self.folder} cannot be read: {error}") from error
