# SPDX-License-Identifier: BSL-1.0
"""A run of comparisons: its contenders, their cells, and the rows and bars from their rounds.

A missing peer fails the run before anything is measured (status 4).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cached_property

from millpond.cells.cell import Cell
from millpond.system import callgrind
from millpond.system.errors import Failure, Status
from millpond_bench.claims.bar_rules import bars_of
from millpond_bench.claims.claims import Verdict
from millpond_bench.experiments.bench_document import Peer
from millpond_bench.experiments.comparisons import ComparisonSpec
from millpond_bench.experiments.contenders import HARDENED, KEPT, Contender, Contenders, find_contenders
from millpond_bench.experiments.result_table import ResultRow
from millpond_bench.experiments.run_rules import Needs
from millpond_bench.experiments.suite_rounds import Launch, SuiteProgram, read_suite
from millpond_bench.experiments.surroundings import Surroundings
from millpond_bench.runs.experiment_run import RunRequest, SuiteRun

Sizes = Mapping[str, tuple[int, ...]]


def sizes_given(texts: Sequence[str], workloads: Sequence[str]) -> Sizes:
    """Parses `vector_string=2^13,5000`: these sizes for that workload. Failure (status 2) for any other form."""
    result: dict[str, tuple[int, ...]] = {}
    for text in texts:
        workload, _, numbers = text.partition("=")
        found = [re.fullmatch(r"(2\^)?([0-9]{1,10})", n) for n in numbers.split(",")]
        sizes = [0 if f is None else 2 ** min(int(f[2]), 40) if f[1] else int(f[2]) for f in found]
        if workload not in workloads or 0 in sizes:
            raise Failure(
                Status.USAGE,
                f"--sizes {text!r}: write WORKLOAD=SIZE,SIZE, with a size such as 5000 or 2^13; the workloads are "
                f"{', '.join(workloads)}",
            )
        result[workload] = tuple(sizes)
    return result


class ComparisonRun(SuiteRun):
    """One experiment of comparisons with its chosen cells; all cells until `choose`."""

    spec: ComparisonSpec

    def __init__(
        self, spec: ComparisonSpec, request: RunRequest, peers: Sequence[str] = (), sizes: Sequence[str] = ()
    ) -> None:
        self.contenders: Contenders = find_contenders(read_suite(spec.suite, {}, Surroundings()), peers)
        known = sizes_given(sizes, spec.workloads)
        found = spec.rounds_and_seconds(request.scale, self.contenders, request.rounds_of(spec), request.seed, known)
        super().__init__(spec, list(found), request)
        self._rounds = {cell: rounds for cell, (rounds, _) in found.items()}
        self.needs = {cell: Needs(seconds, 0) for cell, (_, seconds) in found.items()}

    def rounds_of(self, cell: Cell) -> int:
        return self._rounds[cell]

    def _contender(self, cell: Cell) -> Contender:
        return self.contenders.by_name[cell.contender.name]

    def built_by(self, cell: Cell) -> str | None:
        return self.contenders.program.built_by or None

    @property
    def programs(self) -> list[SuiteProgram]:
        return [self.contenders.program]

    @property
    def peers(self) -> list[Peer]:
        return [c.record() for c in self.contenders.peers() if not c.name.endswith(KEPT)]

    def require(self) -> None:
        """Failure (status 4) for a missing part, before anything is measured."""
        self.contenders.require_peers()
        for contender in self.contenders.by_name.values():
            if contender.around.path is not None:
                read_suite(self.spec.suite, {}, contender.around)
        if any(cell.contender.name == HARDENED for cell in self.cells):
            self.contenders.by_name[HARDENED].around.program(self.spec.suite)
        if any(cell.subject.argv[0] in self.spec.counted for cell in self.cells):
            callgrind.find_valgrind()

    def launch(self, cell: Cell) -> Launch:
        (name,) = cell.subject.argv
        workload = self.spec.counted.get(name, name)
        program = self.contenders.program
        functions = program.workload(workload).counted_functions or () if name in self.spec.counted else ()
        return self._contender(cell).launch(workload, functions)

    @cached_property
    def rows(self) -> list[ResultRow]:
        return self.spec.rows(self.cells, self.outcomes, self.contenders)

    @cached_property
    def bars(self) -> list[Verdict]:
        return bars_of(self.spec.claims, self.rows)

    def print_results(self) -> None:
        from millpond_bench.tables.terminal_table import print_rows

        print_rows(self.rows)
