# SPDX-License-Identifier: BSL-1.0
"""Exports a run's call tree as a heap profile for `pprof`: gzipped Protocol Buffers, message
perftools.profiles.Profile.

    field := varint(number << 3 | type) value        type 0: a varint; type 2: a length as a varint, then the bytes

Four values a stack, as in Go's heap profiles: alloc_objects, alloc_space, inuse_objects, inuse_space. The objects in
use are those alive when the trace ended. A function is one location; the subsystem of a stack is its label.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterable

from millpond.store.call_tree import COUNTS, CallTree

_SAMPLE_TYPES = (
    ("alloc_objects", "count"),
    ("alloc_space", "bytes"),
    ("inuse_objects", "count"),
    ("inuse_space", "bytes"),
)
_VARINT, _BYTES = 0, 2


def varint(value: int) -> bytes:
    """Returns a number of at least zero as a varint: seven bits a byte, the lowest first."""
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    found.append(value)
    return bytes(found)


def number_field(field: int, value: int) -> bytes:
    """Returns a field with a number."""
    return varint(field << 3 | _VARINT) + varint(value)


def bytes_field(field: int, content: bytes) -> bytes:
    """Returns a field with text or another message."""
    return varint(field << 3 | _BYTES) + varint(len(content)) + content


def packed_field(field: int, values: Iterable[int]) -> bytes:
    """Returns a field with many numbers."""
    return bytes_field(field, b"".join(map(varint, values)))


class _Strings:
    """The table of strings. The empty string comes first, as the format requires."""

    def __init__(self) -> None:
        self._numbers = {"": 0}

    def number(self, text: str) -> int:
        return self._numbers.setdefault(text, len(self._numbers))

    def encoded(self) -> bytes:
        return b"".join(bytes_field(6, text.encode("utf-8", "replace")) for text in self._numbers)


def profile(tree: CallTree, run: str) -> bytes:
    """Returns the profile; equal trees give equal bytes. O(nodes × depth)."""
    strings = _Strings()
    parts = [bytes_field(1, _value_type(strings, kind, unit)) for kind, unit in _SAMPLE_TYPES]
    label = strings.number("subsystem")
    for number in tree.allocating():
        sample = packed_field(1, (function + 1 for function in reversed(tree.stack(number))))
        sample += packed_field(2, (tree.count(number, what) for what in COUNTS))
        sample += bytes_field(3, number_field(1, label) + number_field(2, strings.number(tree.subsystem(number))))
        parts.append(bytes_field(2, sample))
    for index, name in enumerate(tree.functions, 1):
        text = strings.number(name)
        parts.append(bytes_field(4, number_field(1, index) + bytes_field(4, number_field(1, index))))
        parts.append(bytes_field(5, number_field(1, index) + number_field(2, text) + number_field(3, text)))
    tail = bytes_field(11, _value_type(strings, "space", "bytes")) + number_field(12, 1)
    tail += number_field(13, strings.number(f"millpond run {run}"))
    tail += number_field(14, strings.number("alloc_space"))
    return gzip.compress(b"".join([*parts, strings.encoded(), tail]), mtime=0)


def _value_type(strings: _Strings, kind: str, unit: str) -> bytes:
    return number_field(1, strings.number(kind)) + number_field(2, strings.number(unit))
