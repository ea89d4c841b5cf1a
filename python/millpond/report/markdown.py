# SPDX-License-Identifier: BSL-1.0
"""The report for a pull request: verdict, table, effects; long parts are folded."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Sequence

from millpond.advice import choice_text, container_text
from millpond.advice.advice_data import Advice
from millpond.report import reference_text, replay_text, report_text, symbols_table
from millpond.report.cases import Case
from millpond.report.report_text import EFFECT_WORDS, rest_text
from millpond.system.wording import (
    bytes_text,
    change_text,
    count_text,
    effect_text,
    saved_text,
    share_text,
    yes_or_no_text,
)

ROWS_AT_MOST = 15
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


def _case(case: Case) -> str:
    _, headline = report_text.answer(case.advice)
    parts = [
        f"### {code(case.name)}: {escaped(headline)}",
        escaped(case.advice.verdict),
        "\n".join(f"- {label}: {escaped(line)}" for label, line in choice_text.lines(case.advice)),
        *[f"> {escaped(note)}" for note in report_text.notes(case)],
        _subsystems(case),
        _inputs(case),
        _effects(case.advice),
        _came_out(case),
        _replay(case),
        _references(case),
        _symbols(case),
        f"{escaped(' · '.join(report_text.facts(case)))}  \n{escaped(case.advice.machine or '')}",
        _fold("Reasons", "\n".join(
            f"- {code(s.row.label)}: {escaped(s.row.reason)}" for s in case.subsystems[:ROWS_AT_MOST]
        )) if case.subsystems else "",
        _fold("What to change", _changes(case)) if any(s.row.code for s in case.subsystems) else "",
        _fold("Repeat it", fenced("\n".join(
            f"# {what}\n{command}" for what, command in report_text.commands(case)), "sh")),
    ]  # fmt: skip
    plan = case.advice.plan or case.advice.plan_tried
    if plan:
        text = json.dumps(plan.to_json(), indent=2, ensure_ascii=False)
        parts.append(_fold(escaped(report_text.plan_name(case)), fenced(text, "json")))
    left_out = "\n".join(f"- {escaped(line)}" for line in report_text.not_measured(case))
    parts.append(_fold("What was not measured", left_out))
    return "\n\n".join(p for p in parts if p) + "\n"


def _changes(case: Case) -> str:
    lines = []
    for row in (shown.row for shown in case.subsystems[:ROWS_AT_MOST]):
        if row.code:
            lines.append(f"- {code(row.label)}: {escaped(row.code.owner)}")
            said = [*container_text.lines(row), *container_text.change_lines(row.code)]
            lines += [f"  - {escaped(line)}" for line in said]
    return "\n".join(lines)


def _fold(summary: str, body: str) -> str:
    return f"<details><summary>{summary}</summary>\n\n{body}\n\n</details>"


def table(head: Sequence[str], left: int, rows: Sequence[Sequence[str]]) -> str:
    """Returns a table of escaped cells; the first `left` columns are aligned to the left, others to the right."""
    rule = [":--" if i < left else "--:" for i in range(len(head))]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (head, rule, *rows))


def _subsystems(case: Case) -> str:
    if not case.subsystems:
        return ""
    rows = []
    for row in (shown.row for shown in case.subsystems[:ROWS_AT_MOST]):
        share = report_text.cpu_share(row, case.trace)
        letters = [share_text(row.dimension(letter).value) for letter in report_text.DVLUC_NAMES]
        ratio = row.cpu_ratio
        rows.append([
            code(row.label), bytes_text(row.bytes), count_text(row.events),
            "–" if share is None else f"{100 * share:.1f} %", *letters, escaped(report_text.short_advice(row)),
            escaped(effect_text(ratio)) if ratio and ratio.n else "–",
            escaped(report_text.short_legality(row.legality)[1]),
        ])  # fmt: skip
    head = ["subsystem", "bytes", "events", "CPU", *report_text.DVLUC_NAMES, "advice", "predicted gain", "arena in"]
    rest = rest_text(case.subsystems[ROWS_AT_MOST:])
    return table(head, 1, rows) + (f"\n\n{escaped(rest)}" if rest else "")


def _inputs(case: Case) -> str:
    rows = [[str(i.number), code(" ".join(i.arguments)), escaped(i.verdict)] for i in case.inputs]
    return table(["input", "arguments", "verdict"], 3, rows) if rows else ""


def _effects(advice: Advice) -> str:
    found = [(words, advice.every_effect.get(name)) for name, words in EFFECT_WORDS.items()]
    rows = [
        [escaped(words), escaped(effect_text(effect)), saved_text(effect.saved, "seconds")]
        for words, effect in found
        if effect and effect.n
    ]
    rows += [[escaped(words), escaped(change_text(cost)), "–"] for words, cost in report_text.taken_off(advice)]
    return table(["effect on CPU time", "change", "saves"], 1, rows) if rows else ""


def _came_out(case: Case) -> str:
    found = case.came_out
    if found is None:
        return ""
    rows = [
        [line.words, escaped(line.predicted_text), escaped(line.measured_text), yes_or_no_text(line.meets)]
        for line in found.lines
    ]
    return f"{escaped(found.heading)}\n\n{table(['what', 'predicted', 'came out', 'intervals meet'], 1, rows)}"


def _references(case: Case) -> str:
    """Returns the results of a captured run; empty if none was requested."""
    said = " ".join(map(escaped, reference_text.sentences(case.advice)))
    rows = reference_text.rows(case.advice)
    if not rows:
        return said
    found = table(reference_text.HEADINGS, 1, [[code(row.name), *row.cells] for row in rows])
    rest = escaped(reference_text.rest_text(case.advice))
    places = table(
        reference_text.PLACE_HEADINGS, 1,
        [[escaped(row.name), *row.cells] for row in reference_text.places(case.advice)],
    )  # fmt: skip
    body = "\n\n".join(filter(None, [found, rest, escaped(reference_text.EXPLANATION), places, *_layouts(case)]))
    return f"{said}\n\n{_fold('Where references miss', body)}"


def _symbols(case: Case) -> str:
    """Returns the modules without symbols; empty if no name is missing."""
    symbols = case.advice.symbols
    if symbols is None:
        return ""
    rows = [[escaped(cell) for cell in cells] for cells in symbols_table.rows(symbols)]
    return f"{escaped(symbols.sentence)}\n\n{_fold(symbols_table.TITLE, table(symbols_table.HEADINGS, 2, rows))}"


def _layouts(case: Case) -> list[str]:
    """Returns the subsystems that are accessed together, and the predictions for layouts."""
    parts = []
    if affine := reference_text.affinity_rows(case.advice):
        headings = reference_text.affinity_headings(case.advice)
        parts.append(table(headings, 1, [[code(row.name), *row.cells] for row in affine]))
        parts.append(escaped(reference_text.AFFINITY_EXPLANATION))
    if predicted := reference_text.predicted_rows(case.advice):
        parts.append(table(reference_text.PREDICTED_HEADINGS, 1, [[code(row.name), *row.cells] for row in predicted]))
        parts.append(escaped(reference_text.predicted_note(case.advice)))
    return [part for part in parts if part]


def _replay(case: Case) -> str:
    lines = replay_text.lines(case)[:ROWS_AT_MOST]
    rows = [
        [code(line.subject) if line.kind == "trial" else "", escaped(line.what), escaped(line.cpu), escaped(line.peak)]
        for line in lines
    ]
    words = escaped(replay_text.sentence(case))
    return (
        _fold("Replay next to the trial", f"{table(['of', 'saves', 'CPU', 'peak'], 2, rows)}\n\n{words}")
        if rows
        else words
    )
