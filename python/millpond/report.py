# SPDX-License-Identifier: BSL-1.0
"""One plain offline page with the tables of `advise`: no script, no network, readable on a phone, light and dark."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from millpond import __version__, output, wording
from millpond.laboratory import describe
from millpond.observations import utc_now
from millpond.rows import NOTHING, legality_text
from millpond.terminal import EFFECT_WORDS, trace_warnings

TEMPLATE = "report.html.j2"
WITNESSES_AT_MOST = 3


def render(advices: Sequence[dict[str, Any]]) -> str:
    """The page for these advices, in their order. Whatever a program is called, its name stays text."""
    environment = Environment(
        loader=PackageLoader("millpond"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        bytes=wording.bytes_text,
        count=wording.count_text,
        share=wording.share_text,
        effect=wording.effect_text,
        saved=wording.saved_text,
        legality=legality_text,
        warnings=trace_warnings,
    )
    return environment.get_template(TEMPLATE).render(
        advices=list(advices),
        effect_words=EFFECT_WORDS,
        describe=describe,
        nothing=NOTHING,
        witnesses_at_most=WITNESSES_AT_MOST,
        time=utc_now()[:19],
        version=__version__,
    )


def write_report(path: Path, advices: Sequence[dict[str, Any]]) -> None:
    """Writes the page. Failure (status 4) where that is impossible."""
    output.write_text(path, render(advices))
