# SPDX-License-Identifier: BSL-1.0
"""Examines the place that Millpond runs in, by trying what it will have to do: the document of `millpond doctor`.

    facts of the kernel ─┐
    costs, counters ─────┤ (millpond-probe)
    what is installed ───┼─▶ document ("millpond.doctor/1") ─▶ findings: what follows for the results
    what really works ───┤ (a preloaded round, a recorded run)
    noise, validation ───┘

Nothing that is absent stops the examination: it becomes a part of the document.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from millpond import __version__
from millpond.rounds.interleaved_rounds import Listener, run_rounds
from millpond.rounds.mallocs import MallocRunner, find_mallocs
from millpond.rounds.noise import noise_of, twins
from millpond.system import machine_facts, native
from millpond.system.clock import utc_now
from millpond.system.errors import Failure
from millpond.system.machine import this_machine
from millpond.system.temporary import temporary_folder

SCHEMA = "millpond.doctor/1"
PROBE, TRIAL, RECORD = "millpond-probe", "millpond-trial", "millpond-record"
# Name → what fails without it; None: everything does.
NATIVE: dict[str, str | None] = {
    RECORD: None,
    "millpond-characterise": None,
    TRIAL: None,
    "millpond-replay": "`millpond replay` and `millpond doctor --validate`",
    PROBE: "the costs and counters in this report",
}
LIBRARIES: dict[str, str | None] = {
    "libmillpond-record.so": None,
    "libmillpond-trial.so": None,
    "libmillpond-probes.so": "observation of scopes, so that no function is called legal for an arena",
    "libmillpond-multipool.so": "malloc of ours among those that `millpond advise` tries",
    "libmillpond-litter.so": "`millpond litter`",
}
SPIN_STEPS = 3_000_000
NOISE_ROUNDS = 11
_PATIENCE_SECONDS = 60.0


def examine(store: Path, listener: Listener, rounds: int = NOISE_ROUNDS, seed: int = 1) -> dict[str, Any]:
    """The document without its findings. Takes a few seconds, most of them for the noise."""
    mallocs, missing = find_mallocs()
    with temporary_folder() as folder:
        probe, why_no_probe = _probe(folder)
        return {
            "schema": SCHEMA,
            "machine": str(this_machine()),
            "fingerprint": this_machine().fingerprint,
            "version": __version__,
            "time_utc": utc_now(),
            "facts": machine_facts.facts(),
            "costs": probe.get("costs", {}),
            "time_stamp_is_invariant": probe.get("time_stamp_is_invariant"),
            "counters": probe.get("counters", []),
            "why_no_probe": why_no_probe,
            "installed": {
                "programs": native_programs(),
                "libraries": preloaded_libraries(),
                "mallocs": [{"name": m.name, "path": str(m.path) if m.path else None} for m in mallocs],
                "missing_mallocs": missing,
                "tools": machine_facts.tools(),
            },
            "works": [_works("preload", _preload(folder)), _works("record", _recording(folder)),
                      *([probe["ptrace"]] if "ptrace" in probe else [])],
            "store": store_facts(store),
            "noise": _noise(folder, listener, rounds, seed),
        }  # fmt: skip


def _works(name: str, why_not: str) -> dict[str, Any]:
    return {"name": name, "available": not why_not, "why_not": why_not or None}


def _probe(folder: Path) -> tuple[dict[str, Any], str]:
    out = folder / "probe.json"
    try:
        native.require(PROBE, ["--json", str(out)])
        return json.loads(out.read_text(encoding="utf-8")), ""
    except (Failure, OSError, ValueError) as failure:
        return {}, str(failure)


def native_programs() -> list[dict[str, Any]]:
    """Each program of ours: where it is, whether Millpond can do without it, and what fails then."""
    result = []
    for name, fails in NATIVE.items():
        try:
            path = str(native.find(name))
        except Failure:
            path = None
        result.append({"name": name, "path": path, "needed": fails is None, "without": fails})
    return result


def preloaded_libraries() -> list[dict[str, Any]]:
    """The libraries that programs are recorded and tried with, at ../lib/millpond as the programs look for them."""
    result = []
    for name, without in LIBRARIES.items():
        places = [folder.parent / "lib" / "millpond" / name for folder in _real_folders()]
        found = next((p for p in places if p.is_file()), None)
        result.append(
            {"name": name, "path": str(found) if found else None, "needed": without is None, "without": without}
        )
    return result


def _real_folders() -> list[Path]:
    """Where the programs really lie, symbolic links followed: their libraries are looked for from there."""
    folders = []
    for name in (RECORD, TRIAL):
        try:
            folders.append(native.find(name).resolve().parent)
        except Failure:
            continue
    return folders


def _program() -> Sequence[str]:
    return (shutil.which("true") or "/bin/true",)


def _preload(folder: Path) -> str:
    """Why a library cannot be preloaded into a program here; empty if it can, which is shown by doing it."""
    out = folder / "preload.json"
    arguments = ["--round", "empty", "--result", str(out), "--stdout", "/dev/null", "--", *_program()]
    try:
        native.require(TRIAL, arguments)
        router = json.loads(out.read_text(encoding="utf-8")).get("router") or {}
    except (Failure, OSError, ValueError) as failure:
        return str(failure)
    if not router.get("processes"):
        return "a program was started with LD_PRELOAD, and the library was not loaded into it"
    return ""


def _recording(folder: Path) -> str:
    """Why nothing can be recorded here; empty if it can."""
    trace = folder / "works.mpt"
    try:
        native.require(RECORD, ["-o", str(trace), "--", *_program()])
    except Failure as failure:
        return failure.message
    return "" if trace.exists() else "a program was recorded, and left no trace"


def store_facts(store: Path) -> dict[str, Any]:
    """Whether the store's place can be written, and how much fits there; nothing is created."""
    place = next((p for p in (store, *store.absolute().parents) if p.is_dir()), Path("/"))
    try:
        with tempfile.TemporaryFile(dir=place):
            why = None
    except OSError as error:
        why = error.strerror or str(error)
    return {
        "path": str(store),
        "exists": store.is_dir(),
        "writable": why is None,
        "why_not": why,
        "free_bytes": shutil.disk_usage(place).free,
        "temporary_free_bytes": shutil.disk_usage(tempfile.gettempdir()).free,
    }


def _noise(folder: Path, listener: Listener, rounds: int, seed: int) -> dict[str, Any]:
    """Two equal contenders over a fixed piece of work; without rounds, why."""
    try:
        cells = twins((str(native.find(PROBE)), "--spin", str(SPIN_STEPS)))
        runner = MallocRunner(folder, seed=seed, limit_seconds=_PATIENCE_SECONDS)
        outcomes = run_rounds(cells, runner, listener, stage="noise", rounds=rounds, seed=seed)
    except Failure as failure:
        return {"rounds": 0, "metrics": [], "why_null": failure.message}
    failed = next((o.why for o in outcomes if o.status != "ok"), None)
    return {"rounds": rounds, "metrics": [n.to_json() for n in noise_of(outcomes, cells)], "why_null": failed}
