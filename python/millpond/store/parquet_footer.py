# SPDX-License-Identifier: BSL-1.0
"""Reads the footer of a Parquet file: columns with their kinds, texts about the whole file, and the pages' checksums.

    PAR1 │ pages of each column │ footer, in Thrift's compact protocol │ its length │ PAR1

DuckDB reads the pages. The footer is read here, because DuckDB ignores the checksums of pages, and because a foreign
or damaged file is then refused before any native code sees it. The format is that of `parquet.thrift`, whose numbers of
fields and types are the ones below.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from millpond.store.column_table import NUMBER, TEXT, TRUTH, WHOLE

MAGIC = b"PAR1"
# A file's last bytes: the footer's length, and MAGIC.
TAIL_BYTES = 8
# The kind of a column without any value, which fits every kind.
NOTHING = "nothing"
# Physical types; FIXED_LEN_BYTE_ARRAY is number 7.
_TYPES = ("BOOLEAN", "INT32", "INT64", "INT96", "FLOAT", "DOUBLE", "BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY")
_PLAIN_KINDS = {"BOOLEAN": TRUTH, "INT32": WHOLE, "INT64": WHOLE, "FLOAT": NUMBER, "DOUBLE": NUMBER}
# Meanings of a physical type: logical types, and the older converted types.
_LOGICAL_KINDS = {1: TEXT, 10: WHOLE, 11: NOTHING, 15: NUMBER}
_CONVERTED_KINDS = {0: TEXT, **dict.fromkeys(range(11, 19), WHOLE)}
_REPEATED = 2
_DEPTH_AT_MOST = 16  # of structures; Parquet's own have 7


@dataclass(frozen=True)
class ParquetFooter:
    """The content of a footer. `kinds`: of each column, one of ours, or a word for what else it holds.

    `chunks`: the begin and end of each column's pages in the file.
    """

    kinds: Mapping[str, str]
    metadata: Mapping[bytes, bytes]
    chunks: tuple[tuple[int, int], ...]


def footer_offset(content: bytes) -> int:
    """The offset of the footer in a Parquet file. ValueError if the file does not begin and end as one."""
    if not content.startswith(MAGIC):
        raise ValueError("it does not begin as a Parquet file")
    return len(content) - footer_bytes(content[-TAIL_BYTES:], len(content)) - TAIL_BYTES


def footer_bytes(tail: bytes, file_bytes: int) -> int:
    """The length of the footer, from the last 8 bytes of a file. ValueError if that cannot be."""
    if len(tail) < TAIL_BYTES or not tail.endswith(MAGIC):
        raise ValueError("it does not end as a Parquet file")
    length = int.from_bytes(tail[:4], "little")
    if length > file_bytes - TAIL_BYTES - len(MAGIC):
        raise ValueError("its footer is longer than the file")
    return length


def parse_footer(footer: bytes) -> ParquetFooter:
    """The content of a footer. ValueError if it is damaged. O(size)."""
    try:
        found = _Thrift(footer).structure()
        kinds = _kinds(found[2])
        metadata = {pair[1]: pair.get(2, b"") for pair in found.get(5, ())}
        if not all(isinstance(text, bytes) for pair in metadata.items() for text in pair):
            raise TypeError("a text is not bytes")
        chunks = tuple(_chunk(column[3]) for group in found[4] for column in group[1])
    except (LookupError, TypeError, AttributeError, struct.error) as error:
        raise ValueError("its footer is damaged") from error
    return ParquetFooter(kinds, metadata, chunks)


def require_pages(content: bytes, footer: ParquetFooter) -> None:
    """Raises ValueError if a page's checksum is wrong, or if pages do not fill their chunk. O(size).

    A page may lack a checksum.
    """
    for begin, end in footer.chunks:
        if not 0 < begin <= end <= len(content):
            raise ValueError("its pages lie outside of the file")
        at = begin
        while at < end:
            at = _page_end(content, at)


def _page_end(content: bytes, at: int) -> int:
    """The end of the page that begins there. ValueError if its checksum is wrong, or if no page begins there."""
    thrift = _Thrift(content, at)
    try:
        header = thrift.structure()
        length: int = header[3]
        page = content[thrift.at : thrift.at + length]
        checksum = header[4] & 0xFFFFFFFF if 4 in header else None
    except (LookupError, TypeError, struct.error) as error:
        raise ValueError("the header of a page is damaged") from error
    if length < 0 or len(page) != length:
        raise ValueError("a page is longer than the file")
    if checksum is not None and zlib.crc32(page) != checksum:
        raise ValueError("the checksum of a page is wrong")
    return thrift.at + length


def _kinds(elements: list[dict[int, Any]]) -> dict[str, str]:
    """The kind of each column; a column with parts is one, and its parts are none."""
    kinds, at = {}, 1
    for _ in range(elements[0][5]):
        element = elements[at]
        kinds[element[4].decode(errors="replace")] = _kind(element)
        waiting = 1
        while waiting:
            waiting += elements[at].get(5, 0) - 1
            at += 1
    return kinds


def _kind(element: Mapping[int, Any]) -> str:
    if 1 not in element:
        return "columns of its own"
    if element.get(3) == _REPEATED:
        return "lists"
    name = _TYPES[element[1]]
    if 10 in element:
        return _LOGICAL_KINDS.get(next(iter(element[10]), 0), f"another meaning of {name}")
    if 6 in element:
        return _CONVERTED_KINDS.get(element[6], f"another meaning of {name}")
    return _PLAIN_KINDS.get(name, name)


def _chunk(column: Mapping[int, Any]) -> tuple[int, int]:
    begin = min(column[9], column.get(11) or column[9])  # a dictionary's page comes first
    return begin, begin + column[7]


class _Thrift:
    """A reader of Thrift's compact protocol: a structure is a dictionary by the numbers of its fields.

    Raises LookupError, TypeError or struct.error where the bytes are none.
    """

    def __init__(self, content: bytes, at: int = 0) -> None:
        self._content = content
        self.at = at
        self._depth = 0

    def structure(self) -> dict[int, Any]:
        self._depth += 1
        if self._depth > _DEPTH_AT_MOST:
            raise LookupError("too deep")
        fields: dict[int, Any] = {}
        number = 0
        while True:
            head = self._content[self.at]
            self.at += 1
            kind = head & 15
            if kind == 0:
                self._depth -= 1
                return fields
            number = number + (head >> 4) if head >> 4 else self._integer()
            # A field's type is its truth value; in a list, a byte is.
            fields[number] = kind == 1 if kind <= 2 else self._value(kind)

    def _value(self, kind: int) -> Any:
        if kind in (4, 5, 6):
            return self._integer()
        if kind == 8:
            return self._bytes(self._size())
        if kind == 12:
            return self.structure()
        if kind in (9, 10):
            return self._list()
        if kind in (1, 2, 3):
            return self._bytes(1)[0]
        if kind == 7:
            return struct.unpack("<d", self._bytes(8))[0]
        raise LookupError("no such type")  # maps are not in Parquet's structures

    def _list(self) -> list[Any]:
        self._depth += 1
        if self._depth > _DEPTH_AT_MOST:
            raise LookupError("too deep")
        head = self._bytes(1)[0]
        size = self._size() if head >> 4 == 15 else head >> 4
        found = [self._value(head & 15) for _ in range(size)]
        self._depth -= 1
        return found

    def _bytes(self, size: int) -> bytes:
        begin, self.at = self.at, self.at + size
        if self.at > len(self._content):
            raise LookupError("the end")
        return self._content[begin : self.at]

    def _size(self) -> int:
        result = shift = 0
        while shift < 70:
            byte = self._content[self.at]
            self.at += 1
            if byte < 128:
                return result | byte << shift
            result |= (byte & 127) << shift
            shift += 7
        raise LookupError("too long")

    def _integer(self) -> int:
        found = self._size()
        return (found >> 1) ^ -(found & 1)
