# SPDX-License-Identifier: BSL-1.0
"""The page of published experiments; not written yet."""

from __future__ import annotations

from collections.abc import Sequence

from millpond.experiment_run import Found


def render(found: Sequence[Found]) -> str:
    return ""
