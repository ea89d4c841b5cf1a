# SPDX-License-Identifier: BSL-1.0
"""A worker's side of a run: receives files, checks that they run here, and runs one round of one group at a time.

    examine ─▶ lacking ─▶ receive … ─▶ settle ─▶ run_group … ─▶ leave

The conductor calls these functions by their names, in the worker's process. A station belongs to one run (*session*)
and is removed with it, with all processes that it started. The programs that it runs are pinned to its share of the
machine's processors.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

from millpond import __version__
from millpond.cells.cell import Cell, Outcome
from millpond.cluster.shipment import Shipment, ShippedFile, digest_of
from millpond.cluster.workplace import RunnerRecipe, Workplace
from millpond.doctor.examination import noise_facts
from millpond.rounds.interleaved_rounds import Runner, Silence
from millpond.system import native, process_tree
from millpond.system.errors import Failure, Status
from millpond.system.machine import Machine, this_machine

NOISE_ROUNDS = 7
NOISE_SECONDS_MAX = 120.0
_PATIENCE_SECONDS = 30
_HASH_SEED_OF_DASK = "6640"  # which a nanny sets unless the user has
# What the loader prints if a program was linked with libraries that this machine lacks, or newer ones.
_UNLOADABLE = re.compile(r"error while loading shared libraries.*|version `\S+' not found.*")


@dataclass(frozen=True)
class WorkerFacts:
    """The facts about a worker's process and machine. `host`: equal for workers on one machine."""

    host: str
    machine: Machine
    version: str
    python: str
    processors: tuple[int, ...]


@dataclass(frozen=True)
class GroupEnd:
    """The end of one round of a group: its outcomes, and those of a warm-up that ran before it."""

    outcomes: list[Outcome]
    warm_up: list[Outcome]


@dataclass
class _Station:
    folder: Path
    usual_environment: dict[str, str]
    place: Workplace | None = None
    runner: Runner | None = None
    processors: tuple[int, ...] = ()
    warm: set[Cell] = field(default_factory=set)
    has_left: bool = False


class StationGone(Exception):
    """The process of a worker is not the one that was prepared: it has been started again."""


_stations: dict[str, _Station] = {}


def examine() -> WorkerFacts:
    """The facts about this worker."""
    boot = ""
    with suppress(OSError):
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    processors = tuple(sorted(os.sched_getaffinity(0)))
    return WorkerFacts(
        f"{socket.gethostname()} {boot}", this_machine(), __version__, platform.python_version(), processors
    )


def leave_interrupts() -> None:
    """Leaves Ctrl-C to the conductor, which has the same terminal: it ends this worker with the run.

    With a handler, and not by ignoring the signal, which every program that is started would inherit.
    """
    signal.signal(signal.SIGINT, lambda *_: None)


def lacking(session: str, shipment: Shipment) -> list[str]:
    """The digests of the files that must be sent to this worker. Makes the station."""
    if session not in _stations:
        _stations[session] = _Station(_new_folder(), dict(os.environ))
        _forget_settings_of_dask()
    station = _stations[session]
    return list(dict.fromkeys(
        file.digest
        for file in shipment.travelling
        if not _has(Path(file.path), file.digest) and not (station.folder / file.digest).exists()
    ))  # fmt: skip


def _new_folder() -> Path:
    """A folder that Dask removes with the worker, if the run does not."""
    from distributed import get_worker

    try:
        place = get_worker().local_directory
    except ValueError:  # not a worker's process
        place = None
    return Path(tempfile.mkdtemp(prefix="millpond-", dir=place))


def _forget_settings_of_dask() -> None:
    """Removes the variables that Dask sets for its workers. MALLOC_TRIM_THRESHOLD_ changes what malloc does, the number
    of threads what a program does, and any variable what a program counts.
    """
    import dask.config

    for place in ("pre-spawn-environ", "environ"):
        for name, value in dask.config.get(f"distributed.nanny.{place}", {}).items():
            if os.environ.get(name) == str(value):
                del os.environ[name]
    if os.environ.get("PYTHONHASHSEED") == _HASH_SEED_OF_DASK:
        del os.environ["PYTHONHASHSEED"]
    for name in [name for name in os.environ if name.startswith(("DASK_", "__DASK_"))]:
        del os.environ[name]


def _has(path: Path, digest: str) -> bool:
    with suppress(OSError):
        return path.is_file() and digest_of(path) == digest
    return False


def receive(session: str, digest: str, offset: int, data: bytes) -> None:
    """Takes a part of a file. Parts come in order; the file counts when `seal` has checked it."""
    with open(_stations[session].folder / f".{digest}", "r+b" if offset else "wb") as file:
        file.seek(offset)
        file.write(data)


def seal(session: str, digest: str) -> bool:
    """True if the content that came has this digest; otherwise it is removed."""
    part = _stations[session].folder / f".{digest}"
    if not part.exists():
        part.touch()  # an empty file has no parts
    if digest_of(part) != digest:
        part.unlink()
        return False
    part.rename(part.with_name(digest))
    return True


def settle(session: str, shipment: Shipment, recipe: RunnerRecipe | None, processors: tuple[int, ...]) -> str:
    """Prepares this worker for rounds, or without a recipe for calls. Returns the reason why it cannot serve, or an
    empty string.

    `processors`: those that the programs may use; empty for all.
    """
    station = _station(session)
    station.processors = processors
    for file in shipment.system:
        if not _has(Path(file.path), file.digest):
            return f"its {file.path} is missing, or not the same as on the conductor"
    places = {file.path: _place(station, file) for file in shipment.travelling}
    _install(station, shipment, places)
    for place, _ in shipment.programs:
        if place.startswith("bin/") and (why := _why_not_runnable(native.find(place.removeprefix("bin/")))):
            return f"cannot run {place.removeprefix('bin/')}: {why}"
    work = station.folder / "work"
    work.mkdir(exist_ok=True)
    station.place = Workplace(work, places)
    station.runner = recipe.runner(station.place) if recipe else None
    return ""


def _place(station: _Station, file: ShippedFile) -> Path:
    sent = station.folder / file.digest
    return sent if sent.exists() else Path(file.path)


def _install(station: _Station, shipment: Shipment, places: dict[str, Path]) -> None:
    """Has `native.find` find the shipped programs. Those that were sent get an installation of their own."""
    if all(_is_found(place, file) for place, file in shipment.programs):
        return  # no variable is set then: programs have the same environment as on the conductor
    root = station.folder / "installation"
    if all(str(places[file.path]) == file.path for _, file in shipment.programs):
        first, file = next((place, file) for place, file in shipment.programs if place.startswith("bin/"))
        root = Path(file.path.removesuffix(f"/{first}"))
    else:
        for place, file in shipment.programs:
            target = root / place
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(places[file.path], target)
            target.chmod(0o755 if file.is_executable else 0o644)
    os.environ["MILLPOND_BIN"] = str(root / "bin")


def _is_found(place: str, file: ShippedFile) -> bool:
    """True if this file of the installation is found here anyway, with the same content."""
    folder, _, name = place.partition("/")
    with suppress(Failure):
        path = native.find(name) if folder == "bin" else Path(file.path)
        return str(path) == file.path and _has(path, file.digest)
    return False


def _why_not_runnable(program: Path) -> str:
    try:
        done = subprocess.run([program, "--help"], stdin=subprocess.DEVNULL, capture_output=True, check=False,
                              timeout=_PATIENCE_SECONDS)  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    if done.returncode < 0:
        return f"it dies of {native.signal_name(-done.returncode)} (another processor?)"
    found = _UNLOADABLE.search(done.stderr.decode(errors="replace"))
    return found[0].strip() if found else ""


def run_group(session: str, cells: Sequence[Cell], stage: str, number: int, warm_up: bool) -> GroupEnd:
    """Runs one round of each cell, in this order, after a warm-up of those that had none here.

    Runs in a thread of the worker; the conductor gives a worker one group at a time. StationGone if this process is
    not the one that was prepared.
    """
    station = _station(session)
    with _pinned(station):
        cold = [cell for cell in cells if cell not in station.warm] if warm_up else []
        warmed = _round(station, cold, stage, 0)
        station.warm.update(cold)
        dead = {outcome.cell for outcome in warmed if outcome.status != "ok"}
        return GroupEnd(_round(station, [cell for cell in cells if cell not in dead], stage, number), warmed)


Result = TypeVar("Result")


def call(session: str, function: Callable[..., Result], *arguments: object) -> Result:
    """Calls `function(place, *arguments)`, where `place` is the Workplace here. The conductor gives a worker one call
    at a time.
    """
    station = _station(session)
    with _pinned(station):
        return function(station.place, *arguments)


@contextmanager
def _pinned(station: _Station) -> Iterator[None]:
    """Pins this thread, and what it starts, to the station's processors."""
    usual = os.sched_getaffinity(0)
    os.sched_setaffinity(0, station.processors or usual)
    try:
        yield
    finally:
        os.sched_setaffinity(0, usual)


def _station(session: str) -> _Station:
    try:
        return _stations[session]
    except KeyError:
        raise StationGone(session) from None


def _round(station: _Station, cells: Sequence[Cell], stage: str, number: int) -> list[Outcome]:
    assert station.runner is not None and station.place is not None
    outcomes = []
    for cell in cells:
        if station.has_left:
            break
        outcome = station.runner.run(station.place.located_cell(cell), stage, number)
        outcomes.append(replace(outcome, cell=cell, machine=str(this_machine())))
    return outcomes


def leave(session: str) -> None:
    """Ends the run here: kills what it started, removes its files."""
    station = _stations.pop(session, None)
    if station is not None:
        station.has_left = True
        process_tree.kill_descendants()
        if station.place is not None:
            station.place.ends.close()
        os.environ.clear()
        os.environ.update(station.usual_environment)
        shutil.rmtree(station.folder, ignore_errors=True)


def noise(session: str) -> float:
    """The largest relative difference in CPU time between two equal contenders on this worker.

    Failure (status 4) if it cannot be measured.
    """
    station = _station(session)
    with _pinned(station):
        facts = noise_facts(station.folder, Silence(), NOISE_ROUNDS, 1)
    for one in facts.metrics:
        if one.metric == "cpu_seconds":
            return one.floor
    raise Failure(Status.ENVIRONMENT, f"its noise could not be measured: {facts.why_null}")
