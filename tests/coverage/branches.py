# SPDX-License-Identifier: BSL-1.0
"""Finds the branches of core, os, block and local that no test takes.

Runs the library's test programs of the coverage build, each by itself, and merges the counts of llvm-cov: a branch of a
template counts as taken if any instantiation in any program takes it. Counters lie in mapped files (%c), so that a
process counts even if a death test or _exit ends it. Status 1: a branch is neither taken nor excluded, or a test fails;
3: there is no program, or an exclusion matches no line.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tomllib
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
HEADERS = ROOT / "include/millpond"
SOURCES = ROOT / "src"
ROOMS = ("core", "os", "block", "local")
EXCLUSIONS = ROOT / "tests/coverage_exclusions.toml"
MOST_EXCLUSIONS = 10
SIDES = ("true", "false")
# The arguments of test programs that need some.
ARGUMENTS = {f"library_misuse_{mode}": ["--check", mode] for mode in ("checked", "asan")}
NEGATIVE = 1 << 63  # a count from a subtraction, with a negative result


@dataclass(frozen=True, order=True)
class Place:
    """The place of a branch's condition, in a header below include/millpond or a source below src."""

    file: str
    line: int
    column: int
    last_line: int
    last_column: int


@dataclass
class Taken:
    counts: list[int] = field(default_factory=lambda: [0, 0])
    instantiations: int = 0


@dataclass(frozen=True)
class Exclusion:
    file: str
    line: str
    condition: str
    side: str
    reason: str


class InputError(Exception):
    """A missing or wrong input file."""


def name_of(path: Path) -> str | None:
    """Returns the short name of a file in the rooms: room/file. None for all others."""
    for root in (HEADERS, SOURCES):
        if path.is_relative_to(root) and path.relative_to(root).parts[0] in ROOMS:
            return path.relative_to(root).as_posix()
    return None


def text_of(name: str) -> str:
    header = HEADERS / name
    return (header if header.exists() else SOURCES / name).read_text(encoding="utf-8")


def load_exclusions(path: Path = EXCLUSIONS) -> list[Exclusion]:
    found = [Exclusion(**entry) for entry in tomllib.loads(path.read_text(encoding="utf-8")).get("exclusion", [])]
    for exclusion in found:
        if exclusion.side not in SIDES or not exclusion.reason:
            raise InputError(f"{path.name}: {exclusion.file}: side must be true or false, and reason must not be empty")
        lines = [line.strip() for line in text_of(exclusion.file).splitlines()]
        if exclusion.line not in lines:
            raise InputError(f"{path.name}: {exclusion.file} no longer has this line: {exclusion.line}")
    if len(found) > MOST_EXCLUSIONS:
        raise InputError(f"{path.name}: {len(found)} exclusions; at most {MOST_EXCLUSIONS} are allowed")
    return found


def run(program: Path, profiles: Path) -> bool:
    """Runs a whole test program. Returns true if it passed. Its output lies next to its profile."""
    # Slow tests measure figures; they take no new branches.
    environment = os.environ | {
        "LLVM_PROFILE_FILE": f"%c{profiles}/{program.name}.%p.profraw",
        "GTEST_FILTER": "-*_slow.*",
    }
    with (profiles / f"{program.name}.log").open("wb") as log:
        ended = subprocess.run(
            [program, *ARGUMENTS.get(program.name, [])],
            check=False,
            stdout=log,
            stderr=subprocess.STDOUT,
            env=environment,
            cwd=profiles,
        )
    if ended.returncode != 0:
        print(f"millpond: {program.name} failed (status {ended.returncode}); its output: {log.name}", file=sys.stderr)
    return ended.returncode == 0


def functions_of(program: Path, profiles: Path) -> list[dict[str, Any]]:
    """Returns llvm-cov's counts in the rooms, function by function; empty for a program without counters."""
    raw = [path for path in profiles.glob(f"{program.name}.*.profraw") if path.stat().st_size > 0]
    if not raw:
        return []
    merged = profiles / f"{program.name}.profdata"
    subprocess.run(
        ["llvm-profdata-19", "merge", "--failure-mode=all", "--sparse", "-o", merged, *raw],
        check=True,
        stderr=subprocess.DEVNULL,
    )
    rooms = [root / room for root in (HEADERS, SOURCES) for room in ROOMS if (root / room).is_dir()]
    exported = subprocess.run(
        ["llvm-cov-19", "export", program, "-instr-profile", merged, "-skip-expansions", *rooms],
        check=True,
        capture_output=True,
    )
    functions: list[dict[str, Any]] = json.loads(exported.stdout)["data"][0]["functions"]
    return functions


def add(branches: dict[Place, Taken], functions: list[dict[str, Any]]) -> None:
    for function in functions:
        names = function["filenames"]
        for first_line, first_column, last_line, last_column, taken, not_taken, file, *_ in function["branches"]:
            name = name_of(Path(names[file]))
            if name is None:
                continue
            place = Place(name, first_line, first_column, last_line, last_column)
            branch = branches[place]
            branch.instantiations += 1
            for side, count in enumerate((taken, not_taken)):
                branch.counts[side] += count if count < NEGATIVE else 0


def condition_at(place: Place, lines: list[str]) -> str:
    if place.line == place.last_line:
        return lines[place.line - 1][place.column - 1 : place.last_column - 1]
    return lines[place.line - 1][place.column - 1 :]


def without_code(branches: dict[Place, Taken]) -> list[str]:
    """Returns lines with a condition for which no program has code: run only by the compiler, or never instantiated."""
    counted = {(place.file, place.line) for place in branches}
    condition = re.compile(r"^\s*(?:\} else )?(?:if|while|for) \(")
    found = []
    for room in ROOMS:
        for path in sorted((HEADERS / room).rglob("*.hpp")):
            name = str(path.relative_to(HEADERS))
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
                if condition.match(line) and (name, number) not in counted:
                    found.append(f"{name}:{number}: {line.strip()}")
    return found


def report(branches: dict[Place, Taken], exclusions: list[Exclusion]) -> int:
    """Prints one line for each room and each missed branch. Returns the number of missed branches."""
    missed: list[str] = []
    totals: dict[str, list[int]] = {room: [0, 0, 0] for room in ROOMS}  # sides, taken, excluded
    texts: dict[str, list[str]] = {}
    for place, taken in sorted(branches.items()):
        lines = texts.setdefault(place.file, text_of(place.file).splitlines())
        total = totals[place.file.split("/")[0]]
        line, condition = lines[place.line - 1].strip(), condition_at(place, lines)
        for side, count in zip(SIDES, taken.counts, strict=True):
            total[0] += 1
            if count > 0:
                total[1] += 1
            elif any((e.file, e.line, e.condition, e.side) == (place.file, line, condition, side) for e in exclusions):
                total[2] += 1
            else:
                missed.append(f"{place.file}:{place.line}:{place.column}: never {side}: {condition or line}")
    print(f"{'room':8} {'branches':>9} {'taken':>7} {'excluded':>9} {'missed':>7}  share")
    totals["all"] = [sum(numbers) for numbers in zip(*totals.values(), strict=True)]
    for room, (sides, taken_sides, excluded) in totals.items():
        lost = sides - taken_sides - excluded
        share = 100 * (sides - lost) / sides if sides else 0
        print(f"{room:8} {sides:9} {taken_sides:7} {excluded:9} {lost:7}  {share:.2f} %")
    print("\n".join(missed))
    return len(missed)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--build", type=Path, default=ROOT / "build/coverage", help="the coverage build")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="number of programs that run at once")
    parser.add_argument("--no-run", action="store_true", help="read the profiles of the last run again")
    parser.add_argument("--list", action="store_true", help="also print the conditions for which no program has code")
    options = parser.parse_args()
    programs = sorted(p for p in (options.build / "tests/bin").glob("library_*") if os.access(p, os.X_OK))
    if not programs:
        raise InputError(
            f"{options.build}/tests/bin has no test programs of the library; `scripts/build coverage` builds them"
        )
    exclusions = load_exclusions()
    profiles: Path = (options.build / "rooms").resolve()
    profiles.mkdir(exist_ok=True)
    passed = True
    with ThreadPoolExecutor(options.jobs) as pool:
        if not options.no_run:
            for old in profiles.glob("*.prof*"):
                old.unlink()
            passed = all(list(pool.map(lambda program: run(program, profiles), programs)))
        branches: dict[Place, Taken] = defaultdict(Taken)
        for functions in pool.map(lambda program: functions_of(program, profiles), programs):
            add(branches, functions)
    if not branches:
        raise InputError(f"{profiles} has no counts: is {options.build} a coverage build?")
    missed = report(branches, exclusions)
    if options.list:
        print("\n".join(["no program has code for:", *without_code(branches)]))
    if missed:
        print(f"millpond: no test takes {missed} branches of {', '.join(ROOMS)} (above)", file=sys.stderr)
    return 1 if missed or not passed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (InputError, OSError, subprocess.CalledProcessError) as error:
        print(f"millpond: {error}", file=sys.stderr)
        sys.exit(3)
