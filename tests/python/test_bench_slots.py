# SPDX-License-Identifier: BSL-1.0
"""bench-library on slots: selects the peers that return memory, and no bar holds merely because a peer is missing."""

from __future__ import annotations

import pytest
from library_bench import Use, line_of, run

SLOTS = ("--scale", "quick", "--cells", "slots/*")
MALLOCS = ("glibc", "jemalloc", "mimalloc", "tcmalloc", "tbb")
POOLS = ("pool_alloc", "mt_alloc", "fast_pool", "fast_pool_no_mutex", "pmr_pool", "pmr_synchronized_pool", "boost_pool",
         "boost_synchronized_pool")  # fmt: skip
KEPT = dict.fromkeys((*MALLOCS, *POOLS), 8_000_000)


@pytest.mark.lengthy
def test_frees_are_compared_with_peers_that_return_and_that_keep(use: Use) -> None:
    use(left={**KEPT, "jemalloc": 3_000_000}, ns={"jemalloc": 90.0, "mt_alloc": 30.0})
    _, document = run(*SLOTS)
    assert line_of(document, "slots_returned_first_last")["best_peer_name"] == "jemalloc"
    assert line_of(document, "slots_kept_first_last")["best_peer_name"] == "mt_alloc"


@pytest.mark.lengthy
def test_without_a_returning_peer_the_leanest_is_compared(use: Use) -> None:
    use(left={**KEPT, "jemalloc": 5_000_000}, ns={"jemalloc": 21.0})
    _, document = run(*SLOTS)
    assert line_of(document, "slots_returned_odd_and_back")["best_peer_name"] == "jemalloc"
    assert line_of(document, "slots_kept_last_first")["best_peer_name"] != "jemalloc"
    (bar,) = [bar for bar in document["bars"] if "returns memory" in bar["name"]]
    assert bar["holds"] is False
