# SPDX-License-Identifier: BSL-1.0
"""Temporary folders are removed at the end of their block, or after a kill at the next start; foreign ones never."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT

from millpond.system import temporary
from millpond.system.errors import Failure, Status
from millpond.system.temporary import MARKER, PREFIX, remove_stale, temporary_folder

HOLD = """
import sys
from pathlib import Path
from millpond.system.temporary import temporary_folder
with temporary_folder(Path(sys.argv[1])) as folder:
    (folder / "deep").mkdir()
    (folder / "deep" / "file").write_text("x")
    print(folder, flush=True)
    sys.stdin.read()
"""


def holder(place: Path) -> tuple[subprocess.Popen[bytes], Path]:
    """Starts a process that holds a temporary folder until its input ends; returns both."""
    child = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(place)],
        env={**os.environ, "PYTHONPATH": str(ROOT / "python")},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert child.stdout is not None
    return child, Path(child.stdout.readline().decode().strip())


def listing(place: Path) -> dict[str, str]:
    return {str(p.relative_to(place)): p.read_text() if p.is_file() else "" for p in sorted(place.rglob("*"))}


def test_no_temporary_folder_is_left_behind(tmp_path: Path) -> None:
    with temporary_folder(tmp_path) as folder:
        assert folder.name.startswith(PREFIX)
        assert folder.stat().st_mode & 0o777 == 0o700
        (folder / "deep").mkdir()
        (folder / "deep" / "file").write_text("x")
    assert listing(tmp_path) == {}
    with pytest.raises(KeyboardInterrupt), temporary_folder(tmp_path):
        raise KeyboardInterrupt
    assert listing(tmp_path) == {}


def test_a_killed_process_leaves_a_folder_until_the_next_start(tmp_path: Path) -> None:
    child, folder = holder(tmp_path)
    with temporary_folder(tmp_path):
        assert (folder / "deep" / "file").exists(), "its owner lives"
    child.send_signal(signal.SIGKILL)
    child.communicate()
    assert (folder / "deep" / "file").exists()
    with temporary_folder(tmp_path) as other:
        assert not folder.exists()
        assert other.exists()
    assert listing(tmp_path) == {}


def test_a_folder_that_was_half_removed_is_removed(tmp_path: Path) -> None:
    child, folder = holder(tmp_path)
    child.kill()
    child.communicate()
    (folder / "deep" / "file").unlink()
    assert remove_stale(tmp_path) == [folder]


def foreign(place: Path) -> dict[str, str]:
    """Makes foreign folders with names like ours."""
    words = temporary._WORDS.decode()
    (place / f"{PREFIX}file").write_text("a file")
    (place / f"{PREFIX}empty").mkdir()
    contents = {"unmarked": None, "other-words": "mine", "cut": words[:-1], "longer": words + "x"}
    for name, marker in contents.items():
        folder = place / f"{PREFIX}{name}"
        folder.mkdir()
        (folder / "precious").write_text(name)
        if marker is not None:
            (folder / MARKER).write_text(marker)
    linked = place / f"{PREFIX}linked-marker"
    linked.mkdir()
    (place / "words").write_text(words)
    (linked / MARKER).symlink_to(place / "words")
    waiting = place / f"{PREFIX}fifo"
    waiting.mkdir()
    os.mkfifo(waiting / MARKER)
    real = place / "real"
    real.mkdir()
    (real / MARKER).write_text(words)
    (place / f"{PREFIX}link").symlink_to(real)
    (place / "unnamed").mkdir()
    (place / "unnamed" / MARKER).write_text(words)
    return listing(place)


def test_folders_that_are_not_ours_stay(tmp_path: Path) -> None:
    before = foreign(tmp_path)
    assert remove_stale(tmp_path) == []
    with temporary_folder(tmp_path):
        pass
    assert listing(tmp_path) == before


def test_another_users_folder_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    child, folder = holder(tmp_path)
    child.kill()
    child.communicate()
    uid = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: uid + 1)
    assert remove_stale(tmp_path) == []
    assert (folder / "deep" / "file").exists()


def test_only_the_lock_shows_that_an_owner_lives(tmp_path: Path) -> None:
    """A process id may be reused; a lock ends with its process."""
    folder = tmp_path / f"{PREFIX}x"
    folder.mkdir()
    (folder / MARKER).write_bytes(temporary._WORDS)
    with (folder / MARKER).open("rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert remove_stale(tmp_path) == []
    assert remove_stale(tmp_path) == [folder]


def test_a_place_that_cannot_be_used_is_an_environment_failure(tmp_path: Path) -> None:
    with pytest.raises(Failure) as caught, temporary_folder(tmp_path / "none"):
        pass
    assert caught.value.status == Status.ENVIRONMENT
