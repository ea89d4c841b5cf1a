# SPDX-License-Identifier: BSL-1.0
"""Every round of every group runs once, whatever is lost on the way; long groups go first."""

from __future__ import annotations

import random

import pytest
from cluster_recipes import cells_of

from millpond.cells.cell import Cell, Outcome
from millpond.cluster.dispatch import Dispatch, simulated_seconds
from millpond.rounds.interleaved_rounds import Shard, Work

SEEDS = range(20)


def seconds_of(cell: Cell) -> float:
    return float(1 + sum(map(ord, cell.subject.argv[0])) % 7)


def work_of(groups: int, rounds: int, shard: str = "1/1") -> Work:
    return Work.of(cells_of(groups, 2), stage="s", rounds=rounds, shard=Shard.parse(shard))


@pytest.mark.parametrize("seed", SEEDS)
def test_each_round_is_taken_once_although_some_are_lost(seed: int) -> None:
    drawn = random.Random(seed)
    work = work_of(drawn.randint(1, 9), drawn.randint(1, 5))
    dispatch = Dispatch(work, range(1, work.rounds + 1), seed, drawn.choice([None, seconds_of]))
    ended = []
    while (taken := dispatch.next()) is not None:
        if drawn.random() < 0.3:
            dispatch.give_back(taken)
        else:
            ended.append(taken.key)
    assert sorted(ended) == [(g.index, n) for g in work.groups for n in range(1, work.rounds + 1)], f"seed {seed}"


def test_without_durations_rounds_come_in_order() -> None:
    work = work_of(5, 4)
    dispatch = Dispatch(work, range(1, 5), 7)
    numbers = []
    while (taken := dispatch.next()) is not None:
        numbers.append(taken.number)
    assert numbers == sorted(numbers)


def test_with_durations_the_longest_groups_come_first() -> None:
    work = work_of(9, 3)
    dispatch = Dispatch(work, range(1, 4), 7, seconds_of)
    lengths = []
    while (taken := dispatch.next()) is not None:
        lengths.append(sum(map(seconds_of, taken.group.alive)))
    assert lengths == sorted(lengths, reverse=True)


def test_groups_without_living_cells_are_dropped() -> None:
    work = work_of(2, 3)
    dispatch = Dispatch(work, range(1, 4), 1)
    for cell in list(work.groups[0].alive):
        work.groups[0].bury(Outcome.failed(cell, "s", 1, "killed", "x"))
    taken = [dispatch.next() for _ in range(4)]
    assert [one.key if one else None for one in taken] == [(1, 1), (1, 2), (1, 3), None]


def test_parts_of_a_grid_share_no_round_and_leave_none() -> None:
    found = []
    for part in ("1/3", "2/3", "3/3"):
        dispatch = Dispatch(work_of(4, 5, part), range(1, 6), 1)
        while (taken := dispatch.next()) is not None:
            found.append(taken.key)
    assert sorted(found) == [(group, number) for group in range(4) for number in range(1, 6)]


@pytest.mark.parametrize("workers", [1, 2, 3, 8])
def test_simulated_time_lies_between_its_bounds(workers: int) -> None:
    """At least an equal share and the longest round; at most 4/3 of the best (longest first, Graham 1969)."""
    work = work_of(9, 5)
    lengths = [sum(map(seconds_of, group.alive)) for group in work.groups for _ in range(5)]
    least = max(sum(lengths) / workers, *lengths)
    found = simulated_seconds(Dispatch(work, range(1, 6), 1, seconds_of), workers, seconds_of)
    assert least <= found <= least * 4 / 3


def test_simulated_time_counts_what_the_conductor_takes() -> None:
    work = work_of(4, 5)
    found = simulated_seconds(Dispatch(work, range(1, 6), 1, seconds_of), 20, seconds_of, overhead_seconds=100.0)
    assert found >= 20 * 100.0
