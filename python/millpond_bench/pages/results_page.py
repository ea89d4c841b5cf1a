# SPDX-License-Identifier: BSL-1.0
"""Kept results as Markdown: a page for each paper, a matrix of all statements, an index. Same data, same bytes.

README.md      the papers, and the number of statements that hold in each part
DOCUMENT.md    every statement of each part: figure, interval, rounds, verdict; above them machine, command, date
matrix.md      statement × (machine, toolchain, malloc)
DOCUMENT.json  the data of the pages
"""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from millpond.report.markdown import code, escaped, table
from millpond.statistics.order_statistics import Summary
from millpond.system import output
from millpond.system.json_seal import sealed
from millpond.system.new_folders import make_folder
from millpond.system.wording import plural
from millpond_bench.claims.claims import VERDICTS, number_text
from millpond_bench.claims.premises import NONE
from millpond_bench.experiments.bench_document import JudgedClaim
from millpond_bench.experiments.platforms import PLATFORMS
from millpond_bench.pages.kept_results import QUICK, KeptPart, KeptResults, json_text
from millpond_bench.pages.statement_matrix import (
    MatrixCell,
    MatrixColumn,
    MatrixRow,
    StatementMatrix,
    columns_of,
    matrix_of,
    place_of,
)

INDEX, MATRIX = "README.md", "matrix.md"
_NONE = "–"
_MADE = "<!-- Written by `millpond report -o results:FOLDER`: not by hand. -->"
VERDICT_WORDS = "../reference/benchmarks.md#verdicts"
COLUMNS = 100
_MADE_OF_CONTRIBUTIONS = "<!-- Written by `millpond report CONTRIBUTION... -o FILE.md`: not by hand. -->"
MATRIX_TITLE = "Statements on machines, toolchains and mallocs"
COLUMN_MEANING = "A column is a machine, the toolchain that built the suites, and the malloc that they ran on."
LEFT_OUT_TITLE = "Left out"
NO_EVIDENCE = "Quick scale: small sizes, few points. A first look, no evidence."


def write(folder: Path, results: Sequence[KeptResults]) -> None:
    """Writes the pages and the JSON behind them; each file appears whole. Failure (status 4) if that is impossible."""
    make_folder(folder)
    for one in results:
        output.write_text(folder / f"{one.document}.json", json_text(sealed(one.to_json())))
    for name, text in pages(results).items():
        output.write_text(folder / name, text)


def pages(results: Sequence[KeptResults]) -> dict[str, str]:
    """The text of each page, by the name of its file."""
    return {
        INDEX: _index(results),
        **{f"{one.document}.md": _document(one) for one in results},
        MATRIX: matrix_text(matrix_of(results)),
    }


def figure_text(figure: Summary | None) -> str:
    """A median with its interval: `1.43 (1.42 – 1.45)`."""
    if figure is None:
        return _NONE
    interval = f" ({number_text(figure.low)} – {number_text(figure.high)})" if figure.n > 1 else ""
    return number_text(figure.median) + interval


def _index(results: Sequence[KeptResults]) -> str:
    rows = [
        [f"[{one.document}]({one.document}.md)", part.experiment, part.scale, str(part.rounds), _date(part),
         escaped(_around(part)), escaped(part.machine), _counts(part)]
        for one in results
        for part in one.parts
    ]  # fmt: skip
    head = ["document", "experiment", "scale", "rounds", "date", "built by, malloc", "machine", "statements"]
    return _page(
        "Results",
        "Verdicts on the papers' statements, from runs of the published experiments. README and docs quote\n"
        "figures only from here.",
        f"[Every statement on every machine, toolchain and malloc]({MATRIX})",
        _text_table(head, rows),
    )


def _document(results: KeptResults) -> str:
    return _page(
        f"{results.document}: {escaped(results.source)}",
        "Here: the median over the rounds, its interval in brackets. Bound: what the statement asks.\n"
        f"Published: the same by the document's own tables.\n[What verdicts mean]({VERDICT_WORDS})",
        *(text for part in results.parts for text in _part(part, _which(part, results))),
    )


def _which(part: KeptPart, results: KeptResults) -> str:
    """The suffix of a heading that tells a part from others of its experiment; its column is that of the matrix."""
    if sum(other.experiment == part.experiment for other in results.parts) == 1:
        return ""
    return f" ({part.scale} scale, {columns_of(results)[place_of(part)].name})"


def _part(part: KeptPart, which: str) -> list[str]:
    facts = [
        f"{part.scale} scale, {plural(part.rounds, 'round')}, measured {_date(part)}",
        f"machine: {part.machine}",
        f"built by: {_around(part)}",
        f"millpond {part.version}",
    ]
    rows = [
        [code(claim.id), _plain(claim.section), escaped(claim.statement), _bound(claim),
         _NONE if claim.published is None else number_text(claim.published), figure_text(claim.ours),
         str(claim.ours.n) if claim.ours else _NONE, str(claim.points), claim.verdict, *_on_documents(part, claim)]
        for claim in part.claims
    ]  # fmt: skip
    by_note: dict[str, list[str]] = {}
    for claim in part.claims:
        if found := _notes(claim):
            by_note.setdefault("; ".join(found), []).append(claim.id)
    notes = [[", ".join(map(code, names)), escaped(note)] for note, names in by_note.items()]
    notes += _premises(part)
    head = ["id", "section", "statement", "bound", "published", "here", "rounds", "points", "verdict"]
    head += ["on the document's allocators"] if _has_both(part) else []
    return [
        f"## {part.experiment}: {escaped(part.title)}{which}",
        *([f"**{NO_EVIDENCE}**"] if part.scale == QUICK else []),
        _items([*map(escaped, facts), f"`{part.command}`"]),
        textwrap.fill(_counts(part), COLUMNS),
        _items(map(escaped, part.remarks)),
        _text_table(head, rows),
        _text_table(["id", "note"], notes) if notes else "",
    ]


def _premises(part: KeptPart) -> list[list[str]]:
    """A row for each premise, with the statements that have it."""
    by_premise: dict[str, list[str]] = {}
    for claim in part.claims:
        if claim.premise not in (None, NONE):
            by_premise.setdefault(str(claim.premise), []).append(claim.id)
    return [[", ".join(map(code, names)), f"premise: {escaped(premise)}"] for premise, names in by_premise.items()]


def _has_both(part: KeptPart) -> bool:
    """True if any statement was also judged on allocators built as the paper's."""
    return any(claim.on_documents for claim in part.claims)


def _on_documents(part: KeptPart, claim: JudgedClaim) -> list[str]:
    """The cell of that column: verdict and figure."""
    if not _has_both(part):
        return []
    judged = claim.on_documents
    figure = f", {figure_text(judged.figure)}" if judged and judged.figure else ""
    return [f"{judged.verdict}{figure}" if judged else _NONE]


def _notes(claim: JudgedClaim) -> list[str]:
    disagrees = f"the document's own tables do not bear it out: {claim.paper_disagrees}"
    return [
        *([disagrees] if claim.paper_disagrees else []),
        *([f"{claim.verdict}: {claim.missing}"] if claim.missing and claim.ours is None else []),
        *([claim.note] if claim.note and claim.ours else []),
        *([f"decided by {claim.worst}"] if claim.worst and claim.ours else []),
    ]


def matrix_text(matrix: StatementMatrix) -> str:
    """The matrix as Markdown."""
    texts = []
    for one in matrix.documents:
        texts.append(f"## {one.document}")
        texts.append(_items(f"{column.name}: {escaped(column_text(column))}" for column in one.columns))
        rows = [
            [code(one.label(row)), escaped(row.statement), *([row_counts_text(row)] if one.columns[1:] else []),
             *(_cells(row, column.name) for column in one.columns)]
            for row in one.rows
        ]  # fmt: skip
        head = ["id", "statement", *(["verdicts"] if one.columns[1:] else [])]
        texts.append(_text_table([*head, *(column.name for column in one.columns)], rows))
    left_out = _items(map(escaped, matrix.left_out))
    return _page(
        MATRIX_TITLE,
        COLUMN_MEANING,
        *texts,
        *([f"## {LEFT_OUT_TITLE}", left_out] if left_out else ()),
        made=_MADE_OF_CONTRIBUTIONS if matrix.contributions else _MADE,
    )


def column_text(column: MatrixColumn) -> str:
    """A column in words: machine; toolchain, malloc; of a platform also its emulator."""
    platform = PLATFORMS.get(column.toolchain)
    emulator = f" (run by {platform.emulator[0]})" if platform else ""
    return f"{column.machine}; {column.toolchain}{emulator}, {column.malloc}"


def cell_text(cell: MatrixCell) -> str:
    """A cell in words: `holds, 1.43 (1.42 – 1.45), 11 rounds (standard)`."""
    figure = [figure_text(cell.figure), plural(cell.figure.n, "round")] if cell.figure else []
    return f"{', '.join([cell.verdict, *figure])} ({cell.scale})"


def row_counts_text(row: MatrixRow) -> str:
    """The verdicts on one statement: `holds 40, weaker 1`."""
    return counts_text(cell.verdict for cell in row.cells)


def _cells(row: MatrixRow, column: str) -> str:
    return "<br>".join(escaped(cell_text(cell)) for cell in row.in_column(column)) or _NONE


def _page(title: str, *parts: str, made: str = _MADE) -> str:
    return "\n\n".join([f"# {title}", made, *filter(None, parts)]) + "\n"


def _items(texts: Iterable[str]) -> str:
    """A list whose lines have at most `COLUMNS` columns, unless one word is longer."""
    return "\n".join(
        textwrap.fill(f"- {text}", COLUMNS, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
        for text in texts
    )


def _text_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return table(head, len(head), rows)


def counts_text(verdicts: Iterable[str]) -> str:
    """`holds 3, weaker 9`: the verdicts that occur, in their usual order."""
    counted = Counter(verdicts)
    order = [*VERDICTS, *sorted(counted.keys() - {*VERDICTS})]
    return ", ".join(f"{name} {counted[name]}" for name in order if counted[name])


def _counts(part: KeptPart) -> str:
    return f"{len(part.claims)}: {counts_text(claim.verdict for claim in part.claims)}"


def _date(part: KeptPart) -> str:
    return part.measured.partition("T")[0]


def _around(part: KeptPart) -> str:
    return f"{part.toolchain}{f' ({part.compiler})' if part.compiler else ''}, {part.malloc}"


def _plain(text: str) -> str:
    """Text for the inside of a cell, where no list can begin: `7.12`."""
    return text.replace("|", "\\|")


def _bound(claim: JudgedClaim) -> str:
    low, high = claim.low, claim.high
    if low is None and high is None:
        return _NONE
    if low is None:
        return f"≤ {high:g}"
    return f"≥ {low:g}" if high is None else f"{low:g} – {high:g}"
