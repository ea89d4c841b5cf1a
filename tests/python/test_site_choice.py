# SPDX-License-Identifier: BSL-1.0
"""Call sites of an arena are told apart by the fewest frames, and only if they are worth it."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence

from msgspec.structs import replace
from test_synthesize import table

from millpond.advice import allocator_header
from millpond.advice.arena_choice import ArenaChoice, choose_arena
from millpond.advice.site_choice import (
    LEAST_WALKED_SHARE,
    NONE_WRONG,
    WRONG_ONE_IN,
    ShortSite,
    choose_sites,
    parts_of,
)
from millpond.advice.size_tables import ArenaTrial, Site, SizeTable, TriedArena
from millpond.advice.synthesis import synthesize
from millpond.report.views.model import Table
from millpond.report.views.synthesis_view import synthesis_section


def with_sites(*sites: tuple[str, int, int, int]) -> SizeTable:
    """Returns a size table with these sites: name (frames and size), objects, bytes, short-lived bytes."""
    one = table((16, 1000, 16000, [10]))
    found = tuple(
        Site(name, objects, size, short, tuple(name.split()[:-1]), int(name.split()[-1]))
        for name, objects, size, short in sites
    )
    census = replace(one.census, requested_bytes=sum(site.bytes for site in found))
    return replace(one, sites=found, census=census)


def names(*tables: SizeTable) -> list[str]:
    return [site.name for site in choose_sites(tables)]


def test_one_frame_is_enough_where_all_its_sites_are_short() -> None:
    one = with_sites(("a+1 a+2 16", 5, 500, 500), ("a+1 a+3 16", 5, 400, 400), ("b+1 a+3 16", 5, 400, 0))
    assert names(one) == ["a+1 16"]


def test_ambiguous_frames_are_told_apart_by_their_callers() -> None:
    one = with_sites(
        ("a+1 a+2 a+8 16", 5, 500, 500), ("a+1 a+2 a+9 16", 5, 400, 400), ("a+1 a+3 a+8 16", 5, 300, 0),
        ("a+1 a+4 a+8 16", 5, 200, 200), ("a+1 a+4 a+9 16", 5, 200, 100),
    )  # fmt: skip
    assert names(one) == ["a+1 a+2 16", "a+1 a+4 a+8 16"]


def test_sizes_and_traces_are_apart() -> None:
    first = with_sites(("a+1 16", 5, 500, 500), ("a+1 32", 5, 500, 500))
    second = with_sites(("a+1 16", 5, 500, 400))
    assert names(first, second) == ["a+1 32"]


def test_one_byte_in_a_thousand_may_live_longer() -> None:
    (allowed,) = choose_sites([with_sites(("a+1 16", 5, 16_000, 15_984))])
    assert (allowed.wrong_bytes, allowed.bytes) == (16, 16_000)
    assert choose_sites([with_sites(("a+1 16", 5, 16_000, 15_983))]) == ()
    assert choose_sites([with_sites(("a+1 16", 5, 16_000, 15_999))], NONE_WRONG) == ()


def test_the_bound_is_of_all_traces_and_of_all_sites_of_a_frame() -> None:
    first, second = with_sites(("a+1 16", 5, 15_000, 15_000)), with_sites(("a+1 16", 1, 1_000, 984))
    assert names(first, second) == ["a+1 16"]
    lost = replace(second, sites=(replace(second.sites[0], short_bytes=983),))
    assert names(first, lost) == []
    # The caller a+3 is wholly wrong, and little of the frame; where it is too much, its callers are told apart.
    assert names(with_sites(("a+1 a+2 16", 9, 9_990, 9_990), ("a+1 a+3 16", 1, 10, 0))) == ["a+1 16"]
    assert names(with_sites(("a+1 a+2 16", 9, 9_989, 9_989), ("a+1 a+3 16", 1, 11, 0))) == ["a+1 a+2 16"]


def chosen_of(served_with: int, served_without: int) -> ArenaChoice:
    """Returns the choice between two sites, one of them with a wrong byte, and only the other one."""
    one = with_sites(("a+1 16", 5, 2000, 1999), ("b+1 32", 5, 2000, 2000))
    served = {("a+1 16", "b+1 32"): served_with, ("b+1 32",): served_without}

    def tried(sites: Sequence[str]) -> list[SizeTable]:
        arena = TriedArena(16, 4096, 10, served[tuple(sites)], 0, 4096, 0, 0)
        return [replace(one, arena=ArenaTrial(4000, 10, 4000, 0, (arena,)))]

    return choose_arena([one], 1, tried)


def test_sites_with_wrong_bytes_are_left_out_where_they_pin_the_arena() -> None:
    with_wrong = chosen_of(2500, 2000)
    assert ([site.name for site in with_wrong.sites], with_wrong.wrong_one_in) == (["a+1 16", "b+1 32"], WRONG_ONE_IN)
    without = chosen_of(1999, 2000)
    assert ([site.name for site in without.sites], without.wrong_one_in) == (["b+1 32"], NONE_WRONG)
    assert without.served_bytes(1) == 2000, "the tables are those of the trial that won"


def test_wrong_bytes_and_their_bound_are_told() -> None:
    site = ShortSite(("shop+10",), 48, 1000, 48_000, 48)
    trial = ArenaTrial(50_000, 1000, 48_000, 48, (TriedArena(4, 4096, 1000, 48_000, 0, 4096, 4096, 4096),))
    found = synthesize([replace(table((48, 10, 480, [3])), arena=trial)], [], sites=(site,), has_arena=True)
    text = allocator_header.header(found, "mine")
    assert "more were requested, except at most 1 byte in 1000 of each site." in text
    assert "{48, 1, {{{0, 0x10}}}},  // 48 of 48000 bytes lived longer" in text
    titles = [part.title for part in synthesis_section(found).parts if isinstance(part, Table)]
    assert titles[-1].endswith("Of their 48.0 kB, 48 B lived longer; allowed is 1 byte in 1000 of each site")


def test_sites_worth_little_are_left_to_their_size_class() -> None:
    small, all_bytes = 50, 10_000
    assert small < LEAST_WALKED_SHARE * all_bytes
    rest = all_bytes - 2 * small
    one = with_sites(("a+1 a+2 16", 5, small, small), ("a+1 a+3 16", 5, small, 0), ("b+1 32", 9, rest, 0))
    assert names(one) == []
    # Nearly all objects of this size are from other sites.
    assert names(with_sites(("a+1 16", 5, 500, 500), ("b+1 16", 100, 500, 0))) == []
    assert names(with_sites(("a+1 2048", 5, 500, 500))) == [], "larger than a block of the arena"
    assert names(with_sites(("+1 16", 5, 500, 500))) == [], "code of no file"


def test_strictly_chosen_sites_predict_no_object_wrongly(seed: int) -> None:
    dice = random.Random(seed)
    for _ in range(50):
        stacks = list(itertools.product("ab", "cd", "ef"))
        made = {}
        for stack in dice.sample(stacks, dice.randint(1, len(stacks))):
            size = dice.choice([16, 32])
            total = dice.randint(1, 100) * size
            made[" ".join([*(f"{frame}+1" for frame in stack), str(size)])] = (total, dice.choice([total, total, 0]))
        one = with_sites(*((name, 1, *counts) for name, counts in made.items()))
        for site in choose_sites([one], NONE_WRONG):
            own = [counts for name, counts in made.items()
                   if name.startswith(" ".join(site.frames) + " ") and name.endswith(f" {site.size}")]  # fmt: skip
            assert own and all(total == short for total, short in own)
            assert site.bytes == sum(total for total, _ in own)


def test_frames_are_modules_and_offsets() -> None:
    assert parts_of("libc++.so.1+2ea51") == ("libc++.so.1", 0x2EA51)
    assert parts_of("+2ea51") is None


def test_the_smallest_arena_with_about_the_fewest_refusals_is_taken() -> None:
    def trial(*refused: int) -> ArenaTrial:
        arenas = tuple(
            TriedArena(chunks, 4096, 10, 1000, lost, 4096, 0, 0)
            for chunks, lost in zip((4, 8, 16), refused, strict=True)
        )
        return ArenaTrial(5000, 10, 1000, 20, arenas)

    site = ShortSite(("shop+10", "libmine.so+2f"), 48, 10, 1000)
    one = table((48, 10, 480, [3]))
    for refused, chunks in (((0, 0, 0), 4), ((500, 10, 0), 8), ((500, 11, 0), 16), ((110, 105, 100), 4)):
        found = synthesize([replace(one, arena=trial(*refused))], [], sites=(site,), has_arena=True)
        assert found.arena_chunks == chunks
    (use,) = found.traces
    assert use.arena is not None
    assert (use.arena.predicted_share, use.arena.wrong_share, use.arena.refused_bytes) == (0.2, 0.02, 110)
    text = allocator_header.header(found, "mine")
    assert 'modules{"libmine.so", "shop"};' in text
    assert "{48, 2, {{{1, 0x10}, {0, 0x2f}}}}," in text
    without = synthesize([replace(one, arena=trial(0, 0, 0))], [], sites=(site,))
    assert "short_lived" not in allocator_header.header(without, "mine"), "told, and not built"
    assert without.traces[0].arena is not None
