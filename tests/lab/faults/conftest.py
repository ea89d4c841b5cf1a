# SPDX-License-Identifier: BSL-1.0
"""Makes this folder's modules importable, and reports programs that are not built."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

import faulting


def pytest_sessionstart(session: pytest.Session) -> None:
    absent = [str(path) for path in (faulting.RECORD, faulting.LIBRARY, faulting.PROGRAM) if not path.exists()]
    if absent:
        pytest.exit(f"{', '.join(absent)} not built: build first, or set MILLPOND_BIN", returncode=4)


@pytest.fixture(scope="session")
def reference(tmp_path_factory: pytest.TempPathFactory) -> faulting.Reference:
    return faulting.make_reference(tmp_path_factory.mktemp("reference"))
