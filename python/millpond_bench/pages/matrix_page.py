# SPDX-License-Identifier: BSL-1.0
"""The matrix of statements × machines in four forms: page, Markdown, text, JSON.

A paper is a section: its columns as a list, then a row for each statement. On the page a verdict that holds is green,
one that is broken is red, and a heading sorts.
"""

from __future__ import annotations

import io

from rich.console import Console

from millpond.report import terminal
from millpond.report.figures.figure_html import html_of
from millpond.report.figures.offline_page import load
from millpond.report.views import model
from millpond.report.views.model import Bullets, ReportSection, TableCell, Words
from millpond.system import output
from millpond.system.wording import plural
from millpond_bench.claims.claims import BROKEN, HOLDS
from millpond_bench.pages.results_page import (
    COLUMN_MEANING,
    LEFT_OUT_TITLE,
    MATRIX_TITLE,
    cell_text,
    column_text,
    counts_text,
    matrix_text,
    row_counts_text,
)
from millpond_bench.pages.statement_matrix import DocumentMatrix, MatrixCell, MatrixColumn, MatrixRow, StatementMatrix

_TONES = {HOLDS: "better", **dict.fromkeys(BROKEN, "worse")}


def render(matrix: StatementMatrix, form: str) -> str:
    """Returns the matrix as `html`, `markdown`, `json` or `text`, which is as wide as the terminal or $COLUMNS."""
    if form == "html":
        return _page(matrix)
    if form == "markdown":
        return matrix_text(matrix)
    if form == "json":
        return output.json_text(matrix.to_json())
    file = io.StringIO()
    print_matrix(matrix, terminal.console(file))
    return file.getvalue()


def print_matrix(matrix: StatementMatrix, out: Console) -> None:
    """Prints every section."""
    for section in sections(matrix):
        terminal.print_section(section, out)
        out.print()


def sections(matrix: StatementMatrix) -> list[ReportSection]:
    """Returns a section for each paper, and one for what is left out."""
    left_out = model.section(LEFT_OUT_TITLE, [Bullets(matrix.left_out)], anchor="left-out")
    return [*map(_section, matrix.documents), *([left_out] if left_out else [])]


def _page(matrix: StatementMatrix) -> str:
    page = load("report.js", "report.css")
    return page.render(
        "sections.html.j2", title=f"Millpond: {MATRIX_TITLE[:1].lower()}{MATRIX_TITLE[1:]}", heading=MATRIX_TITLE,
        sections=sections(matrix), html_of=html_of,
    )  # fmt: skip


def _section(one: DocumentMatrix) -> ReportSection:
    verdicts = {
        column: [cell.verdict for row in one.rows for cell in row.in_column(column.name)] for column in one.columns
    }
    columns = tuple(
        f"{column.name}: {column_text(column)}; {plural(len(found), 'verdict')}: {counts_text(found)}"
        for column, found in verdicts.items()
    )
    rows: list[model.Row] = [
        (
            model.name(one.label(row)),
            row.statement,
            row_counts_text(row) if one.columns[1:] else "",
            *(_cell(row, column) for column in one.columns),
        )
        for row in one.rows
    ]
    table = model.table(["id", "statement", "verdicts", *(column.name for column in one.columns)], rows)
    return ReportSection(f"{one.document}: {one.source}", (Words(COLUMN_MEANING, "soft"), Bullets(columns), table),
                         anchor=one.document)  # fmt: skip


def _cell(row: MatrixRow, column: MatrixColumn) -> TableCell:
    cells = row.in_column(column.name)
    if not cells:
        return TableCell("–")
    return TableCell("; ".join(map(cell_text, cells)), tone=_tone(cells), title="; ".join(map(_title, cells)))


def _tone(cells: list[MatrixCell]) -> str:
    """The tone that all cells share; none where they differ."""
    tones = {_TONES.get(cell.verdict, "") for cell in cells}
    return tones.pop() if len(tones) == 1 else ""


def _title(cell: MatrixCell) -> str:
    measured = f"measured {cell.measured[:10]} by millpond {cell.version}"
    return f"{cell.experiment}, {measured}, {plural(cell.points, 'figure')}"
