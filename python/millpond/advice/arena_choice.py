# SPDX-License-Identifier: BSL-1.0
"""Chooses an arena's call sites by what the simulated arena serves.

choose_sites ─▶ some bytes may be wrong ─▶ trial ─┬─▶ the sites whose arena serves more bytes
             └▶ none may be wrong ──────▶ trial ─┘

An object that outlives its prediction stays where it is, and pins its chunk until it is freed. A few that live to the
end can pin every chunk: then the sites without a wrong byte, though fewer, serve more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from millpond.advice.site_choice import NONE_WRONG, WRONG_ONE_IN, ShortSite, choose_sites
from millpond.advice.size_tables import SizeTable


@dataclass(frozen=True)
class ArenaChoice:
    """The sites of an arena, which `wrong_one_in` they were chosen with, and the tables with the arena's trial."""

    tables: Sequence[SizeTable]
    sites: tuple[ShortSite, ...] = ()
    wrong_one_in: int = WRONG_ONE_IN

    def served_bytes(self, made_from: int) -> int:
        """Returns the bytes that the largest tried arena serves in the first `made_from` tables."""
        trials = [table.arena for table in self.tables[:made_from] if table.arena is not None]
        return sum(max(arena.bytes for arena in trial.arenas) for trial in trials) if self.sites else 0


def choose_arena(
    tables: Sequence[SizeTable], made_from: int, try_sites: Callable[[Sequence[str]], Sequence[SizeTable]]
) -> ArenaChoice:
    """Returns the better choice; without sites if none is worth an arena. The first `made_from` tables decide.

    `try_sites` returns the same tables with the trial of an arena for sites of these names: a pass over all traces,
    once, or twice if some of the sites have wrong bytes.
    """

    def tried(wrong_one_in: int) -> ArenaChoice:
        sites = choose_sites(tables[:made_from], wrong_one_in)
        return ArenaChoice(try_sites([site.name for site in sites]) if sites else tables, sites, wrong_one_in)

    first = tried(WRONG_ONE_IN)
    if not any(site.wrong_bytes for site in first.sites):
        return first
    strict = tried(NONE_WRONG)
    return strict if strict.served_bytes(made_from) > first.served_bytes(made_from) else first
