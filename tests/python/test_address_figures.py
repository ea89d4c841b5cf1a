# SPDX-License-Identifier: BSL-1.0
"""Maps of addresses have every cell once; the icicle has the sums of what is below each context."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import sample_store
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from millpond.report.figures import icicle_figure
from millpond.report.figures.address_maps import heap_over_time, references_over_time
from millpond.report.figures.icicle_figure import NODES_AT_MOST, icicle
from millpond.rounds.characterisation import AddressMap, Characterisation, ReferenceMap
from millpond.store.call_tree import CallTree

CAPTURED = Path(__file__).resolve().parent / "data" / "characterisation_with_references.json"


def test_the_heap_map_covers_every_cell_once() -> None:
    data, names = sample_store.characterisation().heat_map, list(sample_store.NAMES)
    assert data is not None
    found = heap_over_time(data, names)
    assert found is not None
    covered = Counter[str]()
    for cell in found.cells:
        covered[found.kinds[cell.kind][0]] += cell.columns
    assert covered == {names[s]: n for s, n in Counter(cell[2] for cell in data.cells).items()}
    assert (len(found.x.names), len(found.y.names)) == (len(data.columns), len(data.rows))
    assert len(found.gaps) == 1 and "1 unused range is left out" in found.caption


def test_the_map_of_references_has_their_exact_numbers() -> None:
    facts = Characterisation.from_json(json.loads(CAPTURED.read_text(encoding="utf-8"))).references
    assert facts is not None and facts.map is not None
    found = references_over_time(facts.map)
    assert found is not None
    numbers = {(cell.y, cell.x): (cell.more, cell.value) for cell in found.cells}
    assert numbers == {(row, column): (references, misses) for row, column, references, misses in facts.map.cells}


def test_maps_without_cells_are_not_drawn() -> None:
    assert heap_over_time(AddressMap(), []) is None
    assert references_over_time(ReferenceMap()) is None


TREE = CallTree(
    functions=("main", "read", "grow"), subsystems=("s",),
    nodes=((0, 0, -1, 0, 0, 0, 0), (1, 1, 0, 2, 100, 1, 60), (1, 1, 0, 1, 20, 0, 0), (2, 2, 0, 5, 50, 0, 0)),
    peak_bytes=(0, 80, 20, 30),
)  # fmt: skip


def test_a_context_has_what_it_and_its_callees_allocate() -> None:
    found = icicle(TREE)
    assert found is not None
    assert [one.name for one in found.measures] == ["bytes", "events", "peak", "alive at the end", "churn"]
    rows = [(node.parent, found.names[node.name], list(node.values)) for node in found.nodes]
    assert rows == [
        (-1, "main", [170, 8, 130, 60, 110]), (0, "read", [170, 8, 130, 60, 110]), (1, "grow", [50, 5, 30, 0, 50]),
    ]  # fmt: skip
    older = icicle(replace(TREE, peak_bytes=()))
    assert older is not None and "peak" not in {one.name for one in older.measures}, "older files do not have it"


def test_trees_without_allocations_and_damaged_ones_are_not_drawn() -> None:
    assert icicle(CallTree()) is None
    assert icicle(CallTree(functions=("main",), nodes=((0, 0, -1, 0, 0, 0, 0),))) is None
    assert icicle(CallTree(functions=("main",), nodes=((2, 0, -1, 1, 1, 0, 0),))) is None


@given(st.lists(st.tuples(st.integers(0, 300), st.integers(0, 5), st.integers(0, 9)), min_size=1, max_size=80))
def test_every_kept_context_has_its_caller_and_callers_have_the_sums(rows: list[tuple[int, int, int]]) -> None:
    nodes = tuple(
        (above % (n + 1), function, 0, count, 8 * count, 0, 0) for n, (above, function, count) in enumerate(rows)
    )
    found = icicle(CallTree(functions=tuple("abcdef"), subsystems=("s",), nodes=nodes))
    total = sum(count for *_, count in rows)
    assert (found is None) == (total == 0)
    if found is None:
        return
    assert sum(node.values[1] for node in found.nodes if node.parent < 0) == total
    for number, node in enumerate(found.nodes):
        assert node.parent < number
        below = [child.values[1] for child in found.nodes if child.parent == number]
        assert sum(below) <= node.values[1]


def test_the_largest_contexts_are_kept() -> None:
    many = NODES_AT_MOST + 500
    nodes = ((0, 0, -1, 0, 0, 0, 0), *((1, n, 0, n, n, 0, 0) for n in range(1, many)))
    found = icicle_figure.icicle(CallTree(functions=tuple(f"f{n}" for n in range(many)), nodes=tuple(nodes)))
    assert found is not None and len(found.nodes) == NODES_AT_MOST
    assert f"{many - NODES_AT_MOST} smallest contexts are left out" in found.caption
    assert f"f{many - 1}" in found.names and "f1" not in found.names
