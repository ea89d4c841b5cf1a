# SPDX-License-Identifier: BSL-1.0
"""Words the help of all verbs, from their table: one style for all."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from textwrap import wrap

from millpond.verbs.option import Verb, VerbOption
from millpond.verbs.parser import usage_of

_WIDEST, _NARROWEST, _COLUMN = 100, 60, 24
_HELP = ("-h, --help", "Show this help.")


def width() -> int:
    """The width of help: the terminal's, within bounds."""
    return max(_NARROWEST, min(_WIDEST, shutil.get_terminal_size((_WIDEST, 24)).columns))


def verb_help(verb: Verb, command: str = "millpond") -> str:
    """The help of one verb: usage, purpose, examples, common options, options for experts."""
    lines = [f"usage: {command} {verb.name} [OPTIONS] {usage_of(verb)}".rstrip(), ""]
    lines += wrap(verb.summary, width())
    if verb.details:
        lines += ["", *_paragraphs(verb.details)]
    lines += ["", "Examples:", *(line for example in verb.examples for line in _example(*example))]
    if named := [(one.metavar.strip("[]"), one.help) for one in verb.positionals]:
        lines += ["", "Arguments:", *_rows(named)]
    shown = [one for one in verb.options if not one.is_hidden]
    lines += ["", "Options:", *_rows([*_described(one for one in shown if not one.is_expert), _HELP])]
    if expert := [one for one in shown if one.is_expert]:
        lines += ["", "Expert options:", *_rows(_described(expert))]
    return "\n".join(lines) + "\n"


def overview(
    verbs: Sequence[Verb], nouns: Mapping[str, str], summary: str, command: str = "millpond", first: Sequence[str] = ()
) -> str:
    """The help of a command: every verb with its purpose, in the order of the table. `first`: lines after the usage."""
    lines = [f"usage: {command} VERB [OPTIONS] ...", *first, "", *wrap(summary, width())]
    if own := [(one.name, one.summary) for one in verbs if one.words[0] not in nouns and not one.is_expert]:
        lines += ["", "Verbs:", *_rows(own)]
    for noun, meaning in nouns.items():
        lines += ["", f"{meaning[:-1]}:", *_rows([(o.name, o.summary) for o in verbs if o.words[0] == noun])]
    if expert := [(one.name, one.summary) for one in verbs if one.is_expert]:
        lines += ["", "Expert verbs:", *_rows(expert)]
    lines += ["", "Options:", *_rows([_HELP, ("--version", "Print the version.")])]
    return "\n".join([*lines, "", f"{command} VERB --help explains a verb, with examples."]) + "\n"


def _described(options: Iterable[VerbOption]) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for one in options:
        is_plain = one.metavar and one.default and isinstance(one.default, int | float | str | Path)
        default = f" Default: {one.default}." if is_plain and "Default" not in one.help else ""
        found.append((one.form, one.help + default))
        if one.choices:
            found += [(f"  {name}", meaning) for name, meaning in one.choices.items()]
    return found


def _rows(pairs: Iterable[tuple[str, str]]) -> list[str]:
    lines = []
    for name, meaning in pairs:
        text = wrap(meaning, width() - _COLUMN)
        if len(name) <= _COLUMN - 4:
            lines.append(f"  {name:{_COLUMN - 2}}{text[0] if text else ''}".rstrip())
            text = text[1:]
        else:
            lines.append(f"  {name}")
        lines += [" " * _COLUMN + line for line in text]
    return lines


def _example(line: str, meaning: str) -> list[str]:
    short = f"  {line}  # {meaning}"
    return [short] if len(short) <= width() else [f"  # {meaning}", f"  {line}"]


def _paragraphs(text: str) -> list[str]:
    """Wraps prose; keeps lines that begin with spaces."""
    return [line for part in text.split("\n")
            for line in ([part] if part.startswith(" ") or not part else wrap(part, width()))]  # fmt: skip
