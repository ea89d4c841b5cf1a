# SPDX-License-Identifier: BSL-1.0
"""A checksum within a JSON document, by which a reader detects damage after it was written.

    {…}  ──sealed──▶  {…, "checksum": "crc32:1a2b3c4d"}  ──seal_flaw──▶ "" or what is wrong

The checksum covers the values, not the text, so a document may be indented again or its members may change places. A
document without a checksum is accepted, because older writers had none. Native programs use the same checksum
(lab/plan/json_seal.hpp).

`digest` covers the same values by SHA-256, for documents that come from other people and are told apart by it.
"""

from __future__ import annotations

import hashlib
import struct
import zlib
from typing import Any

NAME = "checksum"
_EXACT = 1 << 53  # integers below are exact as a double


def sealed(document: dict[str, Any]) -> dict[str, Any]:
    """The document with its checksum as the last member."""
    rest = {name: value for name, value in document.items() if name != NAME}
    return {**rest, NAME: _seal_of(rest)}


def seal_flaw(document: object) -> str:
    """Returns a half-sentence that names the flaw; empty if the checksum holds or is absent."""
    if not isinstance(document, dict) or NAME not in document:
        return ""
    if document[NAME] == _seal_of({name: value for name, value in document.items() if name != NAME}):
        return ""
    return "its checksum does not hold: it was damaged, or changed, since it was written"


def digest(document: object) -> str:
    """The SHA-256 of the values of a document in plain data: `sha256:1a2b…`. Equal values have equal digests."""
    return f"sha256:{hashlib.sha256(_content(document)).hexdigest()}"


def _seal_of(document: dict[str, Any]) -> str:
    return f"crc32:{zlib.crc32(_content(document)):08x}"


def _content(value: object) -> bytes:
    parts: list[bytes] = []
    _add(parts, value)
    return b"".join(parts)


def _add(parts: list[bytes], value: object) -> None:
    if isinstance(value, dict):
        parts.append(b"{")
        for name in sorted(value, key=_bytes):
            _add(parts, name)
            _add(parts, value[name])
        parts.append(b"}")
    elif isinstance(value, (list, tuple)):
        parts.append(b"[")
        for each in value:
            _add(parts, each)
        parts.append(b"]")
    elif isinstance(value, str):
        text = _bytes(value)
        parts.append(b"s%d:%b" % (len(text), text))
    elif value is None or isinstance(value, bool):
        parts.append(b"n" if value is None else b"t" if value else b"f")
    elif isinstance(value, int) and abs(value) >= _EXACT:
        parts.append(b"i%d;" % value)
    else:
        parts.append(b"d" + struct.pack("<d", value or 0.0))


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
