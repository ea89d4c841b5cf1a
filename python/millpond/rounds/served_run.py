# SPDX-License-Identifier: BSL-1.0
"""Drives one run of a server under a load, while one of our native programs measures or records the server.

    millpond-trial … -- server    ──▶ listens ──▶ load (warm-up) ──▶ load (measured) ──▶ SIGTERM ──▶ result
                                                                     CPU, wall, memory

A server is ready as soon as it accepts connections on a TCP or unix socket. The figures are of the measured load only:
start, warm-up and end are not part of them. Memory is sampled every SAMPLE_SECONDS.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from msgspec.structs import replace

from millpond.cells.metrics import MEAN_BYTES
from millpond.rounds.load import Load, last_line_of
from millpond.rounds.server_process import ServerProcess, watched
from millpond.rounds.trial_data import RoundResult
from millpond.system import native, process_tree
from millpond.system.environment import user_environment
from millpond.system.errors import Failure, Status

READY_SECONDS = 60.0
END_SECONDS = 10.0
FAILED_END_SECONDS = 2.0  # after a failure or Ctrl-C, when a user waits for the prompt
SAMPLE_SECONDS = 0.1
_LOOK_SECONDS = 0.01
_BOTH_SECONDS = 0.5  # a load that fails because the server has ended may be seen to end first


class LoadFailure(Failure):
    """A load that failed, or its server: one sentence."""


class ServedRun:
    """One run of a server under a load. Not thread-safe; used once.

    `output`: gets the server's output. `folder`: where the load runs; None: the current one. `is_measured`: run the
    load twice, and measure the second one. `limit_seconds`: of a load; None: no limit.
    """

    def __init__(
        self, load: Load, output: Path, folder: Path | None = None, *, is_measured: bool = True,
        limit_seconds: float | None = None,
    ) -> None:  # fmt: skip
        self.output = output
        self.values: Mapping[str, float] = {}  # metrics of the measured load
        self.load_cpu_seconds = 0.0
        self.had_to_be_killed = False
        self._load = load
        self._folder = folder
        self._is_measured = is_measured
        self._limit_seconds = limit_seconds
        self._ended = ""  # when the server ended by itself
        self._samples: list[int] = []

    def drive(self, child: subprocess.Popen[bytes]) -> None:
        """Waits for the server below the native program `child`, runs the load, and ends the server.

        Returns early if the server has ended by itself; then `check_end` raises. LoadFailure if the load fails, or the
        server never listens.
        """
        server = self._ready(child)
        if server is None:
            return
        try:
            self._run_loads(server)
        except BaseException:
            server.end(FAILED_END_SECONDS)
            raise
        self.had_to_be_killed = not server.end(END_SECONDS)

    def _run_loads(self, server: ServerProcess) -> None:
        """Runs the load, as a warm-up and measured if that is wanted. Returns early if the server has ended."""
        if self._is_measured and self._run_load(server) is None:
            return
        self._samples.clear()
        cpu_before, said_before = server.cpu_seconds(), len(self._said())
        started = time.monotonic()
        printed = self._run_load(server)
        seconds = time.monotonic() - started
        if printed is None:
            return
        values = {"cpu_seconds": server.cpu_seconds() - cpu_before, "wall_seconds": seconds,
                  MEAN_BYTES: sum(self._samples) / len(self._samples)}  # fmt: skip
        if self._is_measured:
            self.values = values | self._load.figures(seconds, [printed, self._said()[said_before:]])

    def check_end(self, how: str) -> None:
        """LoadFailure if the server ended before we ended it. `how`: "exits with 1"."""
        if self._ended:
            raise LoadFailure(Status.ENVIRONMENT, f"the server {how} {self._ended}{last_line_of(self._said())}")

    def as_ended(self, data: RoundResult) -> RoundResult:
        """The result of the round without the signal by which we ended the server: that is how a server ends."""
        own = self.own_signal(data.signal or 0)
        return replace(data, exit_status=data.exit_status or 0, signal=own)

    def own_signal(self, number: int) -> int:
        """The signal that a server died of; 0 for the one by which we ended it."""
        ours = signal.SIGKILL if self.had_to_be_killed else signal.SIGTERM
        return 0 if number == ours else number

    def _said(self) -> str:
        try:
            return self.output.read_text(encoding="utf-8", errors="replace")
        except OSError:
            return ""

    def _ready(self, child: subprocess.Popen[bytes]) -> ServerProcess | None:
        """The server as soon as it listens; None if it ended before."""
        self._ended = "before it listened on a socket"
        end = time.monotonic() + READY_SECONDS
        with watched([child.pid]) as ended:
            while not ended(_LOOK_SECONDS):
                server = ServerProcess.child_of(child.pid)
                if server is not None and server.listens():
                    self._ended = ""
                    return server
                if time.monotonic() > end:
                    if server is not None:
                        server.end(FAILED_END_SECONDS)
                    raise LoadFailure(
                        Status.ENVIRONMENT, f"the server listens on no TCP or unix socket after {READY_SECONDS:.0f} s; "
                        f"--load is for programs that do{last_line_of(self._said())}",
                    )  # fmt: skip
        return None

    def _run_load(self, server: ServerProcess) -> str | None:
        """Runs the load; returns what it printed, or None if the server ended meanwhile."""
        printed = self.output.with_suffix(".load")
        used_before = process_tree.children_cpu_seconds()
        with printed.open("wb") as out:
            load = subprocess.Popen(["/bin/sh", "-c", self._load.command], cwd=self._folder, env=user_environment(),
                                    stdin=subprocess.DEVNULL, stdout=out, stderr=out, process_group=0)  # fmt: skip
        try:
            is_served = self._watch(load, server)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(load.pid, signal.SIGKILL)
            load.wait()
        self.load_cpu_seconds += process_tree.children_cpu_seconds() - used_before
        if not is_served:
            return None
        text = printed.read_text(encoding="utf-8", errors="replace")
        if load.returncode != 0:
            how = (f"exits with {load.returncode}" if load.returncode > 0
                   else f"dies of {native.signal_name(-load.returncode)}")  # fmt: skip
            raise LoadFailure(Status.ENVIRONMENT, f"the load {self._load.command!r} {how}{last_line_of(text)}")
        return text

    def _watch(self, load: subprocess.Popen[bytes], server: ServerProcess) -> bool:
        """Waits for the end of the load and samples the server's memory. False if the server ended meanwhile."""
        started = time.monotonic()
        with watched([load.pid, server.process]) as ended:
            while not (found := ended(SAMPLE_SECONDS)):
                self._samples.append(server.resident_bytes())
                if self._limit_seconds is not None and time.monotonic() - started > self._limit_seconds:
                    raise LoadFailure(
                        Status.ENVIRONMENT, f"the load {self._load.command!r} took longer than "
                        f"{self._limit_seconds:.0f} s; make it shorter",
                    )  # fmt: skip
        self._samples.append(server.resident_bytes())
        if load.pid in found and load.wait() != 0 and server.process not in found:
            with watched([server.process]) as ended:
                found = [*found, *ended(_BOTH_SECONDS)]
        if server.process in found:
            self._ended = "during the load"
        return server.process not in found
