# SPDX-License-Identifier: BSL-1.0
"""Makes a store with runs of `advise` that never ran: real statistics over made-up rounds.

Four subsystems: `shop::book` and `shop::index` gain by pools of their own, `printer` does not, `tiny` was not tried.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from millpond.advice import effects
from millpond.advice.advice_data import Estimate, PlanPrediction, Replay
from millpond.advice.document import document
from millpond.advice.judged_program import JudgedProgram
from millpond.advice.recorded_program import RecordedProgram
from millpond.advice.screened_program import ScreenedProgram, TriedPlan
from millpond.advice.screening import screen
from millpond.advice.verdict import decide
from millpond.cells.cell import Cell, Control, Outcome, Program
from millpond.cells.plan_file import PlanRoute
from millpond.cells.plans import Plan, combine, merged
from millpond.rounds.characterisation import AliasCounts, Characterisation, RecordedTrace, Subsystem
from millpond.rounds.mallocs import Malloc
from millpond.rounds.recording import Process, Recording
from millpond.rounds.replay_data import ErrorNote
from millpond.store.call_tree import CallTree
from millpond.store.observations import Journal
from millpond.store.store import Store

NAMES = ("shop::book", "shop::index", "printer", "tiny")
PROGRAM = ("/opt/shop/bin/orders", "--orders", "70 000", "it's")
BUILD = "1afe00f4"
CPU = {"bare": 1.0, "looked_up": 1.02, "malloc": 0.9}
MALLOC = Malloc("fast", Path("/usr/lib/libfast.so"))
GAINS = {"shop::book": 0.75, "shop::index": 0.7, "printer": 1.0}
ROUNDS = 15


def subsystem(name: str, position: int) -> Subsystem:
    """Returns a subsystem as millpond-characterise describes it."""
    size = 4_000_000 // (position + 1)
    counted = {"value": 0.25 * position, "kind": "counted", "absolute": {}}
    density = {"value": 0.05, "kind": "estimated", "absolute": {"operation_seconds": 0.02, "cpu_seconds": 0.4}}
    unknown = {"value": None, "kind": "counted", "absolute": {}, "why_null": "no references captured"}
    witness = {
        "stack": [f"{name}::add", "trade", "main"],
        "thread": 1,
        "bytes": 48,
        "allocated_seconds": 0.01,
        "ended": "still live at exit",
    }
    scopes = [
        {
            "scope": "function",
            "name": f"{name}::add",
            "legal": False,
            "outliving": 70,
            "total": 700,
            "witnesses": [witness],
            "instance_bytes": {"p50": 48, "p95": 64, "max": 96},
        },
        {
            "scope": "function",
            "name": "trade",
            "legal": position < 2,
            "outliving": 0 if position < 2 else 3,
            "total": 700,
            "witnesses": [] if position < 2 else [witness],
            "instance_bytes": {"p50": size, "p95": size, "max": size},
        },
    ]
    return Subsystem.from_json(
        {
            "name": name,
            "kind": "type",
            "named": True,
            "events": 1400,
            "allocations": 700,
            "frees": 690,
            "reallocations": 0,
            "bytes": size,
            "end_live_bytes": 480,
            "peak_live_bytes": size // 2,
            "peak_live_objects": 600,
            "W": 1,
            "lifetimes": {
                "p10": 1e-5,
                "p50": 1e-3,
                "p90": 0.1,
                "max": 0.2,
                "histogram": [{"below_ns_log2": k, "count": 10 * k} for k in (0, 10, 11, 13, 20)],
            },
            "sizes": [{"bytes": 16 * k, "count": 100 * k} for k in (1, 2, 3)],
            "effective_sizes": 2.5,
            "N": {"cpu_seconds": 0.4},
            "freed_by_other_threads": 0,
            "dvluc": {"D": density, "V": counted, "L": unknown, "U": counted, "C": counted},
            "diffusion": [
                {"time_seconds": t / 10, "live_bytes": size * t // 12, "page_bytes": size * t // 10, "ratio": 1.2}
                for t in range(1, 7)
            ],
            "legality": scopes,
            "top_contexts": [{"share": 0.5, "allocations": 350, "bytes": size // 2, "stack": witness["stack"]}],
        }
    )


def characterisation(names: Sequence[str] = NAMES) -> Characterisation:
    """Returns a whole characterisation, with the heap map and the pinning subsystems."""
    cells = [
        [row, column, (row + column) % min(4, len(names)), 0.5 + 0.01 * column, 0.9]
        for row in range(12)
        for column in range(16)
        if column >= row
    ]
    return Characterisation.from_json(
        {
            "schema": "millpond.characterisation/1",
            "trace": trace_facts().to_json(),
            "process": {
                "pid": 7,
                "parent_pid": 1,
                "executable": PROGRAM[0],
                "build_id": BUILD,
                "argv": list(PROGRAM),
                "exit_status": 0,
                "signal": None,
                "malloc_provider": "libc",
            },
            "subsystems": [subsystem(name, i).to_json() for i, name in enumerate(names)],
            "heat_map": {
                "granule_bytes": 65536,
                "rows": [
                    {"offset_bytes": 65536 * i, "bytes": 65536, "gap_bytes": 4096 if i == 5 else 0} for i in range(12)
                ],
                "columns": [{"time_seconds": 0.02 * i, "live_bytes": 1000 * i} for i in range(16)],
                "cells": cells,
            },
            "pins": {
                "time_seconds": 0.3,
                "peak_seconds": 0.2,
                "dead_bytes": 5000,
                "pages": 9,
                "pairs": [{"by": names[0], "of": names[-1], "bytes": 5000, "pages": 9}],
            },
            "notes": [],
        }
    )


def trace_facts() -> RecordedTrace:
    """Returns the facts of a trace's summary."""
    return RecordedTrace(
        events=5600,
        bytes=9_000_000,
        lost=0,
        aliasing=AliasCounts(50, 0, 0.0),
        named_share=0.93,
        contexts=20,
        clean=True,
        stopped_early=False,
        duration_seconds=0.5,
        cpu_seconds=0.4,
        threads=2,
        peak_live_bytes=3_000_000,
        end_live_bytes=2000,
    )


def contexts(names: Sequence[str] = NAMES) -> dict[str, Any]:
    """Returns a call tree: main calls each subsystem's owner, which allocates; the first, through a name with a `;`."""
    functions = ["main", *(f"{name}::add" for name in names), "operator new; with space"]
    nodes = [
        [0, 0, -1, 0, 0, 0, 0],
        *([1, i + 1, i, 10 * (i + 1), 1000 * (i + 1), i, 100 * i] for i in range(len(names))),
    ]
    nodes.append([2, len(functions) - 1, 0, 3, 96, 1, 32])
    return {"schema": "millpond.contexts/1", "functions": functions, "subsystems": list(names), "nodes": nodes}


def plan_for(name: str) -> Plan:
    """Returns a plan with a pool for one subsystem."""
    return Plan(f"single-{NAMES.index(name)}", PROGRAM[0], BUILD, (PlanRoute((name,), name, "multipool"),))


def _outcomes(cells: Sequence[Cell], stage: str, rounds: int, noise: random.Random) -> list[Outcome]:
    found = []
    for number in range(1, rounds + 1):
        weather = 1 + abs(noise.gauss(0, 0.02))
        for cell in cells:
            seconds = CPU.get(cell.contender.name, CPU["looked_up"])
            # In one pool their objects are mixed, so nothing is gained.
            apart = cell.plan is not None and len({r.pool for r in cell.plan.routes}) == len(cell.plan.subsystems)
            for name in cell.plan.subsystems if cell.plan and apart else ():
                seconds *= GAINS.get(name, 1.0)
            seconds *= weather * (1 + noise.gauss(0, 0.01))
            values = {
                "cpu_seconds": seconds,
                "wall_seconds": 1.1 * seconds,
                "peak_bytes": 8e6 * (1 + noise.gauss(0, 1e-3)),
                "page_faults": 2000.0,
                "major_faults": 0.0,
            }
            if cell.plan:  # the extra cost of pools behind malloc
                values |= {"pool_cost_seconds": 0.03 * seconds, "pool_cost_bytes": 1e5}
            found.append(Outcome(cell, stage, number, values, "2026-01-01T00:00:00Z"))
    return found


def advise(
    folder: Path, program: Sequence[str] = PROGRAM, *, rename: dict[str, str] | None = None, seed: int = 1
) -> dict[str, Any]:
    """Adds a run of `advise` with all its files; returns the advice. `rename`: other names in its documents."""
    argv, noise = tuple(program), random.Random(seed)
    journal = Journal("advise", argv)
    singles = [plan_for(name) for name in NAMES[:3]]
    chosen = combine(singles[:2], "together")
    malloc = effects.malloc_cell(argv, MALLOC)
    controls = [Cell(Program(argv), Control("bare")), Cell(Program(argv), Control("looked_up")), malloc]
    screening = _outcomes([*controls, *(effects.plan_cell(argv, p) for p in singles)], "choosing", 7, noise)
    tried = [chosen, *([one] if (one := merged(chosen)) else []), *singles[:2]]
    cells = [*controls, *(effects.plan_cell(argv, p) for p in tried)]
    judging = _outcomes(cells, "judging", ROUNDS, noise)
    journal.add_outcomes([*screening, *judging])
    summary = Characterisation(trace=trace_facts(), process=characterisation().process)
    process = Process(1, folder / "a.mpt", summary)
    recorded = RecordedProgram(
        argv, Recording(0, 0, 1.0, (process,)), process, characterisation(), candidates=tuple(singles)
    )  # fmt: skip
    by_effect, alone = effects.split(judging, argv, chosen, singles[:2], {"malloc": MALLOC.name})
    plans, mallocs = screen(screening, argv, singles, [MALLOC.name])
    screened = ScreenedProgram(
        recorded, mallocs={MALLOC.name: MALLOC}, screened_mallocs=mallocs,
        tried={plan.name: TriedPlan(plan, plans[plan.name], [], judged=False) for plan in singles},
    )  # fmt: skip
    judged = JudgedProgram(
        screened, chosen, by_effect, rounds=ROUNDS, best_malloc=MALLOC.name,
        judged_mallocs={MALLOC.name: alone[f"malloc:{MALLOC.name}"]},
        plan_against_malloc=alone[effects.AGAINST_MALLOC],
        tried_alone={p.name: TriedPlan(p, alone[p.name], [], judged=True) for p in singles if p.name in alone},
    )  # fmt: skip
    made = replace(
        document(decide(judged), predictions([chosen, *singles[:2]]), {}),
        machine="a made-up machine", run=journal.run, seed=seed,
    )  # fmt: skip
    store = Store(folder)
    store.write(journal)
    rename = rename or {}
    store.write_contexts(journal.run, CallTree.from_json(renamed(contexts(), rename)))
    store.write_characterisation(journal.run, renamed(characterisation().to_json(), rename))
    advice: dict[str, Any] = renamed(made.to_json(), rename)
    store.write_document("advice", journal.run, advice)
    return advice


def predictions(plans: Sequence[Plan]) -> Replay:
    """Returns the predictions of a replay, as in an advice."""
    saves = Estimate(n=7, median=0.01, low=-0.002, high=0.03, level=0.95, method="m")
    found = tuple(
        PlanPrediction(strategy=strategy, plan=plan.name, saves_cpu_seconds=saves, saves_bytes=saves)
        for plan in plans
        for strategy in ("plan", "monotonic")
    )
    error = ErrorNote(sentence="Its error is unknown on this machine.")
    return Replay(rounds=7, assumes="a touch", error=error, predictions=found)


def renamed(data: Any, names: dict[str, str]) -> Any:
    """Returns the data with some texts replaced."""
    if isinstance(data, dict):
        return {key: renamed(value, names) for key, value in data.items()}
    if isinstance(data, list):
        return [renamed(value, names) for value in data]
    if isinstance(data, str):
        for old, new in names.items():
            data = data.replace(old, new)
    return data
