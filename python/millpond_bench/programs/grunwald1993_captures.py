# SPDX-License-Identifier: BSL-1.0
"""Direct captures of the programs of Grunwald 1993: each program on each allocator, with its references simulated at
once.

    cell (program, allocator) ──millpond-references --simulate, the allocator preloaded──▶ counts ──▶ values of a round

The paper's tables were made in the same way: the program runs on the allocator, and nothing is predicted. All values
are counts, so captures may run at the same time; only the footnote's check of the model takes CPU time as well. A
round is one size of the environment, which places the stack: all allocators of a round have their stacks at the same
address, whatever the length of their library's name, and address randomisation is off.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from millpond.cells.cell import Cell, Outcome
from millpond.cells.metrics import Metrics
from millpond.rounds.capture_tools import padding
from millpond.rounds.fresh_process import describe
from millpond.rounds.layouts import CAPTURE, SIMULATE, Layout, layout_of
from millpond.rounds.real_program import RealProgram, require_program
from millpond.rounds.simulation_data import FORESEEN, Count, Simulation, Simulator
from millpond.store.round_log import subject_of
from millpond.system import native
from millpond.system.environment import user_environment
from millpond.system.errors import Failure, Status
from millpond.system.temporary import temporary_folder
from millpond_bench.programs import custom_malloc, inputs_folder
from millpond_bench.programs.allocator_statistics import AllocatorStatistics, statistics_of
from millpond_bench.programs.grunwald1993_programs import PROGRAMS, PURPOSE
from millpond_bench.programs.page_faults import MEMORIES_KIBIBYTES, faults_of
from millpond_bench.programs.recorded_inputs import RECORDER

# The paper's programs and inputs, with the programs of today in their place; an interpreter that allocates as the
# paper's GS did, with three inputs as well; and two more.
ROLES = {
    "ESPRESSO": "abc", "GS": "gs large", "PTC": "spin", "GAWK": "gawk", "MAKE": "make", "GS-Small": "gs small",
    "GS-Medium": "gs text", "TROFF": "troff large", "TROFF-Small": "troff small", "TROFF-Medium": "troff medium",
    "PERL": "perl", "F2C": "f2c",
}  # fmt: skip
PROGRAM, INPUT = "program", "input"
MEASURED, TRAINED = "measured", "trained"  # the inputs of a StudyProgram
CACHES_KIBIBYTES = (16, 32, 64, 128, 256)
LINES_BYTES = (32, 64)
_SIZES = "/".join(f"{size}K" for size in CACHES_KIBIBYTES)
_ATTRIBUTED_KIBIBYTES = 64  # the cache whose misses are attributed by kind and by the code that made them
_AROUND_KIBIBYTES = (16, 64)  # caches also simulated without write-allocate, once: no statement asks for them
_ATTRIBUTED = f"attributed:line=32,size={_ATTRIBUTED_KIBIBYTES}K,ways=1,split=no"
# Today's hierarchy: 32 KiB in 8 ways, 1 MiB in 16 ways, lines of 64 bytes.
_DESCRIPTIONS = (
    *(f"direct:line={line},size={_SIZES}" for line in LINES_BYTES),
    _ATTRIBUTED,
    "levels:line=64,size=32K/1M,ways=8/16,inclusion=independent",
)
_AROUND = tuple(f"fifo:line=32,size={size}K,ways=1,write=around" for size in _AROUND_KIBIBYTES)
# Distances of pages: in every round for the programs whose faults statements ask for, and once for the figures.
_PAGES = "distances:line=4K"
_PAGED = ("GS", "TROFF", "PTC")
# The contents of a cache, where statements ask for them: allocators with tags, on the measured input. They make a
# capture a quarter longer.
_CONTENTS = f"contents:line=32,size={_ATTRIBUTED_KIBIBYTES}K,ways=1"
_WITH_TAGS = ("first_fit", "gnu_gxx", "bsd", "quick_fit")
# Allocators with one thing changed, of which statements ask only for the model's time, or also for the misses of the
# program itself. The other simulators take most of a capture's time.
_CHANGED = {
    **dict.fromkeys(
        ("first_fit_uncoalesced", "gnu_gxx_uncoalesced", "gnu_gxx_heads", "size_map_3", "size_map_9", "size_map_256"),
        _DESCRIPTIONS[:1],
    ),
    **dict.fromkeys(("gnu_local_padded", "gnu_local_tagged"), (_DESCRIPTIONS[0], _ATTRIBUTED)),
}
METRICS = Metrics(
    {
        "instructions_executed": "instructions", "allocator_instructions": "instructions", "references": "references",
        "stores": "references", "allocator_references": "references", "objects_allocated": "objects",
        "objects_freed": "objects", "requested_bytes": "bytes", "common_sizes_share": "share",
        "size_24_rank": "rank", "heap_bytes": "bytes", "examined_objects": "objects", "granted_bytes": "bytes",
        "lost_bytes": "bytes", "insertions": "insertions", "relinked_nodes": "nodes", "relinked_pages": "pages",
        "blocks": "blocks",
        "pages": "pages", "fetched_bytes": "bytes", "allocator_bytes": "bytes",
        **{f"misses_{line}_{size}": "references" for line in LINES_BYTES for size in CACHES_KIBIBYTES},
        "cold_misses": "references", "allocator_misses": "references", "indirect_misses": "references",
        **{f"around_misses_{size}": "references" for size in _AROUND_KIBIBYTES},
        "level_1_misses": "references", "level_2_misses": "references", "model_seconds": "seconds",
        "cpu_seconds": "seconds",
        **{f"faults_{size}": "faults" for size in MEMORIES_KIBIBYTES},
        "fault_slope": "exponent",
    },
    is_open=True,
)  # fmt: skip
_STUDIED_BYTES = 24  # "a very common allocation request size" (section 4.3)
_FEW_SIZES = 8  # of "one of a few different object sizes" (section 4.1)


def identity_of(cell: Cell) -> str:
    """Identifies captures of this cell by tool, allocator and program.

    Empty if one of them is missing.
    """
    try:
        files = [native.find(CAPTURE), native.find(SIMULATE), *_files_of(cell.contender.name)]
        tool = native.libraries(CAPTURE) / "valgrind" / "millpond-amd64-linux"
        program = program_path(cell)
    except Failure:
        return ""
    return subject_of([program, *map(str, files)], [tool, *files])


def _files_of(allocator: str) -> list[Path]:
    """The files that an allocator comes from. Failure (2 or 4) if it does not exist here."""
    if allocator == custom_malloc.NAME:
        return [native.find(RECORDER)]
    library = layout_of(allocator).library
    return [library] if library else []


def program_of(cell: Cell, inputs: Path, place: Path) -> RealProgram:
    """The program of a cell with its input, which is written into `inputs`. Failure (4) if it is not installed.

    A program that writes into its working folder gets a copy of it in `place`, so that simultaneous runs do not
    collide.
    """
    given = dict(cell.parameters)
    study = PROGRAMS[ROLES[given[PROGRAM]]]
    with inputs_folder.held(inputs):  # no input is written while another one is copied
        found = study.trained(inputs) if given[INPUT] == TRAINED else study.measured(inputs)
        if found.folder is None:
            return found
        return replace(found, folder=shutil.copytree(found.folder, place / "folder"))


def descriptions_of(cell: Cell, number: int = 1) -> tuple[str, ...]:
    """The simulators of a cell's capture in this round: those whose counts statements ask for, and in the first round
    those that only tables and figures have.
    """
    if cell.contender.name in _CHANGED:
        return _CHANGED[cell.contender.name]
    given, is_first = dict(cell.parameters), number == 1
    return (
        *_DESCRIPTIONS,
        *(_AROUND if is_first else ()),
        *((_PAGES,) if is_first or given[PROGRAM] in _PAGED else ()),
        *((_CONTENTS,) if cell.contender.name in _WITH_TAGS and given[INPUT] == MEASURED else ()),
    )


def executable_of(cell: Cell) -> str:
    """The name of the program of a cell."""
    return PROGRAMS[ROLES[dict(cell.parameters)[PROGRAM]]].executable


def program_path(cell: Cell) -> str:
    """The path of a cell's program. Failure (4) if it is not installed."""
    return require_program(executable_of(cell), PURPOSE)


@dataclass
class CaptureRunner:
    """A runner for `counted_rounds.run_counted`. Thread-safe: each round has a folder of its own in `folder`."""

    folder: Path
    inputs: Path
    limit_seconds: float = 3600.0
    _custom: dict[str, Path] = field(default_factory=dict)
    _building: threading.Lock = field(default_factory=threading.Lock)
    _told: dict[Cell, AllocatorStatistics] = field(default_factory=dict)
    _probing: threading.Lock = field(default_factory=threading.Lock)

    def _latencies(self) -> Path:
        """The latencies of this machine's memory, measured once, before the captures start."""
        path = self.folder / "probe.json"
        with self._probing:
            if not path.exists():
                native.require("millpond-probe", ["--json", str(path)])
        return path

    def run(self, cell: Cell, stage: str, number: int) -> Outcome:
        """One capture. Failure (4) if the tool cannot run; a program that fails gives `killed`."""
        latencies = self._latencies()
        with temporary_folder(self.folder) as own:
            return self._captured(cell, stage, number, own / "study.mpt", latencies)

    def _captured(self, cell: Cell, stage: str, number: int, trace: Path, latencies: Path) -> Outcome:
        workload = program_of(cell, self.inputs, trace.parent)
        layout = self._layout(cell)
        simulators = [word for each in descriptions_of(cell, number) for word in ("--simulate", each)]
        preload = ["--preload", str(layout.library)] if layout.library else []
        command = [require_program("setarch"), "-R", str(native.find(CAPTURE)), *simulators, *preload, "-o", str(trace),
                   "--", *workload.command]  # fmt: skip
        try:
            with (workload.stdin or Path(os.devnull)).open("rb") as stdin:
                done = subprocess.run(
                    command, stdin=stdin, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False,
                    env=environment_of(workload, layout, number), cwd=workload.folder, timeout=self.limit_seconds,
                )  # fmt: skip
        except subprocess.TimeoutExpired:
            return Outcome.failed(cell, stage, number, "killed", f"took longer than {self.limit_seconds:.0f} s")
        if done.returncode != 0:
            said = done.stderr.decode(errors="replace").strip()[-300:]
            why = f"{describe(done.returncode, max(0, -done.returncode))}: {said}"
            return Outcome.failed(cell, stage, number, "killed", why)
        if cell not in self._told:
            self._told[cell] = statistics_of(workload, layout.library)
        modelled = any(each.startswith("levels:") for each in descriptions_of(cell, number))
        values = _values(trace, latencies if modelled else None, self._told[cell])
        if "model_seconds" in values:
            values["cpu_seconds"] = _cpu_seconds(workload, layout)
        return Outcome(cell, stage, number, values, kind="simulated")

    def _layout(self, cell: Cell) -> Layout:
        """The allocator of a cell; that of customised classes is built once for each program."""
        if cell.contender.name != custom_malloc.NAME:
            return layout_of(cell.contender.name)
        role = dict(cell.parameters)[PROGRAM]
        with self._building:
            if role not in self._custom:
                place = self.folder / f"custom_{role}"
                trained = replace(cell, parameters=((PROGRAM, role), (INPUT, TRAINED)))
                program = program_of(trained, self.inputs, place / "program")
                self._custom[role] = custom_malloc.build(program, place / "malloc")
            return Layout(custom_malloc.NAME, self._custom[role])


def environment_of(workload: RealProgram, layout: Layout, number: int) -> dict[str, str]:
    """An environment of equal size for every allocator; after eight sizes the first comes again."""
    return {**user_environment(), **workload.environment, **padding(layout.library, number % 8)}


def _cpu_seconds(workload: RealProgram, layout: Layout) -> float:
    """The CPU time of the program without a tool on the allocator, in a fresh process: one of each round."""
    preload = {"LD_PRELOAD": str(layout.library)} if layout.library else {}
    with (workload.stdin or Path(os.devnull)).open("rb") as stdin:
        child = subprocess.Popen(
            workload.command, stdin=stdin, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            cwd=workload.folder, env={**user_environment(), **workload.environment, **preload},
        )  # fmt: skip
        _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    return used.ru_utime + used.ru_stime


def _model_seconds(simulation: Simulation) -> dict[str, float]:
    """The paper's model with two levels and this machine's latencies, if levels were simulated: each instruction takes
    a cycle, and a miss of the first level waits for the second, or for memory. A hit of the first level does not wait,
    and nothing is prefetched.
    """
    if not simulation.level_times:
        return {}
    [found] = simulation.level_times
    ns = {part.part: part.ns_each for part in found.parts}
    waits = (part.count * ns[part.part.removesuffix(FORESEEN)] for part in found.parts if part.part != "level 1")
    return {"model_seconds": sum(waits) * 1e-9}


def _values(trace: Path, latencies: Path | None, told: AllocatorStatistics) -> dict[str, float]:
    """The values of a captured round. `latencies`: of this machine, for the model; None if no levels were simulated."""
    model = ["--latencies", str(latencies)] if latencies else []
    answer = native.answer(SIMULATE, ["--json", "-", *model, str(trace)])
    simulation = Simulation.from_json(json.loads(answer))
    [facts] = json.loads(native.answer("millpond-characterise", ["--summary", "--json", "-", str(trace)]))
    [sizes] = json.loads(native.answer("millpond-characterise", ["--sizes", "--json", "-", str(trace)]))
    census = sizes["census"]
    common = sum(each["requests"] for each in census["most_frequent"][:_FEW_SIZES])
    counted = {
        "instructions_executed": simulation.input.instructions,
        "allocator_instructions": simulation.input.allocator_instructions or 0,
        "references": simulation.input.references,
        "stores": simulation.input.stores + simulation.input.modifications,
        "objects_allocated": facts["trace"]["allocations"],
        "objects_freed": facts["trace"]["frees"],
        "requested_bytes": census["requested_bytes"],
        "common_sizes_share": common / max(1, census["requests"]),
        "size_24_rank": _rank_of_size(sizes["rows"], _STUDIED_BYTES),
        **_of_statistics(told),
        **_model_seconds(simulation),
        **_of_caches(simulation.simulators),
        **faults_of(simulation.simulators),
    }
    return {name: float(value) for name, value in counted.items()}


def _of_statistics(told: AllocatorStatistics) -> dict[str, int]:
    """The counts that the allocator keeps itself, as far as it reports them."""
    found = {
        "heap_bytes": told.heap_bytes, "examined_objects": told.examined, "granted_bytes": told.granted_bytes,
        "lost_bytes": told.lost_bytes,
        "insertions": told.insertions, "relinked_nodes": told.relinked_nodes, "relinked_pages": told.relinked_pages,
        "blocks": told.blocks,
    }  # fmt: skip
    return {name: value for name, value in found.items() if value is not None}


def _rank_of_size(rows: Sequence[Mapping[str, Any]], size_bytes: int) -> int:
    """The place of a size among all by their requests, 1 for the most common; sizes are multiples of 8, rounded up."""
    requests: dict[int, int] = {row["bytes"]: row["requests"] for row in rows}
    return 1 + sum(found > requests.get(size_bytes, 0) for found in requests.values())


def _of_caches(simulators: tuple[Simulator, ...]) -> Mapping[str, float]:
    found: dict[str, float] = {}
    for one in simulators:
        rows = [row for row in one.metrics if row.subject is None]
        if one.kind == "direct":
            found |= {f"misses_{row.line_bytes}_{_kibibytes(row)}": row.value for row in rows if row.metric == "misses"}
        elif one.kind == "fifo":
            found |= {f"around_misses_{_kibibytes(row)}": row.value for row in rows if row.metric == "misses"}
        elif one.kind == "levels":
            found |= {f"level_{row.level}_misses": row.value for row in rows if row.metric == "misses"}
        elif one.kind == "attributed":
            by = {(row.metric, row.origin): row.value for row in rows}
            kinds = ("cold", "replacement")
            found["cold_misses"] = sum(by.get(("cold", origin), 0) for origin in ("program", "allocator"))
            found["allocator_misses"] = sum(by.get((kind, "allocator"), 0) for kind in kinds)
            found["indirect_misses"] = by.get(("indirect", "program"), 0)
            found["allocator_references"] = by.get(("references", "allocator"), 0)
        elif one.kind == "contents":
            held = {row.origin: row.value for row in rows if row.metric == "held"}
            found |= {"fetched_bytes": one.count("fetched"), "allocator_bytes": held["allocator"]}
    return found


def _kibibytes(row: Count) -> int:
    return (row.cache_bytes or 0) // 1024


def lacking(cells: list[Cell]) -> dict[Cell, str]:
    """The reasons for cells that cannot be captured here. Failure (4) if none can, or the tool is missing."""
    native.find(CAPTURE)
    missing: dict[Cell, str] = {}
    first: Failure | None = None
    for cell in cells:
        try:
            _files_of(cell.contender.name)
            program_path(cell)
        except Failure as failure:
            first = first or failure
            missing[cell] = failure.message
    if first is not None and len(missing) == len(cells):
        raise Failure(Status.ENVIRONMENT, first.message)
    return missing
