# SPDX-License-Identifier: BSL-1.0
"""The modules without symbols, for every report: one sentence, one command, one table."""

from __future__ import annotations

from pathlib import Path

from millpond.advice.missing_symbols import SHARE_MIN
from millpond.rounds.characterisation import MissingSymbols
from millpond.system.wording import bytes_text, count_text, plural

TITLE = "Modules without symbols"
HEADINGS = ("module", "package", "events", "share", "bytes", "build-id")
_ROWS_AT_MOST = 8


def rows(symbols: MissingSymbols) -> list[list[str]]:
    """Returns a row of cells for each module that matters, in the order of HEADINGS."""
    return [
        [
            Path(module.path).name,
            module.package or "–",
            count_text(module.events),
            f"{100 * (module.share or 0):.1f} %",
            bytes_text(module.bytes),
            module.build_id or "none",
        ]
        for module in symbols.modules[:_ROWS_AT_MOST]
        if (module.share or 0) >= SHARE_MIN
    ]


def rest_text(symbols: MissingSymbols) -> str:
    """Returns a note on the modules that the table leaves out; empty if it has all."""
    number = len(symbols.modules) - len(rows(symbols))
    return f"and {plural(number, 'smaller module')}; the JSON has all" if number else ""
