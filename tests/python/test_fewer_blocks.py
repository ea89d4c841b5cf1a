# SPDX-License-Identifier: BSL-1.0
"""Avoidable blocks: each pattern is found in hand-made subsystems, and similar harmless ones are not reported."""

from __future__ import annotations

from typing import Any

import pytest

from millpond.advice.fewer_blocks import KEEP, MAKE_SHARED, RESERVE, fewer_blocks, words
from millpond.rounds.characterisation import AllocationPlace, Container, ScopeLegality, Size, Subsystem

PLACE = AllocationPlace(function="make", file="/src/book.cpp", line=6)
ELSEWHERE = AllocationPlace(function="load", file="/src/load.cpp", line=9)


def container(type_: str | None, allocations: int = 1000, each: int = 24, place: AllocationPlace = PLACE) -> Container:
    return Container(type=type_, allocations=allocations, bytes=each * allocations, places=(place,))


def subsystem(*containers: Container, **more: Any) -> Subsystem:
    allocations = sum(c.allocations for c in containers)
    return Subsystem(name="make", **{"allocations": allocations, "containers": containers, **more})


def doubling(steps: int, count: int = 200) -> tuple[Size, ...]:
    return tuple(Size(16 << i, count) for i in range(steps))


def test_make_shared_joins_a_count_with_its_object() -> None:
    (one,) = fewer_blocks(subsystem(container("std::shared_ptr<node>"), container(None, each=40)), 2000)
    assert one.kind == MAKE_SHARED and one.saves_allocations == 1000 and one.line == 6
    assert (
        words(one)
        == "std::make_shared in place of std::shared_ptr<node> over new, make (book.cpp:6): 1.00 k blocks fewer"
    )


@pytest.mark.parametrize(
    "containers",
    [
        [container("std::shared_ptr<node>", each=56)],  # made by make_shared already
        [container("std::shared_ptr<node>", each=56), container(None, each=40)],
        [container("std::shared_ptr<node>"), container(None, allocations=500)],  # half as many objects
        [container("std::shared_ptr<node>"), container(None, place=ELSEWHERE)],  # of another function
        [container("std::shared_ptr<node>"), container("std::vector<int>", each=40)],
        [container("std::unique_ptr<node>"), container(None, each=40)],
    ],
)
def test_similar_patterns_are_not_reported(containers: list[Container]) -> None:
    assert fewer_blocks(subsystem(*containers), 2000) == ()


@pytest.mark.parametrize("type_", ["std::vector<int>", "std::string"])
def test_a_container_that_grows_step_by_step_could_reserve(type_: str) -> None:
    (one,) = fewer_blocks(subsystem(container(type_, 2800), sizes=doubling(14)), 2800)
    assert one.kind == RESERVE and one.saves_allocations == 13 * 200 and "14 steps" in one.what


@pytest.mark.parametrize(
    ("type_", "sizes"),
    [
        ("std::map<int, int>", doubling(14)),
        ("std::vector<int>", doubling(3)),  # too short to be growth
        ("std::vector<int>", tuple(Size(16 << i, 2000 >> i) for i in range(14))),  # many small ones, few large ones
        ("std::vector<int>", tuple(Size(16 + 48 * i, 200) for i in range(14))),  # of many sizes, none of them twice
    ],
)
def test_other_sizes_do_not_count_as_growth(type_: str, sizes: tuple[Size, ...]) -> None:
    made = sum(size.count for size in sizes)
    assert fewer_blocks(subsystem(container(type_, made), sizes=sizes), made) == ()


def test_a_block_that_is_resized_many_times_could_be_asked_for_whole() -> None:
    (one,) = fewer_blocks(subsystem(container(None, 100), reallocations=900), 100)
    assert one.kind == RESERVE and one.saves_allocations == 900 and "9 times" in one.what
    assert fewer_blocks(subsystem(container(None, 100), reallocations=200), 100) == ()


def scope(**more: Any) -> ScopeLegality:
    return ScopeLegality(**{"scope": "function", "name": "make", "legal": True, "calls": 1000, **more})


def test_a_block_for_each_call_could_be_kept() -> None:
    (one,) = fewer_blocks(subsystem(container("std::vector<char>"), legality=(scope(),)), 1000)
    assert one.kind == KEEP and one.saves_allocations == 999
    for other in (scope(legal=False), scope(calls=None), scope(calls=100), scope(name="main"), scope(scope="thread")):
        assert fewer_blocks(subsystem(container("std::vector<char>"), legality=(other,)), 1000) == ()


def test_few_blocks_of_a_program_are_not_worth_a_line() -> None:
    pair = subsystem(container("std::shared_ptr<node>"), container(None, each=40))
    assert fewer_blocks(pair, 50_000) != () and fewer_blocks(pair, 50_001) == ()
