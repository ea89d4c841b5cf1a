# SPDX-License-Identifier: BSL-1.0
"""Runs the real programs, and the command line as a user runs it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
BIN = Path(os.environ.get("MILLPOND_BIN") or ROOT / "build" / "release" / "bin").absolute()
# The time limit only catches programs that hang; no test measures time.
HANGS_AFTER_SECONDS = 300


@dataclass(frozen=True)
class Done:
    """The result of a command line: status, output and messages."""

    status: int
    stdout: str
    stderr: str

    def assert_refused(self, *statuses: int) -> None:
        """Asserts one sentence on standard error, a status of ours, and no traceback."""
        assert self.status in (statuses or (2, 3)), self
        lines = self.stderr.splitlines()
        assert len(lines) == 1, self.stderr
        assert lines[0].startswith("millpond: "), self.stderr
        assert len(lines[0]) < 1000, self.stderr


Run = Callable[..., Done]


def call(argv: Sequence[str], folder: Path) -> Done:
    done = subprocess.run(
        argv,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT / "python"), "MILLPOND_BIN": str(BIN)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        timeout=HANGS_AFTER_SECONDS,
    )
    return Done(done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace"))
