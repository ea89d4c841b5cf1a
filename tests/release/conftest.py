# SPDX-License-Identifier: BSL-1.0
"""The fixtures that the tests of packages share."""

from __future__ import annotations

from pathlib import Path

import pytest
import roots


@pytest.fixture(scope="session")
def wheel() -> Path:
    """The wheel for x86-64 that scripts/release made."""
    return wheel_for("x86_64")


@pytest.fixture(scope="session")
def aarch64_wheel() -> Path:
    """The wheel for aarch64."""
    return wheel_for("aarch64")


def wheel_for(architecture: str) -> Path:
    (found,) = roots.DIST.glob(f"millpond-*_{architecture}.whl")
    return found
