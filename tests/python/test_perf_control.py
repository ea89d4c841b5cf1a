# SPDX-License-Identifier: BSL-1.0
"""`run --perf-control CTL,ACK`: an outer perf, here a thread at the two pipes' ends, hears each window."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from fakes.fake_p0089_suite import FakeP0089

from millpond.system.errors import Status
from millpond_bench.bench_cli import main

Use = Callable[..., FakeP0089]
ONE = ("p0089.1", "--scale=quick", "--rounds=2", "--cells=structures/ds=2/log2_size=8/*/AS1")
PLACES = ("-o", "out.json", "-o", "out.html")
# The suite's program: the fake's figures, and the real program's commands to perf.
PROGRAM = """#!{python} -SE
import os, sys
sys.path[:0] = {path}
from fakes.fake_p0089_suite import FakeP0089
if "--perf-control" in sys.argv:
    control, answer = map(int, sys.argv[sys.argv.index("--perf-control") + 1].split(","))
    try:
        for word in (b"enable\\n", b"disable\\n"):
            os.write(control, word)
            if os.read(answer, 16)[:3] != b"ack":
                print("millpond: --perf-control: descriptor", answer, "gave no ack", file=sys.stderr)
                sys.exit(4)
    except OSError as error:
        print("millpond: --perf-control: descriptor", control, "cannot be written:", error, file=sys.stderr)
        sys.exit(4)
print(FakeP0089().capture(sys.argv, {{}}).printed)
"""


class Perf:
    """Fakes perf: reads a number of commands from one pipe and answers in the other."""

    def __init__(self, commands: int) -> None:
        self._hears, self.control = os.pipe()
        self.answer, self._says = os.pipe()
        self.heard: list[str] = []
        self._thread = threading.Thread(target=self._serve, args=(commands,))
        self._thread.start()

    def _serve(self, commands: int) -> None:
        for _ in range(commands):
            said = os.read(self._hears, 64).decode()
            if not said:
                break
            self.heard.append(said)
            os.write(self._says, b"ack\n\0")
        os.close(self._hears)
        os.close(self._says)

    @property
    def option(self) -> str:
        return f"--perf-control={self.control},{self.answer}"

    def end(self) -> list[str]:
        os.close(self.control)
        self._thread.join()
        os.close(self.answer)
        return self.heard


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder for $MILLPOND_BIN with the suite's program."""
    path = tmp_path / "millpond-p0089-suite"
    places = [entry for entry in sys.path if entry]
    path.write_text(PROGRAM.format(python=sys.executable, path=places))
    path.chmod(0o755)
    monkeypatch.setenv("MILLPOND_BIN", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    yield path


@pytest.mark.more
def test_perf_hears_when_each_window_begins_and_ends(program: Path) -> None:
    perf = Perf(commands=4)
    assert main(["run", *PLACES, *ONE, perf.option]) == Status.OK
    assert perf.end() == ["enable\n", "disable\n"] * 2


@pytest.mark.lengthy
def test_a_perf_that_ends_early_ends_the_run(program: Path, capfd: pytest.CaptureFixture[str]) -> None:
    perf = Perf(commands=2)
    assert main(["run", *PLACES, *ONE, perf.option]) == Status.ENVIRONMENT
    assert perf.end() == ["enable\n", "disable\n"]
    assert "--perf-control" in capfd.readouterr().err


@pytest.mark.more
def test_perf_hears_every_round_of_its_run_whatever_a_store_has(p0089: Use) -> None:
    fake = p0089()
    control, answer = os.pipe()
    words = (*PLACES, *ONE, "--store=st")
    option = f"--perf-control={control},{answer}"
    for more, calls in (((), 2), ((option,), 4), ((option,), 6), ((), 6)):
        assert main(["run", *words, *more]) == Status.OK
        assert len(fake.calls) == calls
    assert fake.inherited == [(), (), *[(control, answer)] * 4]
    assert all(call[-2:] == ("--perf-control", f"{control},{answer}") for call in fake.calls[2:])
    os.close(control)
    os.close(answer)


@pytest.mark.more
def test_perf_does_not_count_callgrind_runs(p0089: Use) -> None:
    fake = p0089(callgrind="==1== Events    : Ir\n==1== Collected : 900\n")
    control, answer = os.pipe()
    option = f"--perf-control={control},{answer}"
    assert main(["run", *PLACES, *ONE, "--counters=simulated", option]) == Status.OK
    assert len(fake.simulated) == 1 and "--perf-control" not in fake.simulated[0]
    os.close(control)
    os.close(answer)


@pytest.mark.parametrize("text", ["", "x", "1,", ",1", "1,2,3", "-1,2", "fd:1,2", "1, 2"])
def test_malformed_descriptors_are_a_usage_error(p0089: Use, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    fake = p0089()
    assert main(["run", *ONE, f"--perf-control={text}"]) == Status.USAGE
    assert not fake.calls and "CTL,ACK" in capsys.readouterr().err


def test_a_closed_descriptor_is_reported_before_anything_runs(p0089: Use, capsys: pytest.CaptureFixture[str]) -> None:
    fake = p0089()
    control, answer = os.pipe()
    os.close(answer)
    assert main(["run", *ONE, f"--perf-control={control},{answer}"]) == Status.ENVIRONMENT
    os.close(control)
    assert not fake.calls and f"descriptor {answer} is not open" in capsys.readouterr().err
