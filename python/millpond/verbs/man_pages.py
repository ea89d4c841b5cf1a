# SPDX-License-Identifier: BSL-1.0
"""Makes the man pages from the table of verbs: one for the command, and one for each verb."""

from __future__ import annotations

from collections.abc import Sequence

from millpond.verbs.option import Verb, VerbOption
from millpond.verbs.parser import usage_of
from millpond.verbs.verb_facts import STATUS_MEANINGS, VARIABLES


def pages(verbs: Sequence[Verb], command: str, summary: str) -> dict[str, str]:
    """The pages by the names of their files, as `millpond-trace-record.1`."""
    found = {f"{command}.1": _overview(verbs, command, summary)}
    for verb in verbs:
        found[f"{_page(verb, command)}.1"] = _of_verb(verb, command)
    return found


def _page(verb: Verb, command: str) -> str:
    return "-".join([command, *verb.words])


def _overview(verbs: Sequence[Verb], command: str, summary: str) -> str:
    lines = [_title(command), ".SH NAME", f"{command} \\- {_text(summary)}", ".SH SYNOPSIS", f".B {command}",
             "VERB [OPTIONS] ...", ".SH VERBS"]  # fmt: skip
    for verb in verbs:
        lines += [".TP", f".BR {_text(_page(verb, command))} (1)", _text(verb.summary)]
    lines += [".SH OPTIONS", *_row("\\-\\-help", "Show this help."), *_row("\\-\\-version", "Print the version.")]
    return "\n".join(lines) + "\n"


def _of_verb(verb: Verb, command: str) -> str:
    lines = [_title(_page(verb, command)), ".SH NAME", f"{_text(_page(verb, command))} \\- {_text(verb.summary)}",
             ".SH SYNOPSIS", f".B {command} {verb.name}", _text(f"[OPTIONS] {usage_of(verb)}")]  # fmt: skip
    if verb.details:
        lines += [".SH DESCRIPTION", *_details(verb.details)]
    lines.append(".SH EXAMPLES")
    for line, meaning in verb.examples:
        lines += _row(_text(line), _text(meaning))
    named = [(one.metavar, one.help) for one in verb.positionals]
    lines += (
        [".SH ARGUMENTS", *(part for name, text in named for part in _row(_text(name), _text(text)))] if named else []
    )
    shown = [one for one in verb.options if not one.is_hidden]
    lines += [".SH OPTIONS", *(part for one in shown if not one.is_expert for part in _option(one)),
              *_row("\\-h, \\-\\-help", "Show this help.")]  # fmt: skip
    if expert := [one for one in shown if one.is_expert]:
        lines += [".SH EXPERT OPTIONS", *(part for one in expert for part in _option(one))]
    lines += [".SH EXIT STATUS", *_statuses(verb)]
    if verb.environment:
        lines.append(".SH ENVIRONMENT")
        lines += (part for name in verb.environment for part in _row(_text(name), _text(VARIABLES[name])))
    if verb.writes:
        lines.append(".SH FILES")
        lines += (part for name, text in verb.writes for part in _row(_text(name), _text(text)))
    return "\n".join(lines) + "\n"


def _statuses(verb: Verb) -> list[str]:
    own = ["The program's own status, or one of these:"] if verb.exits_as_program else []
    return [*own, *(part for number, text in STATUS_MEANINGS.items() for part in _row(str(int(number)), text))]


def _option(one: VerbOption) -> list[str]:
    lines = _row(_text(one.form), _text(one.help))
    for name, meaning in (one.choices or {}).items():
        lines += [".RS", *_row(_text(name), _text(meaning)), ".RE"]
    return lines


def _row(name: str, meaning: str) -> list[str]:
    return [".TP", f"\\fB{name}\\fR", meaning]


def _details(text: str) -> list[str]:
    """Keeps lines that begin with spaces as they are."""
    lines: list[str] = []
    for line in text.split("\n"):
        if line.startswith(" "):
            lines += [".nf", _text(line), ".fi"]
        else:
            lines.append(_text(line) or ".PP")
    return lines


def _title(page: str) -> str:
    return f'.TH "{page.upper()}" 1 "" "Millpond" "User commands"'


def _text(text: str) -> str:
    """Escapes what troff would read as a request or an escape."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{escaped}" if escaped.startswith((".", "'")) else escaped
