# SPDX-License-Identifier: BSL-1.0
"""`--for` ends a program, first by request and then by force, and finishes its trace."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

import pytest
from harness import RECORD, traces_of
from trace_reading import read


@pytest.mark.parametrize(
    ("script", "by", "status"),
    [
        ("exec sleep 1000", "SIGINT", -signal.SIGINT),
        ("trap 'exit 7' INT; while :; do ls > /dev/null; done", "SIGINT", 7),
        ("trap '' INT; exec sleep 1000", "SIGTERM", -signal.SIGTERM),
        ("trap '' INT TERM; exec sleep 1000", "SIGKILL", -signal.SIGKILL),
    ],
)
def test_a_program_is_stopped_and_its_trace_finished(script: str, by: str, status: int, tmp_path: Path) -> None:
    trace = tmp_path / "t.mpt"
    argv = [str(RECORD), "-o", str(trace), "--for", "1", "--", "bash", "-c", script]
    done = subprocess.run(argv, capture_output=True, check=False, timeout=120)
    assert done.returncode == status, done.stderr
    assert f"millpond: stopped by {by} after 1 s (--for)".encode() in done.stderr
    assert read(traces_of(trace)[0]).streams


def test_a_program_that_ends_in_time_is_not_stopped(tmp_path: Path) -> None:
    argv = [str(RECORD), "-o", str(tmp_path / "t.mpt"), "--for", "600", "--", "sh", "-c", "exit 3"]
    done = subprocess.run(argv, capture_output=True, check=False, timeout=120)
    assert (done.returncode, done.stderr) == (3, b"")
