# SPDX-License-Identifier: BSL-1.0
"""The statistics of an allocator are read from what its library writes at the end of a program."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from millpond_bench.programs.allocator_statistics import AllocatorStatistics, statistics_in

counts = st.integers(0, 10**12)
INSERTED = ", 20 insertions into 57 nodes on 40 pages"


def _said(name: str, heap: int, allocated: int, freed: int, searched: int | None) -> str:
    more = "" if searched is None else f", {searched} blocks searched, 1 splits, 2 coalesces, 3 growths{INSERTED}"
    return (
        f"millpond {name}: 5 blocks in 80 bytes, 1 free in 16 bytes, {heap} bytes used, 96 bytes held\n"
        f"millpond {name}: {allocated} allocations of 9 bytes in 16, {freed} frees{more}\n"
    )


@given(counts, counts, counts, counts)
def test_every_number_is_read(heap: int, allocated: int, freed: int, searched: int) -> None:
    found = statistics_in("a warning\n" + _said("bsd", heap, allocated, freed, searched))
    assert found == AllocatorStatistics(heap, allocated, freed, searched, 20, 57, 40, 9, 16, blocks=6)


@given(counts, counts)
def test_lists_and_the_heap_behind_them_are_added(own: int, behind: int) -> None:
    lines = _said("quick_fit", 1, own, 0, 7) + f"millpond gnu_gxx: {behind} allocations of 1 bytes in 16, 1 frees\n"
    found = statistics_in(lines)
    assert (found.allocated, found.freed, found.examined) == (own + behind, 1, 7)
    assert (found.insertions, found.requested_bytes, found.granted_bytes, found.blocks) == (20, 10, 32, 6)


def test_the_last_process_counts_and_silence_gives_none() -> None:
    child, program = _said("bsd", 10, 1, 1, 0), _said("bsd", 20, 2, 2, 0)
    assert statistics_in(child + program) == statistics_in(program)
    assert statistics_in(program) == AllocatorStatistics(20, 2, 2, 0, 20, 57, 40, 9, 16, 6)
    assert statistics_in("nothing") == AllocatorStatistics()
