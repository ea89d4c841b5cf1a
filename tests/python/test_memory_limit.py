# SPDX-License-Identifier: BSL-1.0
"""Verbs under a limit on address space run, or name the limit to allow in one sentence."""

from __future__ import annotations

import errno
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from millpond.system import memory_limit
from millpond.system.errors import Status


def under(limit_kib: int, *words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Runs a verb under a limit on address space."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (limit_kib << 10, resource.RLIM_INFINITY))

    return subprocess.run(
        [sys.executable, "-m", "millpond", *words],
        check=False,
        preexec_fn=limit,
        capture_output=True,
        text=True,
        cwd=cwd,
    )


@pytest.mark.lengthy
@pytest.mark.parametrize("verb", [["advise", "--", "/bin/true"], ["report"], ["doctor"]])
def test_a_hopeless_limit_is_one_sentence(verb: list[str], tmp_path: Path) -> None:
    ended = under(100_000, *verb, cwd=tmp_path)
    assert ended.returncode == Status.ENVIRONMENT
    assert ended.stderr.startswith("millpond: out of memory: this process may have 102 MB of addresses")
    assert ended.stderr.count("\n") == 1
    assert "ulimit -v 768000" in ended.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.lengthy
@pytest.mark.parametrize("limit_kib", [170_000, 260_000])
@pytest.mark.parametrize("verb", [["report"], ["bench", "p0089.1", "--dry-run"]])
def test_no_limit_shows_a_traceback(limit_kib: int, verb: list[str], tmp_path: Path) -> None:
    ended = under(limit_kib, *verb, cwd=tmp_path)
    assert "Traceback" not in ended.stderr
    assert ended.returncode >= 0
    assert ended.returncode == 0 or ended.stderr.startswith("millpond: ")


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        OSError(errno.ENOMEM, "Cannot allocate memory"),
        ImportError("libarrow.so: failed to map segment from shared object"),
        ImportError("libx.so: cannot allocate memory in static TLS block"),
        RuntimeError("can't start new thread"),
    ],
)
def test_lacks_of_memory_are_failures(error: Exception) -> None:
    failure = memory_limit.failure_of(error)
    assert failure is not None
    assert failure.status == Status.ENVIRONMENT
    wrapped = ValueError("while that was handled")
    wrapped.__cause__ = error
    assert memory_limit.failure_of(wrapped) is not None


@pytest.mark.parametrize("error", [ImportError("no module named x"), OSError(errno.ENOENT, "x"), RuntimeError("x")])
def test_other_errors_keep_their_traceback(error: Exception) -> None:
    assert memory_limit.failure_of(error) is None
