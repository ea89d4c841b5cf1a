# SPDX-License-Identifier: BSL-1.0
"""The approximate needs of a process of each experiment of "Reserve and commit", on one core of 2020 or so.

Bytes err upwards: a cell that is refused without need costs a figure, but one that needs too much takes the machine
down.
"""

from __future__ import annotations

from collections.abc import Mapping

from millpond.cells.cell import LITTER
from millpond_bench.experiments.run_rules import Needs

_START_SECONDS = 0.01
_MIB = 2**20
_BYTES = {"int": 4, "unique_ptr": 8, "counted": 4}
_NS_AN_APPEND, _NS_UNOPTIMISED, _NS_CLOCK = 3.0, 25.0, 70.0
_NS_A_BYTE = 0.6  # a page fault and its zeroes
# The littered share of the buffers that a vector allocates.
_LITTER_BYTES = 256 * _MIB


def growth(at: Mapping[str, str], strategy: str) -> Needs:
    """Two buffers of a vector exist at once, the new one up to twice the needed size."""
    length, each = int(at["length"]), _BYTES[at.get("element", "int")]
    ns = _NS_UNOPTIMISED if at.get("optimisation") == "0" else _NS_AN_APPEND
    times = 3 if strategy in ("vector", "realloc") else 2 if strategy in ("mremap", "chunked") else 1
    step = 2 ** int(at.get("log2_step", "21"))
    own = Needs(_START_SECONDS + length * (ns + _NS_A_BYTE * each) * 1e-9, 8 * _MIB + length * each * times + 2 * step)
    return _littered(own, at, 2 * length * each)


def latency(at: Mapping[str, str], strategy: str) -> Needs:
    """The same, with a read of the clock before and after each append."""
    own = growth(at, strategy)
    return Needs(own.seconds + int(at["length"]) * _NS_CLOCK * 1e-9, own.bytes)


def give_back(at: Mapping[str, str], _strategy: str) -> Needs:
    """A range that is touched twice."""
    size = 2 ** int(at["log2_bytes"])
    return _littered(Needs(_START_SECONDS + 2 * size * _NS_A_BYTE * 1e-9, 8 * _MIB + size), at, _MIB)


def _littered(own: Needs, at: Mapping[str, str], blocks_bytes: int) -> Needs:
    if LITTER not in at:
        return own
    litter = min(blocks_bytes, _LITTER_BYTES)
    return Needs(own.seconds + litter * _NS_A_BYTE * 1e-9, own.bytes + litter)
