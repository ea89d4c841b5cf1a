# SPDX-License-Identifier: BSL-1.0
"""Everything that one run left in a store, as one value: `Store.load(run)` reads it, and reports are made from it.

STORE/observations/RUN.parquet  ─┐
      subsystems/RUN.parquet     │                  ┌─▶ the case of a report ─▶ page, terminal, Markdown, JSON
      contexts/RUN.parquet       ├─▶ RunContents ───┼─▶ exports
      advice/RUN.json.gz         │                  └─▶ comparisons
      …/RUN.json.gz             ─┘
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from millpond.store.call_tree import CallTree
from millpond.store.check import Inspector, Made
from millpond.store.observations import Observation


@dataclass(frozen=True)
class RunContents:
    """The contents of a run's files. A damaged file has no content here, and is among `Store.skipped`.

    `kinds`: the kinds of its files, readable or not. `documents`: the readable documents by kind, as plain data. The
    three relations may have a million rows and most readers need one of them, so each is read when first used.
    """

    run: str
    kinds: frozenset[str]
    documents: Mapping[str, dict[str, Any]]
    _files: Inspector = field(repr=False, compare=False)

    @cached_property
    def observations(self) -> Sequence[Observation]:
        """The observations in the order of their ids."""
        return self._files.content("observations", self.run) or ()

    @cached_property
    def subsystems(self) -> list[dict[str, Any]] | None:
        """A row for each subsystem, by columns; the whole subsystem is JSON text in `detail`."""
        found: list[dict[str, Any]] | None = self._files.content("subsystems", self.run)
        return found

    @cached_property
    def call_tree(self) -> CallTree | None:
        """The call tree. Raises ValueError if the file is whole but holds no tree."""
        found: CallTree | None = self._files.content("contexts", self.run)
        return found

    @property
    def characterisation(self) -> dict[str, Any] | None:
        """The characterisation as it was written; None if a part of it is missing or damaged."""
        rest = self.documents.get("characterisation")
        if rest is None or self.subsystems is None:
            return None
        return {**rest, "subsystems": [json.loads(row["detail"]) for row in self.subsystems]}

    def made(self, kind: str, make: Callable[[Any], Made]) -> Made | None:
        """Returns `make` of a document, or of the rows of `subsystems`; None if the run has none that fits.

        A file can be whole and still hold anything: if `make` raises an error of wrong data, it becomes a skipped file.
        """
        content = self.subsystems if kind == "subsystems" else self.documents.get(kind)
        return None if content is None else self._files.made(kind, self.run, content, make)
