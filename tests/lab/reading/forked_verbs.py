# SPDX-License-Identifier: BSL-1.0
"""Runs verbs of the command line in forks of this process, so that modules are loaded only once.

This process must have no other thread, and no library that starts threads.
"""

from __future__ import annotations

import io
import os
import signal
import sys
import traceback
from pathlib import Path

from reading_harness import BIN, HANGS_AFTER_SECONDS, ROOT, Done

from millpond import cli
from millpond.commands import advise, characterise, compare, doctor, replay, report, synthesize, trial
from millpond_bench import command as bench

# Loaded here once for all forks.
VERBS = (advise, bench, characterise, compare, doctor, replay, report, synthesize, trial)


def millpond(folder: Path, *words: str) -> Done:
    """Runs `millpond WORDS` in the folder; output goes to `.stdout` and `.stderr`. Never returns in the fork."""
    out, err = folder / ".stdout", folder / ".stderr"
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child == 0:
        _become(folder, out, err, words)
    _, status = os.waitpid(child, 0)
    return Done(
        os.waitstatus_to_exitcode(status), out.read_bytes().decode(errors="replace"),
        err.read_bytes().decode(errors="replace"),
    )  # fmt: skip


def _become(folder: Path, out: Path, err: Path, words: tuple[str, ...]) -> None:
    status = 99
    try:
        for number, place, flags in (
            (0, os.devnull, os.O_RDONLY), (1, out, os.O_WRONLY | os.O_CREAT | os.O_TRUNC),
            (2, err, os.O_WRONLY | os.O_CREAT | os.O_TRUNC),
        ):  # fmt: skip
            os.dup2(os.open(place, flags, 0o600), number)
        os.chdir(folder)
        os.environ |= {"MILLPOND_BIN": str(BIN), "PYTHONPATH": str(ROOT / "python"), "TMPDIR": str(folder)}
        # The interpreter has a second name for each: a wrapper around one must not close the other.
        sys.stdout = sys.__stdout__ = _output(1)  # type: ignore[misc]
        sys.stderr = sys.__stderr__ = _output(2)  # type: ignore[misc]
        sys.argv = ["millpond", *words]
        signal.alarm(HANGS_AFTER_SECONDS)
        status = cli.main()
        sys.stdout.flush()
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(status)


def _output(descriptor: int) -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BufferedWriter(io.FileIO(descriptor, "w", closefd=False)), write_through=True)
