# SPDX-License-Identifier: BSL-1.0
"""The report for a pull request: verdict, table, effects; long parts are folded."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence

from millpond.report.cases import Case
from millpond.report.views import case_view
from millpond.report.views.choice_view import ChoiceRow
from millpond.report.views.model import Block, Bullets, Part, ReportSection, Table, TableCell, Words

# Characters with a meaning in Markdown; names of functions are full of them.
_SPECIAL = re.compile(r"([\\`*_\[\]|~$])")
_SPECIAL_FIRST = re.compile(r"^(\d*)(?=[-+#=>.)])")
# Characters that a forge turns into links to users or tracker entries; an invisible word joiner after them prevents it.
_REFERENCE = re.compile(r"(?<!\w)([@#])(?=\w)")
_JOINER = "\u2060"


def escaped(text: str) -> str:
    """Returns a program's text as plain text: no markup, no HTML, no mention of a user, one line."""
    plain = _REFERENCE.sub(rf"\1{_JOINER}", " ".join(text.split()))
    marked = _SPECIAL_FIRST.sub(r"\1\\", _SPECIAL.sub(r"\\\1", plain))
    return html.escape(marked, quote=False)


def code(text: str) -> str:
    """Returns a program's name as code."""
    return f"<code>{escaped(text)}</code>"


def fenced(text: str, language: str = "") -> str:
    """Returns a block of code around any text, even if the text has fences."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def render(cases: Sequence[Case], damaged: Sequence[str] = (), missing: Sequence[str] = ()) -> str:
    """Returns the Markdown of these cases, in their order."""
    lines = [f"> **Not read:** {escaped(line)}\n" for line in damaged]
    lines += [f"> **Missing:** {escaped(line)}\n" for line in missing]
    lines += [_case(case) for case in cases]
    return "\n".join(lines)


def render_section(section: ReportSection) -> str:
    """Returns the Markdown of one section, without figures."""
    return f"{_section(section)}\n"


def _case(case: Case) -> str:
    view = case_view.view_of(case)
    choices = [
        f"- {escaped(row.label)}: {escaped('; '.join(filter(None, [row.what, row.command, *_gains(row)])))}"
        for row in view.choices
    ]
    parts = [
        f"### {code(case.name)}: {escaped(view.headline)}", escaped(view.verdict), "\n".join(choices),
        *[f"> {escaped(note)}" for note in view.warnings], escaped(view.facts),
        *[_section(section) for section in view.sections if not section.details],
        _fold(escaped(view.plan_file), fenced(view.plan, "json")) if view.plan else "",
    ]  # fmt: skip
    return "\n\n".join(p for p in parts if p) + "\n"


def _gains(row: ChoiceRow) -> list[str]:
    return [gain.words for gain in row.gains]


def _fold(summary: str, body: str) -> str:
    return f"<details><summary>{summary}</summary>\n\n{body}\n\n</details>"


def _section(section: ReportSection) -> str:
    title = escaped(f"{section.title}{f' ({section.note})' if section.note else ''}")
    body = "\n\n".join(text for text in map(_part, section.parts) if text)
    return _fold(title, body) if section.fold else f"**{title}**\n\n{body}"


def _part(part: Part) -> str:
    match part:
        case Words(text):
            return escaped(text)
        case Bullets(lines):
            return "\n".join(f"- {escaped(line)}" for line in lines)
        case Block(text, _, language):
            return fenced(text, language)
        case Table(columns, rows, caption):
            left = [not column.right for column in columns]
            found = table([escaped(c.title) for c in columns], left, [[_cell(cell) for cell in row] for row in rows])
            return "\n\n".join(filter(None, [found, escaped(caption)]))
        case ReportSection(details=True):
            return escaped(part.title)
        case ReportSection():
            return _section(part)
        case _:  # figures are for the page
            return ""


def _cell(cell: TableCell) -> str:
    note = f" ({escaped(cell.note)})" if cell.note else ""
    return f"{code(cell.text) if cell.name and cell.text else escaped(cell.text)}{note}"


def table(head: Sequence[str], left: int | Sequence[bool], rows: Sequence[Sequence[str]]) -> str:
    """Returns a table of escaped cells; the first `left` columns, or those for which it is true, are aligned to the
    left, others to the right.
    """
    to_left = [i < left for i in range(len(head))] if isinstance(left, int) else left
    rule = [":--" if is_left else "--:" for is_left in to_left]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (head, rule, *rows))
