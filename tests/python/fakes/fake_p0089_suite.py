# SPDX-License-Identifier: BSL-1.0
"""Stands for millpond-p0089-suite: the same command line and JSON, with the document's own figures or a test's.

`capture` goes in the place of `native.capture`. What `config` may hold:
  factor      {strategy: factor on its seconds}        bad_alloc   strategies that run out of memory
  dies        strategies that die of SIGSEGV           checksum    {strategy: another checksum}
  lacks       strategies that the program has not      stop_after  rounds after which it has no room to write
  refuses     strategies of which the program says that memory would not suffice
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from millpond import published
from millpond.native import Captured
from millpond.p0089 import ALL_ALIASES, EXPERIMENTS, OF_2015

_OURS = ("synchronized_multipool:type:destroy", "synchronized_multipool:base:destroy")
STRATEGIES = (*ALL_ALIASES.values(), *OF_2015, *_OURS)
UNITS = 2**20


class FakeP0089:
    """The program, faked. `calls` are the command lines of rounds so far."""

    def __init__(self, **config: Any) -> None:
        self.config = config
        self.calls: list[tuple[str, ...]] = []

    def capture(self, argv: Sequence[str], environment: Mapping[str, str], *, seconds: float | None = None) -> Captured:
        del environment, seconds
        if "--list" in argv:
            return Captured(0, json.dumps(self.listed()), "")
        if len(self.calls) >= self.config.get("stop_after", float("inf")):
            return Captured(4, "", "millpond: no room to write")
        self.calls.append(tuple(argv))
        given = {argv[i].removeprefix("--"): argv[i + 1] for i in range(1, len(argv) - 1, 2)}
        strategy = given["strategy"]
        if strategy in self.config.get("dies", ()):
            return Captured(-11, "", "")
        failed = {"bad_alloc": "bad_alloc", "predicted_bad_alloc": "refuses"}
        status = next((s for s, key in failed.items() if strategy in self.config.get(key, ())), "ok")
        own = {k: v for k, v in given.items() if k not in ("workload", "strategy", "seed", "memory-limit-bytes")}
        head = {"schema": "millpond.suite/1", "status": status, "workload": given["workload"], "strategy": strategy,
                "parameters": own}  # fmt: skip
        if status != "ok":
            return Captured(0, json.dumps(head), "")
        checksum = self.config.get("checksum", {}).get(strategy, "18446744073709551615")
        took = self.seconds(given["workload"], strategy, own) * self.config.get("factor", {}).get(strategy, 1.0)
        result = {**head, "checksum": checksum, "units": UNITS, "cpu_seconds": took, "wall_seconds": took,
                  "page_faults": 7, "peak_bytes": 1_000_000, "end_bytes": 0, "held_bytes": None,
                  "access_seconds": took, "shuffle_seconds": 0.5}  # fmt: skip
        return Captured(0, json.dumps(result) + "\n", "")

    @staticmethod
    def seconds(workload: str, strategy: str, given: Mapping[str, str]) -> float:
        """So much that the experiment's figure is what the document printed there; 1 beside its tables."""
        experiment = next(e for e in EXPERIMENTS if e.workload == workload)
        if experiment.figure.twin and given[experiment.figure.twin].startswith("-"):
            return 1.0
        at = tuple((name, int(given[name])) for name in experiment.axes)
        found = published.values(experiment).get((at, strategy), 1.0)
        return found * UNITS / experiment.figure.per_units if experiment.figure.per_units else found

    def listed(self) -> dict[str, Any]:
        have = [s for s in STRATEGIES if s not in self.config.get("lacks", ())]
        aliases = {name: alias for alias, name in ALL_ALIASES.items()}
        works = [{"name": e.workload, "unit": "unit", "parameters": [], "strategies": have} for e in EXPERIMENTS]
        return {"schema": "millpond.suite/1", "suite": "p0089", "compiler": "g++ 12.2.0",
                "standard_library": "libstdc++", "workloads": works,
                "strategies": [{"name": s, "alias": aliases.get(s)} for s in have]}  # fmt: skip
