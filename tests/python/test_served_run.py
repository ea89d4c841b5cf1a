# SPDX-License-Identifier: BSL-1.0
"""A run of a server measures one load, and leaves no process behind, whatever fails in it."""

from __future__ import annotations

import math
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from conftest import ROOT, FakeLab

from millpond.advice.effects import control_cell, malloc_cell, plan_cell
from millpond.cells.cell import Malloc, Outcome
from millpond.cells.metrics import POOL_COST_OF_UNIT, UNIT_SECONDS
from millpond.rounds import served_run
from millpond.rounds.load import Load
from millpond.rounds.recording import characterise, choose, record
from millpond.rounds.served_run import LoadFailure
from millpond.rounds.server_process import ServerProcess
from millpond.rounds.trial_rounds import Laboratory
from millpond.system import process_tree
from millpond.system.errors import Failure, Status
from millpond.system.standard_input import StandardInput

SERVER = Path(__file__).parent / "fakes" / "fake_server.py"
RATE = r"([\d.]+) requests per second(?:, p50=(?P<p50>[\d.]+))?(?:, p99=(?P<p99>[\d.]+))?"
REQUESTS = 50


def server(lab: FakeLab, fault: str = "") -> tuple[str, ...]:
    return (sys.executable, "-SE", str(SERVER), "serve", str(lab.work / "socket"), *filter(None, [fault]))


def command(lab: FakeLab, more: str = "") -> str:
    return shlex.join([sys.executable, "-SE", str(SERVER), "load", str(lab.work / "socket"), str(REQUESTS)]) + more


def laboratory(lab: FakeLab, program: tuple[str, ...], load: Load) -> Laboratory:
    return Laboratory(lab.work, program, StandardInput(lab.work), 1, load=load)


def run(lab: FakeLab, load: Load, fault: str = "") -> Outcome:
    lab.configure(run=True)
    program = server(lab, fault)
    return laboratory(lab, program, load).run_bare(control_cell(program, "bare"))


def left_behind(lab: FakeLab) -> list[str]:
    """The command lines of processes of this test that still run."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            words = (process / "cmdline").read_bytes()
            if str(lab.work).encode() in words and process_tree.process_facts(int(process.name)):
                found.append(words.decode())
    return found


def test_a_round_measures_the_load_that_drives_the_server(lab: FakeLab) -> None:
    outcome = run(lab, Load(command(lab), RATE))
    assert outcome.status == "ok" and not outcome.signal
    assert outcome.values[UNIT_SECONDS] == pytest.approx(1 / REQUESTS)
    assert outcome.values["latency_p50"] == REQUESTS / 4 and outcome.values["latency_p99"] == REQUESTS / 2
    assert outcome.values["wall_seconds"] > 0 and outcome.values["mean_bytes"] > 1 << 20
    assert 0 < outcome.values["cpu_seconds"] < 60
    assert not left_behind(lab)


def test_a_socket_of_our_own_program_is_not_the_servers() -> None:
    """Until it calls exec, a child holds the sockets of the program that starts it."""
    program = """if True:
        import os, socket
        def listening():
            one = socket.socket(socket.AF_UNIX)
            one.bind("")
            one.listen()
            return one
        ours = listening()
        ends = os.pipe()
        if not os.fork():
            os.read(0, 1)
            its_own = listening()
            os.write(ends[1], b".")
            os.read(0, 1)
            os._exit(0)
        print("forked", flush=True)
        os.read(ends[0], 1)
        print("listens", flush=True)
        os.wait()
    """
    with subprocess.Popen([sys.executable, "-SEc", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as parent:
        assert parent.stdin and parent.stdout and parent.stdout.readline() == b"forked\n"
        server = ServerProcess.child_of(parent.pid)
        assert server is not None and not server.listens()
        parent.stdin.write(b".")
        parent.stdin.flush()
        assert parent.stdout.readline() == b"listens\n"
        assert server.listens()
        parent.stdin.write(b".")
        parent.stdin.flush()


def test_the_load_runs_once_before_it_is_measured(lab: FakeLab) -> None:
    run(lab, Load(command(lab, f"; echo x >> {lab.work}/loads")))
    assert (lab.work / "loads").read_text() == "x\n" * 2


def test_a_server_of_several_processes_is_one_server(lab: FakeLab) -> None:
    outcome = run(lab, Load(command(lab)), "forks")
    assert outcome.status == "ok" and len((lab.work / "server.txt").read_text().splitlines()) == 2
    assert not left_behind(lab), "what SIGTERM to the first process leaves is ended too"


def test_a_server_may_end_with_any_status(lab: FakeLab) -> None:
    assert run(lab, Load(command(lab)), "fails").exit_status == 3


def test_a_server_that_ignores_sigterm_is_killed(lab: FakeLab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(served_run, "END_SECONDS", 0.2)
    outcome = run(lab, Load(command(lab)), "stays")
    assert (outcome.status, outcome.signal) == ("ok", 0) and not left_behind(lab)


FAILURES = [
    ("busy", "", "the server exits with 1 before it listened on a socket; its last line is"),
    ("deaf", "", "the server listens on no TCP or unix socket after"),
    ("dies", "", "the server dies of SIGKILL during the load"),
    ("", "; echo too bad; exit 7", 'exits with 7; its last line is "too bad"'),
    ("", "; kill -9 $$", "dies of SIGKILL"),
]


@pytest.mark.parametrize(("fault", "more", "sentence"), FAILURES)
def test_a_failure_is_one_sentence_and_leaves_no_process(
    lab: FakeLab, monkeypatch: pytest.MonkeyPatch, fault: str, more: str, sentence: str
) -> None:
    monkeypatch.setattr(served_run, "READY_SECONDS", 60.0 if fault != "deaf" else 1.0)
    with pytest.raises(LoadFailure) as failed:
        run(lab, Load(command(lab, more)), fault)
    assert sentence in failed.value.message and "\n" not in failed.value.message
    assert not left_behind(lab)


def test_an_expression_that_matches_nothing_is_a_failure(lab: FakeLab) -> None:
    with pytest.raises(Failure, match="matches nothing that the load or the server printed; its last line is"):
        run(lab, Load(command(lab), "([0-9]+) transactions"))
    assert not left_behind(lab)


def test_a_load_without_end_is_stopped_with_its_server(lab: FakeLab) -> None:
    lab.configure(run=True)
    program, load = server(lab), Load(command(lab, f"; exec tail -f {SERVER} {lab.work}"))
    place = laboratory(lab, program, load)
    place.limit_seconds = 1.0
    with pytest.raises(LoadFailure, match="took longer than 1 s"):
        place.run_bare(control_cell(program, "bare"))
    assert not left_behind(lab)


def test_a_load_that_fails_on_a_malloc_is_the_mallocs_failure(lab: FakeLab) -> None:
    lab.configure(run=True, mallocs={"bad": [1.0, 1.0]})
    program = server(lab, "dies")
    place = laboratory(lab, program, Load(command(lab)))
    outcome = place.run(malloc_cell(program, Malloc("bad", Path("/lib/libbad.so"))), "judging", 1)
    assert outcome.status == "killed" and "the server dies of SIGKILL" in outcome.why


def test_a_recorded_server_is_driven_once(lab: FakeLab) -> None:
    lab.configure(run=True)
    load = Load(command(lab, f"; echo x >> {lab.work}/loads"), "matches nothing: ([0-9]+)")
    recorded = record(server(lab), lab.work, StandardInput(lab.work), load=load)
    assert (recorded.exit_status, recorded.signal) == (0, 0) and (lab.work / "loads").read_text() == "x\n"
    assert not left_behind(lab)


def test_ctrl_c_ends_server_and_load(lab: FakeLab) -> None:
    lab.configure(run=True)
    load = command(lab, f"; kill -INT $PPID; exec tail -f {lab.work}/fake.json")
    (lab.work / "fake.json").touch()
    done = lab.run_apart("advise", "--load", load, "--", *server(lab))
    assert done.status == -signal.SIGINT and "stopped by SIGINT" in done.stderr, done.stderr
    assert not left_behind(lab)


# --- the real laboratory

BUILT = ROOT / "build/release/bin"


def redis(folder: Path) -> tuple[tuple[str, ...], Load]:
    """Redis on a unix socket, with its benchmark. Skips the test where they are not installed."""
    if not (shutil.which("redis-server") and shutil.which("redis-benchmark")):
        pytest.skip("redis-server and redis-tools are not installed")
    socket = str(folder / "socket")
    load = Load(f"redis-benchmark -s {socket} -q -n 2000 -c 4 -t set", RATE)
    return ("redis-server", "--port", "0", "--unixsocket", socket, "--save", ""), load


def python(folder: Path) -> tuple[tuple[str, ...], Load]:
    """The server of these tests, run by Python."""
    words = [sys.executable, "-SE", str(SERVER)]
    socket = str(folder / "socket")
    return (*words, "serve", socket), Load(shlex.join([*words, "load", socket, "50"]), RATE)


@pytest.mark.more
def test_a_server_that_cannot_start_is_told_by_the_recorder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MILLPOND_BIN", str(BUILT))
    with pytest.raises(Failure) as failed:
        record((str(tmp_path / "none"),), tmp_path, StandardInput(tmp_path), load=Load("true"))
    assert failed.value.status == Status.PROGRAM and not isinstance(failed.value, LoadFailure)


@pytest.mark.more
@pytest.mark.parametrize("make", [python, redis], ids=lambda make: make.__name__)
def test_a_real_server_is_recorded_and_tried(
    make: Callable[[Path], tuple[tuple[str, ...], Load]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MILLPOND_BIN", str(BUILT))
    program, load = make(tmp_path)
    stdin = StandardInput(tmp_path)
    recorded = record(program, tmp_path, stdin, load=load)
    assert (recorded.exit_status, recorded.signal) == (0, 0), "the end by our SIGTERM is a server's own"
    process = choose(recorded.processes, None)
    _, _, plans = characterise(process, tmp_path)
    place = Laboratory(tmp_path, program, stdin, 1, load=load)
    place.look_up(plans[:1])
    cells = [control_cell(program, name) for name in ("bare", "looked_up")]
    for number, cell in enumerate([*cells, plan_cell(program, plans[0]), cells[0]], 1):
        outcome = place.run(cell, "judging", number)
        assert outcome.status == "ok", outcome.why
        assert {UNIT_SECONDS, "cpu_seconds", "wall_seconds", "mean_bytes", "latency_p50"} <= outcome.values.keys()
        if cell.plan:
            assert sum(pool.allocations for pool in outcome.pools) > 0
            assert math.isfinite(outcome.values[POOL_COST_OF_UNIT])
