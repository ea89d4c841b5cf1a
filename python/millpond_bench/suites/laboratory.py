# SPDX-License-Identifier: BSL-1.0
"""The laboratory's own costs and the quality of its advice, as data: steps with their limits.

Figures: docs/results/measured/laboratory.md and advice.md.

laboratory            recording, characterising, trials, replay, the report, advice twice, the demo
laboratory.truth      advice on programs for which the right change is known
laboratory.examples   advice on the programs of examples/, compared with their changed form
laboratory.real       advice on real programs, followed by hand
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from millpond.cells.metrics import Metrics
from millpond.rounds.real_program import RealProgram
from millpond_bench.laboratory import bench_truth
from millpond_bench.laboratory.bench_advice import replay_exact, replay_speed, report, twice, validation
from millpond_bench.laboratory.bench_followed import real
from millpond_bench.laboratory.bench_rows import (
    Bench,
    Step,
    aliasing,
    characterising,
    demo,
    demo_from_clone,
    recording,
    trial,
)
from millpond_bench.programs import real_programs
from millpond_bench.programs.more_real_programs import PROGRAMS
from millpond_bench.runs.steps_run import StepsSpec

METRICS = Metrics(
    {
        "cpu_seconds": "seconds", "wall_seconds": "seconds", "events_a_second": "1/s",
        **{f"{m}_bytes": "bytes" for m in ("peak", "stored", "page", "peak_live")},
        **dict.fromkeys(("aliasing_share", "agrees"), "share"),
        **{f"{m}_error": "share of the allowed" for m in ("cpu_seconds", "peak_bytes")},
        **{f"{m}_ratio": "ratio" for m in ("cpu_seconds", "peak_bytes")},
    },
    is_open=True,
)  # fmt: skip
_ROUNDS = {"quick": 3, "standard": 11, "paper": 11}


def _scaled(bench: Bench, events: int) -> int:
    return events // 4 if bench.quick else events


def _churn(threads: int, events: int, live: int = 200_000) -> Callable[[Bench], RealProgram]:
    return lambda bench: real_programs.heap_churn(threads, _scaled(bench, events), live)


def _trees(shape: int) -> Callable[[Bench], RealProgram]:
    return lambda bench: real_programs.call_trees(shape, _scaled(bench, 20))


def _real(make: Callable[[Path], RealProgram]) -> Callable[[Bench], RealProgram]:
    return lambda bench: make(bench.inputs)


def _hot_loop(bench: Bench) -> RealProgram:
    return real_programs.hot_loop(_scaled(bench, 100_000_000))


_GAWK, _PERL, _SQLITE3 = _real(real_programs.gawk), _real(real_programs.perl), _real(real_programs.sqlite3)
_CC1PLUS, _PYTHON3 = _real(real_programs.cc1plus), _real(real_programs.python3)
# The highest ratio of CPU to the bare program, and of stored bytes per event.
_STEPS: dict[str, Step] = {
    "recording heap_churn, 1 thread": recording(_churn(1, 8_000_000), 1.6, None),
    "recording heap_churn, 2 threads": recording(_churn(2, 12_000_000), 1.6, None),
    "recording heap_churn, small heap": recording(_churn(1, 16_000_000, 2000), None, None),
    **{f"recording call_trees, shape {s}": recording(_trees(s), 1.6 if s > 2 else None, None) for s in range(1, 5)},
    "recording gawk": recording(_GAWK, 1.6, 4.0),
    "recording perl": recording(_PERL, 1.6, 4.0),
    "recording sqlite3": recording(_SQLITE3, 1.6, 4.0),
    "recording cc1plus": recording(_CC1PLUS, 1.6, 4.0),
    "recording hot_loop": recording(_hot_loop, None, None),
    "aliasing ghostscript": aliasing(_real(real_programs.ghostscript)),
    "aliasing python3": aliasing(_PYTHON3),
    "aliasing perl": aliasing(_PERL),
    "aliasing cc1plus": aliasing(_CC1PLUS),
    "characterise": characterising,
    "trial heap_churn": trial(_churn(1, 8_000_000)),
    "trial gawk": trial(_GAWK),
    "trial perl": trial(_PERL),
    "demo": demo,
    "demo from a clone": demo_from_clone,
    "replay exact": replay_exact,
    "replay speed": replay_speed,
    "replay error": validation,
    "report": report,
    "advice twice": twice,
}

LABORATORY = StepsSpec(
    name="laboratory", title="The laboratory's own costs", metrics=METRICS, rounds=_ROUNDS, seconds=80.0,
    measured="Recording, characterising, trials, replay, the report, advice twice and the demo, against their bars",
    steps=lambda: _STEPS, at_paper_scale=("demo from a clone",),
)  # fmt: skip
TRUTH = StepsSpec(
    name="laboratory.truth", title="Advice where the right change is known", metrics=METRICS, rounds=_ROUNDS,
    measured="Predictions and advice, compared with the change made by hand", seconds=180.0, steps=bench_truth.steps,
)  # fmt: skip
EXAMPLES = StepsSpec(
    name="laboratory.examples", title="Advice on the programs of examples/", metrics=METRICS, rounds=_ROUNDS,
    measured="Predictions and advice, compared with the programs' changed form", seconds=180.0,
    steps=bench_truth.examples,
)  # fmt: skip
REAL = StepsSpec(
    name="laboratory.real", title="Advice on real programs", metrics=METRICS, rounds=_ROUNDS, seconds=240.0,
    measured="Predictions, and the effect of following the advice by hand",
    steps=lambda: {name: real(name, make) for name, make in PROGRAMS.items()},
)  # fmt: skip
EXPERIMENTS = (LABORATORY, TRUTH, EXAMPLES, REAL)
