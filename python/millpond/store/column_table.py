# SPDX-License-Identifier: BSL-1.0
"""A table of typed columns, in memory: what a relation's file holds, and what is written to one."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[Any]]

# Kinds of columns, by their values.
TEXT, WHOLE, NUMBER, TRUTH = "text", "whole numbers", "numbers", "true or false"
Columns = Mapping[str, str]


@dataclass(frozen=True)
class ColumnTable:
    """Columns of equal length. Immutable by agreement: no caller writes to the arrays.

    `values`: of each column an array of objects (`str`; None is null), int64, float64 or bool, masked where it is null.
    """

    kinds: Columns
    values: Mapping[str, Array]

    @classmethod
    def of(cls, kinds: Columns, values: Mapping[str, Sequence[Any] | Array]) -> ColumnTable:
        """Makes a table of sequences or arrays; None is null. TypeError or ValueError if a value is of another kind."""
        return cls(kinds, {name: _array(kind, values[name]) for name, kind in kinds.items()})

    @classmethod
    def of_rows(cls, kinds: Columns, rows: Sequence[Mapping[str, Any]]) -> ColumnTable:
        """Makes a table of rows by columns. Errors as `of`; KeyError if a row lacks a column."""
        return cls.of(kinds, {name: [row[name] for row in rows] for name in kinds})

    @classmethod
    def joined(cls, kinds: Columns, tables: Sequence[ColumnTable]) -> ColumnTable:
        """Makes one table of the rows of all tables, which have at least the columns of `kinds`. O(size)."""
        return cls.of(kinds, {name: [value for table in tables for value in table.column(name)] for name in kinds})

    def __len__(self) -> int:
        """Returns the number of rows."""
        return len(next(iter(self.values.values()), ()))

    def column(self, name: str) -> list[Any]:
        """Returns a column as Python's values; None is null. O(rows)."""
        found: list[Any] = self.values[name].tolist()
        return found

    def rows(self) -> list[dict[str, Any]]:
        """Returns the rows by columns. O(size)."""
        columns = [self.column(name) for name in self.kinds]
        return [dict(zip(self.kinds, row, strict=True)) for row in zip(*columns, strict=True)]

    def has_null(self, name: str) -> bool:
        """Returns True if a row has no value in this column. O(rows)."""
        import numpy as np

        values = self.values[name]
        return None in self.column(name) if self.kinds[name] == TEXT else bool(np.ma.getmaskarray(values).any())


def _array(kind: str, values: Sequence[Any] | Array) -> Array:
    import numpy as np

    if isinstance(values, np.ndarray):
        return _without_masked_text(values) if kind == TEXT else values
    if kind == TEXT:
        if not set(map(type, values)) <= {str, type(None)}:
            raise TypeError("a column of text has a value that is not text")
        texts = np.empty(len(values), dtype=object)
        texts[:] = values
        return texts
    if kind == TRUTH and not set(map(type, values)) <= {bool, type(None)}:
        raise TypeError("a column of truth values has another value")
    known = [0 if value is None else value for value in values]
    if kind == WHOLE:
        try:
            numbers = np.array(array("q", known))
        except OverflowError as error:
            raise ValueError("a column of whole numbers has one of more than 64 bits") from error
    else:
        numbers = np.array(known, dtype=np.float64 if kind == NUMBER else np.bool_)
    is_null = [value is None for value in values]
    return np.ma.MaskedArray(numbers, is_null) if any(is_null) else numbers


def _without_masked_text(values: Array) -> Array:
    """The texts with None in the place of a mask, as in every column of text."""
    import numpy as np

    if not isinstance(values, np.ma.MaskedArray):
        return values
    texts = np.array(values.data, dtype=object)
    texts[np.ma.getmaskarray(values)] = None
    return texts
