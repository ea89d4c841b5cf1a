# SPDX-License-Identifier: BSL-1.0
"""Merges the places that free blocks of several subsystems with one allocator."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from millpond.rounds.characterisation import FreeingCall, FreeingPlace


def merged_places(rows: Iterable[Sequence[FreeingPlace]]) -> tuple[FreeingPlace, ...]:
    """Returns the places of several subsystems of one allocator. Their frees of one another's blocks are not
    foreign.
    """
    sums: dict[tuple[str, str, int, str | None], FreeingPlace] = {}
    for places in rows:
        for place in places:
            key = (place.function, place.file, place.line, place.through)
            known = sums.get(key)
            if known is None:
                sums[key] = place
                continue
            # The total of all frees at a place is the same for both.
            others = max(0, known.of_others - place.own)
            sums[key] = replace(
                known, frees=known.frees + place.frees, resizes=known.resizes + place.resizes, of_others=others,
                callers=_joined(known.callers, place.callers),
            )  # fmt: skip
    return tuple(sorted(sums.values(), key=lambda p: -p.own))


def _joined(first: Sequence[FreeingCall], second: Sequence[FreeingCall]) -> tuple[FreeingCall, ...]:
    sums = {(c.function, c.file, c.line): c for c in first}
    for call in second:
        key = (call.function, call.file, call.line)
        known = sums.get(key)
        sums[key] = call if known is None else replace(
            known, frees=known.frees + call.frees, resizes=known.resizes + call.resizes,
            of_others=max(0, known.of_others - call.own),
        )  # fmt: skip
    return tuple(sorted(sums.values(), key=lambda c: -c.own))
