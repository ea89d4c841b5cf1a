# SPDX-License-Identifier: BSL-1.0
"""The rows of bench-lab: what is measured, how its figure is made, and the bar that it is held to.

recording      CPU of the recorded program / CPU of the bare one          compression, afterwards, is not in it
stored         bytes of the trace / events in it
aliasing       contexts that differed / contexts checked                  counted by the recorder itself
characterise   events / CPU second; peak resident bytes                   on a made-up trace of 100 M events
trial          CPU under the empty plan / CPU of the bare program
demo           wall seconds of `make demo`
"""

from __future__ import annotations

import json
import random
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from millpond.bench.laboratory.bench_rounds import Contender, Round, interleave, run_once
from millpond.bench.results import Row, Value
from millpond.rounds import real_programs
from millpond.rounds.real_programs import RealProgram
from millpond.statistics.order_statistics import summarise
from millpond.system import native
from millpond.system.errors import Failure, Status
from millpond.system.temporary import temporary_folder

REPOSITORY = Path(__file__).resolve().parents[4]
BARE = "bare"


@dataclass
class Bench:
    """Where rounds run and how many; what all steps share. Traces are written below `folder`."""

    folder: Path
    inputs: Path
    rounds: int
    quick: bool
    rng: random.Random

    @property
    def trace(self) -> Path:
        return self.folder / "bench.mpt"

    def run(self, argv: Sequence[str], workload: RealProgram) -> Round:
        return run_once(argv, workload, self.rng, self.folder / "stderr")

    def record(self, workload: RealProgram, *options: str) -> Round:
        """One recorded round; what earlier ones left is removed first, so that they cannot fill the disk."""
        for old in self.folder.glob(f"{self.trace.name}*"):
            old.unlink()
        recorder = str(native.find("millpond-record"))
        return self.run([recorder, "-o", str(self.trace), *options, "--", *workload.command], workload)

    def trial(self, variant: str, workload: RealProgram) -> Round:
        """One round of `millpond-trial`, whose own CPU is left out."""
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


def _seconds(contender: str, rounds: list[Round], seconds: Callable[[Round], float]) -> tuple[Value, ...]:
    return tuple(
        Value(contender, number, "cpu_seconds", "seconds", seconds(r), time_utc=r.time_utc)
        for number, r in enumerate(rounds, 1)
    )


def recording(
    make: Callable[[Bench], RealProgram], limit: float | None, stored_limit: float | None
) -> Callable[[Bench], list[Row]]:
    """Two rows: CPU of recording against bare, and stored bytes an event."""

    def step(bench: Bench) -> list[Row]:
        workload = make(bench)
        contenders = [
            Contender(BARE, lambda: bench.run(workload.command, workload)),
            Contender("recorded", lambda: bench.record(workload)),
        ]
        measured = interleave(contenders, bench.rounds, bench.rng)
        bare, recorded = measured[BARE], measured["recorded"]
        events = max(1, int(bench.summary()["trace"]["events"]))
        stored = sum(f.stat().st_size for f in bench.folder.glob(f"{bench.trace.name}*"))
        each_ns = 1e9 * summarise([r.cpu_seconds for r in bare]).median / events
        finishing = summarise([r.own_cpu_seconds for r in recorded]).median
        note = f"{events / 1e6:.2f} M events, {each_ns:.0f} ns an event bare; finishing took {finishing:.2f} s"
        ratio = summarise([a.below_cpu_seconds / b.cpu_seconds for a, b in zip(recorded, bare, strict=True)])
        values = (
            *_seconds(BARE, bare, lambda r: r.cpu_seconds),
            *_seconds("recorded", recorded, lambda r: r.below_cpu_seconds),
        )
        size = Value("recorded", bench.rounds, "stored_bytes", "bytes", stored, "counted")
        cpu_name, size_name = f"recording {workload.name}: CPU against bare", f"stored bytes an event, {workload.name}"
        return [
            Row(cpu_name, workload.name, "×", ratio, limit, note=note, values=values),
            Row(size_name, workload.name, "bytes", summarise([stored / events]), stored_limit, values=(size,)),
        ]

    return step


def aliasing(make: Callable[[Bench], RealProgram]) -> Callable[[Bench], list[Row]]:
    """The share of checked contexts whose first 16 frames differed, in a run that checks 1 in 64."""

    def step(bench: Bench) -> list[Row]:
        workload = make(bench)
        bench.record(workload, "--check-contexts")
        found = bench.summary()["trace"]["aliasing"]
        sampled, differed = int(found["sampled"] or 0), int(found["differed"] or 0)
        name = f"contexts that differ, {workload.name}"
        if sampled == 0:
            return [Row.missing(name, "no event was sampled")]
        value = Value("checked", 1, "aliasing_share", "share", differed / sampled, "counted")
        note = f"{differed} of {sampled} checked"
        return [Row(name, workload.name, "%", summarise([100 * differed / sampled]), 0.1, note=note, values=(value,))]

    return step


def trial(make: Callable[[Bench], RealProgram]) -> Callable[[Bench], list[Row]]:
    """CPU under the interposer alone against the bare program, both started by millpond-trial."""

    def step(bench: Bench) -> list[Row]:
        workload = make(bench)
        contenders = [
            Contender(BARE, lambda: bench.trial("bare", workload)),
            Contender("empty", lambda: bench.trial("empty", workload)),
        ]
        measured = interleave(contenders, bench.rounds, bench.rng)
        bare, empty = measured[BARE], measured["empty"]
        values = (
            *_seconds(BARE, bare, lambda r: r.below_cpu_seconds),
            *_seconds("empty", empty, lambda r: r.below_cpu_seconds),
        )
        ratios = [a.below_cpu_seconds / b.below_cpu_seconds for a, b in zip(empty, bare, strict=True)]
        name = f"trial's empty plan, {workload.name}: CPU against bare"
        return [Row(name, workload.name, "×", summarise(ratios), 1.05, values=values)]

    return step


def make_big_trace(trace: Path, events: int, live: int) -> None:
    """A made-up trace. What makes it is built with the tests, and lies among them. Failure (4) where it is not."""
    maker = native.find("millpond-characterise").parent.parent / "tests" / "bin" / "make_big_trace"
    if not maker.exists():
        raise Failure(Status.ENVIRONMENT, f"{maker} is missing: `make build` builds the tests, which it belongs to")
    made = subprocess.run(
        [str(maker), str(trace), "--events", str(events), "--live", str(live)], capture_output=True, check=False
    )
    if made.returncode != 0:
        raise Failure(Status.ENVIRONMENT, f"make_big_trace failed: {made.stderr.decode(errors='replace').strip()}")


def characterising(bench: Bench) -> list[Row]:
    """Speed and memory on one large trace. Reading it once warms the page cache: it is the reader that is measured."""
    events = 10_000_000 if bench.quick else 100_000_000
    trace = bench.folder / "big.mpt"
    make_big_trace(trace, events, 1_000_000)
    out = str(bench.folder / "big.json")
    argv = [str(native.find("millpond-characterise")), "--json", out, str(trace)]
    workload = RealProgram(f"a trace of {events // 1_000_000} M events with 1 M live objects", tuple(argv))
    rounds = interleave([Contender("characterise", lambda: bench.run(argv, workload))], 3, bench.rng)["characterise"]
    trace.unlink()
    speed = tuple(
        Value("characterise", i, "events_a_second", "1/s", events / r.cpu_seconds) for i, r in enumerate(rounds, 1)
    )
    memory = tuple(Value("characterise", i, "peak_bytes", "bytes", r.peak_bytes) for i, r in enumerate(rounds, 1))
    return [
        Row("characterise: events a second of CPU", workload.name, "M/s", summarise([v.value / 1e6 for v in speed]), 10,
            at_least=True, note=workload.name, values=speed),
        Row("characterise: peak resident memory", workload.name, "MB", summarise([v.value / 1e6 for v in memory]), 500,
            values=memory),
    ]  # fmt: skip


def _time_demo(folder: Path, name: str, limit: float) -> list[Row]:
    started = time.monotonic()
    done = subprocess.run(["make", "demo"], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
    seconds = time.monotonic() - started
    if done.returncode != 0:
        raise Failure(Status.ENVIRONMENT, f"make demo failed: {done.stderr.decode(errors='replace').strip()[-300:]}")
    value = Value("demo", 1, "wall_seconds", "seconds", seconds)
    return [Row(name, "make demo", "s", summarise([seconds]), limit, values=(value,))]


def demo(_bench: Bench) -> list[Row]:
    """Wall time of `make demo` where everything is built."""
    return _time_demo(REPOSITORY, "make demo, everything built", 120)


def demo_from_clone(_bench: Bench) -> list[Row]:
    """Wall time of `git clone` and `make demo`, set-up included as far as this machine still needs it."""
    with temporary_folder() as place:
        clone = place / "millpond"
        subprocess.run(["git", "clone", "-q", str(REPOSITORY), str(clone)], check=True)
        return _time_demo(clone, "make demo from a fresh clone", 600)


def _scaled(bench: Bench, events: int) -> int:
    return events // 4 if bench.quick else events


def _churn(threads: int, events: int, live: int = 200_000) -> Callable[[Bench], RealProgram]:
    return lambda bench: real_programs.heap_churn(threads, _scaled(bench, events), live)


def _trees(shape: int) -> Callable[[Bench], RealProgram]:
    return lambda bench: real_programs.call_trees(shape, _scaled(bench, 20))


def _real(make: Callable[[Path], RealProgram]) -> Callable[[Bench], RealProgram]:
    return lambda bench: make(bench.inputs)


def steps(*, fresh_clone: bool) -> list[tuple[str, Callable[[Bench], list[Row]]]]:
    """All steps, by name."""
    gawk, perl, sqlite3 = _real(real_programs.gawk), _real(real_programs.perl), _real(real_programs.sqlite3)
    cc1plus, python3 = _real(real_programs.cc1plus), _real(real_programs.python3)
    result = [
        ("recording heap_churn, 1 thread", recording(_churn(1, 8_000_000), 1.6, None)),
        ("recording heap_churn, 2 threads", recording(_churn(2, 12_000_000), 1.6, None)),
        ("recording heap_churn, small heap", recording(_churn(1, 16_000_000, 2000), None, None)),
        *(
            (f"recording call_trees, shape {s}", recording(_trees(s), 1.6 if s > 2 else None, None))
            for s in range(1, 5)
        ),
        ("recording gawk", recording(gawk, 1.6, 4.0)),
        ("recording perl", recording(perl, 1.6, 4.0)),
        ("recording sqlite3", recording(sqlite3, 1.6, 4.0)),
        ("recording cc1plus", recording(cc1plus, 1.6, 4.0)),
        ("recording hot_loop", recording(lambda b: real_programs.hot_loop(_scaled(b, 100_000_000)), None, None)),
        ("aliasing ghostscript", aliasing(_real(real_programs.ghostscript))),
        ("aliasing python3", aliasing(python3)),
        ("aliasing perl", aliasing(perl)),
        ("aliasing cc1plus", aliasing(cc1plus)),
        ("characterise", characterising),
        ("trial heap_churn", trial(_churn(1, 8_000_000))),
        ("trial gawk", trial(gawk)),
        ("trial perl", trial(perl)),
        ("demo", demo),
    ]
    return [*result, ("demo from a clone", demo_from_clone)] if fresh_clone else result
