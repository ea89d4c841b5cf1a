# SPDX-License-Identifier: BSL-1.0
"""Makes a page for each verb from the table that also makes its --help and its man page."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from millpond.verbs import table
from millpond.verbs.option import Verb, VerbOption
from millpond.verbs.parser import usage_of
from millpond.verbs.verb_facts import STATUS_MEANINGS, VARIABLES
from millpond_bench import bench_verbs

FOLDER = "reference/cli"
COMMANDS: dict[str, tuple[Sequence[Verb], str]] = {
    "millpond": (table.VERBS, table.SUMMARY),
    "millpond-bench": (bench_verbs.VERBS, bench_verbs.SUMMARY),
}


def pages() -> dict[str, str]:
    """The pages by their places below docs/: one for each verb, and an index."""
    found = {f"{FOLDER}/README.md": _index()}
    for command, (verbs, _) in COMMANDS.items():
        found |= {page_of(command, verb): _page(command, verb) for verb in verbs}
    return found


def page_of(command: str, verb: Verb) -> str:
    """The place of a verb's page below docs/."""
    return f"{FOLDER}/{'-'.join([command, *verb.words])}.md"


def _index() -> str:
    lines = ["# Command line", "", "Each page is made from the table that also makes `--help`.",
             "Exit statuses, variables and places are the same for all verbs: see",
             "[environment and exit statuses](../environment.md)."]  # fmt: skip
    for command, (verbs, summary) in COMMANDS.items():
        lines += ["", f"## {command}", "", summary, ""]
        lines += [f"- [`{command} {verb.name}`]({'-'.join([command, *verb.words])}.md): {verb.summary}"
                  for verb in verbs]  # fmt: skip
    return "\n".join(lines) + "\n"


def _page(command: str, verb: Verb) -> str:
    lines = [f"# {command} {verb.name}", "", verb.summary, "", "```text",
             f"{command} {verb.name} [OPTIONS] {usage_of(verb)}".rstrip(), "```"]  # fmt: skip
    if verb.details:
        lines += ["", *_details(verb.details)]
    lines += ["", "## Examples", "", "```sh", *(part for one in verb.examples for part in _example(*one)), "```"]
    if verb.positionals:
        lines += ["", "## Arguments", "", *(f"- `{one.metavar}`: {one.help}" for one in verb.positionals)]
    shown = [one for one in verb.options if not one.is_hidden]
    lines += ["", "## Options", "", *_options(one for one in shown if not one.is_expert),
              "- `-h, --help`: Show this help."]  # fmt: skip
    if expert := [one for one in shown if one.is_expert]:
        lines += ["", "## Expert options", "", *_options(expert)]
    lines += ["", "## Exit status", ""]
    lines += ["The program's own status, or one of these:", ""] if verb.exits_as_program else []
    lines += [f"- `{int(number)}`: {meaning}" for number, meaning in STATUS_MEANINGS.items()]
    if verb.environment:
        lines += ["", "## Environment", "", *(f"- `{name}`: {VARIABLES[name]}" for name in verb.environment)]
    lines += ["", "## Files written", ""]
    lines += [f"- `{name}`: {meaning}" for name, meaning in verb.writes]
    named = "Those that -o names" if any(one.word == "-o" for one in verb.options) else "None"
    lines += [f"- {named}." if verb.writes else f"{named}."]
    return "\n".join(lines) + "\n"


def _example(line: str, meaning: str) -> list[str]:
    return [f"# {meaning}", line]


def _options(options: Iterable[VerbOption]) -> list[str]:
    lines = []
    for one in options:
        is_plain = one.metavar and one.default and not isinstance(one.default, tuple)
        default = f" Default: {one.default}." if is_plain and "Default" not in one.help else ""
        lines.append(f"- `{one.form}`: {_text(one.help)}{default}")
        lines += [f"    - `{name}`: {_text(meaning)}" for name, meaning in (one.choices or {}).items()]
    return lines


def _details(text: str) -> list[str]:
    """Prose as it is; lines that begin with a blank become a block of text."""
    lines: list[str] = []
    for part in re.split(r"((?:^ .*\n?)+)", text, flags=re.MULTILINE):
        lines += ["", "```text", *part.rstrip("\n").split("\n"), "```", ""] if part.startswith(" ") else [_text(part)]
    return lines


def _text(text: str) -> str:
    """Escapes what Markdown would read as markup, outside code."""
    return "".join(
        part if part.startswith("`") else re.sub(r"([*_<>\[\]])", r"\\\1", part)
        for part in re.split(r"(`[^`]*`)", text)
    )
