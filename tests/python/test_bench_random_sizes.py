# SPDX-License-Identifier: BSL-1.0
"""bench-library on blocks of random sizes: a row for each contender, a bar only for ours."""

from __future__ import annotations

import pytest
from library_bench import Use, run

RANDOM = ("--scale", "quick", "--cells", "random_sizes/*")
BAR = "resident bytes of blocks of random sizes, against the bytes that are live"


@pytest.mark.lengthy
def test_every_pool_and_malloc_has_a_row_and_ours_have_the_bar(use: Use) -> None:
    use(left={"glibc": 20_000_000, "jemalloc": 11_000_000})
    status, document = run(*RANDOM)
    lines = [line for line in document["summary"] if line["benchmark"] == "random_sizes"]
    names = {line["ours_name"] for line in lines}
    assert {"multipool", "synchronized_multipool", "monotonic", "glibc", "jemalloc", "pmr_pool"} <= names
    assert {line["comparison"] for line in lines if line["ours_name"] == "glibc"} == {"peer_glibc"}
    (bar,) = [bar for bar in document["bars"] if bar["name"] == BAR]
    assert {line["ours_name"] for line in bar["lines"]} == {"multipool", "synchronized_multipool", "monotonic"}
    assert bar["holds"] is True and bar["figure"]["median"] == 1.2
    assert status == 0


@pytest.mark.lengthy
def test_ours_above_the_limit_breaks_the_bar_and_a_malloc_does_not(use: Use) -> None:
    use(left={"multipool": 14_000_000, "glibc": 90_000_000})
    _, document = run(*RANDOM)
    (bar,) = [bar for bar in document["bars"] if bar["name"] == BAR]
    assert bar["holds"] is False and bar["figure"]["median"] == 1.4
