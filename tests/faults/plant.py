# SPDX-License-Identifier: BSL-1.0
"""Plants one fault after another into a copy of the library's headers and of preload/; some test must notice each.

Each fault (*.toml) is tried on the tests that it names and then, if they pass, on all others that include its header.
A fault that no test notices survives, and the status is 1. A hanging test counts as a notice; a fault that does not
compile is an error. The tree itself is never changed.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import programs
from programs import BuildError, Program, SharedObjects

import faults
from faults import ROOT, Fault

BUILD = ROOT / "build/faults"
CONFIGURE = ("-G", "Ninja", "-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_CXX_FLAGS_DEBUG=-O0", "-DMILLPOND_BUILD_LAB=ON")


@dataclass(frozen=True)
class PlantedChange:
    """A change of the headers: a fault from our lists, or a user's patch."""

    name: str
    file: str
    make: Callable[[Path], None]  # changes the folder that replaces include/
    tests: tuple[str, ...]  # tried first


@dataclass(frozen=True)
class Outcome:
    planting: PlantedChange
    verdict: str  # caught, survived, error
    by: str  # the test that noticed, or the error
    seconds: float

    def __str__(self) -> str:
        return f"{self.verdict:9}{self.seconds:4.0f} s  {self.planting.file:34} {self.planting.name:44} {self.by}"


def fail(status: int, message: str) -> NoReturn:
    print(f"millpond: {message}", file=sys.stderr)
    sys.exit(status)


class Planter:
    def __init__(self, build: Path, folder: Path, seed: int) -> None:
        self.programs = programs.read(build)
        self.headers = folder / "include"  # a copy, because the tree may change meanwhile
        shutil.copytree(ROOT / "include", self.headers)
        shutil.copytree(ROOT / faults.PRELOAD, self.headers / faults.PRELOAD)
        self._shared = SharedObjects(folder, self.headers)
        self._seed = seed
        self._lock = threading.Lock()
        self._includes: dict[str, frozenset[str]] = {}

    def first_failure(self, program: Program, headers: Path) -> str | None:
        """Returns the first test of the program that fails with these headers, or None. Raises BuildError."""
        with tempfile.TemporaryDirectory(prefix="millpond-program-") as folder:
            try:
                executable = program.build(headers, Path(folder), self._shared)
            except BuildError as error:
                if is_failed_static_assert(str(error)):
                    return f"{program.name}: a static_assert"
                raise
            status, output = program.run(executable, self._seed)
        if status == 0:
            return None
        failed = re.search(r"\[  FAILED  \] (\S+?)(?:,|\s)", output)
        return f"{program.name}: {failed[1] if failed else f'status {status}'}"

    def _includes_of(self, program: Program) -> frozenset[str]:
        """Returns the library's headers and the files of preload/ in the program, by the names that faults use."""
        with self._lock:
            known = self._includes.get(program.name)
        if known is None:
            found: set[str] = set()
            for unit in (*program.units, *program.sources):
                found.update(unit.includes())
            known = frozenset(found)
            with self._lock:
                self._includes[program.name] = known
        return known

    def _others(self, planting: PlantedChange, changed: Sequence[str]) -> list[Program]:
        """Returns the unnamed programs that include a changed file, those with its name first."""
        stems = [Path(name).stem for name in changed]
        rest = [program for name, program in self.programs.items() if name not in planting.tests]
        rest = [program for program in rest if not self._includes_of(program).isdisjoint(changed)]
        return sorted(rest, key=lambda program: (not any(stem in program.name for stem in stems), program.name))

    def _changed(self, headers: Path) -> list[str]:
        below = [path.relative_to(headers) for path in headers.rglob("*.*") if path.is_file()]
        changed = [path for path in below if (headers / path).read_bytes() != (self.headers / path).read_bytes()]
        return [path.as_posix().removeprefix("millpond/") for path in changed]

    def attempt(self, planting: PlantedChange, only_named: bool) -> Outcome:
        start = time.monotonic()

        def outcome(verdict: str, by: str) -> Outcome:
            return Outcome(planting, verdict, by, time.monotonic() - start)

        with tempfile.TemporaryDirectory(prefix="millpond-planted-") as folder:
            headers = Path(folder, "include")
            shutil.copytree(self.headers, headers)
            try:
                planting.make(headers)
                for name in planting.tests:
                    if by := self.first_failure(self.programs[name], headers):
                        return outcome("caught", by)
                for program in [] if only_named else self._others(planting, self._changed(headers)):
                    if by := self.first_failure(program, headers):
                        return outcome("caught", f"{by} (not named)")
            except (BuildError, faults.PlacementError, OSError) as error:
                return outcome("error", first_error(error))
        return outcome("survived", "no test noticed")


def first_error(error: Exception) -> str:
    found = re.search(r"^.*error: .*$", str(error), re.MULTILINE)
    return (found[0] if found else str(error))[:300]


def is_failed_static_assert(said: str) -> bool:
    """Returns true if a static_assert of a test's source fails and there is no other error."""
    errors = [line for line in said.splitlines() if "error: " in line]
    return bool(errors) and all("tests/" in line and "static assertion failed" in line for line in errors)


def planting_of(fault: Fault) -> PlantedChange:
    def make(headers: Path) -> None:
        place = headers / (fault.file if fault.file.startswith("preload/") else f"millpond/{fault.file}")
        place.write_text(faults.plant(place.read_text(encoding="utf-8"), fault), encoding="utf-8")

    return PlantedChange(fault.name, fault.file, make, fault.tests)


def planting_of_patch(patch: Path) -> PlantedChange:
    def make(headers: Path) -> None:
        command = ["git", "apply", "-p1", str(patch.resolve())]
        done = subprocess.run(command, cwd=headers.parent, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise faults.PlacementError(f"{patch} does not apply: {done.stderr}")

    return PlantedChange(patch.name, "(a patch)", make, ())


def chosen(names: Sequence[str]) -> list[PlantedChange]:
    known = faults.load()
    if not names:
        return [planting_of(fault) for fault in known]
    plantings: list[PlantedChange] = []
    for name in names:
        found = [planting_of(fault) for fault in known if name in (fault.name, fault.file)]
        if not found and Path(name).suffix in (".patch", ".diff"):
            if not Path(name).is_file():
                fail(3, f"{name} does not exist")
            found = [planting_of_patch(Path(name))]
        if not found:
            fail(2, f"no fault, and no header with faults, is called {name}; --list prints them")
        plantings += found
    return plantings


def configure() -> None:
    command = ["cmake", "-S", str(ROOT), "-B", str(BUILD), *CONFIGURE]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        fail(4, "cmake is not installed: run `make setup`")
    if done.returncode != 0:
        fail(4, f"the tests cannot be configured:\n{done.stdout}{done.stderr}")


def failing_already(planter: Planter, wanted: Sequence[PlantedChange], jobs: int) -> list[str]:
    """Returns the tests that fail without any fault; they would seem to notice every fault."""

    def look(name: str) -> str | None:
        try:
            return planter.first_failure(planter.programs[name], planter.headers)
        except BuildError as error:
            return f"{name}: {first_error(error)}"

    names = sorted({name for planting in wanted for name in planting.tests})
    with ThreadPoolExecutor(jobs) as pool:
        return [said for said in pool.map(look, names) if said]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/plant_faults", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="a fault, a header (local/multipool.hpp) or a *.patch")
    parser.add_argument("--list", action="store_true", help="only print the faults")
    parser.add_argument("--named", action="store_true", help="run only the tests that a fault names")
    parser.add_argument("--no-baseline", action="store_true", help="skip the first run, which has no fault")
    parser.add_argument("--seed", type=int, default=1, help="the seed of the random tests (1)")
    return parser.parse_args()


def main() -> int:
    given = arguments()
    wanted = chosen(given.names)
    if given.list:
        for fault in faults.load():
            print(f"{fault.file:34} {fault.name:44} {fault.what}")
        return 0
    jobs = int(os.environ.get("JOBS") or os.cpu_count() or 1)
    start = time.monotonic()
    configure()
    with tempfile.TemporaryDirectory(prefix="millpond-faults-") as folder:
        planter = Planter(BUILD, Path(folder), given.seed)
        if not given.no_baseline and (failing := failing_already(planter, wanted, jobs)):
            fail(1, "these fail without any fault: " + ", ".join(failing))
        outcomes = []
        with ThreadPoolExecutor(jobs) as pool:
            for outcome in pool.map(lambda planting: planter.attempt(planting, given.named), wanted):
                outcomes.append(outcome)
                print(outcome, flush=True)
    bad = [outcome for outcome in outcomes if outcome.verdict != "caught"]
    print(f"{len(outcomes)} faults, {len(outcomes) - len(bad)} caught, {time.monotonic() - start:.0f} s")
    for outcome in bad:
        print(outcome)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
