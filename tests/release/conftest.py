# SPDX-License-Identifier: BSL-1.0
"""The fixtures that the tests of packages share."""

from __future__ import annotations

from pathlib import Path

import pytest
import roots


@pytest.fixture(scope="session")
def wheel() -> Path:
    """The wheel for x86-64 that scripts/release made."""
    return roots.wheel_for("x86_64")


@pytest.fixture(scope="session")
def aarch64_wheel() -> Path:
    """The wheel for aarch64."""
    return roots.wheel_for("aarch64")
