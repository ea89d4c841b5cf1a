# SPDX-License-Identifier: BSL-1.0
"""Our malloc compared with the mallocs of this machine, on real programs and under stress.

    a program   CPU, wall time, peak resident bytes and page faults, each divided by the C library's   at most 1, or
    noise
                with the same ratio of every other malloc in the note
    mean        geometric mean over the programs of CPU × peak bytes, divided by each other malloc's   below 1
    stress      growth of resident bytes under random operations, contents checked           at most 5 %
                ten minutes of multipool at the standard scale, five seconds at the quick one;
                MILLPOND_STRESS_SECONDS sets another length

All mallocs of a program take turns in fresh processes. A malloc that fails a program is named and left out there. Only
our libraries are stressed. Debian's mimalloc 2.0.9 fails that workload, and has an error: aligned_alloc(256, 256),
(256, 512) and (512, 512), which C allows, return blocks that are aligned to 128. Later versions have a fix.
"""

from __future__ import annotations

import json
import os
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from millpond.cells.cell import Cell, Malloc, Outcome, Program
from millpond.rounds.interleaved_rounds import RoundsRequest, Silence, run_rounds
from millpond.rounds.mallocs import GLIBC, HUGE, OURS, OWN_MALLOC, MallocRunner, contenders, preloaded
from millpond.rounds.real_program import RealProgram
from millpond.statistics.order_statistics import Summary, summarise
from millpond.system import native
from millpond.system.environment import user_environment
from millpond.system.errors import Failure, Status
from millpond_bench.claims.claims import Verdict, bar_of, missing_bar
from millpond_bench.laboratory.bench_rows import Bench, Step, observed

SUITE = "millpond-malloc-suite"
_METRICS = {"cpu_seconds": "CPU", "wall_seconds": "wall", "peak_bytes": "peak", "page_faults": "page faults"}
# The rounds of each malloc on which a program ended well, by its name; in the same order, so that they pair.
Rounds = Mapping[str, Sequence[Outcome]]


@dataclass
class MallocTable:
    """The rounds of each program on each malloc, for results over all programs."""

    measured: dict[str, Rounds] = field(default_factory=dict)

    def program(self, make: Callable[[Bench], RealProgram]) -> Step:
        """A row for each metric of one program. Failure if it does not end well on our malloc or on the C library's."""

        def step(bench: Bench) -> list[Verdict]:
            workload = make(bench)
            mallocs = [OWN_MALLOC, *(m for m in contenders()[0] if m.name != HUGE), *bench.mallocs]
            cells = [Cell(Program(workload.command), malloc) for malloc in mallocs]
            runner = MallocRunner(bench.folder, workload.stdin, workload.environment, bench.seed)
            found = run_rounds(
                cells, runner, Silence(), RoundsRequest(stage="bench", rounds=bench.rounds, seed=bench.seed)
            )
            failed = {one.cell.contender.name: one.why for one in found if one.status != "ok"}
            for name in {GLIBC, OURS} - {m.name for m in mallocs} | failed.keys() & {GLIBC, OURS}:
                raise Failure(Status.ENVIRONMENT, f"{workload.name} on {name}: {failed.get(name, 'is not built')}")
            good = [one for one in found if one.round > 0 and one.cell.contender.name not in failed]
            names = [m.name for m in mallocs if m.name not in failed]
            rounds = {name: [one for one in good if one.cell.contender.name == name] for name in names}
            self.measured[workload.name] = rounds
            return [_row(workload.name, rounds, metric, sorted(failed)) for metric in _METRICS]

        return step

    def means(self, _bench: Bench) -> list[Verdict]:
        """A row for each other malloc: the geometric mean of CPU × peak bytes, paired round by round."""
        others = dict.fromkeys(name for rounds in self.measured.values() for name in rounds if name != OURS)
        if not others:
            return [missing_bar("CPU × peak bytes, all programs", "no program was measured")]
        return [self._mean(other) for other in others]

    def _mean(self, other: str) -> Verdict:
        shared = [rounds for rounds in self.measured.values() if other in rounds]
        products = [
            [a * b for a, b in zip(*(_ratios(rounds, m, other) for m in ("cpu_seconds", "peak_bytes")), strict=True)]
            for rounds in shared
        ]
        means = [statistics.geometric_mean(each) for each in zip(*products, strict=True)]
        name = f"CPU × peak bytes against {other}: geometric mean"
        return bar_of(name, "all programs", "×", summarise(means), 1.0, note=f"{len(shared)} programs")


def _ratios(rounds: Rounds, metric: str, against: str, of: str = OURS) -> list[float]:
    pairs = zip(rounds[of], rounds[against], strict=True)
    return [a.values[metric] / max(1e-9, b.values[metric]) for a, b in pairs]


def _row(program: str, rounds: Rounds, metric: str, failed: Sequence[str]) -> Verdict:
    others = [
        f"{n} {summarise(_ratios(rounds, metric, GLIBC, n)).median:.3g}" for n in rounds if n not in (GLIBC, OURS)
    ]
    outcomes = tuple(
        replace(one, values={metric: one.values[metric]}, pools=()) for of_one in rounds.values() for one in of_one
    )
    return bar_of(
        f"{program}: {_METRICS[metric]} against glibc", program, "×", summarise(_ratios(rounds, metric, GLIBC)), 1.0,
        or_noise=True, note=", ".join([*others, *(f"{name} fails" for name in failed)]), outcomes=outcomes,
    )  # fmt: skip


def _stress_seconds(bench: Bench, seconds: int) -> int:
    """The seconds of one stress run. Failure (2) if the environment variable is not a number above 0."""
    said = os.environ.get("MILLPOND_STRESS_SECONDS", "")
    if not said:
        return 5 if bench.quick else seconds
    if not said.isdigit() or int(said) == 0:
        raise Failure(Status.USAGE, f"MILLPOND_STRESS_SECONDS is {said!r}: it must be a number of seconds above 0")
    return int(said)


def growth_of(metrics: Mapping[str, float]) -> Summary:
    """The growth that `stress` measured, in percent: the slope of twelve means with its interval."""
    share, low, high = (100 * float(metrics[name]) for name in ("slope_share", "slope_low", "slope_high"))
    return Summary(n=12, median=share, low=low, high=high, level=0.95, method="least squares")


def stress(malloc: Callable[[], Malloc], seconds: int) -> Step:
    """The growth of resident bytes after the first quarter of the time. Failure if contents change."""

    def step(bench: Bench) -> list[Verdict]:
        one = malloc()
        time = _stress_seconds(bench, seconds)
        arguments = ["--contender", "malloc", "--workload", "stress", "--seconds", str(time), "--seed", str(bench.seed)]
        command = preloaded([str(native.find(SUITE)), *arguments], one)
        done = native.capture(command, user_environment())
        if done.status != 0:
            raise Failure(Status.ENVIRONMENT, f"stress on {one.name} failed: {done.said.strip()[-300:]}")
        metrics = json.loads(done.printed)["metrics"]
        value = observed(one.name, 1, "slope_share", float(metrics["slope_share"]))
        note = f"{metrics['units']:.3g} operations in {time} s, contents checked"
        return [
            bar_of(f"stress on {one.name}: growth of resident bytes", "stress", "%", growth_of(metrics), 5.0,
                   note=note, outcomes=(value,))
        ]  # fmt: skip

    return step


def suite(workload: str, **parameters: int) -> Callable[[Bench], RealProgram]:
    """A workload of the malloc suite as a program of its own, with another seed for each run of the benchmark."""

    def make(bench: Bench) -> RealProgram:
        given = [word for name, value in parameters.items() for word in (f"--{name}", str(value))]
        name = " ".join([workload, *(f"{name} {value}" for name, value in parameters.items())])
        command = (str(native.find(SUITE)), "--contender", "malloc", "--workload", workload, *given)
        return RealProgram(name, (*command, "--seed", str(bench.seed)))

    return make


def library_of(name: str) -> Malloc:
    """One of our malloc libraries, by the name of its allocator. Failure (4) if it is not built."""
    path = native.libraries(SUITE) / f"libmillpond-{name}.so"
    if not path.is_file():
        raise Failure(Status.ENVIRONMENT, f"{path} is missing: `make build` builds it")
    return Malloc(name, path)


def real(make: Callable[[Path], RealProgram]) -> Callable[[Bench], RealProgram]:
    return lambda bench: make(bench.inputs)


def steps(programs: Mapping[str, Callable[[Path], RealProgram]], libraries: Sequence[str]) -> dict[str, Step]:
    """All steps, by name: the suite's workloads, the real programs, the results over all of them, and stress."""
    table = MallocTable()
    made = {
        "own": suite("own"), "handover": suite("handover"), "larson": suite("larson"),
        "random sizes": suite("random_sizes"), "large random sizes": suite("random_sizes", most=1_000_000, live=500),
        "churn": suite("churn_sizes"), "growth": suite("grow"),
        "small growth": suite("grow", bytes=100_000, blocks=8, units=300),
        **{name: real(make) for name, make in programs.items()},
    }  # fmt: skip
    return {
        **{name: table.program(make) for name, make in made.items()},
        "all programs": table.means,
        "stress multipool": stress(partial(library_of, "multipool"), 600),
        **{f"stress {name}": stress(partial(library_of, name), 60) for name in libraries},
    }
