# SPDX-License-Identifier: BSL-1.0
"""Makes this folder's modules importable, and checks that the native programs are built."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

from compiling import BIN


def pytest_sessionstart(session: pytest.Session) -> None:
    if not (BIN / "millpond-characterise").exists():
        pytest.exit(f"millpond-characterise is not built in {BIN}: build first, or set MILLPOND_BIN", returncode=4)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--seed", type=int, default=20260101, help="seed of the random tests")


@pytest.fixture
def seed(request: pytest.FixtureRequest) -> int:
    """The seed of this run; printed, so that a failure can be repeated."""
    value = int(request.config.getoption("--seed"))
    print(f"--seed {value}")
    return value
