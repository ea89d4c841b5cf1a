# SPDX-License-Identifier: BSL-1.0
"""Inputs of real programs have the same path on all workers that can write it, and one process at a time."""

from __future__ import annotations

import fcntl
import subprocess
import sys
from pathlib import Path

import pytest

from millpond.cluster.workplace import Workplace
from millpond.system.errors import Failure
from millpond_bench.programs import inputs_folder


def test_a_worker_makes_inputs_at_the_conductors_path(tmp_path: Path) -> None:
    assert inputs_folder.on_worker(Workplace(tmp_path, {}), tmp_path / "a" / "inputs") == tmp_path / "a" / "inputs"
    assert (tmp_path / "a" / "inputs").is_dir()


def test_a_worker_that_cannot_write_there_has_a_folder_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert inputs_folder.on_worker(Workplace(tmp_path, {}), tmp_path / "file" / "inputs") == tmp_path / "inputs"
    assert (tmp_path / "inputs").is_dir()


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(Failure, match="cannot write"), inputs_folder.held(tmp_path / "file"):
        pass


def test_another_process_waits_until_the_folder_is_free(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from millpond_bench.programs import inputs_folder\n"
        "with inputs_folder.held(Path(sys.argv[1])): print('held', flush=True); sys.stdin.read()\n"
    )
    other = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with other:
        assert other.stdout is not None and other.stdout.readline() == "held\n"
        with (tmp_path / ".lock").open("ab") as file, pytest.raises(BlockingIOError):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        other.communicate()
    with inputs_folder.held(tmp_path):
        pass


def test_the_folder_is_free_after_a_failure(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="mine"), inputs_folder.held(tmp_path):
        raise ValueError("mine")
    with inputs_folder.held(tmp_path):
        pass
