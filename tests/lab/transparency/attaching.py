# SPDX-License-Identifier: BSL-1.0
"""Starts a program bare, and attaches the recorder to it while it runs."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import MappingProxyType

import pytest
from harness import LIMIT_SECONDS, PROGRAMS, RECORD

SERVED = (str(PROGRAMS / "served"),)
ATTENDED = (str(PROGRAMS / "attended"),)
_ATTACHED = re.compile(r"millpond: attached to process \d+, which was stopped for [0-9.]+ ms\n")
_DETACHED = re.compile(r"millpond: detached; the program was stopped for at most [0-9.]+ ms\n")
_FORBIDDEN = ("ptrace_scope", "ptrace: ")


class RunningProgram:
    """A program that runs without Millpond, and the recordings of parts of its life.

    `extra`: variables of its environment only.
    """

    def __init__(
        self, folder: Path, command: Sequence[str] = SERVED, extra: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        self.folder, self.run = folder, folder / "run"
        self.run.mkdir(exist_ok=True)
        self.environment = {**os.environ, "XDG_RUNTIME_DIR": str(self.run)}
        pipe, environment = subprocess.PIPE, {**os.environ, **extra}
        self.process = subprocess.Popen(
            command, stdin=pipe, stdout=pipe, stderr=subprocess.STDOUT, text=True, env=environment
        )
        assert self.process.stdin and self.process.stdout
        self.stdin, self.stdout = self.process.stdin, self.process.stdout
        self.pid = self.process.pid

    def tell(self, *lines: str) -> None:
        """Has `served` do something, and returns when it is done."""
        for line in lines:
            self.stdin.write(f"{line}\n")
            self.stdin.flush()
            assert self.stdout.readline() == "ok\n", line

    def wait_for_work(self) -> None:
        """Waits until all threads of `attended` have been started."""
        self.stdin.write("s")
        self.stdin.flush()
        assert self.stdout.readline().startswith("allocations ")

    def start_recorder(self, trace: str, *options: str) -> subprocess.Popen[str]:
        argv = [str(RECORD), "--attach", str(self.pid), "-o", str(self.folder / trace), *options]
        return subprocess.Popen(argv, stderr=subprocess.PIPE, text=True, env=self.environment)

    def ask(self, *words: str) -> tuple[int, str]:
        """Has `--control` say something to the recorder; returns its status and its reason."""
        argv = [str(RECORD), "--control", str(self.pid), "--", *words]
        done = subprocess.run(
            argv, capture_output=True, text=True, env=self.environment, check=False, timeout=LIMIT_SECONDS
        )
        return done.returncode, done.stderr

    @contextmanager
    def recorded(self, trace: str = "t.mpt", *options: str, says: str = "") -> Iterator[Path]:
        """Records what the program does within the context; then the trace is whole."""
        recorder = self.start_recorder(trace, *options)
        assert recorder.stderr
        with recorder:
            first = recorder.stderr.readline()
            skip_if_forbidden(first)
            assert _ATTACHED.fullmatch(first), first + recorder.stderr.read()
            yield self.folder / trace
            recorder.send_signal(signal.SIGINT)
            said = recorder.stderr.read()
            assert recorder.wait(LIMIT_SECONDS) == 0, said
            found = _DETACHED.match(said)
            assert found and said[found.end() :] == says, said

    def refusal(self) -> str:
        """Attaches, which must fail; returns the reason."""
        recorder = self.start_recorder("t.mpt", "--for", "1")
        said = recorder.communicate(timeout=LIMIT_SECONDS)[1]
        skip_if_forbidden(said)
        assert recorder.returncode == 4, said
        assert not list(self.folder.glob("t.mpt*")), "a refused recording left a file"
        return said

    def end(self, line: str = "") -> tuple[int, str]:
        """Lets the program end by itself. Returns its status, and the rest that it wrote."""
        if line:
            self.stdin.write(f"{line}\n")
        self.stdin.close()
        said = self.stdout.read()
        return self.process.wait(LIMIT_SECONDS), said

    def close(self) -> None:
        self.process.kill()
        self.process.wait(LIMIT_SECONDS)
        for stream in (self.stdin, self.stdout):
            with suppress(BrokenPipeError):
                stream.close()

    def modules(self) -> str:
        return Path(f"/proc/{self.pid}/maps").read_text()


Starter = Callable[..., RunningProgram]


def skip_if_forbidden(said: str) -> None:
    if any(word in said for word in _FORBIDDEN):
        pytest.skip(f"ptrace is not permitted here: {said.strip()}")
