# SPDX-License-Identifier: BSL-1.0
"""The files that a worker needs, by their digests: native programs, traces, plans, malloc libraries.

A worker that finds a file of the same digest at the same path (a shared file system, or the same installation) takes
it from there. Other files travel through the scheduler in chunks, up to a bound.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from millpond.system import native
from millpond.system.errors import Failure, Status
from millpond.system.wording import bytes_text

CHUNK_BYTES = 8 << 20
SENT_BYTES_MAX = 1 << 30


@dataclass(frozen=True)
class ShippedFile:
    """A file of the conductor: its absolute path there, and what identifies its content."""

    path: str
    digest: str
    size_bytes: int
    is_executable: bool

    @classmethod
    def of(cls, path: Path) -> ShippedFile:
        """Reads the file. Failure (status 3) if it cannot be read. O(size)."""
        try:
            state = path.stat()
            return cls(str(path.absolute()), digest_of(path), state.st_size, bool(state.st_mode & 0o111))
        except OSError as error:
            raise Failure(Status.INPUT, f"cannot send {path} to workers: {error.strerror or error}") from error

    def chunks(self) -> Iterator[tuple[int, bytes]]:
        """The content in order, each part with its offset."""
        with open(self.path, "rb") as file:
            offset = 0
            while data := file.read(CHUNK_BYTES):
                yield offset, data
                offset += len(data)


def digest_of(path: Path) -> str:
    """The SHA-256 of a file's content. OSError if it cannot be read."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@dataclass(frozen=True)
class Shipment:
    """The files of one run. `programs`: parts of the installation, by their place in it (`bin/NAME`,
    `lib/millpond/NAME.so`), which stay together; `files`: others that travel; `system`: programs of the system, which
    do not travel, and must be the same on a worker.
    """

    programs: tuple[tuple[str, ShippedFile], ...]
    files: tuple[ShippedFile, ...]
    system: tuple[ShippedFile, ...] = ()

    @classmethod
    def of(
        cls, programs: Iterable[str], files: Sequence[Path] = (), *, system: Iterable[Path] = (),
        with_libraries: bool = False,
    ) -> Shipment:  # fmt: skip
        """The shipment of native programs by name, and of files. Failure (status 4) for a program that is missing.

        `with_libraries`: also those that our programs preload, and the Valgrind tool.
        """
        named = dict.fromkeys(programs)
        parts = {f"bin/{name}": native.find(name) for name in named}
        if with_libraries and named:
            folder = native.libraries(next(iter(named)))
            found = (path for path in sorted(folder.rglob("*")) if path.is_file())
            parts |= {f"lib/millpond/{path.relative_to(folder)}": path for path in found}
        return cls(
            tuple((place, ShippedFile.of(path)) for place, path in parts.items()),
            tuple(ShippedFile.of(path) for path in dict.fromkeys(files)),
            tuple(ShippedFile.of(path) for path in dict.fromkeys(system)),
        )

    def with_programs(self, names: Iterable[str]) -> Shipment:
        """This shipment, and these programs with the libraries that they preload."""
        more = Shipment.of(names, with_libraries=True)
        return Shipment(tuple({**dict(self.programs), **dict(more.programs)}.items()), self.files, self.system)

    @property
    def travelling(self) -> tuple[ShippedFile, ...]:
        """Every file that travels."""
        return (*(file for _, file in self.programs), *self.files)

    def require_sendable(self, digests: Iterable[str]) -> list[ShippedFile]:
        """The files of these digests. Failure (status 2) if they are larger than what may be sent."""
        by_digest = {file.digest: file for file in self.travelling}
        found = [by_digest[digest] for digest in digests]
        if sum(file.size_bytes for file in found) > SENT_BYTES_MAX:
            largest = max(found, key=lambda file: file.size_bytes)
            raise Failure(
                Status.USAGE,
                f"{largest.path} has {bytes_text(largest.size_bytes)}, and at most {bytes_text(SENT_BYTES_MAX)} are "
                "sent to a worker: put it on a file system that the workers share, at the same path",
            )
        return found
