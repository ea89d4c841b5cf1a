# SPDX-License-Identifier: BSL-1.0
"""Makes the helpers of this folder importable, and says at once what has to be built."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

import harness


def pytest_sessionstart(session: pytest.Session) -> None:
    absent = [path.name for path in (harness.RECORD, harness.PROGRAMS) if not path.exists()]
    if absent:
        pytest.exit(
            f"{', '.join(absent)} not built beside {harness.BIN}: build first, or set MILLPOND_BIN", returncode=4
        )
