# SPDX-License-Identifier: BSL-1.0
"""Checks that contenders did the same work: compares the checksums of all cells at a point."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from millpond.cells.cell import Cell, Outcome


class Checksums:
    """The checksums that the cells of one run computed, by point: subject and parameters."""

    def __init__(self) -> None:
        self._found: dict[tuple[object, object], dict[str, str]] = {}

    def add(self, cell: Cell, checksum: str) -> None:
        self._found.setdefault((cell.subject, cell.parameters), {})[cell.contender.name] = checksum

    def without_other_work(self, outcomes: Sequence[Outcome]) -> list[Outcome]:
        """The outcomes, with `killed` for contenders whose checksum differs from most of those at the same point."""
        odd: dict[tuple[object, object, str], str] = {}
        for (subject, parameters), found in self._found.items():
            usual = Counter(found.values()).most_common(1)[0][0]
            odd |= {
                (subject, parameters, name): f"its checksum is {checksum}, where most others have {usual}"
                for name, checksum in found.items()
                if checksum != usual
            }
        reasons = [odd.get((o.cell.subject, o.cell.parameters, o.cell.contender.name)) for o in outcomes]
        return [replace(o, status="killed", why=why) if why else o for o, why in zip(outcomes, reasons, strict=True)]
