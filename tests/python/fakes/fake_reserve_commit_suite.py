# SPDX-License-Identifier: BSL-1.0
"""Fakes millpond-reserve_commit-suite: the same command line and JSON; all metrics of a cell have one value.

`capture` replaces `native.capture`. `values`: {strategy: number}, 1 for others. `fails`: strategies that run out of
memory.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from millpond.system.native import ProgramOutput
from millpond_bench.suites.reserve_commit import EXPERIMENTS, METRICS


class FakeReserveCommit:
    """The fake program. `calls` are the command lines of rounds so far."""

    def __init__(self, values: Mapping[str, float] | None = None, fails: Sequence[str] = ()) -> None:
        self._values = values or {}
        self._fails = fails
        self.calls: list[dict[str, str]] = []

    def capture(self, argv: Sequence[str], environment: Mapping[str, str], **_: object) -> ProgramOutput:
        del environment
        if "--list" in argv:
            return ProgramOutput(0, json.dumps(self._listed()), "")
        own = argv[argv.index("--") + 1 :] if argv[0] == "prlimit" else argv
        given = {own[i].removeprefix("--"): own[i + 1] for i in range(1, len(own) - 1, 2)}
        self.calls.append(given)
        strategy = given["contender"]
        status = "bad_alloc" if strategy in self._fails else "ok"
        printed: dict[str, Any] = {"schema": "millpond.suite/2", "status": status, "checksum": "7"}
        if status == "ok":
            value = self._values.get(strategy, 1.0)
            printed["metrics"] = {**dict.fromkeys(METRICS.units, value), "units": 10**9}
        return ProgramOutput(0, json.dumps(printed), "")

    @staticmethod
    def _listed() -> dict[str, Any]:
        names = list(dict.fromkeys(s for e in EXPERIMENTS for s in e.data.strategies))
        works = [{"name": e.data.workload, "unit": "unit", "parameters": [], "contenders": names} for e in EXPERIMENTS]
        return {"schema": "millpond.suite/2", "suite": "reserve_commit", "compiler": "g++ 12.2.0",
                "standard_library": "libstdc++", "workloads": works}  # fmt: skip
