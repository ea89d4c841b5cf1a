# SPDX-License-Identifier: BSL-1.0
"""Programs of Grunwald 1993 as Debian builds them for i386, on the allocators of 1993 with real words of 4 bytes.

    build/i386/programs           loader, libraries and programs, unpacked and not installed (scripts/unpack_i386)
    build/i386/lib/millpond       the allocators, built for 32 bits (scripts/build i386)

    programs/lib/i386-linux-gnu/ld-linux.so.2 --library-path … programs/usr/bin/gawk …

All of this is optional. $MILLPOND_I386 names another folder than build/i386.
"""

from __future__ import annotations

import os
import subprocess
from dataclasses import replace
from pathlib import Path

from millpond.cells.cell import Malloc
from millpond.rounds.real_program import RealProgram
from millpond.system import callgrind
from millpond.system.environment import user_environment
from millpond.system.errors import Failure, Status

_FOLDER = Path(__file__).resolve().parents[3] / "build" / "i386"
_LIBRARIES = ("lib/i386-linux-gnu", "usr/lib/i386-linux-gnu")
_LOADER = f"{_LIBRARIES[0]}/ld-linux.so.2"
# Ghostscript's own files; it was built to find these below /usr/share.
_RESOURCES = ("Resource/Init", "lib", "Resource/Font")


def folder() -> Path:
    """The folder of the programs and the allocators."""
    chosen = os.environ.get("MILLPOND_I386")
    return Path(chosen).absolute() if chosen else _FOLDER


def _programs() -> Path:
    return folder() / "programs"


def require() -> None:
    """Failure (4), with the missing part, if i386 programs cannot run here or be counted."""
    loader = _programs() / _LOADER
    if not loader.is_file():
        raise Failure(
            Status.ENVIRONMENT,
            f"there are no i386 programs in {_programs()}; `scripts/setup bench-study-i386` fetches and unpacks them",
        )
    if not _succeeds([str(loader), "--version"]):
        raise Failure(Status.ENVIRONMENT, "this machine cannot run i386 programs: its kernel rejects them")
    if not _succeeds([callgrind.find_valgrind(), "-q", "--tool=none", str(loader), "--version"]):
        raise Failure(Status.ENVIRONMENT, "this machine's valgrind cannot run i386 programs")


def _succeeds(command: list[str]) -> bool:
    try:
        done = subprocess.run(
            command, capture_output=True, stdin=subprocess.DEVNULL, env=user_environment(), check=False
        )
    except OSError:
        return False
    return done.returncode == 0


def library_of(name: str) -> Malloc:
    """A classic allocator for i386 programs, by its name. Failure (4) if it is not built."""
    path = folder() / "lib" / "millpond" / f"libmillpond-{name}.so"
    if not path.is_file():
        raise Failure(Status.ENVIRONMENT, f"{path} is missing: `scripts/build i386` builds it")
    return Malloc(name, path)


def require_unpacked(name: str) -> Path:
    """The path of a program by its name. Failure (4) if it was not unpacked."""
    ours = _programs() / "usr" / "bin" / name
    if not ours.is_file():
        raise Failure(
            Status.ENVIRONMENT, f"{ours} is missing: `scripts/setup bench-study-i386` unpacks i386 programs again"
        )
    return ours


def for_i386(program: RealProgram) -> RealProgram:
    """The same program and input, run by the i386 loader. Failure (4) if that program was not unpacked.

    troff reads the fonts and macros of the installed package: they are the same for every processor.
    """
    place = _programs()
    ours = require_unpacked(Path(program.command[0]).name)
    libraries = ":".join(str(place / each) for each in _LIBRARIES)
    loader = (str(place / _LOADER), "--inhibit-cache", "--library-path", libraries)
    resources = [str(version / each) for version in place.glob("usr/share/ghostscript/[0-9]*") for each in _RESOURCES]
    environment = {**program.environment, "GS_LIB": ":".join(resources)}
    return replace(
        program, name=f"{program.name} i386", command=(*loader, str(ours), *program.command[1:]),
        environment=environment,
    )  # fmt: skip


def package_of(program: RealProgram) -> str:
    """The Debian package and version that the program was unpacked from: `gawk 1:5.2.1-2`; empty if unknown."""
    first = program.name.split()[0]
    name = {"gs": "ghostscript", "troff": "groff-base"}.get(first, first)
    try:
        lines = (_programs() / "packages.txt").read_text(encoding="utf-8").splitlines()
    except OSError:
        return ""
    return next((" ".join(line.split()[:2]) for line in lines if line.split()[:1] == [name]), "")
