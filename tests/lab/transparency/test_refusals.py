# SPDX-License-Identifier: BSL-1.0
"""Programs that cannot be recorded are refused with their status and one clear line, before anything has happened."""

from __future__ import annotations

import os
import select
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from harness import PROGRAMS, RECORD, Outcome, Program, run, run_bare
from trace_reading import read

USAGE, INPUT, ENVIRONMENT, PROGRAM = 2, 3, 4, 5


def record(arguments: list[str], place: Path) -> Outcome:
    return run([str(RECORD), *arguments], Program("any", ()), place)


def assert_refused(outcome: Outcome, status: int, *words: str) -> None:
    """Asserts that only our own line with these words is printed, and that no file is written."""
    assert outcome.status == status, outcome.stderr.decode()
    assert outcome.stdout == b""
    text = outcome.stderr.decode()
    assert text.startswith("millpond: "), text
    for word in words:
        assert word in text
    assert dict(outcome.files) == {}, "something half-written was left behind"


def test_refuses_a_missing_program(tmp_path: Path) -> None:
    assert_refused(record(["-o", "t.mpt", "--", "./no-such-program"], tmp_path), PROGRAM, "no-such-program")
    assert_refused(record(["-o", "t.mpt", "--", "no-such-program-in-path"], tmp_path / "b"), PROGRAM, "no-such-program")


def test_refuses_a_file_that_is_not_executable(tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.write_text("not a program\n")
    assert_refused(record(["-o", "t.mpt", "--", str(plain)], tmp_path / "run"), PROGRAM, "plain")


def test_refuses_a_folder(tmp_path: Path) -> None:
    assert_refused(record(["-o", "t.mpt", "--", str(tmp_path)], tmp_path / "run"), PROGRAM)


def test_refuses_a_static_program(tmp_path: Path) -> None:
    program = str(PROGRAMS / "quiet_static")
    assert_refused(record(["-o", "t.mpt", "--", program], tmp_path), ENVIRONMENT, "quiet_static", "static")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_refuses_a_set_user_id_program(tmp_path: Path) -> None:
    program = tmp_path / "privileged"
    shutil.copy(PROGRAMS / "quiet", program)
    os.chown(program, 65534, 65534)
    program.chmod(0o4755)
    refused = record(["-o", "t.mpt", "--", str(program)], tmp_path / "run")
    assert_refused(refused, ENVIRONMENT, "privileged", "set-user-id")


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["-o", "t.mpt"],
        ["-o", "t.mpt", "--"],
        ["--", "true"],
        ["-o", "t.mpt", "--max-trace", "many", "--", "true"],
        ["-o", "t.mpt", "--max-trace", "-1", "--", "true"],
        ["-o", "t.mpt", "--no-such-option", "--", "true"],
    ],
    ids=" ".join,
)
def test_refuses_wrong_command_lines(arguments: list[str], tmp_path: Path) -> None:
    assert record(arguments, tmp_path).status == USAGE


@pytest.mark.parametrize("place", ["no/such/folder/t.mpt", "/proc/t.mpt", "."])
def test_refuses_an_unwritable_place(place: str, tmp_path: Path) -> None:
    # `touch` would leave a file: the program must not even have been started.
    assert_refused(record(["-o", place, "--", "touch", "started"], tmp_path), ENVIRONMENT)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 256 KiB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    argv = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(disk)]
    mounted = subprocess.run(argv, capture_output=True, check=False)
    if mounted.returncode != 0:
        pytest.skip(f"cannot mount a small file system here: {mounted.stderr.decode().strip()}")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


def test_a_full_disk_harms_no_program_and_is_reported(tmp_path: Path, small_disk: Path) -> None:
    program = Program("many", ("{programs}/threads", "together", "100000"))
    bare = run_bare(program, tmp_path / "bare")
    recorded = run([str(RECORD), "-o", str(small_disk / "t.mpt"), "--", *program.argv()], program, tmp_path / "full")
    assert (recorded.stdout, recorded.files) == (bare.stdout, bare.files)
    assert recorded.status == ENVIRONMENT
    assert b"millpond: " in recorded.stderr
    left = list(small_disk.iterdir())
    assert [path.name for path in left] in ([], ["t.mpt"]), "only a whole trace may be left"
    for path in left:
        assert read(path).end_number(6) != 0


def test_a_killed_recorders_trace_can_be_finished(tmp_path: Path) -> None:
    """The program prints its process id, then the recorder is killed, then the program ends."""
    script = "$| = 1; my @kept = map { 'x' x $_ } 1 .. 2000; print qq{$$\n}; <STDIN>; exit 0"
    argv = [str(RECORD), "-o", str(tmp_path / "t.mpt"), "--", "perl", "-e", script]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as recorder:
        assert recorder.stdout is not None and recorder.stdin is not None
        program = os.pidfd_open(int(recorder.stdout.readline()))
        recorder.kill()
        recorder.wait()
        recorder.stdin.close()
        select.select([program], [], [])  # it has ended
        os.close(program)
    finished = subprocess.run([str(RECORD), "--finish", str(tmp_path / "t.mpt")], capture_output=True, check=False)
    assert finished.returncode == 0, finished.stderr.decode()
    assert sum(len(stream) for stream in read(tmp_path / "t.mpt").streams.values()) > 100
    assert [path.name for path in tmp_path.iterdir()] == ["t.mpt"]


def test_finishing_without_a_partial_trace_is_refused(tmp_path: Path) -> None:
    finished = subprocess.run([str(RECORD), "--finish", str(tmp_path / "t.mpt")], capture_output=True, check=False)
    assert finished.returncode == INPUT
    assert finished.stderr.startswith(b"millpond: ")


@pytest.mark.parametrize("compiler", ["gcc", "clang", "clang-19"])
@pytest.mark.parametrize("sanitizer", ["address", "thread", "leak", "memory"])
def test_sanitized_programs_are_refused_by_name(compiler: str, sanitizer: str, tmp_path: Path) -> None:
    source, program = tmp_path / "p.c", tmp_path / "p"
    source.write_text("#include <stdlib.h>\nint main(void) { free(malloc(9)); return 0; }\n")
    command = [compiler, f"-fsanitize={sanitizer}", str(source), "-o", str(program)]
    if not shutil.which(compiler) or subprocess.run(command, capture_output=True, check=False).returncode != 0:
        pytest.skip(f"{compiler} has no -fsanitize={sanitizer} here")
    named = sanitizer.capitalize() + "Sanitizer"
    linker = Path("/lib64/ld-linux-x86-64.so.2")
    for number, before in enumerate([[], ["env", "A=b"], [str(linker)] if linker.exists() else []]):
        outcome = record(["-o", "t.mpt", "--", *before, str(program)], tmp_path / str(number))
        assert_refused(outcome, ENVIRONMENT, named, "built with")


def test_a_program_started_by_the_dynamic_linker_is_recorded(tmp_path: Path) -> None:
    linker = Path("/lib64/ld-linux-x86-64.so.2")
    if not linker.exists():
        pytest.skip(f"{linker} is not here")
    program = str(PROGRAMS / "opened")
    trace = tmp_path / "t.mpt"
    command = [str(linker), program, str(PROGRAMS / "opened_library.so"), "plain"]
    outcome = record(["-o", str(trace), "--", *command], tmp_path / "run")
    assert (outcome.status, outcome.stderr) == (0, b"")
    assert program in read(trace).modules.values()
