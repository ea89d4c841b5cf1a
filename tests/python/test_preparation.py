# SPDX-License-Identifier: BSL-1.0
"""--prepare and --cwd-copy give every run the same files, and report what they cannot do."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import FakeLab

from millpond.rounds import preparation
from millpond.rounds.preparation import Preparation
from millpond.system.errors import Failure, Status

Write = Callable[..., Path]
ONCE = ("sh", "-c", "test ! -e lock && echo locked > lock")


def killed(lab: FakeLab, plan: Path, *options: str) -> list[str]:
    """Returns the notes on contenders that ended differently from the first run."""
    words = ("--rounds=1", "-o", "out.json", "--plan", str(plan), *options)
    done = lab.run_apart("try", *words, "--", *ONCE)
    assert done.status == 0, done.stderr
    return [note for note in json.loads((lab.work / "out.json").read_text())["notes"] if "exits with" in note]


@pytest.mark.more
def test_a_program_that_locks_its_folder_can_be_tried(lab: FakeLab, plan_file: Write) -> None:
    lab.configure(run=True)
    plan = plan_file("p", "book")
    assert killed(lab, plan)
    assert (lab.work / "lock").exists()
    assert not killed(lab, plan, "--prepare", "rm -f lock")
    (lab.work / "lock").unlink()
    assert not killed(lab, plan, "--cwd-copy")
    assert not (lab.work / "lock").exists(), "the runs were in copies"


def test_a_failed_preparation_is_reported(lab: FakeLab) -> None:
    done = lab.run("advise", "--prepare", "echo no luck >&2; exit 3", "--", "true")
    assert done.status == Status.ENVIRONMENT
    assert "--prepare 'echo no luck >&2; exit 3' exited with 3: no luck" in done.stderr
    assert not lab.calls()


def test_each_copy_is_fresh_and_goes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, place = tmp_path / "folder", tmp_path / "folder" / "place"
    place.mkdir(parents=True)
    (folder / "file").write_text("as it was")
    (folder / "link").symlink_to("file")
    os.mkfifo(folder / "pipe")
    with socket.socket(socket.AF_UNIX) as listening:
        monkeypatch.chdir(folder)
        listening.bind("socket")
        for _ in range(2):
            with Preparation("echo more >> file; echo new > new", copy_folder=True).ready(place) as copy:
                assert copy is not None
                assert sorted(path.name for path in copy.iterdir()) == ["file", "link", "new"]
                assert (copy / "link").read_text() == "as it wasmore\n"
            assert not copy.exists()
    assert (folder / "file").read_text() == "as it was"
    assert not (folder / "new").exists()


@pytest.mark.parametrize("limit", ["COPY_BYTES_MAX", "COPY_FILES_MAX"])
def test_a_large_folder_is_not_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str) -> None:
    (tmp_path / "folder").mkdir()
    for name in "abc":
        (tmp_path / "folder" / name).write_text("text")
    monkeypatch.chdir(tmp_path / "folder")
    monkeypatch.setattr(preparation, limit, 2)
    with pytest.raises(Failure, match="start in a smaller folder"), Preparation(copy_folder=True).ready(tmp_path):
        raise AssertionError("it was copied")
    assert not (tmp_path / "cwd").exists()


def test_a_program_in_the_folder_is_the_original(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert Preparation(copy_folder=True).program(("./a", "./b")) == (str(tmp_path / "a"), "./b")
    assert Preparation(copy_folder=True).program(("a", "./b")) == ("a", "./b")
    assert Preparation().program(("./a",)) == ("./a",)
