# SPDX-License-Identifier: BSL-1.0
"""Reads the values of options. Each reader raises ValueError with a message for the user."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

STDOUT = "-"


@dataclass(frozen=True)
class Output:
    """A place to write to (`-`: standard output), and the form of what is written there, such as `html`."""

    place: str
    form: str

    @property
    def path(self) -> Path:
        return Path(self.place)


def output(endings: Mapping[str, str], bare: str = "json") -> Callable[[str], Output]:
    """A reader of FILE, whose form follows from its ending, or of FORM:FILE. `bare`: the form on standard output.

    The longest ending decides. The ending `/` means a folder.
    """

    def read(value: str) -> Output:
        form, colon, place = value.partition(":")
        if colon and form in endings.values() and place:
            return Output(place, form)
        if value == STDOUT:
            return Output(STDOUT, bare)
        if "/" in endings and Path(value).is_dir():
            return Output(value, endings["/"])
        if Path(value).exists() and not Path(value).is_file():
            return Output(value, bare)  # a device or a pipe; a folder is refused where it is written
        fitting = [ending for ending in endings if value.endswith(ending)]
        if value and fitting:
            return Output(value, endings[max(fitting, key=len)])
        known = ", ".join(endings)
        raise ValueError(f"the ending of {value!r} is not one of {known}; or name the form: {bare}:{value or 'FILE'}")

    return read


def count(least: int, most: int | None = None) -> Callable[[str], int]:
    """A reader of a whole number within bounds."""

    def read(value: str) -> int:
        try:
            number = int(value)
        except ValueError:
            raise ValueError(f"{value!r} is not a whole number") from None
        if number < least or (most is not None and number > most):
            bounds = f"at least {least}" if most is None else f"from {least} to {most}"
            raise ValueError(f"{value} is not {bounds}")
        return number

    return read


def integer(value: str) -> int:
    """Reads a whole number."""
    return count(-(1 << 62))(value)


def number(least: float = 0.0, most: float = math.inf) -> Callable[[str], float]:
    """A reader of a number within bounds, with a fraction or without."""

    def read(value: str) -> float:
        try:
            found = float(value)
        except ValueError:
            raise ValueError(f"{value!r} is not a number") from None
        if not least <= found <= most:
            raise ValueError(f"{value} is not {'at least' if most == math.inf else 'from'} {least:g}"
                             + ("" if most == math.inf else f" to {most:g}"))  # fmt: skip
        return found

    return read


def size(value: str) -> int:
    """Reads a number of bytes: 4096, 64MB, 1.5GB."""
    from millpond.system.arguments import bytes_of

    return bytes_of(value)


def one_of(words: Sequence[str]) -> Callable[[str], str]:
    """A reader of one of these words."""

    def read(value: str) -> str:
        if value not in words:
            raise ValueError(f"{value!r} is not one of {', '.join(words)}{near(value, words)}")
        return value

    return read


def several_of(words: Sequence[str]) -> Callable[[str], tuple[str, ...]]:
    """A reader of some of these words, separated by commas."""

    def read(value: str) -> tuple[str, ...]:
        return tuple(one_of(words)(word) for word in value.split(","))

    return read


def setting(readers: Mapping[str, Callable[[str], object]]) -> Callable[[str], tuple[str, object]]:
    """A reader of NAME=VALUE."""

    def read(value: str) -> tuple[str, object]:
        name, equals, given = value.partition("=")
        if name not in readers:
            raise ValueError(f"there is no setting {name!r}: they are {', '.join(readers)}{near(name, list(readers))}")
        if not equals:
            raise ValueError(f"{name} has no value: write {name}=VALUE")
        try:
            return name, readers[name](given)
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None

    return read


def near(word: str, words: Sequence[str]) -> str:
    """Names the nearest of the words, as the end of a message; empty if none is near."""
    found = get_close_matches(word, words, n=1)
    return f"; did you mean {found[0]}?" if found else ""


def places(outputs: Sequence[Output], form: str) -> list[str]:
    """The places that get this form."""
    return [one.place for one in outputs if one.form == form]


def takes_stdout(outputs: Sequence[Output]) -> bool:
    """True if standard output is taken by a document."""
    return any(one.place == STDOUT for one in outputs)
