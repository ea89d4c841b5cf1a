# SPDX-License-Identifier: BSL-1.0
"""The basis of every page of ours: templates that escape text and format numbers, a style, and a script.

The style and the script begin with those of figures: scripts/bundle makes that script from web/, with the charting
library in it. In a tree where it was not made, figures are their captions and tables. The page has a content security
policy with the hashes of its style and script. So no other script in a text could run, and nothing is requested from a
network.
"""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from millpond import __version__
from millpond.system.clock import utc_now
from millpond.system.wording import (
    bytes_text,
    change_text,
    count_text,
    saved_text,
    seconds_text,
    share_text,
    yes_or_no_text,
)

# The script of figures with its library.
BUNDLE = Path(__file__).resolve().parents[1] / "bundle/figures.js"
_LONG_NAME = 24
_PLACES = re.compile(r"(::|&lt;|, |/|\(|_)(?=\w)")
_TICKED = re.compile(r"`([^`]+)`")


@dataclass(frozen=True)
class OfflinePage:
    """The templates, with the page's style and script."""

    environment: Environment
    style: str
    script: str

    @property
    def policy(self) -> str:
        """Returns a policy that allows only this page's own style and script."""
        return (
            f"default-src 'none'; style-src '{_hash(self.style)}'; script-src '{_hash(self.script)}'; "
            "base-uri 'none'; form-action 'none'"
        )

    def render(self, template: str, **more: Any) -> str:
        """Returns the page, with the common parts of its head."""
        return self.environment.get_template(template).render(
            policy=self.policy, style=Markup(self.style), script=Markup(self.script), version=__version__,
            time=utc_now()[:19].replace("T", " "), **more,
        )  # fmt: skip


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


@cache
def load(script: str, *styles: str) -> OfflinePage:
    """Returns a page with this script and these style sheets, after those of figures; templates are found by name."""
    loader = PackageLoader("millpond.report")
    environment = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {
        "bytes": bytes_text, "count": count_text, "share": share_text, "seconds": seconds_text, "saved": saved_text,
        "change": change_text, "yes_or_no": yes_or_no_text, "breakable": breakable, "ticked": ticked,
    }  # fmt: skip
    source = [loader.get_source(environment, name)[0] for name in (script, "figures.css", *styles)]
    charts = BUNDLE.read_text(encoding="utf-8") if BUNDLE.is_file() else ""
    return OfflinePage(environment, "".join(source[1:]), f"{charts}{source[0]}")


def breakable(text: str) -> Markup:
    """Returns a long name with places where a line may end, so that it is not broken inside a word."""
    escaped = str(escape(text))
    return Markup(_PLACES.sub(r"\1<wbr>", escaped) if len(text) > _LONG_NAME else escaped)


def ticked(text: str) -> Markup:
    """Returns a sentence whose parts in backquotes are code."""
    return Markup(_TICKED.sub(r"<code>\1</code>", str(escape(text))))
