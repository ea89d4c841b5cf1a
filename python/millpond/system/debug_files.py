# SPDX-License-Identifier: BSL-1.0
"""The places of separate debug files, which the native programs read from two environment variables.

    --debug-dir DIR   MILLPOND_DEBUG_PATH   folders of debug files, searched before /usr/lib/debug
    --sysroot DIR     MILLPOND_SYSROOT      the folder below which a recorded program's files lie

This module imports little, because `trace record` waits for it.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from pathlib import Path

from millpond.system.errors import Failure, Status

DEBUG_DIR, SYSROOT = "--debug-dir", "--sysroot"
_FOLDERS, _ROOT = "MILLPOND_DEBUG_PATH", "MILLPOND_SYSROOT"


def use_debug_files(folders: Sequence[str], root: str | None) -> None:
    """Sets the places for every native program that this process starts. Failure (2) if a folder does not exist."""
    for option, folder in [*((DEBUG_DIR, each) for each in folders), *([(SYSROOT, root)] if root else [])]:
        if not Path(folder).is_dir():
            raise Failure(Status.USAGE, f"{option} {folder}: there is no such folder")
        if ":" in folder:
            raise Failure(Status.USAGE, f"{option} {folder}: a folder with a colon cannot be searched; link to it")
    if folders:
        earlier = os.environ.get(_FOLDERS, "")
        os.environ[_FOLDERS] = ":".join(
            [*(str(Path(each).absolute()) for each in folders), *([earlier] if earlier else [])]
        )
    if root:
        os.environ[_ROOT] = str(Path(root).absolute())


def settings() -> dict[str, str]:
    """Returns the variables that are set, which a worker on another machine needs, too."""
    return {name: value for name in (_FOLDERS, _ROOT) if (value := os.environ.get(name))}


def setting_words() -> str:
    """Returns the settings in front of a command that needs the same debug files; empty without any."""
    return "".join(f"{name}={shlex.quote(value)} " for name, value in settings().items())
