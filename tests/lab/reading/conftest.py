# SPDX-License-Identifier: BSL-1.0
"""Fixtures of this folder: the real programs, a trace, and the command line as a user runs it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

from reading_harness import BIN, Run, call


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


@pytest.fixture
def native(tmp_path: Path) -> Run:
    """Runs a native program by its name."""
    return lambda name, *words: call([str(BIN / name), *words], tmp_path)


@pytest.fixture
def millpond(tmp_path: Path) -> Run:
    """Runs the command line in its own process."""
    return lambda *words: call([sys.executable, "-m", "millpond", *words], tmp_path)


@pytest.fixture
def trace(tmp_path: Path, native: Run) -> Path:
    """A small trace."""
    path = tmp_path / "true.mpt"
    assert native("millpond-record", "-o", str(path), "--", "/bin/ls", "/").status == 0
    return path
