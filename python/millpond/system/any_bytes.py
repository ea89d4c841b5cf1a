# SPDX-License-Identifier: BSL-1.0
r"""Text of any bytes: paths, arguments and symbols that may not be UTF-8, in three forms.

    system form   "latin\udce9"        a file's name in Python: used to open, start and pass on
    kept form     "latin\U0010ffe9"    in documents and in the store: valid UTF-8 that leads back to the same bytes
    shown form    "latin\ufffd"        for readers

A byte b that is not part of valid UTF-8 is kept as the character U+10FF00 + b; native programs do the same
(lab/program/any_bytes.hpp). Valid UTF-8 is the same in all three forms.
"""

from __future__ import annotations

import codecs
import os
import re
from typing import Any

_KEPT_BASE = 0x10FF00
_ESCAPE_BASE = 0xDC00
_KEPT = re.compile("[\U0010ff80-\U0010ffff]")
_NOT_SHOWN = re.compile("[\ud800-\udfff\U0010ff80-\U0010ffff]")
_ESCAPED = re.compile("[\udc80-\udcff]+")
_HALF = re.compile("[\ud800-\udfff]")
SHOWN_ERRORS = "millpond-shown"
_KEEP_ERRORS = "millpond-keep"


def _keep_byte(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return "".join(chr(_KEPT_BASE + byte) for byte in error.object[error.start : error.end]), error.end


def _replace(error: UnicodeError) -> tuple[str, int]:
    """Replaces characters that an output cannot encode with U+FFFD, or with `?` if it cannot encode that either."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    try:
        "\ufffd".encode(error.encoding)
    except UnicodeEncodeError:
        return "?" * (error.end - error.start), error.end
    return "\ufffd" * (error.end - error.start), error.end


codecs.register_error(_KEEP_ERRORS, _keep_byte)
codecs.register_error(SHOWN_ERRORS, _replace)


def kept(text: str) -> str:
    """Converts any form to the kept form."""
    if text.isascii():
        return text
    # In a locale without UTF-8, the bytes of one character are escaped one by one.
    text = _ESCAPED.sub(lambda run: run[0].encode("utf-8", "surrogateescape").decode("utf-8", _KEEP_ERRORS), text)
    return _HALF.sub("\ufffd", text)


def system_form(text: str) -> str:
    """Converts any form to the system form: fit to open, to start and to pass on."""
    if text.isascii():
        return text
    return os.fsdecode(bytes_of(text))


def bytes_of(text: str) -> bytes:
    """Returns the bytes that any form stands for."""
    escaped = _KEPT.sub(lambda one: chr(ord(one[0]) - _KEPT_BASE + _ESCAPE_BASE), kept(text))
    return escaped.encode("utf-8", "surrogateescape")


def shown(text: str) -> str:
    """Converts any form to the shown form."""
    return text if text.isascii() else _NOT_SHOWN.sub("\ufffd", kept(text))


def kept_data(value: Any) -> Any:
    """Converts every text in plain data to its kept form."""
    if isinstance(value, str):
        return kept(value)
    if isinstance(value, dict):
        return {kept_data(key): kept_data(each) for key, each in value.items()}
    return [kept_data(each) for each in value] if isinstance(value, (list, tuple)) else value
