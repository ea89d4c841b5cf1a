# SPDX-License-Identifier: BSL-1.0
"""Typed documents: what travels as JSON is a frozen record with named fields, and JSON only at the edges.

    file, store ──▶ plain data ──decode──▶ Record ──to_json──▶ plain data ──▶ file, store

A field with a plain default is left out of the JSON where it has that default; one whose default comes from a factory
(`NULL`, `NONE`) is always written. What an older writer left out has its default; unknown fields are ignored.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Self, TypeVar

import msgspec

from millpond.system.any_bytes import kept

Kind = TypeVar("Kind")


def NULL() -> None:  # noqa: N802 (used as a constant)
    """The default of a field that is written even where it is null."""


def NONE() -> tuple[()]:  # noqa: N802 (used as a constant)
    """The default of a list that is written even where it is empty."""
    return ()


class Record(msgspec.Struct, frozen=True, omit_defaults=True):
    """A document or a part of one."""

    @classmethod
    def from_json(cls, data: object) -> Self:
        """The record in plain data. ValueError, which names the place, where it is not there."""
        return decode(cls, data)

    @classmethod
    def read(cls, path: Path) -> Self:
        """The record in a JSON file. OSError where that cannot be read, ValueError where it does not hold one."""
        return cls.from_json(json.loads(path.read_text(encoding="utf-8")))

    def to_json(self) -> dict[str, Any]:
        """The record as plain data: what `json.loads` would give, texts of any bytes in their kept form."""
        return dict(_plain(msgspec.to_builtins(self)))


def decode(kind: type[Kind], data: object) -> Kind:
    """Plain data as a type made of records. ValueError with the place, such as `$.trace.events`, where it does not fit.

    A bare name in the message would be lost among many documents, so the type is named too.
    """
    try:
        return msgspec.convert(data, kind)
    except msgspec.ValidationError as error:
        raise ValueError(f"{getattr(kind, '__name__', kind)}: {error}") from error


def _plain(value: Any) -> Any:
    if isinstance(value, str):
        return kept(value)
    if isinstance(value, dict):
        return {_plain(key): _plain(each) for key, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, (list, tuple)) else value
