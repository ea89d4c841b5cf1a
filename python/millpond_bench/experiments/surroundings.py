# SPDX-License-Identifier: BSL-1.0
"""The toolchain and malloc of a cell: which binary runs, in which environment.

    toolchain   gcc, clang, clang-libc++               the program built by that compiler and standard library
                aarch64                                the program built for a platform, which an emulator runs
    malloc      glibc, tcmalloc, mimalloc, jemalloc    preloaded; the program reports its malloc, which must be this
    one
    kept        1                                      glibc keeps all memory that was ever freed
    last_level  1m, 6m                                 the last level of a simulator; other rounds are not affected

A cell without these parameters runs the release build's program, on its own malloc. All other settings of mallocs are
removed from the environment of every cell, so that a default is a default.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from millpond.cells.cell import KEPT, MALLOC, SURROUNDINGS, TOOLCHAIN, Cell
from millpond.rounds.mallocs import GLIBC, find_mallocs, known_mallocs
from millpond.store.round_log import subject_of
from millpond.system import native
from millpond.system.environment import user_environment
from millpond.system.errors import Failure, Status
from millpond_bench.experiments.platforms import PLATFORMS, Platform

# Compiler and standard library, each with a preset toolchain-NAME. gcc cannot compile libc++.
TOOLCHAINS = ("gcc", "clang", "clang-libc++")
_KNOWN = {TOOLCHAIN: (*TOOLCHAINS, *PLATFORMS), MALLOC: known_mallocs()}
# glibc that keeps its memory: it trims nothing, and maps no large block separately. Also used for peers over glibc.
KEEPING = ("GLIBC_TUNABLES", "glibc.malloc.trim_threshold=17179869184:glibc.malloc.mmap_max=0")
# Tells a suite to leave the memory of its emulator out (lab/suites/common/emulator_memory.hpp).
EMULATED = ("MILLPOND_EMULATED", "1")
# Caches of these sizes in callgrind's format: size, ways, line.
LAST_LEVELS = {"1m": "1048576,16,64", "6m": "6291456,24,64"}
_TUNING = ("LD_PRELOAD", "GLIBC_TUNABLES", "MALLOC_", "MIMALLOC_", "TCMALLOC_", "TBB_MALLOC_", "GLIBCXX_")


@dataclass(frozen=True)
class Surroundings:
    """The environment of one cell. An empty name: that of the release build.

    `path`: the library of the malloc, if it is not a known one. `settings`: other variables of the program's
    environment. `build`: `hardened` for the program of that build; empty for the usual one.
    """

    toolchain: str = ""
    malloc: str = ""
    kept: bool = False
    path: Path | None = None
    settings: tuple[tuple[str, str], ...] = ()
    build: str = ""

    @classmethod
    def of(cls, cell: Cell) -> Surroundings:
        """The surroundings from a cell's parameters. Failure (status 2) for an unknown toolchain or malloc."""
        given = dict(cell.parameters)
        for name, values in _KNOWN.items():
            if name in given and given[name] not in values:
                raise unknown(name, given[name])
        return cls(given.get(TOOLCHAIN, ""), given.get(MALLOC, ""), given.get(KEPT) == "1")

    def __str__(self) -> str:
        """A phrase such as `clang, tcmalloc`; empty for the usual ones."""
        return ", ".join(filter(None, (self.toolchain, self.malloc, "memory kept" if self.kept else "")))

    @property
    def platform(self) -> Platform | None:
        """The platform that the program runs on; None for this machine."""
        return PLATFORMS.get(self.toolchain)

    def program(self, name: str) -> Path:
        """The program of that name. Failure (status 4) if the toolchain has not built it."""
        built = f"{name}-{self.build}" if self.build else name
        if self.platform is not None:
            return native.find_built_by(self.toolchain, built, "bench-platforms")
        return native.find_built_by(self.toolchain, built) if self.toolchain else native.find(built)

    def command(self, name: str) -> list[str]:
        """The words that start the program: an emulator comes first. Failure (status 4) if one of them is missing."""
        return [*(self.platform.runner if self.platform is not None else ()), str(self.program(name))]

    def environment(self, more: Mapping[str, str]) -> dict[str, str]:
        """The process's environment, with `more`. Failure (status 4), which names the package, if the malloc is
        missing.
        """
        library = self.library()
        preload = {"LD_PRELOAD": str(library)} if library else {}
        kept = {name: value for name, value in user_environment().items() if not name.startswith(_TUNING)}
        emulated = dict([EMULATED]) if self.platform else {}
        return {**kept, **more, **dict(self.settings), **preload, **emulated, **(dict([KEEPING]) if self.kept else {})}

    def library(self) -> Path | None:
        """The preloaded library; None for the C library's malloc. Failure (status 4) if it is not installed."""
        if self.path is not None or self.malloc in ("", GLIBC):
            return self.path
        found, missing = find_mallocs()
        for each in found:
            if each.name == self.malloc:
                return each.path
        raise Failure(
            Status.ENVIRONMENT,
            f"the malloc {self.malloc} (package {missing[self.malloc]}) is missing: `scripts/setup bench` installs it",
        )

    def confirm(self, name: str, found: str) -> None:
        """Failure (status 4) if the program reports another malloc than it should use: `found` is its library.

        The loader only warns if it cannot preload a library.
        """
        if not self.malloc:
            return
        library = self.library()
        is_libc = Path(found).name.startswith("libc.so")
        fits = is_libc if library is None else bool(found) and not is_libc
        if library is not None and self.malloc in known_mallocs():
            fits = _same(Path(found), library)
        if not fits:
            what = f"ran on {found}" if found else "did not report its malloc (build it again)"
            raise Failure(Status.ENVIRONMENT, f"{name} should run on {library or GLIBC}, but {what}")

    def identity(self, name: str) -> str:
        """Digits that identify this build of the program on this malloc, to tell its rounds from others.

        Empty if one of them is missing.
        """
        try:
            files = [self.program(name), *filter(None, [self.library()])]
        except Failure:
            return ""
        return subject_of([str(path) for path in files], files)


USUAL = Surroundings()


def said(parameters: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """The parameters that are passed to the program."""
    return [pair for pair in parameters if pair[0] not in SURROUNDINGS]


def chosen(**texts: str | None) -> dict[str, tuple[str, ...]]:
    """The values of `--toolchain gcc,clang` and of `--malloc tcmalloc`, by name, each once; nothing without a text.

    Failure (status 2) for an unknown value, and for mallocs on a platform.
    """
    found = {}
    for name, text in texts.items():
        if text is not None:
            found[name] = tuple(dict.fromkeys(word.strip() for word in text.split(",")))
    for name, values in found.items():
        for value in values:
            if value not in _KNOWN[name]:
                raise unknown(name, value)
    emulated = [name for name in found.get(TOOLCHAIN, ()) if name in PLATFORMS]
    if emulated and MALLOC in found:
        raise Failure(
            Status.USAGE, f"--malloc does not apply to --toolchain {emulated[0]}: no malloc is preloaded there"
        )
    return found


def unknown(name: str, value: str) -> Failure:
    """The failure (status 2) for an unknown toolchain or malloc."""
    return Failure(Status.USAGE, f"unknown {name} {value!r}; choose one of {', '.join(_KNOWN[name])}")


def _same(found: Path, library: Path) -> bool:
    return found == library or (found.exists() and found.resolve() == library.resolve())
