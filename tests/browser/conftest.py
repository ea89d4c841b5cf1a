# SPDX-License-Identifier: BSL-1.0
"""The browser that shows the pages of one file of tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from devtools import Chromium


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    with Chromium(tmp_path_factory.mktemp("chromium")) as opened:
        yield opened
