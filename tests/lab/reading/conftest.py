# SPDX-License-Identifier: BSL-1.0
"""What the tests of this folder share: the real programs, a trace, and the conductor run as a user runs it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
BIN = Path(os.environ.get("MILLPOND_BIN") or ROOT / "build" / "release" / "bin").absolute()
# What hangs fails the test; nothing here is timed.
HANGS_AFTER_SECONDS = 120


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--seed", type=int, default=20260101, help="seed of the random tests")


def pytest_sessionstart(session: pytest.Session) -> None:
    if not (BIN / "millpond-trial").exists():
        pytest.exit(f"millpond-trial is not built in {BIN}: build first, or set MILLPOND_BIN", returncode=4)


@pytest.fixture
def seed(request: pytest.FixtureRequest) -> int:
    """The seed of this run; printed, so that a failure can be repeated."""
    value = int(request.config.getoption("--seed"))
    print(f"--seed {value}")
    return value


@dataclass(frozen=True)
class Done:
    """How a command line ended, and what it said."""

    status: int
    stdout: str
    stderr: str

    def assert_refused(self, *statuses: int) -> None:
        """One sentence on standard error, a status of ours, and no traceback."""
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


@pytest.fixture
def native(tmp_path: Path) -> Run:
    """Runs a native program by its name."""
    return lambda name, *words: call([str(BIN / name), *words], tmp_path)


@pytest.fixture
def millpond(tmp_path: Path) -> Run:
    """Runs the conductor in a process of its own."""
    return lambda *words: call([sys.executable, "-m", "millpond", *words], tmp_path)


@pytest.fixture
def trace(tmp_path: Path, native: Run) -> Path:
    """A small trace."""
    path = tmp_path / "true.mpt"
    assert native("millpond-record", "-o", str(path), "--", "/bin/ls", "/").status == 0
    return path
