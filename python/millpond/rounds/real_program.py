# SPDX-License-Identifier: BSL-1.0
"""A program of the machine with its input, for captures and benchmarks."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from millpond.system.errors import Failure, Status


@dataclass(frozen=True)
class RealProgram:
    """A program with its input. `stdin` is a file, or None for no input; `folder` is its working folder, None: the
    current one.
    """

    name: str
    command: tuple[str, ...]
    stdin: Path | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    folder: Path | None = None


def require_program(name: str, purpose: str = "bench", search: str | None = None) -> str:
    """The path of a program; `search` replaces the user's PATH. Failure (4) if it is missing."""
    found = shutil.which(name, path=search)
    if found is None:
        raise Failure(Status.ENVIRONMENT, f"{name} is missing; `scripts/setup {purpose}` installs it")
    return found
