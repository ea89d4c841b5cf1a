# SPDX-License-Identifier: BSL-1.0
"""A recording replaces FILE and the other traces of FILE's old recording, and no other file."""

from __future__ import annotations

import os
import select
import signal
import subprocess
from pathlib import Path

import pytest
from harness import PROGRAMS, RECORD, Outcome, Program, run, run_recorded
from trace_reading import read

FORKS = Program("processes-fork", ("{programs}/processes", "fork"))
QUIET = Program("quiet", ("{programs}/quiet",))


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def record(program: Program, place: Path, file: Path, *options: str) -> Outcome:
    place.mkdir(exist_ok=True)
    return run_recorded(program, place, file, options)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "traces"
    made.mkdir()
    return made


def test_files_that_only_look_like_traces_stay(folder: Path, tmp_path: Path) -> None:
    names = ["app.log.1", "app.log.2", "app.log.20261123", "app.log.1.2", "app.log.partial-write", "app.log.XXXXXX"]
    others = {name: name.encode() for name in names} | {"app.log.7": b"", "app.log.8": b"\x5d\x2a\x4d\x18"}
    for name, text in others.items():
        (folder / name).write_bytes(text)
    (folder / "app.log.3").mkdir()
    (folder / "app.log").write_bytes(b"the newest log")
    assert record(QUIET, tmp_path / "run", folder / "app.log").status == 0
    after = content(folder)
    assert after.pop("app.log") != b"the newest log"
    assert after == others
    assert (folder / "app.log.3").is_dir()


def test_the_traces_of_the_replaced_recording_go(folder: Path, tmp_path: Path) -> None:
    file = folder / "t.mpt"
    record(FORKS, tmp_path / "a", file)
    former = set(content(folder))
    assert len(former) == 5
    record(FORKS, tmp_path / "b", file)
    latter = set(content(folder))
    assert len(latter) == 5 and latter & former <= {"t.mpt"} | (former & latter)
    record(QUIET, tmp_path / "c", file)
    assert set(content(folder)) == {"t.mpt"}


def test_the_traces_of_other_recordings_stay(folder: Path, tmp_path: Path) -> None:
    record(FORKS, tmp_path / "a", folder / "other.mpt")
    kept = {}
    for name, data in content(folder).items():
        (folder / name).unlink()
        if name != "other.mpt":
            kept["t.mpt" + name.removeprefix("other.mpt")] = data
    for name, data in kept.items():
        (folder / name).write_bytes(data)
    record(FORKS, tmp_path / "b", folder / "t.mpt")
    record(QUIET, tmp_path / "c", folder / "t.mpt")
    after = content(folder)
    after.pop("t.mpt")
    assert after == kept


def test_a_file_with_the_name_of_a_trace_is_kept_and_reported(folder: Path, tmp_path: Path) -> None:
    """The child itself makes a file with the name of its trace before it has one."""
    script = 'touch_me=$BASHPID; (echo mine > "$0.$BASHPID"; x=$(seq 9)); exit 6'
    file = folder / "t.mpt"
    outcome = record(Program("bash", ("bash", "-c", script, str(file))), tmp_path / "run", file)
    assert outcome.status == 6
    taken = [path for path in folder.iterdir() if path.read_bytes() == b"mine\n"]
    assert len(taken) == 1
    assert f"{taken[0]} is not a trace" in outcome.stderr.decode()
    stands_in = Path(f"{taken[0]}.1")
    assert read(stands_in).process


def test_finishing_adds_to_existing_traces(folder: Path, tmp_path: Path) -> None:
    """A child outlives the program: it reads a pipe that the test holds open. The program ends once the child runs."""
    file, started = folder / "t.mpt", tmp_path / "started"
    os.mkfifo(started)
    reads, writes = os.pipe()
    script = "x=$(seq 9); (y=$(seq 9)); sh -c 'echo $$ > $1; exec cat' sh $0 <&0 & read pid < $0; exit 0"
    argv = [str(RECORD), "-o", str(file), "--", "bash", "-c", script, str(started)]
    with (tmp_path / "out").open("wb") as out, (tmp_path / "error").open("wb") as error:
        recorded = subprocess.run(argv, stdin=reads, stdout=out, stderr=error, timeout=60, check=False)
    os.close(reads)
    assert recorded.returncode == 4
    pid = int((tmp_path / "error").read_text().split("(")[1].split(")")[0].split(",")[0])
    process = os.pidfd_open(pid)
    before = content(folder)
    del before["t.mpt.partial"]
    assert "t.mpt" in before
    os.close(writes)
    select.select([process], [], [])
    os.close(process)
    finished = subprocess.run([str(RECORD), "--finish", str(file)], capture_output=True, timeout=60, check=False)
    assert (finished.returncode, finished.stderr) == (0, b"")
    after = content(folder)
    assert before.items() < after.items()
    assert "t.mpt.partial" not in after


def test_a_file_in_the_way_of_the_recording_is_refused_and_stays(folder: Path, tmp_path: Path) -> None:
    (folder / "t.mpt.partial").write_bytes(b"not ours")
    outcome = record(QUIET, tmp_path / "run", folder / "t.mpt")
    assert outcome.status == 4 and b"exists" in outcome.stderr
    refused = run([str(RECORD), "--finish", str(folder / "t.mpt")], QUIET, tmp_path / "finish")
    assert refused.status == 3 and refused.stderr.startswith(b"millpond: ")
    assert content(folder) == {"t.mpt.partial": b"not ours"}


def test_a_failed_start_keeps_the_former_recording(folder: Path, tmp_path: Path) -> None:
    record(FORKS, tmp_path / "a", folder / "t.mpt")
    before = content(folder)
    outcome = record(Program("none", ("./no-such-program",)), tmp_path / "b", folder / "t.mpt")
    assert outcome.status == 5
    assert content(folder) == before


def test_only_the_owner_may_read_traces_unless_a_mode_is_given(folder: Path, tmp_path: Path) -> None:
    record(QUIET, tmp_path / "a", folder / "a.mpt")
    record(QUIET, tmp_path / "b", folder / "b.mpt", "--mode", "644")
    assert (folder / "a.mpt").stat().st_mode & 0o777 == 0o600
    assert (folder / "b.mpt").stat().st_mode & 0o777 == 0o644
    assert record(QUIET, tmp_path / "c", folder / "c.mpt", "--mode", "rw").status == 2


def test_a_killed_program_and_a_killed_recorder_lose_nothing(folder: Path) -> None:
    file = folder / "t.mpt"
    argv = [str(RECORD), "-o", str(file), "--", str(PROGRAMS / "endings"), "kill", "60000"]
    killed = subprocess.run(argv, capture_output=True, timeout=60, check=False)
    assert killed.returncode == -signal.SIGKILL
    assert read(file).end_number(4) == 0
