# SPDX-License-Identifier: BSL-1.0
"""Text of any bytes: paths, arguments and symbols that need not be UTF-8, in three forms.

    system form   "latin\\udce9"        as Python has a file's name: what is opened, started and passed on
    kept form     "latin\\U0010ffe9"    in documents and in the store: valid UTF-8 that leads back to the same bytes
    shown form    "latin\\ufffd"        for readers

A byte b that is no part of UTF-8 is kept as the character U+10FF00 + b; native programs do the same
(lab/program/any_bytes.hpp). What is UTF-8 is the same in all three forms.
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
    """For outputs: U+FFFD in place of what the output has no character for, `?` where it has not even that."""
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
    """The kept form of any form."""
    if text.isascii():
        return text
    # In a locale without UTF-8, the bytes of one character are escaped one by one.
    text = _ESCAPED.sub(lambda run: run[0].encode("utf-8", "surrogateescape").decode("utf-8", _KEEP_ERRORS), text)
    return _HALF.sub("\ufffd", text)


def system_form(text: str) -> str:
    """The system form of any form: fit to open, to start and to pass on."""
    if text.isascii():
        return text
    return os.fsdecode(bytes_of(text))


def bytes_of(text: str) -> bytes:
    """The bytes that any form stands for."""
    escaped = _KEPT.sub(lambda one: chr(ord(one[0]) - _KEPT_BASE + _ESCAPE_BASE), kept(text))
    return escaped.encode("utf-8", "surrogateescape")


def shown(text: str) -> str:
    """The shown form of any form."""
    return text if text.isascii() else _NOT_SHOWN.sub("\ufffd", kept(text))


def kept_data(value: Any) -> Any:
    """Plain data with every text in its kept form."""
    if isinstance(value, str):
        return kept(value)
    if isinstance(value, dict):
        return {kept_data(key): kept_data(each) for key, each in value.items()}
    return [kept_data(each) for each in value] if isinstance(value, (list, tuple)) else value
