# SPDX-License-Identifier: BSL-1.0
"""The build-id of a program: an identifier from the linker that tells two builds apart."""

from __future__ import annotations

import struct
from pathlib import Path

_NOTE_SEGMENT = 4
_BUILD_ID_NOTE = 3
_HEADERS_AT_MOST = 256


def build_id_of(path: Path) -> str:
    """Hexadecimal digits; empty if the file has none: a script, another format, a file that cannot be read."""
    try:
        with path.open("rb") as file:
            head = file.read(64)
            if len(head) < 64 or head[:6] != b"\x7fELF\x02\x01":  # 64 bits, little-endian: x86-64
                return ""
            (offset,) = struct.unpack_from("<Q", head, 32)
            size, count = struct.unpack_from("<HH", head, 54)
            file.seek(offset)
            table = file.read(size * min(count, _HEADERS_AT_MOST))
            for at in range(0, len(table), size):
                kind, _, where, _, _, length = struct.unpack_from("<IIQQQQ", table, at)
                if kind == _NOTE_SEGMENT:
                    file.seek(where)
                    found = _in_notes(file.read(min(length, 1 << 16)))
                    if found:
                        return found
    except (OSError, struct.error, ValueError):
        return ""
    return ""


def _in_notes(notes: bytes) -> str:
    at = 0
    while at + 12 <= len(notes):
        name, length, kind = struct.unpack_from("<III", notes, at)
        begin = at + 12 + (name + 3) // 4 * 4
        if kind == _BUILD_ID_NOTE and notes[at + 12 : at + 12 + name] == b"GNU\0":
            return notes[begin : begin + length].hex()
        at = begin + (length + 3) // 4 * 4
    return ""
