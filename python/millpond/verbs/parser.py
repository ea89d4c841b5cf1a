# SPDX-License-Identifier: BSL-1.0
"""Parses the words of one verb into its request.

    advise --budget 60 --json ./program --json -x
           └── options ──┘       └ the program, never looked into

Three rules that parsing libraries do not have together: the program's own words begin at the first word that is no
option, or after `--`; an option of optional value takes it only behind `=`; a word of an earlier version is replaced,
with a note. An error names the nearest word.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from millpond.system.errors import Failure, Status
from millpond.verbs.option import JSON, Verb, VerbOption
from millpond.verbs.values import near

_SHOWN_AT_MOST = 6


class HelpRequest(Exception):
    """The command line asks for the help of a verb."""


@dataclass
class WordStream:
    """The words of a command line by their parts.

    `options`: each option as typed, with its value. `late`: values of old options that are positional now.
    """

    options: list[tuple[VerbOption, str, str]] = field(default_factory=list)
    positionals: list[str] = field(default_factory=list)
    late: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def parse(verb: Verb, words: Sequence[str], *, command: str = "millpond") -> tuple[Any, list[str]]:
    """Returns the verb's request, and a note for each old word.

    Raises HelpRequest; Failure (status 2) for a wrong line.
    """
    own = f"{command} {verb.name}"
    try:
        found = split(verb, words)
        return verb.request(**_values(verb, found)), found.notes
    except ValueError as error:
        raise Failure(Status.USAGE, f"{error} ({own} --help lists the options)") from None


def split(verb: Verb, words: Sequence[str]) -> WordStream:
    """Splits the words at the options. Replaces old words."""
    known = {one.word: one for one in (*verb.old, *verb.options)}
    found = WordStream()
    rest = iter(words)
    for word in rest:
        if word == "--":
            found.positionals += rest
        elif word == "-" or not word.startswith("-"):
            found.positionals.append(word)
            if verb.takes_program and not _is_pair(verb, found):
                found.positionals += rest
        else:
            _add(found, known, word, rest)
    return found


def _is_pair(verb: Verb, found: WordStream) -> bool:
    """True for a verb that takes a program only with a certain option, which has not come yet."""
    needed = getattr(verb.request, "PROGRAM_AFTER", None)
    return needed is not None and not any(one.word == needed for one, _, _ in found.options)


def _add(found: WordStream, known: dict[str, VerbOption], word: str, rest: Iterator[str]) -> None:
    if word in ("-h", "--help"):
        raise HelpRequest
    name, equals, value = word.partition("=")
    if not word.startswith("--"):  # -oFILE
        name, equals, value = word[:2], word[2:], word[2:].removeprefix("=")
    if name not in known:
        raise ValueError(f"unknown option {name}{_hint(name, known)}")
    one = known[name]
    if one.takes_next and not equals:
        following = next(rest, None)
        if following is None or following == "--" or following in known:
            raise ValueError(f"{name} needs a value: {one.form}")
        value = following
    elif equals and not one.metavar:
        raise ValueError(f"{name} takes no value")
    elif not equals and one.implied is not None:
        value = one.implied
    if one.instead:
        new, new_value = one.instead(value)
        if one is not JSON or value != "-":
            found.notes.append(f"{name} is an old word: write {' '.join(filter(None, (new, new_value)))}")
        if new.startswith("--") and not new_value and known[new].metavar:
            return  # the default
        if new not in known:
            found.late.append(new_value)
            return
        one, name, value = known[new], new, new_value
    found.options.append((one, name, value))


def _hint(name: str, known: dict[str, VerbOption]) -> str:
    """The nearest option; of a verb with few options, all of them."""
    shown = [word for word, one in known.items() if not one.is_hidden]
    found = near(name, [*shown, "--help"])
    return found if found or len(shown) > _SHOWN_AT_MOST else f": the options are {', '.join(shown)}"


def _values(verb: Verb, found: WordStream) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for one, name, value in found.options:
        try:
            read = one.kind(value) if one.metavar else True
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None
        if one.is_repeated:
            several = read if isinstance(read, tuple) and one.choices and "=" not in one.metavar else (read,)
            values[one.name] = (*values.get(one.name, ()), *several)
        else:
            values[one.name] = read
    left = [*found.positionals, *found.late]
    for one in verb.positionals:
        if one.is_repeated:
            values[one.name] = tuple(one.kind(word) for word in left)
            left = []
        elif left:
            values[one.name] = one.kind(left.pop(0))
        if one.is_required and not values.get(one.name):
            raise ValueError(f"{one.metavar} is missing: millpond {verb.name} [OPTIONS] {usage_of(verb)}")
    if left:
        raise ValueError(f"unexpected argument {left[0]!r}")
    return values


def usage_of(verb: Verb) -> str:
    """The positional arguments of a verb, as help shows them."""
    return " ".join(one.metavar for one in verb.positionals)
