# SPDX-License-Identifier: BSL-1.0
"""The modules without symbols: one sentence, one command, one table."""

from __future__ import annotations

from pathlib import Path

from millpond.advice.missing_symbols import SHARE_MIN
from millpond.report.views.model import ReportSection, Words, name, section, table
from millpond.rounds.characterisation import MissingSymbols
from millpond.system.wording import bytes_text, count_text, plural

_ROWS_AT_MOST = 8


def symbols_section(symbols: MissingSymbols | None) -> ReportSection | None:
    """Returns a row for each module that matters, and how to get its symbols; None if no name is missing."""
    if symbols is None:
        return None
    rows = [
        (
            name(Path(module.path).name), module.package or "–", count_text(module.events),
            f"{100 * (module.share or 0):.1f} %", bytes_text(module.bytes), module.build_id or "none",
        )
        for module in symbols.modules[:_ROWS_AT_MOST]
        if (module.share or 0) >= SHARE_MIN
    ]  # fmt: skip
    number = len(symbols.modules) - len(rows)
    rest = f"and {plural(number, 'smaller module')}; the JSON has all" if number else ""
    found = table(("module", "package", ">events", ">share", ">bytes", "build-id"), rows, caption=rest)
    note = f"hide {100 * symbols.share:.1f} % of the events"
    return section("Modules without symbols", [Words(symbols.sentence), found], note=note, fold=True)
