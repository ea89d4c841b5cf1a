# SPDX-License-Identifier: BSL-1.0
"""Who takes part in bench-library: what the suite's own program knows, and every malloc that is put below it.

    millpond-library-suite --list  ──▶ ours, pool peers, monotonic peers, ideals       one process, no environment
                                   └─▶ `malloc` ─┬─ glibc                              as it is
                                                 ├─ glibc:kept                         GLIBC_TUNABLES: never trims
                                                 ├─ jemalloc, mimalloc, tcmalloc, tbb  LD_PRELOAD
                                                 └─ --peer NAME=LIBRARY                LD_PRELOAD, or an adapter
                            └─▶ `vector`, `realloc`, … ── on each malloc: realloc@jemalloc, huge:realloc@jemalloc

A peer that should be here and is not is an error that names it: a comparison without the best peer says nothing.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from millpond.cells.cell import Malloc
from millpond.rounds.mallocs import GLIBC, find_mallocs
from millpond.system import native
from millpond.system.environment import user_environment
from millpond.system.errors import Failure, Status

SUITE = "millpond-library-suite"
HARDENED_SUITE = "millpond-library-suite-hardened"
SCHEMA = "millpond.library_suite/1"

OURS, POOL, MONOTONIC, MALLOC, IDEAL = "ours", "pool_peer", "monotonic_peer", "malloc", "ideal"
# Arrays: those that grow on whatever malloc the process has, and those that ask the system themselves.
HEAP_ARRAY, ARRAY = "heap_array", "array"
KEPT = ":kept"
HARDENED = "multipool:hardened"
ADAPTER = "adapter"
# Workloads of ours: instructions are counted of these of the program.
COUNTED = {"instructions_pair": "free_allocate", "instructions_construct": "construct_empty",
           "instructions_slots": "slots_pairs"}  # fmt: skip
# A library that has this function is an adapter for an allocator class; any other one is a malloc.
ADAPTER_SYMBOL = b"millpond_peer_create\0"
# glibc that keeps what it has: nothing is trimmed, nothing large is mapped apart. Said of peers over glibc, too.
KEEPING = ("GLIBC_TUNABLES", "glibc.malloc.trim_threshold=17179869184:glibc.malloc.mmap_max=0")
# What would make a default no default.
TUNING = ("LD_PRELOAD", "GLIBC_TUNABLES", "MALLOC_", "MIMALLOC_", "TCMALLOC_", "TBB_MALLOC_", "GLIBCXX_")
# What lets a malloc use huge pages. Those that are not here have no such setting.
HUGE = "huge:"
_HUGE_PAGES = {
    GLIBC: ("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1"),
    "jemalloc": ("MALLOC_CONF", "thp:always"),
    "mimalloc": ("MIMALLOC_LARGE_OS_PAGES", "1"),
    "tbb": ("TBB_MALLOC_USE_HUGE_PAGES", "1"),
}
# Peers that the program is built with, by the package that has them; absent where that was not installed.
_BUILT_IN = {
    "pmr_monotonic": "libstdc++-12-dev", "pmr_pool": "libstdc++-12-dev", "pmr_synchronized_pool": "libstdc++-12-dev",
    "pool_alloc": "libstdc++-12-dev", "mt_alloc": "libstdc++-12-dev", "boost_monotonic": "libboost-container-dev",
    "boost_pool": "libboost-container-dev", "boost_synchronized_pool": "libboost-container-dev",
    "fast_pool": "libboost-dev", "fast_pool_no_mutex": "libboost-dev",
}  # fmt: skip


@dataclass(frozen=True)
class Contender:
    """One contender: how cells name it, what it is, and how the program is started for it."""

    name: str
    kind: str
    source: str
    asked: str
    program: str = SUITE
    environment: tuple[tuple[str, str], ...] = ()
    options: tuple[str, ...] = ()
    package: str | None = None
    version: str | None = None
    path: str | None = None

    @property
    def kept(self) -> bool:
        """Whether what it frees stays with it (or above the system's trimming), so that only the allocator counts."""
        return self.source == "kept"

    @property
    def is_peer(self) -> bool:
        return self.kind in (POOL, MONOTONIC, MALLOC, HEAP_ARRAY, ARRAY)

    def to_json(self) -> dict[str, Any]:
        """As `peers` of the benchmark's document lists it."""
        return {
            "name": self.name, "kind": self.kind, "version": self.version, "package": self.package, "path": self.path,
        }  # fmt: skip


@dataclass(frozen=True)
class Workload:
    """What the program knows of a workload: the unit that its times are for, and who can run it."""

    name: str
    unit: str
    contenders: tuple[str, ...]


@dataclass(frozen=True)
class Suite:
    """All workloads and all contenders, by name; `missing` peers by the package that has them."""

    workloads: Mapping[str, Workload]
    contenders: Mapping[str, Contender]
    missing: Mapping[str, str]

    def of(self, workload: str) -> list[Contender]:
        """The contenders that can run a workload. Failure (status 4) where the program does not know it."""
        if workload not in self.workloads:
            known = ", ".join(self.workloads)
            raise Failure(Status.ENVIRONMENT, f"{SUITE} knows no workload {workload!r}, only {known}: build it again")
        able = set(self.workloads[workload].contenders)
        return [c for c in self.contenders.values() if _family(c) in able]

    def require_peers(self) -> None:
        """Failure (status 4) that names every peer that is not here."""
        if self.missing:
            names = ", ".join(f"{name} ({package} has it)" for name, package in self.missing.items())
            raise Failure(
                Status.ENVIRONMENT,
                f"peers are missing: {names}; `make bench-library` installs them and builds with them",
            )

    def peers(self) -> list[Contender]:
        return [c for c in self.contenders.values() if c.is_peer]


def _family(contender: Contender) -> str:
    """The name by which a workload lists a contender: all mallocs are one, and peers kept by the environment too."""
    if contender.kind == MALLOC:
        return "malloc"
    return "multipool" if contender.name == HARDENED else contender.asked


def read_suite(peers: Sequence[str] = (), folders: Sequence[Path] | None = None) -> Suite:
    """Asks the program, looks for the mallocs, and adds the peers that the user names (`NAME=PATH`).

    Failure: status 2 for a peer that is not so given or whose name is taken, 3 for a library that is not there, 4 where
    the program is missing or gives no list. Missing peers of the standard set are noted, not raised.
    """
    listed = _listed()
    workloads = {
        str(w["name"]): Workload(str(w["name"]), str(w.get("unit") or "unit"), tuple(map(str, w["contenders"])))
        for w in listed["workloads"]
    }
    built_in = [_built_in(c) for c in listed["contenders"] if c["kind"] != MALLOC and c["name"] != ADAPTER]
    ours = tuple(c.name for c in built_in if c.kind == OURS)
    workloads |= {name: Workload(name, "instruction", ours) for name in COUNTED}
    names = {c.name for c in built_in}
    mallocs, missing = find_mallocs(folders, benchmark=True)
    contenders = [
        *built_in,
        *(_kept_by_glibc(c) for c in built_in if c.kind == POOL and c.source == "none" and c.name + KEPT not in names),
        *(_malloc(m) for m in mallocs),
        Contender(GLIBC + KEPT, MALLOC, "kept", "malloc", environment=(KEEPING,)),
    ]
    if any(c.name == "multipool" for c in built_in):
        contenders.append(Contender(HARDENED, OURS, "default", HARDENED, program=HARDENED_SUITE))
    found = {c.name: c for c in contenders}
    for text in peers:
        for peer in _given(text):
            if peer.name in found or peer.name in missing:
                raise Failure(Status.USAGE, f"--peer {text!r}: there is a {peer.name!r} already; choose another name")
            found[peer.name] = peer
    found |= {c.name: c for c in _arrays_on_mallocs(list(found.values()))}
    absent = {str(c["name"]): str(c["package"]) for c in listed.get("absent") or []}
    missing = {**{n: package for n, package in _BUILT_IN.items() if n not in names}, **absent, **missing}
    return Suite(workloads, _with_packages(found), missing)


def _listed() -> dict[str, Any]:
    done = native.capture([str(native.find(SUITE)), "--list"], clean_environment({}))
    try:
        listed = json.loads(done.printed)
    except ValueError:
        listed = None
    if done.status != 0 or not isinstance(listed, dict) or listed.get("schema") != SCHEMA:
        said = done.said.strip() or f"{SUITE} --list gave no list ({SCHEMA})"
        raise Failure(Status.ENVIRONMENT, said.removeprefix("millpond: "))
    return listed


def clean_environment(more: Mapping[str, str]) -> dict[str, str]:
    """The user's environment without whatever tunes a malloc, and with `more`."""
    kept = {name: value for name, value in user_environment().items() if not name.startswith(TUNING)}
    return {**kept, **more}


def _built_in(listed: Mapping[str, Any]) -> Contender:
    name = str(listed["name"])
    return Contender(
        name, str(listed["kind"]), str(listed.get("source") or "none"), name,
        package=listed.get("package"), version=listed.get("version"),
    )  # fmt: skip


def _kept_by_glibc(contender: Contender) -> Contender:
    """A pool that takes its chunks from the global heap and no other source: over a heap that is never trimmed."""
    return replace(contender, name=contender.name + KEPT, source="kept", environment=(KEEPING,))


def _malloc(malloc: Malloc) -> Contender:
    if malloc.path is None:
        return Contender(malloc.name, MALLOC, "default", "malloc")
    path = str(malloc.path)
    return Contender(malloc.name, MALLOC, "default", "malloc", environment=(("LD_PRELOAD", path),), path=path)


def _arrays_on_mallocs(contenders: Sequence[Contender]) -> list[Contender]:
    """Each array that grows on a malloc, on every malloc; and once more where that may be told to use huge pages."""
    result = []
    for array in contenders:
        if array.kind != HEAP_ARRAY or ":" in array.name:
            continue
        for malloc in contenders:
            if malloc.kind != MALLOC or malloc.kept:
                continue
            name = array.name if malloc.name == GLIBC else f"{array.name}@{malloc.name}"
            on = replace(array, name=name, environment=malloc.environment, path=malloc.path)
            result.append(on)
            if malloc.name in _HUGE_PAGES:
                result.append(
                    replace(on, name=HUGE + name, environment=(*malloc.environment, _HUGE_PAGES[malloc.name]))
                )
    return result


def _given(text: str) -> list[Contender]:
    """A peer of the user's: NAME=PATH; an adapter by what its library exports, `monotonic:` before PATH for that kind.

    An adapter runs twice, because we cannot give it a source: as it is, and over a heap that is never trimmed.
    """
    name, _, given = text.partition("=")
    kind, _, rest = given.partition(":")
    path = Path(rest if kind == "monotonic" else given)
    if not name or not given or any(c in name for c in "/:*"):
        raise Failure(Status.USAGE, f"--peer {text!r}: it is given as NAME=LIBRARY.so, without / : * in NAME")
    try:
        content = path.read_bytes()
    except OSError as error:
        raise Failure(Status.INPUT, f"--peer {name}: cannot read {path}: {error.strerror or error}") from error
    whole = str(path.resolve())
    if not content.startswith(b"\x7fELF"):
        raise Failure(Status.INPUT, f"--peer {name}: {path} is no shared library")
    if ADAPTER_SYMBOL in content:
        which = MONOTONIC if kind == "monotonic" else POOL
        adapter = Contender(name, which, "default", ADAPTER, options=("--peer", whole), path=whole)
        return [adapter, _kept_by_glibc(adapter)]
    return [Contender(name, MALLOC, "default", "malloc", environment=(("LD_PRELOAD", whole),), path=whole)]


def _with_packages(contenders: Mapping[str, Contender]) -> dict[str, Contender]:
    """Adds the package and version of each library, where Debian's tools know them; glibc's own version always."""
    import platform

    owners = packages_of([c.path for c in contenders.values() if c.path])
    result = {}
    for name, contender in contenders.items():
        package, version = owners.get(contender.path or "", (contender.package, contender.version))
        if contender.kind == MALLOC and contender.path is None:
            package, version = "libc6", platform.libc_ver()[1]
        result[name] = replace(contender, package=package, version=version)
    return result


def packages_of(paths: Iterable[str]) -> dict[str, tuple[str | None, str | None]]:
    """Package and version that each of these files belongs to; a file that no package has is left out."""
    found: dict[str, tuple[str | None, str | None]] = {}
    for path in paths:
        # The name that a library is known by may be a link of another package's, or reach it through a linked folder.
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
