# SPDX-License-Identifier: BSL-1.0
"""Undoes changes of the Python interpreter to its process, so that a program starts as the user's shell would start
it.

Python ignores SIGPIPE and SIGXFSZ, and in the C locale sets LC_CTYPE in its own environment: a program started from
here would inherit both. This module imports only the standard library's cheapest modules, because `trace record`
waits for them.
"""

from __future__ import annotations

import os
import signal


def _environment_at_start() -> set[bytes]:
    try:
        with open("/proc/self/environ", "rb") as file:
            return {entry.partition(b"=")[0] for entry in file.read().split(b"\0")}
    except OSError:
        return set(os.environb)


def user_environment() -> dict[str, str]:
    """The environment that this process received: without the LC_CTYPE that Python adds in the C locale."""
    result = dict(os.environ)
    if result.get("LC_CTYPE") in ("C.UTF-8", "C.utf8", "UTF-8") and b"LC_CTYPE" not in _environment_at_start():
        del result["LC_CTYPE"]
    return result


def restore_signals() -> None:
    """Restores the default action of the signals that Python ignores: call it just before exec."""
    for name in ("SIGPIPE", "SIGXFSZ"):
        number = getattr(signal, name, None)
        if number is not None:
            signal.signal(number, signal.SIG_DFL)


def preload_setting(library: str) -> str:
    """NAME=VALUE that loads a library before a program, ahead of the libraries that the user preloads."""
    given = os.environ.get("LD_PRELOAD", "")
    return f"LD_PRELOAD={library}:{given}" if given else f"LD_PRELOAD={library}"
