# SPDX-License-Identifier: BSL-1.0
"""The library's benchmark on standard containers with and without a pool inside: small ones and joined ones.

small_sets, small_lists   many containers of ten numbers: time and bytes
merged_sets               nodes that move from one set to another
spliced_lists             a splice of a whole list
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from millpond_bench.experiments.comparisons import RESIDENT, WARM, Question, Special, WorkloadPart
from millpond_bench.experiments.contenders import Contender

_BOTH = ("pooled", "standard")
# Enough containers to measure pages: the kernel's counter has a resolution of 256 KiB.
_SMALL_SIZES = (1000, 100_000)
_ROUNDS = 5


def pooled_containers(nodes: int, seconds: float) -> list[WorkloadPart]:
    """Small containers, and two containers of that many nodes each that become one."""
    return [
        *(WorkloadPart(name, _SMALL_SIZES, seconds / 2, only=_BOTH) for name in ("small_sets", "small_lists")),
        *(
            WorkloadPart(name, (nodes,), seconds, rounds=_ROUNDS, only=_BOTH)
            for name in ("merged_sets", "spliced_lists")
        ),
    ]


def _standard(contender: Contender) -> bool:
    return contender.name == "standard"


def _small(kind: str) -> list[Question]:
    return [
        Question(f"{kind}_time", ("pooled",), _standard, WARM, unit="ns a number"),
        Question(f"{kind}_bytes", ("pooled",), _standard, RESIDENT, unit="bytes"),
    ]


POOLED_QUESTIONS: Mapping[str, Sequence[Question | Special]] = {
    "small_sets": _small("small_set"),
    "small_lists": _small("small_list"),
    "merged_sets": [Question("merge", ("pooled",), _standard, WARM, unit="ns a node")],
    "spliced_lists": [Question("splice", ("pooled",), _standard, WARM, unit="ns")],
}
