# SPDX-License-Identifier: BSL-1.0
"""Describes options as fields of a frozen request value: the one place of an option's word, form and help.

    @dataclass(frozen=True)
    class ReplayRequest:
        trace: Path = positional("TRACE", "A trace.", kind=Path)
        rounds: int = option("--rounds", "N", "Measured rounds.", kind=count(1), default=16)

The parser fills such a value; help, completions and man pages read the same fields.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

PROGRAM = "PROGRAM [ARGS]..."
FLAG = ""


def text(value: str) -> object:
    """Returns a value as it was typed."""
    return value


@dataclass(frozen=True)
class VerbOption:
    """One option, or one positional argument (`word` is empty).

    `metavar`: the form of the value; empty for a flag. `implied`: the value of a bare word, for an option whose value
    stands only behind `=`. `choices`: the accepted words, or the names of NAME=VALUE, with their meanings.
    `writes_json`: JSON is among the forms of a file. `instead`: another word and value that replace this one.
    """

    name: str
    word: str
    metavar: str
    help: str
    kind: Callable[[str], object] = text
    is_repeated: bool = False
    is_expert: bool = False
    is_hidden: bool = False
    is_required: bool = False
    implied: str | None = None
    choices: Mapping[str, str] | None = None
    writes_json: bool = False
    instead: Callable[[str], tuple[str, str]] | None = None
    default: object = None

    @property
    def takes_next(self) -> bool:
        """True if the word after the option is its value."""
        return bool(self.metavar) and self.implied is None

    @property
    def form(self) -> str:
        """The word with its value, as help shows it."""
        if not self.metavar or self is JSON:
            return self.word
        return f"{self.word} {self.metavar}" if self.takes_next else f"{self.word}[={self.metavar}]"


def option(
    word: str,
    metavar: str,
    help: str,  # noqa: A002
    *,
    kind: Callable[[str], object] = text,
    default: Any = None,
    **more: Any,
) -> Any:
    """A field of a request: an option with a value; `is_repeated` gathers the values in a tuple."""
    initial = () if more.get("is_repeated") and default is None else default
    return field(default=initial, metadata={"option": VerbOption("", word, metavar, help, kind, **more)})


def flag(word: str, help: str, **more: Any) -> Any:  # noqa: A002
    """A field of a request that is true if the word is given."""
    return field(default=False, metadata={"option": VerbOption("", word, FLAG, help, **more)})


def positional(
    metavar: str,
    help: str,  # noqa: A002
    *,
    kind: Callable[[str], object] = text,
    default: Any = None,
    **more: Any,
) -> Any:
    """A field of a request: an argument without a word; one with `is_repeated` takes all that are left."""
    return option("", metavar, help, kind=kind, default=default, **more)


def program(help: str = "The program to run, with its arguments.") -> Any:  # noqa: A002
    """The field with the program to run: its name and all words after it, unchanged."""
    return field(default=(), metadata={"option": VerbOption("", "", PROGRAM, help, is_repeated=True)})


def _json_place(place: str) -> tuple[str, str]:
    return "-o", place if place.endswith(".json") else f"json:{place}"


# `--json=FILE` is an old form of `-o FILE`.
JSON = VerbOption("json", "--json", "FILE", "Print only JSON, on standard output.", implied="-", instead=_json_place)


def old(word: str, metavar: str, instead: Callable[[str], tuple[str, str]]) -> VerbOption:
    """An option word of earlier versions, and the word and value that replace it."""
    return VerbOption("", word, metavar, "", is_hidden=True, instead=instead)


def old_file(word: str, form: str, ending: str) -> VerbOption:
    """An option word of earlier versions for a file of this form, which `-o` replaces."""
    return old(word, "FILE", lambda place: ("-o", place if place.endswith(ending) else f"{form}:{place}"))


def renamed(word: str, new: str, metavar: str = "VALUE") -> VerbOption:
    """An option word of earlier versions whose value goes to another word, or behind `new`, as in `--set penalty=`."""
    name, _, before = new.partition(" ")
    return old(word, metavar, lambda value: (name, before + value))


def options_of(request: type) -> list[VerbOption]:
    """The options of a request, in the order of its fields, each with its field's name."""
    return [
        replace(one.metadata["option"], name=one.name, default=one.default)
        for one in fields(request)
        if "option" in one.metadata
    ]


@dataclass(frozen=True)
class Verb:
    """One verb: its words, its request, and the function that handles it (`module:function`, imported when needed).

    `summary`: one sentence. `examples`: command lines with their meanings. `old`: words of earlier versions. `writes`:
    files that it writes without -o, and their contents. `environment`: variables that it reads (verb_facts.py).
    """

    words: tuple[str, ...]
    request: type
    function: str
    summary: str
    examples: tuple[tuple[str, str], ...]
    old: tuple[VerbOption, ...] = ()
    details: str = ""
    is_expert: bool = False
    writes: tuple[tuple[str, str], ...] = ()
    environment: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return " ".join(self.words)

    @property
    def options(self) -> list[VerbOption]:
        """The options that have a word, without old ones."""
        found = [one for one in options_of(self.request) if one.word]
        at = next((i for i, one in enumerate(found) if one.writes_json), None)
        return found if at is None else [*found[: at + 1], JSON, *found[at + 1 :]]

    @property
    def positionals(self) -> list[VerbOption]:
        return [one for one in options_of(self.request) if not one.word]

    @property
    def takes_program(self) -> bool:
        """True if the first word that is no option begins the program's own words."""
        return any(PROGRAM in one.metavar for one in self.positionals)

    @property
    def exits_as_program(self) -> bool:
        """True if the verb can become the program, or exits with the program's status."""
        return hasattr(self.request, "becomes_program")
