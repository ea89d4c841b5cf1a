# SPDX-License-Identifier: BSL-1.0
"""The steps of the laboratory's benchmark: what is measured, how its figure is made, and the bar that it is held to.

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

from millpond.bench.bars import Bar
from millpond.bench.laboratory.bench_rounds import Contender, Round, interleave, observed, run_once
from millpond.cells.cell import Outcome
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


# Measures, and makes bars of it. Failure where it cannot.
Step = Callable[[Bench], list[Bar]]


def _seconds(contender: str, rounds: list[Round], seconds: Callable[[Round], float]) -> tuple[Outcome, ...]:
    return tuple(
        observed(contender, number, "cpu_seconds", seconds(r), time_utc=r.time_utc)
        for number, r in enumerate(rounds, 1)
    )


def recording(make: Callable[[Bench], RealProgram], limit: float | None, stored_limit: float | None) -> Step:
    """Two rows: CPU of recording against bare, and stored bytes an event."""

    def step(bench: Bench) -> list[Bar]:
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
        size = observed("recorded", bench.rounds, "stored_bytes", stored, kind="counted")
        cpu_name, size_name = f"recording {workload.name}: CPU against bare", f"stored bytes an event, {workload.name}"
        return [
            Bar(cpu_name, workload.name, "×", ratio, limit, note=note, outcomes=values),
            Bar(size_name, workload.name, "bytes", summarise([stored / events]), stored_limit, outcomes=(size,)),
        ]

    return step


def aliasing(make: Callable[[Bench], RealProgram]) -> Step:
    """The share of checked contexts whose first 16 frames differed, in a run that checks 1 in 64."""

    def step(bench: Bench) -> list[Bar]:
        workload = make(bench)
        bench.record(workload, "--check-contexts")
        found = bench.summary()["trace"]["aliasing"]
        sampled, differed = int(found["sampled"] or 0), int(found["differed"] or 0)
        name = f"contexts that differ, {workload.name}"
        if sampled == 0:
            return [Bar.missing(name, "no event was sampled")]
        value = observed("checked", 1, "aliasing_share", differed / sampled, kind="counted")
        note = f"{differed} of {sampled} checked"
        return [Bar(name, workload.name, "%", summarise([100 * differed / sampled]), 0.1, note=note, outcomes=(value,))]

    return step


def trial(make: Callable[[Bench], RealProgram]) -> Step:
    """CPU under the interposer alone against the bare program, both started by millpond-trial."""

    def step(bench: Bench) -> list[Bar]:
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
        return [Bar(name, workload.name, "×", summarise(ratios), 1.05, outcomes=values)]

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


def characterising(bench: Bench) -> list[Bar]:
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
        observed("characterise", i, "events_a_second", events / r.cpu_seconds) for i, r in enumerate(rounds, 1)
    )
    memory = tuple(observed("characterise", i, "peak_bytes", r.peak_bytes) for i, r in enumerate(rounds, 1))
    return [
        Bar("characterise: events a second of CPU", workload.name, "M/s",
            summarise([events / r.cpu_seconds / 1e6 for r in rounds]), 10,
            at_least=True, note=workload.name, outcomes=speed),
        Bar("characterise: peak resident memory", workload.name, "MB",
            summarise([r.peak_bytes / 1e6 for r in rounds]), 500,
            outcomes=memory),
    ]  # fmt: skip


def _time_demo(folder: Path, name: str, limit: float) -> list[Bar]:
    started = time.monotonic()
    done = subprocess.run(["make", "demo"], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
    seconds = time.monotonic() - started
    if done.returncode != 0:
        raise Failure(Status.ENVIRONMENT, f"make demo failed: {done.stderr.decode(errors='replace').strip()[-300:]}")
    value = observed("demo", 1, "wall_seconds", seconds)
    return [Bar(name, "make demo", "s", summarise([seconds]), limit, outcomes=(value,))]


def demo(_bench: Bench) -> list[Bar]:
    """Wall time of `make demo` where everything is built."""
    return _time_demo(REPOSITORY, "make demo, everything built", 120)


def demo_from_clone(_bench: Bench) -> list[Bar]:
    """Wall time of `git clone` and `make demo`, set-up included as far as this machine still needs it."""
    with temporary_folder() as place:
        clone = place / "millpond"
        subprocess.run(["git", "clone", "-q", str(REPOSITORY), str(clone)], check=True)
        return _time_demo(clone, "make demo from a fresh clone", 600)
