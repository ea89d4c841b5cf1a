# SPDX-License-Identifier: BSL-1.0
"""Libraries that the user adds to a benchmark, as NAME=FILE.

--malloc glibc,new=/opt/lib/libnew.so ──split_mallocs──▶ "glibc" │ Malloc(new)
--peer new=/opt/lib/libnew.so         ──read_library───▶ path, contents
"""

from __future__ import annotations

from pathlib import Path

from millpond.cells.cell import Malloc
from millpond.rounds.mallocs import GLIBC, HUGE, OURS, find_mallocs
from millpond.system.errors import Failure, Status
from millpond_bench.experiments.suite_rounds import read_suite
from millpond_bench.experiments.surroundings import Surroundings


def read_library(option: str, text: str, name: str, given: str) -> tuple[Path, bytes]:
    """The whole path and the contents of a shared library.

    `option`: as the user typed it, with its value `text`. Failure: status 2 for a name that cannot be a contender's, 3
    for a file that is missing or no library.
    """
    path = Path(given)
    if not name or not given or any(c in name for c in "/:*"):
        raise Failure(Status.USAGE, f"{option} {text!r}: write NAME=LIBRARY.so, without / : * in NAME")
    try:
        content = path.read_bytes()
    except OSError as error:
        raise Failure(Status.INPUT, f"{option} {name}: cannot read {path}: {error.strerror or error}") from error
    if not content.startswith(b"\x7fELF"):
        raise Failure(Status.INPUT, f"{option} {name}: {path} is not a shared library")
    return path.resolve(), content


def split_mallocs(text: str | None) -> tuple[str | None, tuple[Malloc, ...]]:
    """The value of `--malloc` without its libraries (None if no name is left), and these libraries.

    Failure as of `read_library`; status 2 also for a name that another malloc has.
    """
    words = [word.strip() for word in text.split(",")] if text is not None else []
    given = dict(word.split("=", 1) for word in words if "=" in word)
    installed, _ = find_mallocs(benchmark=True)
    for name in given.keys() & {GLIBC, HUGE, OURS, *(malloc.name for malloc in installed)}:
        raise Failure(Status.USAGE, f"--malloc {name}={given[name]}: there is a {name!r} already; choose another name")
    mallocs = [Malloc(n, read_library("--malloc", f"{n}={path}", n, path)[0]) for n, path in given.items()]
    names = [word for word in words if "=" not in word]
    return ",".join(names) if names or text == "" else None, tuple(mallocs)


def confirm_malloc(malloc: Malloc, suite: str) -> None:
    """Failure (status 4) if a program of ours does not run on it: the loader only warns of what it cannot preload."""
    read_suite(suite, {}, Surroundings(malloc=malloc.name, path=malloc.path))
