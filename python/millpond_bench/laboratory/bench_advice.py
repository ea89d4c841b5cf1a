# SPDX-License-Identifier: BSL-1.0
"""Steps of `bench laboratory` for the inputs of advice: replay, its error, the report, and the repeatability of
advice.

    replay      peak live bytes of the script / of the characterisation      must be the same number
                CPU seconds of a round on 10 M events                        decoding and the loop included
    its error   predicted − measured difference between two mallocs          `millpond-bench validate`
    report      wall seconds and bytes of a page with 5 000 subsystems
    advice      values of two complete runs whose intervals meet; verdicts that differ
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from millpond.advice.advice_data import NOTHING, Advice, AnalysedProgram, Estimate, Row
from millpond.cells.cell import Cell, Control, Outcome, Program
from millpond.doctor.replay_error import Validation
from millpond.rounds.characterisation import Characterisation
from millpond.rounds.real_program import RealProgram
from millpond.rounds.replay_rounds import REPLAY, STRATEGIES
from millpond.statistics.order_statistics import summarise
from millpond.store.call_tree import CallTree
from millpond.store.observations import Journal
from millpond.store.store import Store
from millpond.system import native
from millpond.system.environment import user_environment
from millpond.system.errors import Failure, Status
from millpond_bench.claims.claims import Verdict, bar_of, missing_bar
from millpond_bench.laboratory.bench_rows import Bench, Measured, make_big_trace, observed, values_of
from millpond_bench.programs import real_programs
from millpond_bench.programs.real_programs import EXAMPLE_ORDERS

SUBSYSTEMS = 5000
_ADVICE_BUDGET_SECONDS = 54.0
_NO_INPUT = RealProgram("", ())


def run_verb(
    arguments: Sequence[str], *accepted: int, workload: RealProgram = _NO_INPUT, module: str = "millpond"
) -> None:
    """Runs `millpond ARGUMENTS`, or another module, in a process with the input and the environment of a workload.

    Failure (4) if its status is neither 0 nor accepted.
    """
    with (workload.stdin or Path(os.devnull)).open("rb") as stdin:
        done = subprocess.run(
            [sys.executable, "-m", module, *arguments], capture_output=True, check=False, stdin=stdin,
            env={**user_environment(), **workload.environment},
        )  # fmt: skip
    if done.returncode not in (0, *accepted):
        said = done.stderr.decode(errors="replace").strip()[-300:]
        raise Failure(Status.ENVIRONMENT, f"millpond {arguments[0]} failed: {said}")


def _json(path: Path) -> dict[str, Any]:
    data = json.loads(path.read_text(encoding="utf-8"))
    assert isinstance(data, dict)
    return data


def replay_exact(bench: Bench) -> list[Verdict]:
    """The peak live bytes of replay's script minus those of the characterisation, on a real program."""
    workload = real_programs.perl(bench.inputs)
    bench.record(workload)
    script, prepared, counted = (bench.folder / n for n in ("script", "script.json", "counted.json"))
    native.require(REPLAY, ["--prepare", str(bench.trace), "-o", str(script), "--json", str(prepared)])
    native.require("millpond-characterise", ["--json", str(counted), str(bench.trace)])
    script.unlink()
    found, expected = _json(prepared)["peak_live_bytes"], _json(counted)["trace"]["peak_live_bytes"]
    value = observed("script", 1, "peak_live_bytes", found, kind="counted")
    return [
        bar_of("replay: peak live bytes, distance from the truth", workload.name, "bytes",
            abs(found - expected), 0, note=f"{expected} bytes", outcomes=(value,))
    ]  # fmt: skip


def replay_speed(bench: Bench) -> list[Verdict]:
    """CPU of whole rounds on 10 M events with 1 M live objects, and the memory of the slowest."""
    trace, script = bench.folder / "replay.mpt", bench.folder / "replay.script"
    make_big_trace(trace, 10_000_000, 1_000_000)
    native.require(REPLAY, ["--prepare", str(trace), "--per-subsystem", "-o", str(script), "--json", "/dev/null"])
    trace.unlink()
    result = str(bench.folder / "round.json")
    workload = RealProgram("10 M events, 1 M live objects", ())

    play = [str(native.find(REPLAY)), "--play", str(script), "--result", result, "--strategy"]
    turns = {s: partial(bench.run, [*play, s], workload) for s in ("recorded", *STRATEGIES)}
    measured = bench.interleave(turns, min(bench.rounds, 5))
    script.unlink()
    return [_replay_row(strategy, {strategy: rounds}, workload.name) for strategy, rounds in measured.items()]


def _replay_row(strategy: str, measured: Measured, workload: str) -> Verdict:
    rounds, values = measured[strategy], values_of(measured, {"cpu_seconds": "cpu_seconds"})
    note = f"peak {max(r.peak_bytes for r in rounds) / 1e6:.0f} MB"
    figure = summarise([r.cpu_seconds for r in rounds])
    return bar_of(f"replay of 10 M events: a round of {strategy}", workload, "s", figure, 3, note=note, outcomes=values)


def validation(bench: Bench) -> list[Verdict]:
    """Replay's error by `millpond-bench validate`: the median over programs, as a multiple of the allowed error."""
    out = bench.folder / "validation.json"
    rounds = ["--rounds", str(min(bench.rounds, 11)), "--budget", "900"]
    validate = ["validate", *rounds, "--store", str(bench.folder / "validated"), "-o", f"json:{out}"]
    run_verb(validate, module="millpond_bench.bench_cli")
    found = Validation.read(out)
    rows = []
    for metric, words in (("cpu_seconds", "CPU"), ("peak_bytes", "peak resident bytes")):
        shares = [
            observed(f"{d.program}: {d.of} less {d.against}", 1, f"{metric}_error", d.of_allowed)
            for d in found.differences
            if d.metric == metric
        ]
        name = f"replay's error, {words}: median share of what is allowed"
        if not shares:
            rows.append(missing_bar(name, "no difference was validated"))
            continue
        found_shares = [v.values[f"{metric}_error"] for v in shares]
        note = f"{sum(share <= 1 for share in found_shares)} of {len(shares)} differences hold"
        rows.append(bar_of(name, "real programs", "×", summarise(found_shares), 1, note=note,
                        outcomes=tuple(shares)))  # fmt: skip
    return rows


def report(bench: Bench) -> list[Verdict]:
    """A page from a store with a run of 5 000 subsystems: it shows the largest, and counts the rest."""
    store = Store(bench.folder / "report-store")
    run = _large_run(bench, store)
    page = bench.folder / "report.html"
    started = time.monotonic()
    run_verb(["report", str(bench.folder / "report-store"), "--run", run, "-o", str(page)])
    seconds = time.monotonic() - started
    workload = f"{SUBSYSTEMS} subsystems"
    return [
        bar_of("report: wall seconds", workload, "s", seconds, 10,
            outcomes=(observed("report", 1, "wall_seconds", seconds),)),
        bar_of("report: size of the page", workload, "MB", page.stat().st_size / 1e6, 3,
            outcomes=(observed("report", 1, "page_bytes", page.stat().st_size, kind="counted"),)),
    ]  # fmt: skip


def _large_run(bench: Bench, store: Store) -> str:
    """Stores a run with the documents of a large trace: each subsystem many times, under different names."""
    trace, found, contexts = (bench.folder / n for n in ("large.mpt", "large.json", "large-contexts.json"))
    make_big_trace(trace, 2_000_000, 200_000)
    native.require("millpond-characterise", ["--json", str(found), "--contexts", str(contexts), str(trace)])
    trace.unlink()
    data = Characterisation.read(found)
    largest = tuple(
        replace(one, name=f"{one.name}<{i}>", bytes=(one.bytes or 0) // (i + 1))
        for i, one in enumerate(islice(cycle(data.subsystems), SUBSYSTEMS))
    )
    data = replace(data, trace=replace(data.trace, events=100_000_000), subsystems=largest)
    program = data.process.argv or ()
    journal = Journal("advise", program)
    journal.add_outcomes(
        Outcome(Cell(Program(program), Control(name)), "judging", number, {"cpu_seconds": 1.0})
        for number in range(1, 12)
        for name in ("bare", "empty", "shared", "shared_huge", "looked_up")
    )
    store.write(journal)
    store.write_characterisation(journal.run, data.to_json())
    store.write_contexts(journal.run, CallTree.read(contexts))
    store.write_document("advice", journal.run, _advice_of(data, journal.run).to_json())
    return journal.run


def _advice_of(found: Characterisation, run: str) -> Advice:
    """An advice that tried nothing."""
    kept = ("name", "kind", "events", "bytes", "peak_live_bytes", "dvluc", "legality")
    rows = (Row(best=NOTHING, reason="not tried", **{k: getattr(s, k) for k in kept}) for s in found.subsystems)
    return Advice(
        verdict="Do nothing: nothing was tried.", effects={}, sums={}, rounds=0,
        program=AnalysedProgram(argv=found.process.argv or (), exit=0, signal=0), trace=found.trace.summary,
        subsystems=tuple(rows), notes=(), machine="", run=run, seed=1,
    )  # fmt: skip


def twice(bench: Bench) -> list[Verdict]:
    """Compares the values and verdicts of two complete runs of `advise` on the demo's program."""
    program = [str(native.find("orders")), "--orders", str(EXAMPLE_ORDERS)]
    documents = []
    for number in (1, 2):
        out = bench.folder / f"advice-{number}.json"
        store = str(bench.folder / "advised")
        budget = ["--budget", str(_ADVICE_BUDGET_SECONDS), "--seed", str(number)]
        run_verb(["advise", *budget, "--store", store, "-o", f"json:{out}", "--", *program])
        documents.append(Advice.read(out))
    first, second = (dict(_values(d)) for d in documents)
    both = sorted(first.keys() & second.keys())
    meet = [_meet(first[k], second[k]) for k in both]
    apart = "; ".join(k for k, m in zip(both, meet, strict=True) if not m)
    flips = _flips(*documents)
    values = tuple(observed(k, 1, "agrees", float(m)) for k, m in zip(both, meet, strict=True))
    return [
        bar_of("advice twice: values whose intervals meet", "orders", "%", 100 * sum(meet) / len(meet), 90,
            at_least=True, note=f"of {len(meet)} values; apart: {apart or 'none'}", outcomes=values),
        bar_of("advice twice: verdicts that differ", "orders", "", len(flips), 0, note="; ".join(flips)),
    ]  # fmt: skip


def _values(advice: Advice) -> Iterator[tuple[str, Estimate]]:
    """Every figure with an interval: the effects, and the savings of each subsystem."""
    for name, found in advice.every_effect.items():
        if found.n:
            yield name, found
            if found.saved:
                yield f"{name}, saved", found.saved
    for row in advice.subsystems:
        for key, saved in (("saves_cpu_seconds", row.saves_cpu_seconds), ("saves_bytes", row.saves_bytes)):
            if saved.n:
                yield f"{row.name}, {key}", saved


def _meet(a: Estimate, b: Estimate) -> bool:
    """True if the interval of their difference (each side's half-width towards the other, in quadrature) contains
    zero.
    """
    low, high = sorted(filter(None, (a.known, b.known)), key=lambda one: one.median)
    reach = math.hypot(low.high - low.median, high.median - high.low)
    return high.median - low.median <= reach


def _flips(first: Advice, second: Advice) -> list[str]:
    """Subsystems and effects for which only one of the two runs says "do it"."""
    best = {row.name: row.best for row in first.subsystems}
    flips = [
        f"{row.name}: {best[row.name]} / {row.best}"
        for row in second.subsystems
        if row.name in best and best[row.name] != row.best
    ]
    for name, found in first.effects.items():
        other = second.effects[name].verdict if name in second.effects else ""
        if {found.verdict, other} == {"better", "worse"}:
            flips.append(f"{name}: {found.verdict} / {other}")
    return flips
