# SPDX-License-Identifier: BSL-1.0
"""Prepares each run of a program outside the measured time: a copy of the working folder, and the user's command.

    working folder ──copy (--cwd-copy)──▶ a folder of its own ──command (--prepare)──▶ run ──▶ removed

For programs whose second run ends otherwise than the first: a lock file, an output that exists.
"""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from millpond.system import native
from millpond.system.environment import user_environment
from millpond.system.errors import Failure, Status
from millpond.system.wording import bytes_text

COPY_BYTES_MAX = 1 << 30
COPY_FILES_MAX = 100_000


@dataclass(frozen=True)
class Preparation:
    """The preparation of each run; nothing by default."""

    command: str | None = None
    copy_folder: bool = False

    def options(self) -> list[str]:
        """The options that ask for it. They are stored with a run: rounds with another preparation are different
        rounds.
        """
        prepare = [] if self.command is None else ["--prepare", self.command]
        return [*prepare, *(["--cwd-copy"] if self.copy_folder else [])]

    def program(self, argv: tuple[str, ...]) -> tuple[str, ...]:
        """The command line for a run, with the full path of the program, because a copy may not contain it."""
        if not self.copy_folder or "/" not in argv[0]:
            return argv
        return (str(Path(argv[0]).absolute()), *argv[1:])

    @contextmanager
    def ready(self, place: Path) -> Iterator[Path | None]:
        """The folder to run in (None: the current one). Its copy is made in `place` and removed afterwards.

        Failure (status 2): the folder is too large to copy; (4): the copy or the command fails.
        """
        if not self.copy_folder:
            self._prepare(None)
            yield None
            return
        copy = place.absolute() / "cwd"
        shutil.rmtree(copy, ignore_errors=True)
        try:
            _copy(Path.cwd(), copy, place.absolute())
            self._prepare(copy)
            yield copy
        finally:
            shutil.rmtree(copy, ignore_errors=True)

    def _prepare(self, folder: Path | None) -> None:
        if self.command is None:
            return
        child = subprocess.Popen(["/bin/sh", "-c", self.command], cwd=folder, stdin=subprocess.DEVNULL,
                                 stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=user_environment())  # fmt: skip
        try:
            said = child.communicate()[1].decode(errors="replace").strip()
        except BaseException:
            native.stop(child)
            raise
        if child.returncode != 0:
            how = (
                f"exited with {child.returncode}"
                if child.returncode > 0
                else f"died of {native.signal_name(-child.returncode)}"
            )
            last = f": {said.splitlines()[-1]}" if said else ""
            raise Failure(Status.ENVIRONMENT, f"--prepare {self.command!r} {how}{last}")


NO_PREPARATION = Preparation()


def _copy(folder: Path, copy: Path, place: Path) -> None:
    """Copies files, folders and links; leaves out sockets, pipes, devices, and `place` if it lies inside."""
    _require_small(folder, place)

    def left_out(where: str, names: list[str]) -> set[str]:
        return {name for name in names if not _is_copied(Path(where, name), place)}

    try:
        shutil.copytree(folder, copy, symlinks=True, ignore=left_out)
    except (OSError, shutil.Error) as error:
        why = error.args[0][0][2] if isinstance(error, shutil.Error) else error.strerror or error
        raise Failure(Status.ENVIRONMENT, f"--cwd-copy: {folder} cannot be copied: {why}") from error


def _is_copied(path: Path, place: Path) -> bool:
    mode = path.lstat().st_mode
    return path != place and (stat.S_ISREG(mode) or stat.S_ISDIR(mode) or stat.S_ISLNK(mode))


def _require_small(folder: Path, place: Path) -> None:
    """Failure (status 2) if a copy would exceed the allowed size, or would take more than half of the free disk."""
    most = min(COPY_BYTES_MAX, shutil.disk_usage(place).free // 2)
    total = files = 0
    for where, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if Path(where, name) != place]
        for path in (Path(where, name) for name in names):
            state = path.lstat()
            total += state.st_size if stat.S_ISREG(state.st_mode) else 0
            files += 1
            if total > most or files > COPY_FILES_MAX:
                raise Failure(
                    Status.USAGE,
                    f"--cwd-copy: {folder} holds more than {bytes_text(most)} or {COPY_FILES_MAX} files; "
                    "start in a smaller folder, or use --prepare COMMAND",
                )
