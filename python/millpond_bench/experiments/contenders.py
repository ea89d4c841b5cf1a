# SPDX-License-Identifier: BSL-1.0
"""The contenders of comparisons: those of a suite's program, and every malloc that it can run on.

    PROGRAM --list  ──▶ ours, pool peers, monotonic peers, ideals                      one process, no environment
                    └─▶ `malloc` ─┬─ glibc                                             as it is
                                  ├─ glibc:kept                                        GLIBC_TUNABLES: never trims
                                  ├─ jemalloc, mimalloc, tcmalloc, tbb                 LD_PRELOAD
                                  └─ --peer NAME=LIBRARY                               LD_PRELOAD, or an adapter
                    └─▶ `vector`, `realloc`, … ── on each malloc: realloc@jemalloc, huge:realloc@jemalloc

A missing standard peer is an error that names it: a comparison without the best peer says nothing.
"""

from __future__ import annotations

import platform
import subprocess
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from millpond.cells.cell import Malloc
from millpond.rounds.mallocs import GLIBC, find_mallocs
from millpond.system.errors import Failure, Status
from millpond_bench.experiments.bench_document import Peer
from millpond_bench.experiments.given_libraries import read_library
from millpond_bench.experiments.suite_rounds import Launch, ListedContender, SuiteProgram, SuiteWorkload
from millpond_bench.experiments.surroundings import USUAL, Surroundings

OURS, POOL, MONOTONIC, MALLOC, IDEAL = "ours", "pool_peer", "monotonic_peer", "malloc", "ideal"
# Arrays that grow on the process's malloc, arrays that get memory from the system, and trees over glibc.
HEAP_ARRAY, ARRAY, TREE = "heap_array", "array", "tree"
KEPT = ":kept"
HARDENED = "multipool:hardened"
ADAPTER = "adapter"
# A library with this function is an adapter for an allocator class; any other one is a malloc.
ADAPTER_SYMBOL = b"millpond_peer_create\0"
# The settings that let a malloc use huge pages. Mallocs without an entry have no such setting.
HUGE = "huge:"
_HUGE_PAGES = {
    GLIBC: ("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1"),
    "jemalloc": ("MALLOC_CONF", "thp:always"),
    "mimalloc": ("MIMALLOC_LARGE_OS_PAGES", "1"),
    "tbb": ("TBB_MALLOC_USE_HUGE_PAGES", "1"),
}


@dataclass(frozen=True)
class Contender:
    """One contender: its name in cells, its kind, and the start of its program (`asked`, `around`)."""

    name: str
    kind: str
    source: str
    asked: str
    around: Surroundings = USUAL
    options: tuple[str, ...] = ()
    package: str | None = None
    version: str | None = None
    path: str | None = None

    @property
    def kept(self) -> bool:
        """True if it keeps what it frees (or is above the system's trimming), so that only the allocator counts."""
        return self.source == "kept"

    @property
    def is_peer(self) -> bool:
        return self.kind in (POOL, MONOTONIC, MALLOC, HEAP_ARRAY, ARRAY, TREE)

    def launch(self, workload: str, counted_functions: tuple[str, ...] = ()) -> Launch:
        """The start of its program for a round of a workload."""
        return Launch(self.around, workload, self.asked, self.options, counted_functions)

    def record(self) -> Peer:
        """The record for `peers` of the benchmark's document."""
        return Peer(name=self.name, kind=self.kind, version=self.version, package=self.package, path=self.path)


Takes = Callable[[Contender], bool]


@dataclass(frozen=True)
class Contenders:
    """All contenders of a program, by name; `missing` peers with the package that has them."""

    program: SuiteProgram
    by_name: Mapping[str, Contender]
    missing: Mapping[str, str]

    def of(self, workload: SuiteWorkload) -> list[Contender]:
        """The contenders that can run a workload."""
        return [c for c in self.by_name.values() if _family(c) in workload.contenders]

    def require_peers(self) -> None:
        """Failure (status 4) that names every missing peer."""
        if self.missing:
            names = ", ".join(f"{name} ({package} has it)" for name, package in self.missing.items())
            raise Failure(
                Status.ENVIRONMENT,
                f"peers are missing: {names}; `make bench-library` installs them and builds with them",
            )

    def peers(self) -> list[Contender]:
        return [c for c in self.by_name.values() if c.is_peer]


def _family(contender: Contender) -> str:
    """The name by which a workload lists a contender: one for all mallocs, and for peers kept by the environment."""
    return "multipool" if contender.name == HARDENED else contender.asked


def find_contenders(program: SuiteProgram, peers: Sequence[str] = ()) -> Contenders:
    """The program's own contenders, the installed mallocs, and the peers that the user names (`NAME=PATH`).

    Failure: status 2 for a peer in another form or whose name is taken, 3 for a missing library. Missing standard
    peers are recorded, not raised.
    """
    listed = [_listed(c) for c in program.contenders if c.is_built_in and c.name not in (MALLOC, ADAPTER)]
    names = {c.name for c in listed}
    missing = {c.name: str(c.package) for c in program.contenders if not c.is_built_in}
    mallocs, without = find_mallocs(benchmark=True)
    found = {c.name: c for c in (
        *listed,
        *(_kept_by_glibc(c) for c in listed if c.kind == POOL and c.source == "none" and c.name + KEPT not in names),
        *map(_malloc, mallocs),
        Contender(GLIBC + KEPT, MALLOC, "kept", "malloc", Surroundings(kept=True)),
        *([Contender(HARDENED, OURS, "default", HARDENED, Surroundings(build="hardened"))] if "multipool" in names
          else []),
    )}  # fmt: skip
    for text in peers:
        for peer in _given(text):
            if peer.name in found or peer.name in without:
                raise Failure(Status.USAGE, f"--peer {text!r}: there is a {peer.name!r} already; choose another name")
            found[peer.name] = peer
    found |= {c.name: c for c in _arrays_on_mallocs(list(found.values()))}
    return Contenders(program, _with_packages(found), {**missing, **without})


def _listed(listed: ListedContender) -> Contender:
    return Contender(
        listed.name, listed.kind, listed.source or "none", listed.name, package=listed.package, version=listed.version
    )


def _kept_by_glibc(contender: Contender) -> Contender:
    """A pool that takes its chunks only from the global heap, over a heap that is never trimmed."""
    return replace(contender, name=contender.name + KEPT, source="kept", around=Surroundings(kept=True))


def _malloc(malloc: Malloc) -> Contender:
    around = Surroundings(malloc=malloc.name, path=malloc.path)
    return Contender(malloc.name, MALLOC, "default", "malloc", around, path=str(malloc.path) if malloc.path else None)


def _arrays_on_mallocs(contenders: Sequence[Contender]) -> list[Contender]:
    """Each array that grows on a malloc, on every malloc; and again with huge pages, if the malloc can use them."""
    result = []
    for array in contenders:
        if array.kind != HEAP_ARRAY or ":" in array.name:
            continue
        for malloc in contenders:
            if malloc.kind != MALLOC or malloc.kept:
                continue
            name = array.name if malloc.name == GLIBC else f"{array.name}@{malloc.name}"
            on = replace(array, name=name, around=malloc.around, path=malloc.path)
            result.append(on)
            if malloc.name in _HUGE_PAGES:
                around = replace(malloc.around, settings=(_HUGE_PAGES[malloc.name],))
                result.append(replace(on, name=HUGE + name, around=around))
    return result


def _given(text: str) -> list[Contender]:
    """A peer of the user's: NAME=PATH. Its library's exports tell whether it is an adapter; `monotonic:` before PATH
    selects that kind.

    An adapter runs twice, because we cannot give it a source: as it is, and over a heap that is never trimmed.
    """
    name, _, given = text.partition("=")
    kind, _, rest = given.partition(":")
    whole, content = read_library("--peer", text, name, rest if kind == "monotonic" else given)
    if ADAPTER_SYMBOL in content:
        which = MONOTONIC if kind == "monotonic" else POOL
        adapter = Contender(name, which, "default", ADAPTER, options=("--peer", str(whole)), path=str(whole))
        return [adapter, _kept_by_glibc(adapter)]
    return [_malloc(Malloc(name, whole))]


def _with_packages(contenders: Mapping[str, Contender]) -> dict[str, Contender]:
    """Adds the package and version of each library, if Debian's tools know them; glibc's own version always."""
    owners = packages_of([c.path for c in contenders.values() if c.path])
    result = {}
    for name, contender in contenders.items():
        package, version = owners.get(contender.path or "", (contender.package, contender.version))
        if contender.kind == MALLOC and contender.path is None:
            package, version = "libc6", platform.libc_ver()[1]
        result[name] = replace(contender, package=package, version=version)
    return result


def packages_of(paths: Iterable[str]) -> dict[str, tuple[str | None, str | None]]:
    """Package and version of each of these files; a file without a package is left out."""
    found: dict[str, tuple[str | None, str | None]] = {}
    for path in paths:
        # The library's usual name may be a link of another package, or go through a linked folder.
        for name in dict.fromkeys((str(Path(path).resolve()), path)):
            owner = _dpkg("-S", name).partition(":")[0].strip()
            if owner:
                found[path] = (owner, _dpkg("-W", "-f", "${Version}\n", owner).partition("\n")[0] or None)
                break
    return found


def _dpkg(*words: str) -> str:
    try:
        return subprocess.run(["dpkg-query", *words], capture_output=True, text=True, check=False).stdout
    except OSError:
        return ""
