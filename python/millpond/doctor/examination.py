# SPDX-License-Identifier: BSL-1.0
"""Examines the machine by trying what Millpond will need: the document of `millpond doctor`.

    facts of the kernel ─┐
    costs, counters ─────┤ (millpond-probe)
    what is installed ───┼─▶ document ("millpond.doctor/1") ─▶ findings: what follows for the results
    what really works ───┤ (a preloaded round, a recorded run)
    noise, validation ───┘

A missing part does not stop the examination: the document reports it as missing.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from millpond import __version__
from millpond.doctor.examination_data import (
    Ability,
    Examination,
    Installation,
    InstalledPart,
    NoiseFacts,
    ProbeResult,
    StoreFacts,
)
from millpond.rounds.interleaved_rounds import Listener, RoundsRequest, run_rounds
from millpond.rounds.mallocs import MallocRunner, find_mallocs
from millpond.rounds.noise import noise_of, twins
from millpond.rounds.trial_data import RoundResult
from millpond.system import machine_facts, native
from millpond.system.clock import utc_now
from millpond.system.errors import Failure
from millpond.system.machine import this_machine
from millpond.system.temporary import temporary_folder

PROBE, TRIAL, RECORD = "millpond-probe", "millpond-trial", "millpond-record"
# Program → what fails without it; None: everything.
NATIVE: dict[str, str | None] = {
    RECORD: None,
    "millpond-characterise": None,
    TRIAL: None,
    "millpond-replay": "`millpond trace replay` and `millpond-bench validate`",
    PROBE: "the costs and counters in this report",
}
LIBRARIES: dict[str, str | None] = {
    "libmillpond-record.so": None,
    "libmillpond-sample.so": None,
    "libmillpond-trial.so": None,
    "libmillpond-probes.so": "observation of scopes, so that no function is called legal for an arena",
    "libmillpond-multipool.so": "the multipool malloc among those that `millpond advise` tries",
    "libmillpond-litter.so": "`millpond try --litter`",
}
SPIN_STEPS = 3_000_000
NOISE_ROUNDS = 11
_PATIENCE_SECONDS = 60.0


def examine(store: Path, listener: Listener, rounds: int = NOISE_ROUNDS, seed: int = 1) -> Examination:
    """The examination, without findings. Takes a few seconds, most of them for the noise."""
    mallocs, missing = find_mallocs()
    with temporary_folder() as folder:
        probe, why_no_probe = _probe(folder)
        ptrace = (probe.ptrace,) if probe.ptrace else ()
        return Examination(
            machine=str(this_machine()),
            fingerprint=this_machine().fingerprint,
            version=__version__,
            time_utc=utc_now(),
            facts=machine_facts.facts(),
            costs=probe.costs,
            latencies=probe.latencies,
            page_latencies=probe.page_latencies,
            caches=probe.caches,
            translation_buffers=probe.translation_buffers,
            time_stamp_is_invariant=probe.time_stamp_is_invariant,
            counters=probe.counters,
            why_no_probe=why_no_probe,
            installed=Installation(
                native_programs(), preloaded_libraries(), tuple(m.place for m in mallocs), missing,
                machine_facts.tools(),
            ),
            works=(
                Ability.unless("preload", _preload(folder)), Ability.unless("record", _recording(folder)), *ptrace,
            ),
            store=store_facts(store),
            noise=noise_facts(folder, listener, rounds, seed),
        )  # fmt: skip


def _probe(folder: Path) -> tuple[ProbeResult, str]:
    out = folder / "probe.json"
    try:
        native.require(PROBE, ["--json", str(out)])
        return ProbeResult.read(out), ""
    except (Failure, OSError, ValueError) as failure:
        return ProbeResult(), str(failure)


def native_programs() -> tuple[InstalledPart, ...]:
    """Each program of ours: its path, whether Millpond can work without it, and what fails then."""
    return tuple(InstalledPart(name, _found(name), fails is None, fails) for name, fails in NATIVE.items())


def _found(name: str) -> str | None:
    try:
        return str(native.find(name))
    except Failure:
        return None


def preloaded_libraries() -> tuple[InstalledPart, ...]:
    """The libraries that Millpond preloads into programs, from ../lib/millpond, where the programs look for them."""
    folders = [Path(place).resolve().parent for place in map(_found, (RECORD, TRIAL)) if place]
    result = []
    for name, without in LIBRARIES.items():
        places = [folder.parent / "lib" / "millpond" / name for folder in folders]  # follows links, as programs do
        found = next((str(p) for p in places if p.is_file()), None)
        result.append(InstalledPart(name, found, without is None, without))
    return tuple(result)


def _program() -> Sequence[str]:
    return (shutil.which("true") or "/bin/true",)


def _preload(folder: Path) -> str:
    """Preloads a library into a program. Returns the reason why this fails, or an empty string if it works."""
    out = folder / "preload.json"
    arguments = ["--round", "empty", "--result", str(out), "--stdout", "/dev/null", "--", *_program()]
    try:
        native.require(TRIAL, arguments)
        router = RoundResult.read(out).router
    except (Failure, OSError, ValueError) as failure:
        return str(failure)
    if router is None or not router.processes:
        return "a program was started with LD_PRELOAD, and the library was not loaded into it"
    return ""


def _recording(folder: Path) -> str:
    """Records a program. Returns the reason why this fails, or an empty string if it works."""
    trace = folder / "works.mpt"
    try:
        native.require(RECORD, ["-o", str(trace), "--", *_program()])
    except Failure as failure:
        return failure.message
    return "" if trace.exists() else "a program was recorded, and left no trace"


def store_facts(store: Path) -> StoreFacts:
    """Returns whether the store can be written, and the free space there. Creates nothing."""
    place = next((p for p in (store, *store.absolute().parents) if p.is_dir()), Path("/"))
    try:
        with tempfile.TemporaryFile(dir=place):
            why = None
    except OSError as error:
        why = error.strerror or str(error)
    free, temporary = (shutil.disk_usage(folder).free for folder in (place, tempfile.gettempdir()))
    return StoreFacts(str(store), store.is_dir(), why is None, why, free, temporary)


def noise_facts(folder: Path, listener: Listener, rounds: int, seed: int) -> NoiseFacts:
    """Measures two equal contenders over a fixed piece of work; without rounds, returns why."""
    try:
        cells = twins((str(native.find(PROBE)), "--spin", str(SPIN_STEPS)))
        runner = MallocRunner(folder, seed=seed, limit_seconds=_PATIENCE_SECONDS)
        outcomes = run_rounds(cells, runner, listener, RoundsRequest(stage="noise", rounds=rounds, seed=seed))
    except Failure as failure:
        return NoiseFacts(0, why_null=failure.message)
    failed = next((o.why for o in outcomes if o.status != "ok"), None)
    return NoiseFacts(rounds, tuple(noise_of(outcomes, cells)), failed)
