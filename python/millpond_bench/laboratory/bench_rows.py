# SPDX-License-Identifier: BSL-1.0
"""The steps of the laboratory's benchmark: the measurements, their figures, and their bars.

    recording      CPU of the recorded program / CPU of the bare one          without compression, which comes
    afterwards
    stored         bytes of the trace / events in it
    aliasing       contexts that differed / contexts checked                  counted by the recorder itself
    characterise   events / CPU second; peak resident bytes                   on a synthetic trace of 100 M events
    trial          CPU under the empty plan / CPU of the bare program
    demo           wall seconds of `make demo`

Contenders take turns in fresh processes, after one warm-up that is discarded. The CPU of a round comes from wait4: it
includes every process that the contender waited for. The contender's own CPU (a recorder compresses after its program)
is measured separately.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from millpond.cells.cell import Cell, Control, Malloc, Outcome, Workload
from millpond.rounds.fresh_process import Padding, describe
from millpond.rounds.interleaved_rounds import RoundsRequest, Silence, run_rounds
from millpond.rounds.real_program import RealProgram
from millpond.statistics.order_statistics import summarise
from millpond.system import native
from millpond.system.clock import utc_now
from millpond.system.environment import user_environment
from millpond.system.errors import Failure, Status
from millpond.system.temporary import temporary_folder
from millpond_bench.claims.claims import Verdict, bar_of, missing_bar

REPOSITORY = Path(__file__).resolve().parents[4]
BARE = "bare"


@dataclass(frozen=True)
class Round:
    """The cost of one fresh process. `cpu_seconds` includes all its children, `own_cpu_seconds` does not."""

    cpu_seconds: float
    own_cpu_seconds: float
    wall_seconds: float
    peak_bytes: int
    time_utc: str

    @property
    def below_cpu_seconds(self) -> float:
        """The CPU of its children: for a recorder, of the recorded program."""
        return self.cpu_seconds - self.own_cpu_seconds


# Runs one round of a contender.
Turn = Callable[[], Round]
# The rounds of each contender, by its name.
Measured = Mapping[str, Sequence[Round]]


def observed(
    contender: str, number: int, metric: str, value: float, *, kind: str = "", time_utc: str | None = None
) -> Outcome:
    """One observed value of a bar. `kind`: `counted` for what does not vary; else measured."""
    cell = Cell(Workload(""), Control(contender))
    return Outcome(cell, "bench", number, {metric: value}, time_utc or utc_now(), kind=kind)


def values_of(rounds: Measured, metrics: Mapping[str, str]) -> tuple[Outcome, ...]:
    """Every value of these rounds. `metrics`: the attribute of a round for each name."""
    return tuple(
        observed(contender, number, metric, float(getattr(one, attribute)), time_utc=one.time_utc)
        for contender, own in rounds.items()
        for number, one in enumerate(own, 1)
        for metric, attribute in metrics.items()
    )


def _own_cpu_seconds(pid: int) -> float:
    """CPU of a process that has ended and was not waited for yet, without its children. It must have had one thread."""
    return int(Path(f"/proc/{pid}/schedstat").read_text(encoding="ascii").split()[0]) / 1e9


@dataclass
class Bench:
    """The shared state of all steps: the number of rounds, the folder for traces, the mallocs that the user added."""

    folder: Path
    inputs: Path
    rounds: int
    quick: bool
    seed: int
    mallocs: tuple[Malloc, ...] = ()
    padding: Padding = field(init=False)

    def __post_init__(self) -> None:
        self.padding = Padding(self.seed)

    @property
    def trace(self) -> Path:
        return self.folder.resolve() / "bench.mpt"

    def run(self, argv: Sequence[str], workload: RealProgram) -> Round:
        """One round of `argv` with the input of `workload`; output is dropped. Failure (4) if it fails."""
        log = self.folder / "stderr"
        with (workload.stdin or Path(os.devnull)).open("rb") as stdin, log.open("wb") as stderr:
            started = time.monotonic()
            child = subprocess.Popen(
                argv, stdin=stdin, stdout=subprocess.DEVNULL, stderr=stderr, cwd=workload.folder,
                env={**user_environment(), **workload.environment, **self.padding.environment()},
            )  # fmt: skip
            os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
            wall = time.monotonic() - started
            own = _own_cpu_seconds(child.pid)
            _, wait_status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(wait_status)
        if child.returncode != 0:
            how = describe(child.returncode, max(0, -child.returncode))
            said = log.read_text(encoding="utf-8", errors="replace").strip()[-500:]
            raise Failure(Status.ENVIRONMENT, f"a round of {workload.name} {how} ({' '.join(argv[:6])} …): {said}")
        return Round(used.ru_utime + used.ru_stime, own, wall, used.ru_maxrss * 1024, utc_now())

    def interleave(self, turns: Mapping[str, Turn], rounds: int | None = None) -> dict[str, list[Round]]:
        """The interleaved rounds of each contender after one warm-up. `rounds`: their number, if not the usual one."""
        cells = [Cell(Workload("bench"), Control(name)) for name in turns]
        runner = _Turns(turns)
        run_rounds(cells, runner, Silence(), RoundsRequest(stage="bench", rounds=rounds or self.rounds, seed=self.seed))
        return runner.measured

    def record(self, workload: RealProgram, *options: str) -> Round:
        """One recorded round. Removes the files of earlier ones first, so that they cannot fill the disk."""
        for old in self.folder.glob(f"{self.trace.name}*"):
            old.unlink()
        recorder = str(native.find("millpond-record"))
        return self.run([recorder, "-o", str(self.trace), *options, "--", *workload.command], workload)

    def trial(self, variant: str, workload: RealProgram) -> Round:
        """One round of `millpond-trial`, without its own CPU."""
        result = ["--result", str(self.folder / "round.json"), "--stdout", "/dev/null", "--stderr", "/dev/null"]
        stdin = ["--stdin", str(workload.stdin or "/dev/null")]
        trial = str(native.find("millpond-trial"))
        return self.run([trial, "--round", variant, *result, *stdin, "--", *workload.command], workload)

    def summary(self) -> dict[str, Any]:
        """The facts of the trace that was recorded last."""
        out = self.folder / "summary.json"
        native.require("millpond-characterise", ["--summary", "--json", str(out), str(self.trace)])
        [facts] = json.loads(out.read_text(encoding="utf-8"))
        assert isinstance(facts, dict)
        return facts


class _Turns:
    """A runner for `run_rounds` whose cells are turns of contenders; keeps the cost of each measured round."""

    def __init__(self, turns: Mapping[str, Turn]) -> None:
        self._turns = turns
        self.measured: dict[str, list[Round]] = {name: [] for name in turns}

    def run(self, cell: Cell, stage: str, number: int) -> Outcome:
        done = self._turns[cell.contender.name]()
        if number > 0:
            self.measured[cell.contender.name].append(done)
        return Outcome(cell, stage, number, {}, done.time_utc)


# Measures and returns bars. Failure if it cannot.
Step = Callable[[Bench], list[Verdict]]


def recording(make: Callable[[Bench], RealProgram], limit: float | None, stored_limit: float | None) -> Step:
    """Two rows: CPU of recording against bare, and stored bytes an event."""

    def step(bench: Bench) -> list[Verdict]:
        workload = make(bench)
        measured = bench.interleave({
            BARE: lambda: bench.run(workload.command, workload),
            "recorded": lambda: bench.record(workload),
        })  # fmt: skip
        bare, recorded = measured.values()
        events = max(1, int(bench.summary()["trace"]["events"]))
        stored = sum(f.stat().st_size for f in bench.folder.glob(f"{bench.trace.name}*"))
        each_ns = 1e9 * summarise([r.cpu_seconds for r in bare]).median / events
        finishing = summarise([r.own_cpu_seconds for r in recorded]).median
        note = f"{events / 1e6:.2f} M events, {each_ns:.0f} ns an event bare; finishing took {finishing:.2f} s"
        ratio = summarise([a.below_cpu_seconds / b.cpu_seconds for a, b in zip(recorded, bare, strict=True)])
        values = (
            *values_of({BARE: bare}, {"cpu_seconds": "cpu_seconds"}),
            *values_of({"recorded": recorded}, {"cpu_seconds": "below_cpu_seconds"}),
        )
        size = observed("recorded", bench.rounds, "stored_bytes", stored, kind="counted")
        cpu_name, size_name = f"recording {workload.name}: CPU against bare", f"stored bytes an event, {workload.name}"
        return [
            bar_of(cpu_name, workload.name, "×", ratio, limit, note=note, outcomes=values),
            bar_of(size_name, workload.name, "bytes", stored / events, stored_limit, outcomes=(size,)),
        ]

    return step


def aliasing(make: Callable[[Bench], RealProgram]) -> Step:
    """The share of checked contexts whose first 16 frames differed, in a run that checks 1 in 64."""

    def step(bench: Bench) -> list[Verdict]:
        workload = make(bench)
        bench.record(workload, "--check-contexts")
        found = bench.summary()["trace"]["aliasing"]
        sampled, differed = int(found["sampled"] or 0), int(found["differed"] or 0)
        name = f"contexts that differ, {workload.name}"
        if sampled == 0:
            return [missing_bar(name, "no event was sampled")]
        value = observed("checked", 1, "aliasing_share", differed / sampled, kind="counted")
        note = f"{differed} of {sampled} checked"
        return [bar_of(name, workload.name, "%", 100 * differed / sampled, 0.1, note=note, outcomes=(value,))]

    return step


def trial(make: Callable[[Bench], RealProgram]) -> Step:
    """CPU under the empty plan, compared with the bare program, both started by millpond-trial."""

    def step(bench: Bench) -> list[Verdict]:
        workload = make(bench)
        measured = bench.interleave({BARE: lambda: bench.trial("bare", workload),
                                     "empty": lambda: bench.trial("empty", workload)})  # fmt: skip
        bare, empty = measured.values()
        values = values_of(measured, {"cpu_seconds": "below_cpu_seconds"})
        ratios = [a.below_cpu_seconds / b.below_cpu_seconds for a, b in zip(empty, bare, strict=True)]
        name = f"trial's empty plan, {workload.name}: CPU against bare"
        return [bar_of(name, workload.name, "×", summarise(ratios), 1.05, outcomes=values)]

    return step


def make_big_trace(trace: Path, events: int, live: int) -> None:
    """Writes a synthetic trace, with a program that is built with the tests. Failure (4) if it is not built."""
    maker = native.find("millpond-characterise").parent.parent / "tests" / "bin" / "make_big_trace"
    if not maker.exists():
        raise Failure(Status.ENVIRONMENT, f"{maker} is missing: `make build` builds the tests, which it belongs to")
    made = subprocess.run(
        [str(maker), str(trace), "--events", str(events), "--live", str(live)], capture_output=True, check=False
    )
    if made.returncode != 0:
        raise Failure(Status.ENVIRONMENT, f"make_big_trace failed: {made.stderr.decode(errors='replace').strip()}")


def characterising(bench: Bench) -> list[Verdict]:
    """Speed and memory on one large trace. A first read warms the page cache, because the reader is measured, not the
    disk.
    """
    events = 10_000_000 if bench.quick else 100_000_000
    trace = bench.folder / "big.mpt"
    make_big_trace(trace, events, 1_000_000)
    out = str(bench.folder / "big.json")
    argv = [str(native.find("millpond-characterise")), "--json", out, str(trace)]
    workload = RealProgram(f"a trace of {events // 1_000_000} M events with 1 M live objects", tuple(argv))
    rounds = bench.interleave({"characterise": lambda: bench.run(argv, workload)}, 3)["characterise"]
    trace.unlink()
    speed = tuple(
        observed("characterise", i, "events_a_second", events / r.cpu_seconds) for i, r in enumerate(rounds, 1)
    )
    memory = values_of({"characterise": rounds}, {"peak_bytes": "peak_bytes"})
    return [
        bar_of("characterise: events a second of CPU", workload.name, "M/s",
            summarise([events / r.cpu_seconds / 1e6 for r in rounds]), 10,
            at_least=True, note=workload.name, outcomes=speed),
        bar_of("characterise: peak resident memory", workload.name, "MB",
            summarise([r.peak_bytes / 1e6 for r in rounds]), 500,
            outcomes=memory),
    ]  # fmt: skip


def _time_demo(folder: Path, name: str, limit: float) -> list[Verdict]:
    started = time.monotonic()
    done = subprocess.run(["make", "demo"], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
    seconds = time.monotonic() - started
    if done.returncode != 0:
        raise Failure(Status.ENVIRONMENT, f"make demo failed: {done.stderr.decode(errors='replace').strip()[-300:]}")
    value = observed("demo", 1, "wall_seconds", seconds)
    return [bar_of(name, "make demo", "s", seconds, limit, outcomes=(value,))]


def demo(_bench: Bench) -> list[Verdict]:
    """Wall time of `make demo` if everything is built."""
    return _time_demo(REPOSITORY, "make demo, everything built", 120)


def demo_from_clone(_bench: Bench) -> list[Verdict]:
    """Wall time of `git clone` and `make demo`, with as much set-up as this machine still needs."""
    with temporary_folder() as place:
        clone = place / "millpond"
        subprocess.run(["git", "clone", "-q", str(REPOSITORY), str(clone)], check=True)
        return _time_demo(clone, "make demo from a fresh clone", 600)
