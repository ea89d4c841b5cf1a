# SPDX-License-Identifier: BSL-1.0
"""Predicts short-lived call sites by the fewest frames that distinguish them from others.

Barrett and Zorn (1993) predict an object by its size and the last four frames of its stack: a site is short-lived if
its objects were, in all traces. One byte in WRONG_ONE_IN may have lived longer, so that a rehash of a table, or the
last block before the end, does not hide such a site. At run time the first frame is known, and each further one costs
a step up the stack. So sites are grouped from the innermost frame outwards:

    gawk+2ea51 48 ─ short ─▶ one frame                           gawk+2ea51 64 ─ some ─▶ gawk+30f12 ─ short ─▶ two
                                                                                  └▶ gawk+31007 ─ none ─▶ its class

A site of little value keeps its class: for each of the arena's sizes, every request must look up its site.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from msgspec import field

from millpond.advice.size_tables import Site, SizeTable
from millpond.system.records import Record

# A site is short-lived if at most one of so many of its bytes, in all traces together, lived longer. 0: none may.
WRONG_ONE_IN, NONE_WRONG = 1000, 0
# The largest block of classic/counted_arena.hpp with chunks of 4 KiB.
ARENA_BYTES_AT_MOST = 1024
# The smallest worthwhile shares of all requested bytes: of a site told by one frame, and of one that takes more.
LEAST_SHARE, LEAST_WALKED_SHARE = 0.001, 0.01
# The smallest share of a size's objects: below it, nearly all look-ups for that size would find nothing.
LEAST_SHARE_OF_SIZE = 0.1
_FRAME = re.compile(r"(.+)\+([0-9a-f]+)")


class ShortSite(Record, frozen=True):
    """A predicted site: its size, and its frames as `module+offset`, innermost first. Objects and bytes are of all
    traces; `wrong_bytes` of these lived longer.
    """

    frames: tuple[str, ...]
    size: int
    objects: int
    bytes: int
    wrong_bytes: int = field(default_factory=int)

    @property
    def name(self) -> str:
        """Returns the site in the form of `millpond-characterise --short-sites`."""
        return " ".join([*self.frames, str(self.size)])


def is_short(sites: Sequence[Site], wrong_one_in: int) -> bool:
    """Tells whether these sites, taken as one, are short-lived."""
    wrong = sum(site.bytes - site.short_bytes for site in sites)
    return wrong * wrong_one_in <= sum(site.bytes for site in sites) if wrong_one_in else wrong == 0


def merge_sites(tables: Sequence[SizeTable]) -> dict[str, Site]:
    """Returns each call site by its name, added up over the tables."""
    merged: dict[str, Site] = {}
    for table in tables:
        for site in table.sites:
            merged[site.site] = _sum(merged[site.site], site) if site.site in merged else site
    return merged


def choose_sites(tables: Sequence[SizeTable], wrong_one_in: int = WRONG_ONE_IN) -> tuple[ShortSite, ...]:
    """Returns the sites of an arena; empty if no site is worth one."""
    merged = merge_sites(tables)
    all_bytes = sum(table.census.requested_bytes for table in tables)
    groups: dict[tuple[str, int], list[Site]] = {}
    for site in merged.values():
        if site.frames and 0 < site.size <= ARENA_BYTES_AT_MOST:
            groups.setdefault((site.frames[0], site.size), []).append(site)
    chosen = [one for group in groups.values() for one in _told_apart(group, 1, wrong_one_in)]
    chosen = [
        one for one in chosen
        if one.bytes >= all_bytes * (LEAST_SHARE if len(one.frames) == 1 else LEAST_WALKED_SHARE)
    ]  # fmt: skip
    objects: dict[int, int] = {}
    for site in merged.values():
        objects[site.size] = objects.get(site.size, 0) + site.objects
    of_size: dict[int, int] = {}
    for one in chosen:
        of_size[one.size] = of_size.get(one.size, 0) + one.objects
    chosen = [one for one in chosen if of_size[one.size] >= LEAST_SHARE_OF_SIZE * objects[one.size]]
    return tuple(sorted(chosen, key=lambda one: (-one.bytes, one.name)))


def parts_of(frame: str) -> tuple[str, int] | None:
    """Returns module and offset of a frame; None for code outside any file."""
    found = _FRAME.fullmatch(frame)
    return (found[1], int(found[2], 16)) if found else None


def _sum(one: Site, other: Site) -> Site:
    return Site(one.site, one.objects + other.objects, one.bytes + other.bytes, one.short_bytes + other.short_bytes,
                one.frames, one.size)  # fmt: skip


def _told_apart(sites: Sequence[Site], depth: int, wrong_one_in: int) -> Iterator[ShortSite]:
    """Returns the short-lived ones of sites with the same `depth` frames."""
    frames = sites[0].frames[:depth]
    if parts_of(frames[-1]) is None:
        return
    if is_short(sites, wrong_one_in):
        objects, total, short = (
            sum(of) for of in zip(*((s.objects, s.bytes, s.short_bytes) for s in sites), strict=True)
        )
        yield ShortSite(frames, sites[0].size, objects, total, total - short)
        return
    deeper: dict[str, list[Site]] = {}
    for site in sites:
        if len(site.frames) > depth:
            deeper.setdefault(site.frames[depth], []).append(site)
    for group in deeper.values():
        yield from _told_apart(group, depth + 1, wrong_one_in)
