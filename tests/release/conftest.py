# SPDX-License-Identifier: BSL-1.0
"""Fixtures of the tests of packages: the artefacts, and roots that are removed afterwards."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import roots


@pytest.fixture(scope="session")
def wheel() -> Path:
    (found,) = roots.DIST.glob("millpond-*.whl")
    return found


def new_root(suite: str, name: str) -> Iterator[roots.Root]:
    """Yields an empty system, whose log is dist/logs/NAME.log, and removes it."""
    if os.geteuid() != 0:
        pytest.skip("only root can make an empty root (debootstrap, chroot)")
    place = roots.ROOTS / f"{name}-{os.getpid()}"
    shutil.rmtree(place, ignore_errors=True)
    root = roots.Root(suite, place, roots.LOGS / f"{name}.log")
    try:
        yield root
    finally:
        root.remove()
