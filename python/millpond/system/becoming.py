# SPDX-License-Identifier: BSL-1.0
"""Replaces this process with a native program, for verbs that must leave no Python process next to the program."""

from __future__ import annotations

import os
from typing import NoReturn

from millpond.system import native
from millpond.system.environment import restore_signals, user_environment
from millpond.system.errors import Failure, Status


def become(name: str, words: list[str]) -> NoReturn:
    """Replaces this process with a native program. Failure (status 4) if it cannot be started."""
    program = str(native.find(name))
    restore_signals()
    try:
        os.execve(program, [program, *words], user_environment())
    except OSError as error:
        raise Failure(Status.ENVIRONMENT, f"cannot start {program}: {error.strerror}") from error
