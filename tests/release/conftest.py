# SPDX-License-Identifier: BSL-1.0
"""The fixture that the tests of packages share."""

from __future__ import annotations

from pathlib import Path

import pytest
import roots


@pytest.fixture(scope="session")
def wheel() -> Path:
    """The wheel that scripts/release made."""
    (found,) = roots.DIST.glob("millpond-*.whl")
    return found
