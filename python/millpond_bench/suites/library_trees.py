# SPDX-License-Identifier: BSL-1.0
"""The library's benchmark on sequences and sorted sets: its points and its questions.

sequence               vector_tree compared with the best tree with an index; its traversal with std::vector's
sequence_crossing      the number of elements from which it is faster than std::vector
ordered_numbers        ordered_set compared with absl::btree_set, and with sets of nodes
small_ordered_numbers  the same with few numbers, and compared with boost's flat_set
ranked_numbers         ordered_set compared with pb_ds's tree with order statistics
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from millpond_bench.experiments.comparisons import COLD, RESIDENT, WARM, Question, Special, WorkloadPart
from millpond_bench.experiments.contenders import TREE, Contender, Takes

AFTER, BEFORE = "after_ns", "before_ns"
_SEQUENCES = ("vector_tree", "pooled_vector_tree", "rope", "pb_ds_tree", "vector", "deque")
_SHIFTING = (*_SEQUENCES[:2], *_SEQUENCES[4:])
_ORDERED = ("ordered_set", "pooled_ordered_set", "counted_set", "pooled_counted_set", "set", "btree_set", "boost_set")
_RANKED = (*_ORDERED[:4], "pb_ds_tree")
# A sorted array shifts half of it at each insertion: larger ones take minutes.
_FLAT_SIZES = (100, 1000, 10_000)
_CROSSING = tuple(2**n for n in range(6, 19, 2))
# A process takes many seconds.
_ROUNDS = 5


def trees(elements: int, seconds: float, crossing: tuple[int, ...] = _CROSSING) -> list[WorkloadPart]:
    """Sequences and sets of that many numbers, small sets, and the point from which a tree is faster than an array."""
    return [
        WorkloadPart("sequence", (elements,), 6 * seconds, rounds=_ROUNDS, only=_SEQUENCES),
        WorkloadPart("sequence_crossing", crossing, seconds / 2, rounds=_ROUNDS, only=_SHIFTING),
        WorkloadPart("ordered_numbers", (elements,), 3 * seconds, rounds=_ROUNDS, only=_ORDERED),
        WorkloadPart("small_ordered_numbers", _FLAT_SIZES, seconds, rounds=_ROUNDS, only=(*_ORDERED, "flat_set")),
        WorkloadPart("ranked_numbers", (elements,), 3 * seconds, rounds=_ROUNDS, only=_RANKED),
    ]


def _named(*names: str) -> Takes:
    return lambda c: c.name in names


def _is_tree(contender: Contender) -> bool:
    return contender.kind == TREE


def _of(ours: str, peers: Takes, metrics: Mapping[str, str]) -> list[Question]:
    """A question for each comparison and its metric."""
    return [Question(name, (ours,), peers, metric, unit="ns a number") for name, metric in metrics.items()]


TREE_QUESTIONS: Mapping[str, Sequence[Question | Special]] = {
    "sequence": [
        *_of("vector_tree", _is_tree, {"sequence_insert": COLD, "sequence_index": WARM}),
        *_of("vector_tree", _named("vector"), {"sequence_traversal": AFTER}),
        *_of("vector_tree", _named("rope"), {"sequence_rotation": BEFORE}),
    ],
    "sequence_crossing": [Question("crossing", ("vector_tree",), _named("vector"), WARM, unit="ns a pair")],
    "ordered_numbers": [
        *_of("ordered_set", _named("btree_set"),
             {"ordered_insert": COLD, "ordered_find": WARM, "ordered_traversal": AFTER}),
        *_of("ordered_set", _named("set", "boost_set"), {"ordered_insert_nodes": COLD, "ordered_find_nodes": WARM}),
        Question("ordered_bytes", ("ordered_set",), metric=RESIDENT, unit="bytes a number", payload=1, payload_name=""),
    ],
    "small_ordered_numbers": _of(
        "ordered_set", _named("btree_set", "flat_set"),
        {"small_insert": COLD, "small_find": WARM, "small_traversal": AFTER}),
    "ranked_numbers": _of(
        "ordered_set", _named("pb_ds_tree"),
        {"ranked_insert": COLD, "ranked_rank": WARM, "ranked_nth": AFTER, "ranked_erase": BEFORE}),
}  # fmt: skip
