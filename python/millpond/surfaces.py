# SPDX-License-Identifier: BSL-1.0
"""Surfaces over two axes; none drawn yet."""

from __future__ import annotations

from markupsafe import Markup

from millpond.experiment_figures import Results


def surfaces(_results: Results) -> list[tuple[str, Markup]]:
    return []
