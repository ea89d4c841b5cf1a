# SPDX-License-Identifier: BSL-1.0
"""Calls Valgrind, our capturing tool and the simulators, for benchmarks and validations of captures."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from millpond.rounds.layouts import CAPTURE
from millpond.rounds.real_program import RealProgram, require_program
from millpond.system import callgrind, native
from millpond.system.errors import Failure, Status
from millpond.system.model_page import MODEL_PAGE_BYTES

# The line about the tool that Valgrind starts, in its output with -d.
_STARTED = re.compile(r"launching (\S+)/none-amd64-linux")
_COUNTED = tuple(re.compile(rf"{what}:\s+([\d,]+)") for what in (r"I\s+refs", r"D\s+refs", r"D1\s+misses"))
_STEP_BYTES, _LEAST_BYTES = 528, 1200  # from one environment to the next; enough to subtract a library's name


class CacheShape(NamedTuple):
    """A first-level data cache; or a memory of pages, modelled as one set of lines of 4 KiB."""

    kibibytes: int
    ways: int
    line_bytes: int

    @classmethod
    def memory(cls, pages: int) -> CacheShape:
        """A memory of that many pages that keeps the most recently used ones; its misses are page faults."""
        return cls(pages * MODEL_PAGE_BYTES // 1024, pages, MODEL_PAGE_BYTES)

    @property
    def is_memory(self) -> bool:
        return self.line_bytes == MODEL_PAGE_BYTES

    @property
    def name(self) -> str:
        if self.is_memory:
            return f"memory of {self.ways} page{'s' if self.ways > 1 else ''}"
        return f"{self.kibibytes} KiB, " + ("direct-mapped" if self.ways == 1 else f"{self.ways}-way")

    @property
    def cachegrind(self) -> str:
        return f"--D1={self.kibibytes * 1024},{self.ways},{self.line_bytes}"


def padding(library: Path | None, number: int) -> dict[str, str]:
    """A variable that makes environment `number` equally large on every malloc, so that their stacks have the same
    address.

    Valgrind adds its own library after the preloaded one, with a colon between them.
    """
    preloaded = len(str(library)) + 1 if library is not None else 0
    return {"MILLPOND_PAD": "x" * (_LEAST_BYTES + number * _STEP_BYTES - preloaded)}


def valgrind(tool: str, *options: str) -> list[str]:
    return [callgrind.find_valgrind(), "-q", f"--tool={tool}", "--trace-children=yes", "--vgdb=no", *options]


class ToolFolder(NamedTuple):
    """Valgrind's own tools and ours in one folder, VALGRIND_LIB for both, and a capturing program that uses it.

    So a program has the same environment under all of them, and its stack the same address.
    """

    folder: Path
    capture: Path

    def capturing(self, trace: Path, library: Path | None, *options: str) -> list[str]:
        """The command before a program's own words that captures it with this library preloaded."""
        preload = ["--preload", str(library)] if library else []
        return [str(self.capture), *options, *preload, "-o", str(trace), "--"]


def one_tool_folder(place: Path) -> ToolFolder:
    """Makes the folder below `place`. Failure (4) if there are no tools."""
    ours = native.libraries(CAPTURE) / "valgrind"
    asked = subprocess.run(
        [callgrind.find_valgrind(), "-d", "--tool=none", "true"], capture_output=True, text=True, check=False
    )  # fmt: skip
    started = _STARTED.search(asked.stderr)
    if started is None or not (ours / "millpond-amd64-linux").exists():
        raise Failure(Status.ENVIRONMENT, "Valgrind's tools or our capturing tool are missing")
    root = place.resolve() / "tools"
    folder = root / "lib" / "millpond" / "valgrind"  # where the capturing program looks, from its own place
    folder.mkdir(parents=True, exist_ok=True)
    (root / "bin").mkdir(exist_ok=True)
    for each in (*Path(started[1]).iterdir(), *ours.iterdir()):
        link = folder / each.name
        link.unlink(missing_ok=True)
        link.symlink_to(each.resolve())
    return ToolFolder(folder, Path(shutil.copy(native.find(CAPTURE), root / "bin")))


def json_of(command: Sequence[str]) -> dict[str, Any]:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Failure(Status.ENVIRONMENT, f"{Path(command[0]).name} failed: {done.stderr.strip()[-300:]}")
    found = json.loads(done.stdout)
    assert isinstance(found, dict)
    return found


def run_under(command: Sequence[str], workload: RealProgram, environment: Mapping[str, str]) -> str:
    """Runs a program under a tool without address randomisation. Returns its standard error."""
    with (workload.stdin or Path(os.devnull)).open("rb") as stdin:
        done = subprocess.run(
            [require_program("setarch"), "-R", *command, *workload.command], stdin=stdin, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE, check=False, env=environment, cwd=workload.folder,
        )  # fmt: skip
    said = done.stderr.decode(errors="replace")
    if done.returncode != 0:
        raise Failure(Status.ENVIRONMENT, f"{workload.name} ended with {done.returncode}: {said.strip()[-300:]}")
    return said


class CachegrindCounts(NamedTuple):
    """Cachegrind's counts for a program with one first-level data cache."""

    instructions: int
    references: int
    misses: int


def cachegrind_misses(workload: RealProgram, environment: Mapping[str, str], cache: CacheShape, *options: str) -> int:
    """The misses that Cachegrind counts in a first-level data cache."""
    return cachegrind_counts(workload, environment, cache, *options).misses


def cachegrind_counts(
    workload: RealProgram, environment: Mapping[str, str], cache: CacheShape, *options: str
) -> CachegrindCounts:
    """Runs the program under Cachegrind. Failure (4) if it fails, or reports no counts."""
    levels = ("--I1=32768,8,64", "--LL=8388608,16,64", "--cachegrind-out-file=/dev/null", cache.cachegrind)
    command = [word for word in valgrind("cachegrind", *options, *levels) if word != "-q"]
    said = run_under(command, workload, environment)
    found = [pattern.search(said) for pattern in _COUNTED]
    if None in found:
        raise Failure(Status.ENVIRONMENT, f"Cachegrind reported no misses for {workload.name}")
    return CachegrindCounts(*(int(each[1].replace(",", "")) for each in found if each is not None))
