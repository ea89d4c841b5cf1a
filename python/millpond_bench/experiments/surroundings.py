# SPDX-License-Identifier: BSL-1.0
"""What surrounds the program of a cell and is not said to it: parameters ──▶ which program, in which environment.

toolchain   gcc, clang, clang-libc++               as that compiler and standard library built it
malloc      glibc, tcmalloc, mimalloc, jemalloc    preloaded; the program says what it found, and is held to it
kept        1                                      glibc keeps all memory that was ever freed
last_level  1m, 6m                                 the last level of a simulator; rounds of the processor are as ever

A cell without them runs the release build's program, on its own malloc. Whatever else tunes a malloc is taken out of
the environment of every cell, so that a default is a default.
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

# Compiler and standard library, each with a preset toolchain-NAME. gcc cannot compile libc++.
TOOLCHAINS = ("gcc", "clang", "clang-libc++")
_KNOWN = {TOOLCHAIN: TOOLCHAINS, MALLOC: known_mallocs()}
# glibc that keeps what it has: nothing is trimmed, nothing large is mapped apart. Said of peers over glibc, too.
KEEPING = ("GLIBC_TUNABLES", "glibc.malloc.trim_threshold=17179869184:glibc.malloc.mmap_max=0")
# Caches of so many bytes, by callgrind's words: size, ways, line.
LAST_LEVELS = {"1m": "1048576,16,64", "6m": "6291456,24,64"}
_TUNING = ("LD_PRELOAD", "GLIBC_TUNABLES", "MALLOC_", "MIMALLOC_", "TCMALLOC_", "TBB_MALLOC_", "GLIBCXX_")


@dataclass(frozen=True)
class Surroundings:
    """What surrounds one cell. An empty name: as the release build has it.

    `path`: the library of the malloc, where it is none of those that we look for. `settings`: what else is set in the
    program's environment. `build`: `hardened` for the program that was built so; empty for the usual one.
    """

    toolchain: str = ""
    malloc: str = ""
    kept: bool = False
    path: Path | None = None
    settings: tuple[tuple[str, str], ...] = ()
    build: str = ""

    @classmethod
    def of(cls, cell: Cell) -> Surroundings:
        """Those of a cell, by its parameters. Failure (status 2) for a toolchain or malloc that nobody knows."""
        given = dict(cell.parameters)
        for name, values in _KNOWN.items():
            if name in given and given[name] not in values:
                raise unknown(name, given[name])
        return cls(given.get(TOOLCHAIN, ""), given.get(MALLOC, ""), given.get(KEPT) == "1")

    def __str__(self) -> str:
        """In words, as `clang, tcmalloc`; empty for the usual ones."""
        return ", ".join(filter(None, (self.toolchain, self.malloc, "memory kept" if self.kept else "")))

    def program(self, name: str) -> Path:
        """The program of that name. Failure (status 4) where the toolchain has not built it."""
        built = f"{name}-{self.build}" if self.build else name
        return native.find_built_by(self.toolchain, built) if self.toolchain else native.find(built)

    def environment(self, more: Mapping[str, str]) -> dict[str, str]:
        """The process's, with `more`. Failure (status 4), which names the package, where the malloc is missing."""
        library = self.library()
        preload = {"LD_PRELOAD": str(library)} if library else {}
        kept = {name: value for name, value in user_environment().items() if not name.startswith(_TUNING)}
        return {**kept, **more, **dict(self.settings), **preload, **(dict([KEEPING]) if self.kept else {})}

    def library(self) -> Path | None:
        """What is preloaded; None for the C library's malloc. Failure (status 4) where it is not installed."""
        if self.path is not None or self.malloc in ("", GLIBC):
            return self.path
        found, missing = find_mallocs()
        for each in found:
            if each.name == self.malloc:
                return each.path
        raise Failure(
            Status.ENVIRONMENT,
            f"the malloc {self.malloc} is missing, which the package {missing[self.malloc]} has: `scripts/setup bench` "
            "installs it",
        )

    def confirm(self, name: str, found: str) -> None:
        """Failure (status 4) where the program found itself on another malloc than it should: `found` is its library.

        The loader only warns of what it cannot preload.
        """
        if not self.malloc:
            return
        library = self.library()
        is_libc = Path(found).name.startswith("libc.so")
        fits = is_libc if library is None else bool(found) and not is_libc
        if library is not None and self.malloc in known_mallocs():
            fits = _same(Path(found), library)
        if not fits:
            what = f"on {found}" if found else "without saying on which malloc (build it anew)"
            raise Failure(Status.ENVIRONMENT, f"{name} should run on {library or GLIBC}, and ran {what}")

    def identity(self, name: str) -> str:
        """What tells rounds of this program, on this malloc, from those of another, or of another build; in digits.

        Empty where one of them is missing.
        """
        try:
            files = [self.program(name), *filter(None, [self.library()])]
        except Failure:
            return ""
        return subject_of([str(path) for path in files], files)


USUAL = Surroundings()


def said(parameters: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """The parameters that are the program's own."""
    return [pair for pair in parameters if pair[0] not in SURROUNDINGS]


def chosen(**texts: str | None) -> dict[str, tuple[str, ...]]:
    """The values of `--toolchain gcc,clang` and of `--malloc tcmalloc`, by name, each once; without a text nothing.

    Failure (status 2) for a value that nobody knows.
    """
    found = {}
    for name, text in texts.items():
        if text is not None:
            found[name] = tuple(dict.fromkeys(word.strip() for word in text.split(",")))
    for name, values in found.items():
        for value in values:
            if value not in _KNOWN[name]:
                raise unknown(name, value)
    return found


def unknown(name: str, value: str) -> Failure:
    """The failure (status 2) of who asks for a toolchain or a malloc that nobody knows."""
    return Failure(Status.USAGE, f"there is no {name} {value!r}; there are {', '.join(_KNOWN[name])}")


def _same(found: Path, library: Path) -> bool:
    return found == library or (found.exists() and found.resolve() == library.resolve())
