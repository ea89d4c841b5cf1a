# SPDX-License-Identifier: BSL-1.0
"""Reads files that a user names or a store holds: regular files only, without waiting, and strict JSON.

A FIFO, a device, a socket or a folder is rejected with its kind, because a FIFO's writer may never come.
"""

from __future__ import annotations

import json
import math
import os
import stat
from pathlib import Path
from typing import Any, BinaryIO

# Much deeper than any document of Millpond, and much less than a depth that overflows the interpreter's stack.
DEPTH_AT_MOST = 64
_KINDS = (
    (stat.S_ISDIR, "a folder"), (stat.S_ISFIFO, "a FIFO"), (stat.S_ISSOCK, "a socket"), (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)  # fmt: skip


class NotRegularError(OSError):
    """The path names something other than a regular file; `strerror` tells what, as a half-sentence."""

    def __init__(self, path: Path, kind: str) -> None:
        super().__init__(0, f"it is {kind}, not a file", str(path))


def require_regular(path: Path) -> None:
    """Raises OSError if there is no file, and NotRegularError (an OSError) if it is not a regular one."""
    _refuse_other_kinds(path, path.stat().st_mode)


def open_regular(path: Path) -> BinaryIO:
    """Opens a regular file for reading, without waiting. OSError as `require_regular`."""
    require_regular(path)
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    file = os.fdopen(descriptor, "rb")
    try:
        _refuse_other_kinds(path, os.fstat(descriptor).st_mode)
    except OSError:
        file.close()
        raise
    return file


def _refuse_other_kinds(path: Path, mode: int) -> None:
    for is_kind, name in _KINDS:
        if is_kind(mode):
            raise NotRegularError(path, name)


def read_bytes(path: Path) -> bytes:
    """The content of a regular file. OSError as `require_regular`."""
    with open_regular(path) as file:
        return file.read()


def why_unreadable(error: OSError | UnicodeDecodeError) -> str:
    """The reason as a half-sentence."""
    if isinstance(error, UnicodeDecodeError):
        return "it is not text"
    return error.strerror or str(error)


def parse_json(text: str | bytes) -> Any:
    """The value of a JSON text. ValueError, whose message is a half-sentence, if it is invalid.

    Also rejects more than DEPTH_AT_MOST levels, and numbers that are not finite, which standard JSON does not have.
    """
    try:
        value = json.loads(text)
    except RecursionError:
        raise ValueError(f"it nests deeper than {DEPTH_AT_MOST} levels") from None
    except UnicodeDecodeError:
        raise ValueError("it is not text") from None
    _require_plain(value)
    return value


def _require_plain(value: Any) -> None:
    level = [value]
    for _ in range(DEPTH_AT_MOST + 1):
        below: list[Any] = []
        for one in level:
            if isinstance(one, dict):
                below.extend(one.values())
            elif isinstance(one, list):
                below.extend(one)
            elif isinstance(one, float) and not math.isfinite(one):
                raise ValueError("it has a number that is not finite")
        if not below:
            return
        level = below
    raise ValueError(f"it nests deeper than {DEPTH_AT_MOST} levels")
