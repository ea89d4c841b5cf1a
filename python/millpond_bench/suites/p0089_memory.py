# SPDX-License-Identifier: BSL-1.0
"""p0089.memory: the strategies of Benchmark III that exhaust the memory of the paper's machine, shown by runs.

    paper      T = 2^32 … 2^35 bytes in all, a machine of 16 GB      ── both a 64th ──▶      T = 2^26 … 2^29, 256 MiB

Each process gets that much address space (prlimit), whatever this machine has. The live memory, A, is at most 2^20
bytes and is not scaled; nor are blocks, whose sizes decide which pool serves them.
"""

from __future__ import annotations

from collections.abc import Mapping

from millpond_bench.claims.claim_terms import RAN, RAN_OUT
from millpond_bench.experiments.experiment_data import Figure, Part, points
from millpond_bench.experiments.paper_tables import PaperTables, PublishedFigure, Tables
from millpond_bench.experiments.run_rules import Needs, RunRules
from millpond_bench.suites.p0089 import DATA, EXTRA_METRICS, point
from millpond_bench.suites.p0089 import EXPERIMENT as OF_DOCUMENT
from millpond_bench.suites.p0089_needs import utilization
from millpond_bench.suites.p0089_strategies import ALIASES, DOCUMENTS_UNLOCKED

LOG2_SCALE = 6
LIMIT_BYTES = 2**34 >> LOG2_SCALE
_TOTALS = range(32 - LOG2_SCALE, 36 - LOG2_SCALE)


def _published(row: Mapping[str, str]) -> PublishedFigure | None:
    if int(row["log2_T"]) - LOG2_SCALE not in _TOTALS:
        return None
    at = point(log2_t=int(row["log2_T"]) - LOG2_SCALE, log2_a=row["log2_A"], log2_s=row["log2_S"])
    # Times of sixty-four times the work cannot be compared with ours: only whether the run ended.
    printed = row["value"] if row["value"] in RAN_OUT else RAN
    return PublishedFigure(at, ALIASES[row["strategy"]], printed, row["unit"])


def _needs(at: Mapping[str, str], strategy: str) -> Needs:
    """The needs of Benchmark III, limited to the address space."""
    own = utilization(at, strategy)
    return Needs(own.seconds, min(own.bytes, LIMIT_BYTES))


def _rows(*live: int) -> tuple[Part, ...]:
    """The paper's rows of each total: with blocks of 2^10 bytes, then larger ones."""
    return tuple(Part((*points(log2_t=[total], log2_a=live, log2_s=[10]),
                       *points(log2_t=[total], log2_a=[20], log2_s=range(11, 16)))) for total in _TOTALS)  # fmt: skip


def _title(at: Mapping[str, int | str]) -> str:
    total = int(at["log2_t"])
    return f"T = 2^{total} bytes in 256 MiB, for 2^{total + LOG2_SCALE} in 16 GB"


EXPERIMENT = OF_DOCUMENT(
    name="p0089.memory", title="Benchmark III: where memory ends", section="9",
    measured="Whether T bytes in all, in blocks of S with A alive, end within a 64th of the document's 16 GB",
    data=DATA(
        workload="utilization", figure=Figure("cpu_seconds", "seconds", "cpu_seconds"), extra_metrics=EXTRA_METRICS[1:],
        axes=("log2_t", "log2_a", "log2_s"),
        strategies=tuple(ALIASES[name] for name in ("AS1", "AS2", "AS3", "AS5", "AS7", "AS9", "AS11", "AS13")),
        parts={"quick": _rows(20), "standard": _rows(15, 20), "paper": _rows(*range(15, 21))},
        documents_own=DOCUMENTS_UNLOCKED,
    ),
    table=PaperTables(
        file="p0089_benchmark3.csv", read=_published,
        layout=Tables(("log2_t",), ("log2_a", "log2_s"), "strategy", "A, S",
                      titles=_title,
                      labels=lambda name, value: f"{name[-1].upper()} 2^{value}"),
    ),
    rules=RunRules(memory_bytes=LIMIT_BYTES, needs=_needs),
    rounds={"quick": 1, "standard": 1, "paper": 1}, fewest_rounds=1,
    notes=("Each process may have 256 MiB of address space, a 64th of the document's 16 GB, for a 64th of its totals: "
           "what a pool reserves counts, touched or not.",
           "The document says fail from T = 2^32 on, a quarter of that machine's memory: it does not say why."),
)  # fmt: skip
