# SPDX-License-Identifier: BSL-1.0
"""Replaces this process with a native program, for verbs that must leave no Python process next to the program."""

from __future__ import annotations

import os
import sys

from millpond.system import native
from millpond.system.environment import restore_signals, user_environment
from millpond.system.errors import Failure, Status


def become(name: str, words: list[str], usage: str) -> int:
    """Replaces this process with a native program, which checks the arguments itself. Without arguments, or for help,
    prints the usage.
    """
    own = words[: words.index("--")] if "--" in words else words
    if not words or "--help" in own or "-h" in own:
        print(usage, end="", file=sys.stdout if words else sys.stderr)
        return Status.OK if words else Status.USAGE
    program = str(native.find(name))
    restore_signals()
    try:
        os.execve(program, [program, *words], user_environment())
    except OSError as error:
        raise Failure(Status.ENVIRONMENT, f"cannot start {program}: {error.strerror}") from error
