# SPDX-License-Identifier: BSL-1.0
"""Typed documents: a JSON document is a frozen record with named fields inside the program, and JSON only at the
edges.

    file, store ──▶ plain data ──decode──▶ Record ──to_json──▶ plain data ──▶ file, store

A field whose plain default it has is left out of the JSON; a field whose default comes from a factory (`NULL`, `NONE`)
is always written. A field that an older writer left out has its default; unknown fields are ignored.
"""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any, Self, TypeVar

import msgspec

from millpond.system.any_bytes import kept

Kind = TypeVar("Kind")


def NULL() -> None:  # noqa: N802 (used as a constant)
    """The default of a field that is written even if it is null."""


def NONE() -> tuple[()]:  # noqa: N802 (used as a constant)
    """The default of a list that is written even if it is empty."""
    return ()


class Record(msgspec.Struct, frozen=True, omit_defaults=True):
    """A document or a part of one."""

    @classmethod
    def from_json(cls, data: object) -> Self:
        """The record in plain data. ValueError, which names the place, if the data do not fit."""
        return decode(cls, data)

    @classmethod
    def read(cls, path: Path) -> Self:
        """The record in a JSON file. OSError if the file cannot be read, ValueError if it does not hold a record."""
        return cls.from_json(json.loads(path.read_text(encoding="utf-8")))

    def to_json(self) -> dict[str, Any]:
        """The record as plain data, as `json.loads` would return it; texts of any bytes have their kept form."""
        return dict(_plain(msgspec.to_builtins(self)))


def decode(kind: type[Kind], data: object) -> Kind:
    """Converts plain data to a type made of records. ValueError with the place, such as `$.trace.events`, if they do
    not fit.

    The message names the type too, because a bare place would be ambiguous among many documents. Thread-safe.
    """
    _examine(kind)
    try:
        return msgspec.convert(data, kind)
    except msgspec.ValidationError as error:
        raise ValueError(f"{getattr(kind, '__name__', kind)}: {error}") from error


_EXAMINED = set[object]()
_EXAMINING = threading.Lock()


def _examine(kind: object) -> None:
    """Lets msgspec examine a type before the first conversion to it: two threads that made it do so at once would
    crash.
    """
    if kind in _EXAMINED:
        return
    with _EXAMINING:
        msgspec.json.Decoder(kind)
        _EXAMINED.add(kind)


def _plain(value: Any) -> Any:
    if isinstance(value, str):
        return kept(value)
    if isinstance(value, dict):
        return {_plain(key): _plain(each) for key, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, (list, tuple)) else value
