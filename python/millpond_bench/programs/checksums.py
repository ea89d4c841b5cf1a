# SPDX-License-Identifier: BSL-1.0
"""Checks that contenders did the same work: compares the checksums of all cells at a point."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from millpond.cells.cell import Outcome


def without_other_work(outcomes: Sequence[Outcome]) -> list[Outcome]:
    """The outcomes, with `killed` for contenders whose checksum differs from most of those at the same point (subject
    and parameters).
    """
    found: dict[tuple[object, object], dict[str, str]] = {}
    for outcome in outcomes:
        if outcome.checksum:
            point = found.setdefault((outcome.cell.subject, outcome.cell.parameters), {})
            point[outcome.cell.contender.name] = outcome.checksum
    odd: dict[tuple[object, object, str], str] = {}
    for (subject, parameters), point in found.items():
        usual = Counter(point.values()).most_common(1)[0][0]
        odd |= {
            (subject, parameters, name): f"its checksum is {checksum}, where most others have {usual}"
            for name, checksum in point.items()
            if checksum != usual
        }
    reasons = [odd.get((o.cell.subject, o.cell.parameters, o.cell.contender.name)) for o in outcomes]
    return [replace(o, status="killed", why=why) if why else o for o, why in zip(outcomes, reasons, strict=True)]
