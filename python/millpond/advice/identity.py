# SPDX-License-Identifier: BSL-1.0
"""The identity of an advice: the program and everything else that its rounds depend on. Shows later runs what changed.

    program      the content of its file                 machine      the machine's fingerprint
    input        arguments, files among them, stdin      Millpond     version, programs of a trial
    libraries    those that the linker loads, mallocs    options      those that change a round, and variables

Two runs with equal parts may use each other's rounds.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path

from millpond import __version__
from millpond.rounds import mallocs
from millpond.rounds.trial_rounds import TRIAL
from millpond.system import native
from millpond.system.machine import this_machine
from millpond.system.records import Record
from millpond.system.standard_input import StandardInput

# For larger files, the size and the time of the last change replace the content.
_READ_AT_MOST_BYTES = 256 << 20
# Variables that decide which libraries a program loads and how its malloc works.
_VARIABLES = re.compile(r"LD_|MALLOC_|GLIBC_|MIMALLOC_|_RJEM_|TCMALLOC_")
_LDD_SECONDS = 10.0
_LIBRARY = re.compile(r"(?:=>\s*)?(/\S+)\s+\(0x")


class Identity(Record, frozen=True):
    """A digest of each part. Equal identities mean the same program on the same input and machine."""

    parts: dict[str, str]

    @property
    def digest(self) -> str:
        """Returns sixteen digits for all parts together."""
        return _digest([json.dumps(self.parts, sort_keys=True).encode()])

    def changed(self, other: Identity) -> list[str]:
        """Returns the names of the parts that differ, in their order."""
        names = list(dict.fromkeys([*self.parts, *other.parts]))
        return [name for name in names if self.parts.get(name) != other.parts.get(name)]


def identity_of(
    program: Sequence[str], stdin: StandardInput, options: Sequence[str], files: Sequence[Path] = ()
) -> Identity:
    """Returns the identity of a command line with this standard input. O(bytes of the files that it names).

    `options`: the options of Millpond that change what a round measures; `files`: others that it depends on.
    """
    executable = shutil.which(program[0]) or program[0]
    variables = sorted(f"{name}={value}" for name, value in os.environ.items() if _VARIABLES.match(name))
    ours = [native.find(TRIAL), *sorted(native.libraries(TRIAL).glob("*trial*"))]
    contenders = [malloc.path for malloc in mallocs.contenders()[0] if malloc.path is not None]
    given = [stdin.path, *map(Path, program[1:]), *files]
    return Identity({
        "program": _of_files([Path(executable)]),
        "input": _digest([json.dumps(list(program)).encode(), *_contents(given)]),
        "libraries": _of_files([*_loaded_by(executable), *contenders]),
        "machine": this_machine().fingerprint,
        "Millpond": _digest([__version__.encode(), *_contents(ours)]),
        "options": _digest([json.dumps([*options, *variables]).encode()]),
    })  # fmt: skip


def _loaded_by(executable: str) -> list[Path]:
    """Returns the libraries that the dynamic linker loads for a program; empty for a script or a static program."""
    try:
        done = subprocess.run(
            ["ldd", executable], capture_output=True, timeout=_LDD_SECONDS, check=False, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.SubprocessError):
        return []
    return sorted({Path(path) for path in _LIBRARY.findall(done.stdout.decode(errors="surrogateescape"))})


def _of_files(paths: Iterable[Path]) -> str:
    known = list(paths)
    return _digest([*(str(path).encode(errors="surrogateescape") for path in known), *_contents(known)])


def _contents(paths: Iterable[Path]) -> list[bytes]:
    return [_content(path) for path in paths]


def _content(path: Path) -> bytes:
    try:
        state = path.stat()
        if not path.is_file():
            return b""
        if state.st_size > _READ_AT_MOST_BYTES:
            return f"{state.st_size} {state.st_mtime_ns}".encode()
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").digest()
    except (OSError, ValueError):
        return b""


def _digest(pieces: Iterable[bytes]) -> str:
    known = hashlib.sha256()
    for piece in pieces:
        known.update(len(piece).to_bytes(8, "big") + piece)
    return known.hexdigest()[:16]
