# SPDX-License-Identifier: BSL-1.0
"""bench-library on arrays: their contenders, the subtracted control, and the judged and unjudged rows."""

from __future__ import annotations

import pytest
from library_bench import Use, line_of, run

from millpond.system.errors import Status

PAUSES = ("--scale", "quick", "--cells", "push_back_pauses/*")


@pytest.mark.parametrize(("pauses", "figure"), [({}, 2 / 99), ({"dyn_array": 8.0}, 7 / 99), ({"dyn_array": 0.5}, 0.0)])
def test_pauses_are_compared_after_subtracting_the_control(use: Use, pauses: dict[str, float], figure: float) -> None:
    use(pauses=pauses)
    status, document = run(*PAUSES)
    (bar,) = document["bars"]
    assert bar["figure"]["median"] == pytest.approx(figure)
    assert bar["holds"] is (figure <= 0.05) and status == (Status.OK if bar["holds"] else Status.GATE)


def test_pauses_without_a_control_are_not_judged(use: Use) -> None:
    use(dies=["reserved"])
    status, document = run(*PAUSES)
    assert status == Status.GATE
    assert line_of(document, "longest_pause")["ratio_to_best_peer"] is None


@pytest.mark.lengthy
def test_arrays_that_grow_on_malloc_grow_on_every_malloc(use: Use) -> None:
    fake = use(ns={"realloc@jemalloc": 30.0, "huge:realloc@mimalloc": 19.0})
    status, document = run("--scale", "quick", "--cells", "push_back/*", "--cells", "push_back_huge/*")
    ran = {name for name, _ in fake.calls}
    assert {"realloc", "realloc@jemalloc", "realloc@mimalloc", "realloc@tcmalloc", "realloc@tbb"} <= ran
    assert {"huge:realloc", "huge:realloc@jemalloc", "huge:realloc@mimalloc", "huge:realloc@tbb"} <= ran
    best = {row["benchmark"]: row["best_peer_name"] for row in document["summary"] if row["comparison"] == "growth"}
    assert best == {"push_back": "realloc@jemalloc", "push_back_huge": "huge:realloc@mimalloc"}
    missed = [bar["name"] for bar in document["bars"] if not bar["holds"]]
    assert missed == ["push_back to dyn_array, huge pages allowed, against the best array"] and status == Status.GATE
    for (name, _), environment in zip(fake.calls, fake.environments, strict=True):
        assert name.startswith("huge:") == ("hugetlb" in str(environment) or "MALLOC_CONF" in environment
                                            or "MIMALLOC_LARGE_OS_PAGES" in environment
                                            or "TBB_MALLOC_USE_HUGE_PAGES" in environment)  # fmt: skip


@pytest.mark.lengthy
def test_an_array_may_take_a_hundredth_more_than_its_elements(use: Use) -> None:
    use(bytes={"dyn_array": 4_100_000})
    assert run("--scale", "quick", "--cells", "push_back/*")[0] == Status.OK, "a difference that is not seen"
    use(bytes={"dyn_array": 4_300_000})
    status, document = run("--scale", "quick", "--cells", "push_back/*")
    (missed,) = [bar for bar in document["bars"] if not bar["holds"]]
    assert missed["figure"]["median"] == pytest.approx(4.3 / 4) and status == Status.GATE


def test_small_arrays_are_compared_with_vectors_used_the_same_way(use: Use) -> None:
    use(ns={"vector:cleared": 15.0})
    status, document = run("--scale", "quick", "--cells", "small_array_int/size=100/*")
    assert status == Status.GATE
    assert line_of(document, "fresh")["best_peer_name"] == "vector"
    assert line_of(document, "cleared")["ratio_to_best_peer"] == pytest.approx(20 / 15)
    assert line_of(document, "construction")["ours"] == 7.0


def test_the_sweep_over_steps_is_shown_and_not_judged(use: Use) -> None:
    use()
    status, document = run("--scale", "quick", "--cells", "commit_steps/*")
    assert (status, document["bars"]) == (Status.OK, [])
    assert [row["ours"] for row in document["summary"]] == [20.0, 21.0, 22.0, 23.0]
