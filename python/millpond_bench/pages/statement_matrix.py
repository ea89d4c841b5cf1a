# SPDX-License-Identifier: BSL-1.0
"""Every statement of each paper on every machine, toolchain and malloc ("millpond.matrix/1").

KeptResults ──matrix_of──▶ StatementMatrix ─┬─▶ matrix.md (results_page)
                                            └─▶ page, text, Markdown, JSON (matrix_page)

DocumentMatrix ─┬─ MatrixColumn   M1: a machine, the toolchain that built the suites, the malloc that they ran on
                └─ MatrixRow ──── MatrixCell: verdict, figure with interval and rounds, scale; column M1
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from millpond.statistics.order_statistics import Summary
from millpond.system.json_seal import digest
from millpond_bench.experiments.bench_document import BenchRecord, JudgedClaim, Number
from millpond_bench.pages.kept_results import KeptPart, KeptResults

SCHEMA: Literal["millpond.matrix/1"] = "millpond.matrix/1"
_DIGITS = 8
Place = tuple[str, str, str]


class MatrixColumn(BenchRecord, frozen=True, kw_only=True):
    """One machine, toolchain and malloc. `name`: its short heading."""

    name: str
    machine: str
    toolchain: str
    malloc: str


class MatrixCell(BenchRecord, frozen=True, kw_only=True):
    """One verdict. `figure`: null if nothing was measured; its `n` is the number of rounds. `version`: of millpond."""

    column: str
    experiment: str
    scale: str
    verdict: str
    figure: Summary | None
    points: int
    measured: str
    version: str


class MatrixRow(BenchRecord, frozen=True, kw_only=True):
    """One statement. `definition`: digits that are equal where words, rule and bound are.

    Versions of millpond may judge a statement by other rules; then it has a row for each.
    """

    id: str
    definition: str
    statement: str
    low: Number | None
    high: Number | None
    cells: tuple[MatrixCell, ...]

    def in_column(self, name: str) -> list[MatrixCell]:
        """The cells of one column: one for each scale, and for each experiment that judges the statement."""
        return [cell for cell in self.cells if cell.column == name]


class DocumentMatrix(BenchRecord, frozen=True, kw_only=True):
    """The statements of one paper. `source`: its title."""

    document: str
    source: str
    columns: tuple[MatrixColumn, ...]
    rows: tuple[MatrixRow, ...]

    def label(self, row: MatrixRow) -> str:
        """The statement's id, with its definition if several rows have that id."""
        several = sum(other.id == row.id for other in self.rows) > 1
        return f"{row.id} ({row.definition})" if several else row.id


class StatementMatrix(BenchRecord, frozen=True, kw_only=True):
    """All papers. `contributions`: digests of the files that it was made of. `left_out`: a line for each result that
    a later or larger one of the same place replaces.
    """

    schema: Literal["millpond.matrix/1"] = SCHEMA
    contributions: tuple[str, ...]
    left_out: tuple[str, ...]
    documents: tuple[DocumentMatrix, ...]


def matrix_of(
    results: Sequence[KeptResults], contributions: Sequence[str] = (), left_out: Sequence[str] = ()
) -> StatementMatrix:
    """The matrix of merged results, in their order. O(statements × columns)."""
    return StatementMatrix(
        contributions=tuple(contributions), left_out=tuple(left_out), documents=tuple(map(_document, results))
    )


def columns_of(results: KeptResults) -> dict[Place, MatrixColumn]:
    """The columns of a paper, in the order of its parts."""
    places = dict.fromkeys(place_of(part) for part in results.parts)
    return {
        place: MatrixColumn(name=f"M{number}", machine=place[0], toolchain=place[1], malloc=place[2])
        for number, place in enumerate(places, 1)
    }


def place_of(part: KeptPart) -> Place:
    """The place of a part: its machine, toolchain and malloc."""
    return part.machine, part.toolchain, part.malloc


def _document(results: KeptResults) -> DocumentMatrix:
    columns = columns_of(results)
    judged: dict[tuple[str, str], list[tuple[JudgedClaim, KeptPart]]] = {}
    for part in results.parts:
        for claim in part.claims:
            judged.setdefault((claim.id, definition_of(claim)), []).append((claim, part))
    # The definitions of a statement next to each other, where the first of them stands.
    ids = {name: number for number, name in enumerate(dict.fromkeys(name for name, _ in judged))}
    rows = []
    for (name, definition), found in sorted(judged.items(), key=lambda item: ids[item[0][0]]):
        first = found[0][0]
        cells = tuple(_cell(claim, part, columns[place_of(part)].name) for claim, part in found)
        rows.append(MatrixRow(id=name, definition=definition, statement=first.statement, low=first.low,
                              high=first.high, cells=cells))  # fmt: skip
    return DocumentMatrix(
        document=results.document, source=results.source, columns=tuple(columns.values()), rows=tuple(rows)
    )


def definition_of(claim: JudgedClaim) -> str:
    """Eight digits that are equal for statements of the same words, rule and bound."""
    words = digest([claim.statement, claim.rule.to_json(), claim.low, claim.high])
    return words.partition(":")[2][:_DIGITS]


def _cell(claim: JudgedClaim, part: KeptPart, column: str) -> MatrixCell:
    return MatrixCell(
        column=column, experiment=part.experiment, scale=part.scale, verdict=claim.verdict, figure=claim.ours,
        points=claim.points, measured=part.measured, version=part.version,
    )  # fmt: skip
