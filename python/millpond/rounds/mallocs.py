# SPDX-License-Identifier: BSL-1.0
"""Malloc libraries of this machine, and rounds of a program under them, for `advise` and for the validation of replay.

env LD_PRELOAD=libjemalloc.so.2 PROGRAM ARGS      in a fresh process, measured by `millpond-trial --round bare`
env                             PROGRAM ARGS      the C library's own, started in the same way
"""

from __future__ import annotations

import os
import platform
import shutil
import statistics
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from millpond.cells.cell import Cell, Malloc, Outcome
from millpond.rounds.fresh_process import Padding, killed
from millpond.rounds.trial_rounds import TRIAL, outcome_of, read_result
from millpond.system import native
from millpond.system.environment import preload_setting, user_environment
from millpond.system.errors import Failure, Status

GLIBC = "glibc"
OWN_MALLOC = Malloc(GLIBC)
# Name → the names of its file, the best first, and its Debian package.
_KNOWN = {
    "jemalloc": (("libjemalloc.so.2",), "libjemalloc2"),
    "mimalloc": (("libmimalloc.so.3", "libmimalloc.so.2", "libmimalloc.so.2.0"), "libmimalloc2.0"),
    "tcmalloc": (("libtcmalloc_minimal.so.4", "libtcmalloc.so.4"), "libtcmalloc-minimal4"),
}
# Slower in most programs, so replay is not validated on it; benchmarks and `advise` try every malloc.
_ONLY_IN_BENCHMARKS = {"tbb": (("libtbbmalloc_proxy.so.2",), "libtbbmalloc2")}
_ASKED = 5

# Our malloc, by the name of its library, which lies next to the trial's library.
OURS, _OUR_LIBRARY = "millpond", "libmillpond-multipool.so"
# The C library's own malloc, on transparent huge pages (glibc 2.35 and later).
HUGE, _HUGE_SETTING = "glibc on huge pages", "GLIBC_TUNABLES=glibc.malloc.hugetlb=1"


def setting_text(malloc: Malloc) -> str:
    """The setting of a malloc as a user types it: a library of the system by its name, without a path."""
    if malloc.path is None:
        return malloc.tunables
    return preload_setting(malloc.path.name if malloc.path.parent in library_folders() else str(malloc.path))


def library_folders() -> list[Path]:
    """The folders of shared libraries: the user's own first, then the system's."""
    given = [Path(p) for p in os.environ.get("LD_LIBRARY_PATH", "").split(":") if p]
    triple = f"{platform.machine()}-linux-gnu"
    return [*given, *(Path(p) for p in ("/usr/local/lib", f"/usr/lib/{triple}", "/usr/lib64", "/usr/lib"))]


def known_mallocs() -> tuple[str, ...]:
    """The names of all mallocs that `find_mallocs` looks for, the C library's own first."""
    return (GLIBC, *sorted(_KNOWN, reverse=True))


def find_mallocs(
    folders: Sequence[Path] | None = None, *, benchmark: bool = False
) -> tuple[list[Malloc], dict[str, str]]:
    """The installed mallocs, the C library's first, and the packages of those that are absent.

    `benchmark`: all mallocs of a benchmark, which `advise` tries too, not only those on which replay is validated.
    """
    found, missing = [OWN_MALLOC], {}
    places = library_folders() if folders is None else folders
    for name, (files, package) in {**_KNOWN, **(_ONLY_IN_BENCHMARKS if benchmark else {})}.items():
        path = next((f / file for file in files for f in places if (f / file).is_file()), None)
        if path is None:
            missing[name] = package
        else:
            found.append(Malloc(name, path))
    return found, missing


def contenders() -> tuple[list[Malloc], dict[str, str]]:
    """The mallocs that `advise` tries instead of the C library's, and how to install the absent ones."""
    found, missing = find_mallocs(benchmark=True)
    tried = [m for m in found if m.path is not None]
    ours = native.libraries(TRIAL) / _OUR_LIBRARY
    if ours.is_file():
        tried.append(Malloc(OURS, ours))
    if _has_huge_pages():
        tried.append(Malloc(HUGE, None, _HUGE_SETTING))
    return tried, {name: f"apt install {package}" for name, package in missing.items()}


def _has_huge_pages() -> bool:
    """True if the kernel gives transparent huge pages on request."""
    try:
        return "[never]" not in Path("/sys/kernel/mm/transparent_hugepage/enabled").read_text(encoding="ascii")
    except OSError:
        return False


def preloaded(command: Sequence[str], malloc: Malloc, environment: Mapping[str, str] | None = None) -> list[str]:
    """The command line that runs `command` on a malloc, after the libraries that are already preloaded."""
    env = shutil.which("env")
    if env is None:
        raise Failure(Status.ENVIRONMENT, "the program env, which preloads a malloc library, is missing")
    return [env, *(f"{k}={v}" for k, v in (environment or {}).items()), *filter(None, [malloc.setting]), *command]


def library_bytes(mallocs: Sequence[Malloc]) -> dict[str, float]:
    """Resident bytes of mapped files in a program that does nothing, by malloc: the size of a library's own code.

    A malloc library loads its code, and the libraries that it needs, into every program; no heap event shows these
    bytes.
    """
    # Read from the page tables: the kernel's counters lag by some tens of pages for each processor.
    cat = shutil.which("cat") or "cat"
    result = {}
    for malloc in mallocs:
        command = preloaded([cat, "/proc/self/smaps_rollup"], malloc)
        found = []
        for _ in range(_ASKED):
            said = subprocess.run(command, capture_output=True, text=True, env=user_environment(), check=False).stdout
            lines = dict(line.split(":", 1) for line in said.splitlines()[1:] if ":" in line)
            found.append(_kibibytes(lines.get("Rss")) - _kibibytes(lines.get("Anonymous")))
        result[malloc.name] = 1024.0 * statistics.median(found)
    return result


def _kibibytes(text: str | None) -> int:
    return int(text.split()[0]) if text else 0


@dataclass
class MallocRunner:
    """Runs rounds of cells of the experiment `mallocs`. Not thread-safe. `expected`: how the program ends by itself."""

    folder: Path
    stdin: Path | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    seed: int = 1
    expected: tuple[int, int] = (0, 0)
    limit_seconds: float | None = None

    def __post_init__(self) -> None:
        self._padding = Padding(self.seed)

    def run(self, cell: Cell, stage: str, number: int) -> Outcome:
        """Runs one round. Failure if it cannot run at all."""
        result = self.folder / "malloc_round.json"
        result.unlink(missing_ok=True)
        streams = ["--stdin", str(self.stdin or os.devnull), "--stdout", os.devnull, "--stderr", os.devnull]
        malloc = cell.contender if isinstance(cell.contender, Malloc) else OWN_MALLOC
        command = preloaded(cell.subject.argv, malloc, self.environment)
        finished = native.run(
            TRIAL,
            ["--round", "bare", *self._padding.option(), "--result", str(result), *streams, "--", *command],
            seconds=self.limit_seconds,
        )
        if finished.timed_out and (late := killed(cell, stage, number, finished, self.limit_seconds)):
            return late
        data = read_result(result)
        if data is None:
            raise native.failure_of(TRIAL, finished)
        return outcome_of(cell, stage, number, data, self.expected, "{} was expected")
