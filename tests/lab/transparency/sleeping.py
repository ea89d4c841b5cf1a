# SPDX-License-Identifier: BSL-1.0
"""Runs the program `served` under a recorder that begins asleep, and tells both what to do."""

from __future__ import annotations

import os
import re
import subprocess
from contextlib import suppress
from pathlib import Path

from harness import BIN, LIMIT_SECONDS, PROGRAMS, RECORD
from trace_reading import count_marked, number, read

SERVED = str(PROGRAMS / "served")
STOPPED_EARLY, LIMIT, ASKED = 6, 1, 201  # an entry of the end, and values of it
Stopped = tuple[int, list[Path], str]


class Sleeper:
    """A program under a recorder that sleeps; with `is_idle=False`, under one that never does."""

    def __init__(self, folder: Path, *options: str, extra: dict[str, str] | None = None, is_idle: bool = True) -> None:
        self.folder, self.run = folder, folder / "run"
        self.run.mkdir(exist_ok=True)
        self.environment = {**os.environ, "XDG_RUNTIME_DIR": str(self.run), "LC_ALL": "C"}
        argv = [str(RECORD), *(["--idle"] if is_idle else []), "-o", str(folder / "t.mpt"), *options, "--", SERVED]
        pipe, all_variables = subprocess.PIPE, {**self.environment, **(extra or {})}
        self.recorder = subprocess.Popen(argv, stdin=pipe, stdout=pipe, stderr=pipe, env=all_variables, text=True)
        assert self.recorder.stdin and self.recorder.stdout and self.recorder.stderr
        self.stdin, self.stdout, self.stderr = self.recorder.stdin, self.recorder.stdout, self.recorder.stderr
        if not is_idle:
            self.tell("a 0")
            self.pid = int(Path(f"/proc/{self.recorder.pid}/task/{self.recorder.pid}/children").read_text("utf-8"))
            while not (self.run / "millpond" / str(self.pid)).exists() and self.recorder.poll() is None:
                os.sched_yield()  # the program may be faster than its recorder
            return
        said = self.stderr.readline()
        found = re.fullmatch(r"millpond: asleep: `millpond trace control (\d+) start` begins a trace\n", said)
        assert found, said + self.stderr.read()
        self.pid = int(found[1])

    def send(self, *lines: str) -> None:
        """Gives the program lines that it does not answer."""
        self.stdin.write("".join(f"{line}\n" for line in lines))
        self.stdin.flush()

    def tell(self, *lines: str) -> None:
        """Has the program do something, and returns when it is done."""
        for line in lines:
            self.send(line)
            assert self.stdout.readline() == "ok\n", line

    def ask(self, *words: str, pid: int | None = None) -> Stopped:
        argv = [str(RECORD), "--control", str(pid or self.pid), "--", *words]
        done = subprocess.run(
            argv, capture_output=True, text=True, env=self.environment, check=False, timeout=LIMIT_SECONDS
        )
        return done.returncode, [Path(line) for line in done.stdout.splitlines()], done.stderr

    def control(self, *words: str) -> list[Path]:
        """Sends requests that must succeed without a word. Returns the traces that they wrote."""
        traces = []
        for word in words:
            status, files, said = self.ask(word)
            assert (status, said) == (0, ""), (word, status, said)
            traces += files
        return traces

    def mark(self, name: str) -> None:
        """Begins a phase from outside."""
        status, _, said = self.ask("mark", name)
        assert (status, said) == (0, ""), (name, status, said)

    def end(self, *lines: str) -> tuple[int, str]:
        """Lets the program end by itself. Returns the recorder's status, and what it said."""
        self.send(*lines)
        self.stdin.close()
        said = self.stderr.read()
        return self.recorder.wait(LIMIT_SECONDS), said

    def close(self) -> None:
        self.recorder.kill()
        self.recorder.wait(LIMIT_SECONDS)
        for stream in (self.stdin, self.stdout, self.stderr):
            with suppress(BrokenPipeError):
                stream.close()

    def files(self) -> list[str]:
        return sorted(path.name for path in self.folder.iterdir() if path.is_file())


def counts(path: Path) -> tuple[int, int, int]:
    """Returns the marked allocations, frees and reallocations of a trace."""
    found = count_marked(read(path))
    return found["allocations"], found["frees"], found["reallocations"]


def stopped_early(path: Path) -> int:
    """Returns why the trace ends before its program; 0: it does not."""
    return number(read(path).end[STOPPED_EARLY][0], 0)[0]


def exit_status(path: Path) -> str:
    done = subprocess.run([str(BIN / "millpond-trace"), "info", str(path)], capture_output=True, text=True, check=True)
    found = re.search(r"^end exit_status=(-?\d+)", done.stdout, re.MULTILINE)
    return found[1] if found else "none"


def is_valid(path: Path) -> bool:
    """Returns whether our own reader takes the trace as whole."""
    done = subprocess.run([str(BIN / "millpond-trace"), "info", str(path)], capture_output=True, check=False)
    return done.returncode == 0 and b"lost=0" in done.stdout
