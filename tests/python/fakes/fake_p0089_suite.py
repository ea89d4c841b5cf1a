# SPDX-License-Identifier: BSL-1.0
"""Fakes millpond-p0089-suite and the suites of the other papers: the same command line and JSON, with the paper's own
figures or the test's.

`replace_programs` installs it in their place. Keys of `config`:
  factor      {strategy: factor on its seconds}        bad_alloc   strategies that run out of memory
  dies        strategies that die of SIGSEGV           checksum    {strategy: another checksum}
  lacks       strategies that the program has not      stop_after  rounds after which it has no room to write
  refuses     strategies of which the program says that memory would not suffice
  counters    the counters of a round, where it is asked for them
  callgrind   what callgrind says at its end, or what    ends        the status of a round under it
              makes it of a command line
  lacks_by    {toolchain: strategies that its program has not}
  window      references that our capturing tool sees in a window: 320, in 32 lines and 2 pages
  preloads    calls (lists and rounds) in which the loader preloads what it is told to; then it only warns
  unknown     names that are no events                   events      what millpond-events lists
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from millpond.cells.cell import LITTER, SURROUNDINGS
from millpond.system import callgrind, native
from millpond.system.native import ProgramOutput
from millpond_bench.experiments import platforms
from millpond_bench.experiments.experiment import PublishedSpec
from millpond_bench.experiments.experiment_data import percent, place_of
from millpond_bench.suites.every_experiment import PUBLISHED
from millpond_bench.suites.p0089_strategies import ALL_ALIASES

if TYPE_CHECKING:
    import pytest

_OURS = ("synchronized_multipool:type:destroy", "synchronized_multipool:base:destroy")
STRATEGIES = (*ALL_ALIASES.values(), *_OURS)
UNITS = 2**20
LIBC = "/lib/x86_64-linux-gnu/libc.so.6"
# The toolchain that built the program, by the name of the program's folder.
BUILT_BY = {
    "gcc": ("g++ 12.2.0", "libstdc++ 12"), "clang": ("clang++ 19.1.7", "libstdc++ 12"),
    "clang-libc++": ("clang++ 19.1.7", "libc++ 19.1.7"), "aarch64": ("g++ 12.2.0", "libstdc++ 12"),
    "": ("g++ 12.2.0", "libstdc++"),
}  # fmt: skip
# The metrics of every workload.
RANGES = [
    {"name": "log2_leaves", "default": 22, "least": 0, "most": 40, "meaning": "leaves created in all"},
    {"name": "walk", "default": "lists", "meaning": "what a visit is", "words": ["lists", "links"]},
]
_COUNTING = ("--counters", "--event", "--perf-control")


def experiment_of(workload: str, given: Mapping[str, str]) -> PublishedSpec:
    """Returns the first experiment that runs the workload with these parameters; several may share a workload."""
    passed = {LITTER, *SURROUNDINGS}  # not passed as parameters
    return next(e for e in PUBLISHED if e.data.workload == workload and {*e.data.axes} - passed <= given.keys())


class FakeP0089:
    """The fake program. `calls` are the command lines of rounds so far, `simulated` those under callgrind, and `looks`
    those of extra runs. `environments` are the environments of rounds and callgrind runs, in order.

    `inherited`: the descriptors that each round was given. It also fakes millpond-events.
    """

    def __init__(self, **config: Any) -> None:
        self.config = config
        self.calls: list[tuple[str, ...]] = []
        self.simulated: list[tuple[str, ...]] = []
        self.environments: list[Mapping[str, str]] = []
        self.looks: list[tuple[str, ...]] = []
        self.inherited: list[tuple[int, ...]] = []
        self._asked = 0

    def replace_programs(self, patch: pytest.MonkeyPatch, folder: Path) -> None:
        """Replaces every native program and Valgrind, installed or not; makes `folder` the current one."""
        patch.setattr(native, "capture", self.capture)
        patch.setattr(native, "find", lambda name: folder / name)
        patch.setattr(native, "find_built_by", lambda toolchain, name, _="": folder / "toolchains" / toolchain / name)
        patch.setattr(platforms, "find_emulator", lambda name: name)
        patch.setattr(callgrind, "find_valgrind", lambda: "valgrind")
        patch.chdir(folder)

    def capture(
        self, argv: Sequence[str], environment: Mapping[str, str], *, seconds: float | None = None,
        descriptors: Sequence[int] = (),
    ) -> ProgramOutput:  # fmt: skip
        del seconds
        argv = argv[3:] if argv[0] in ("prlimit", "qemu-aarch64") else argv  # the memory limit, or -L and the root
        if Path(argv[0]).name == "millpond-events":
            return self.name_events(argv)
        self._asked += 1
        loads = self._asked <= self.config.get("preloads", float("inf"))
        malloc = environment.get("LD_PRELOAD", LIBC) if loads else LIBC
        if seen := self.look(argv):
            return seen
        if "--list" in argv:
            return ProgramOutput(0, json.dumps({**self.said_by(argv[0]), "malloc": malloc}), "")
        if len(self.calls) >= self.config.get("stop_after", float("inf")):
            return ProgramOutput(4, "", "millpond: no room to write")
        self.environments.append(environment)
        if argv[0] == "valgrind":
            return self.simulate(argv)
        self.calls.append(tuple(argv))
        self.inherited.append(tuple(descriptors))
        own_words = argv[: next((i for i, w in enumerate(argv) if w in _COUNTING), len(argv))]
        given = {own_words[i].removeprefix("--"): own_words[i + 1] for i in range(1, len(own_words) - 1, 2)}
        strategy = given["contender"]
        if strategy in self.config.get("dies", ()):
            return ProgramOutput(-11, "", "")
        failed = {"bad_alloc": "bad_alloc", "predicted_bad_alloc": "refuses"}
        status = next((s for s, key in failed.items() if strategy in self.config.get(key, ())), "ok")
        own = {k: v for k, v in given.items() if k not in ("workload", "contender", "seed", "memory-limit-bytes")}
        head = {"schema": "millpond.suite/2", "status": status, "workload": given["workload"], "contender": strategy,
                "parameters": own, "malloc": malloc}  # fmt: skip
        if status != "ok":
            return ProgramOutput(0, json.dumps(head), "")
        checksum = self.config.get("checksum", {}).get(strategy, "18446744073709551615")
        took = self.seconds(given["workload"], strategy, own) * self.config.get("factor", {}).get(strategy, 1.0)
        times = dict.fromkeys(self.times(given["workload"], own), took)
        metrics = {**times, "units": UNITS, "page_faults": 7, "peak_bytes": 1_000_000, "end_bytes": 0,
                   "held_bytes": None, "shuffle_seconds": 0.5, "kept_share": 0.5, "elements_bytes": 4e7,
                   "larger_bytes": 5e7, "sum_share": 0.6, "free_to_allocate": 1.5}  # fmt: skip
        result = {**head, "checksum": checksum, "metrics": metrics}
        if "--counters" in argv or "--event" in argv:
            result["counters"] = self.config.get("counters", {})
        return ProgramOutput(0, json.dumps(result) + "\n", "")

    def look(self, argv: Sequence[str]) -> ProgramOutput | None:
        """Answers the extra runs of a cell after its rounds: a picture of the heap, and dimensions of a recording."""
        if argv[-1] == "--picture-heap":
            self.looks.append(tuple(argv))
            return ProgramOutput(0, json.dumps({"metrics": {f"heap_taken:{64 * n}": n % 2 for n in range(128)}}), "")
        if Path(argv[0]).name == "millpond-references":
            return ProgramOutput(self.config.get("ends", 0), "", "")
        if Path(argv[0]).name == "millpond-simulate":
            return ProgramOutput(0, json.dumps(self.working_set()), "")
        if Path(argv[0]).name == "millpond-record":
            self.looks.append(tuple(argv))
            return ProgramOutput(0, json.dumps({"details": {"accesses": 30, "lines": 10, "transitions": 3}}), "")
        if Path(argv[0]).name == "millpond-characterise":
            dimensions = {letter: {"value": value} for letter, value in zip("DVUC", (0.4, 0.8, 0.1, None), strict=True)}
            return ProgramOutput(0, json.dumps({"subsystems": [{"name": "rings", "dvluc": dimensions}]}), "")
        return None

    def working_set(self) -> dict[str, Any]:
        """Returns millpond-simulate's document about a window."""
        seen = self.config.get("window", 320)
        rows = [{"description": f"distances:line={size}",
                 "metrics": [{"metric": "distinct", "unit": "blocks", "value": count, "line_bytes": size}]}
                for size, count in ((64, 32), (4096, 2))]  # fmt: skip
        rows.append({"description": "tlb:page=4K,entries=64/1536,ways=4/12",
                     "metrics": [{"metric": "misses", "unit": "references", "value": count, "level": level}
                                 for level, count in ((1, 9), (2, 4))]})  # fmt: skip
        return {
            "schema": "millpond.simulation/1", "simulators": rows,
            "input": {"path": "window.mpt", "format": "counts", "instructions": 2 * seen, "references": seen,
                      "loads": seen, "stores": 0, "modifications": 0},
            "rules": {"straddling_access": "once", "modification": "once", "access_bytes_max": 0,
                      "flush_references": 0, "flush_instructions": 0},
        }  # fmt: skip

    def said_by(self, program: str) -> dict[str, Any]:
        """Returns the list of a program with its toolchain, without strategies that this toolchain lacks."""
        toolchain = next((part for part in Path(program).parts if part in BUILT_BY), "")
        compiler, library = BUILT_BY[toolchain]
        lacks = self.config.get("lacks_by", {}).get(toolchain, ())
        listed = {"compiler": compiler, "standard_library": library, **self.listed(Path(program).name)}
        works = [{**w, "contenders": [c for c in w["contenders"] if c not in lacks]} for w in listed["workloads"]]
        return {**listed, "workloads": works}

    def name_events(self, argv: Sequence[str]) -> ProgramOutput:
        """Fakes the answer of millpond-events."""
        if "--list" in argv:
            return ProgramOutput(0, json.dumps(self.config.get("events", {})), "")
        unknown = [word for word in argv if word in self.config.get("unknown", ())]
        said = "".join(f'millpond: no event is called "{word}"\n' for word in unknown)
        return ProgramOutput(2 if unknown else 0, "", said)

    def simulate(self, argv: Sequence[str]) -> ProgramOutput:
        """Fakes a round under callgrind."""
        self.simulated.append(tuple(argv))
        said = self.config.get("callgrind", "")
        return ProgramOutput(self.config.get("ends", 0), "", said(argv) if callable(said) else said)

    @staticmethod
    def seconds(workload: str, strategy: str, given: Mapping[str, str]) -> float:
        """Returns the seconds that give the published figure of the point; 1 if none is published."""
        experiment = experiment_of(workload, given)
        if experiment.data.figure.twin and given[experiment.data.figure.twin].startswith("-"):
            return 1.0
        axes = [name for name in experiment.data.axes if name not in experiment.data.under]
        whole = {**SURROUNDINGS, **given}
        at = tuple((name, percent(given) if name == LITTER else place_of(whole[name])) for name in axes)
        found = experiment.published_values().get((at, experiment.data.printed_as(strategy)), 1.0)
        return found * UNITS / experiment.data.figure.per_units if experiment.data.figure.per_units else found

    @staticmethod
    def times(workload: str, given: Mapping[str, str]) -> list[str]:
        """Returns all times that the program measures for a workload."""
        return [name for name, unit in experiment_of(workload, given).metrics.units.items() if unit == "seconds"]

    def listed(self, program: str = "millpond-p0089-suite") -> dict[str, Any]:
        own = [e for e in PUBLISHED if e.suite == program]
        known = {
            *(s for e in own for s in (*e.data.strategies, *e.data.documents_own.values(), *e.data.extra_strategies)),
            *(STRATEGIES if "p0089" in program else ()),
        }
        have = sorted(known - {*self.config.get("lacks", ())})
        aliases = {name: alias for e in own for alias, name in e.data.aliases.items()}
        works = [{"name": e.data.workload, "unit": "unit", "parameters": RANGES, "contenders": have} for e in own]
        name = program.removeprefix("millpond-").removesuffix("-suite")
        return {"schema": "millpond.suite/2", "suite": name, "workloads": works,
                "contenders": [{"name": s, "alias": aliases.get(s)} for s in have]}  # fmt: skip
