# SPDX-License-Identifier: BSL-1.0
"""Fixtures of the Python tests: fake native programs, and the command line as a user runs it."""

from __future__ import annotations

import contextlib
import io
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from fakes import fake_lab
from fakes.fake_library_suite import FakeSuite
from fakes.fake_p0089_suite import FakeP0089
from library_bench import LIBRARIES, Use

from millpond.cli import main
from millpond.cluster.cluster import Cluster, ClusterChoice, open_cluster
from millpond.rounds import mallocs
from millpond.rounds.mallocs import Malloc
from millpond.system import callgrind, native
from millpond_bench.bench_cli import main as bench_main
from millpond_bench.experiments import contenders
from tiers import is_small

# A shell that starts the tests in the background makes them ignore SIGINT, and so would every program that they start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Examples have no time limit, because the machine may be busy. They are the same in every run, so that only a change of
# the code can fail a test; `--hypothesis-profile explore` draws new ones.
hypothesis.settings.register_profile("millpond", deadline=None, print_blob=True, derandomize=True)
hypothesis.settings.register_profile("explore", deadline=None, print_blob=True)
hypothesis.settings.register_profile("small", hypothesis.settings.get_profile("millpond"), max_examples=15)
hypothesis.settings.load_profile("small" if is_small() else "millpond")

ROOT = Path(__file__).resolve().parents[2]
FAKE = Path(__file__).parent / "fakes" / "fake_lab.py"
PROGRAMS = ("millpond-record", "millpond-references", "millpond-characterise", "millpond-trial", "millpond-probe",
            "millpond-replay", "millpond-trace")  # fmt: skip


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--seed", type=int, default=20260101, help="seed of the random tests")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if hypothesis.is_hypothesis_test(getattr(item, "obj", None)):
            item.add_marker(pytest.mark.scaled)


@pytest.fixture
def seed(request: pytest.FixtureRequest) -> int:
    """The seed of this run; printed, so that a failure can be repeated."""
    value = int(request.config.getoption("--seed"))
    print(f"--seed {value}")
    return value


@dataclass(frozen=True)
class Done:
    """The result of a command line: status, output and messages."""

    status: int
    stdout: str
    stderr: str


class FakeLab:
    """Fake native programs: a folder for $MILLPOND_BIN. `configure` sets their figures."""

    def __init__(self, folder: Path, capture: pytest.CaptureFixture[str]) -> None:
        self._capture = capture
        self._one_call = threading.Lock()  # a call changes sys.argv and the standard streams
        self.bin = folder / "bin"
        self.work = folder / "work"
        self.bin.mkdir()
        self.work.mkdir()
        for name in PROGRAMS:
            path = self.bin / name
            path.write_text(f"#!{sys.executable} -SE\n" + FAKE.read_text(encoding="utf-8"), encoding="utf-8")
            path.chmod(0o755)
        self.configure()

    def configure(self, **config: Any) -> None:
        (self.bin / "fake.json").write_text(json.dumps(config))
        self._mallocs = sorted(config.get("mallocs", {}))

    def contenders(self) -> tuple[list[Malloc], dict[str, str]]:
        """Replaces `mallocs.contenders`: returns the configured mallocs and one absent malloc."""
        return [Malloc(n, Path(f"/lib/lib{n}.so")) for n in self._mallocs], {"absent": "apt install libabsent"}

    def calls(self) -> list[list[str]]:
        """Returns the command lines of millpond-trial so far."""
        log = self.bin / "calls.log"
        return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []

    def native_run(
        self, name: str, arguments: Sequence[str], *, passing: bool = False, **_: object
    ) -> native.ProcessEnd:
        """Replaces `native.run`: calls the fake in this process, a hundred times faster than in its own."""
        finished, _printed = self._call(name, arguments)
        if passing:
            print(finished.said, end="", file=sys.stderr)
        return native.ProcessEnd(finished.status, "" if passing else finished.said)

    def native_answer(self, name: str, arguments: Sequence[str]) -> str:
        """Replaces `native.answer`."""
        finished, printed = self._call(name, arguments)
        if finished.status != 0:
            raise native.failure_of(name, finished)
        return printed

    def _call(self, name: str, arguments: Sequence[str]) -> tuple[native.ProcessEnd, str]:
        native.find(name)
        status = 0
        with (
            self._one_call,
            contextlib.redirect_stderr(io.StringIO()) as said,
            contextlib.redirect_stdout(io.StringIO()) as printed,
        ):
            words = list(sys.argv)
            try:
                fake_lab.main([name, *arguments], self.bin)
            except SystemExit as end:
                status = int(end.code or 0)
            finally:
                sys.argv = words
        return native.ProcessEnd(status, said.getvalue()), printed.getvalue()

    def run(self, *words: str) -> Done:
        """Runs `millpond WORDS` and the fakes in this process; standard input is empty."""
        return self._run(main, words)

    def bench(self, *words: str) -> Done:
        """Runs `millpond-bench WORDS` in the same way."""
        return self._run(bench_main, words)

    def _run(self, command: Callable[[list[str]], int], words: Sequence[str]) -> Done:
        handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
        self._capture.readouterr()
        try:
            status = command(list(words))
        finally:
            for number, handler in handlers.items():
                signal.signal(number, handler)
        said = self._capture.readouterr()
        return Done(int(status), said.out, said.err)

    def run_apart(self, *words: str, stdin: bytes | None = None, stdout: int = subprocess.PIPE) -> Done:
        """Runs `millpond WORDS` in a new process, for verbs that end or replace it. A signal's status is negative."""
        done = subprocess.run(
            [sys.executable, "-m", "millpond", *words],
            cwd=self.work,
            env={**os.environ, "PYTHONPATH": str(ROOT / "python")},
            stdin=subprocess.DEVNULL if stdin is None else None,
            input=stdin,
            stdout=stdout,
            stderr=subprocess.PIPE,
            check=False,
            timeout=300,
        )
        return Done(done.returncode, (done.stdout or b"").decode(), done.stderr.decode())


@pytest.fixture
def lab(tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> FakeLab:
    result = FakeLab(tmp_path, capfd)
    monkeypatch.setenv("MILLPOND_BIN", str(result.bin))
    monkeypatch.setenv("COLUMNS", "160")
    monkeypatch.setattr(native, "run", result.native_run)
    monkeypatch.setattr(native, "answer", result.native_answer)
    monkeypatch.setattr(mallocs, "contenders", result.contenders)
    monkeypatch.chdir(result.work)
    return result


@pytest.fixture
def plan_file(lab: FakeLab) -> Callable[..., Path]:
    """Writes a plan with a pool for each of the named subsystems."""

    def write(name: str, *subsystems: str) -> Path:
        routes = [{"subsystems": [s], "pool": s, "strategy": "multipool", "huge_pages": False} for s in subsystems]
        path = lab.work / f"{name}.plan.json"
        program = {"path": "/bin/fake", "build_id": "ab12"}
        path.write_text(json.dumps({"schema": "millpond.plan/1", "program": program, "routes": routes}))
        return path

    return write


@pytest.fixture
def libraries(tmp_path: Path) -> Path:
    folder = tmp_path / "lib"
    folder.mkdir()
    for name in LIBRARIES:
        (folder / name).write_bytes(b"\x7fELF")
    return folder


@pytest.fixture
def use(libraries: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Use:
    """Replaces the real program by a fake with these figures."""

    def make(**config: Any) -> FakeSuite:
        fake = FakeSuite(**config)
        monkeypatch.setattr(native, "capture", fake.capture)
        monkeypatch.setattr(native, "find", lambda name: tmp_path / name)
        monkeypatch.setattr(mallocs, "library_folders", lambda: [libraries])
        monkeypatch.setattr(contenders, "packages_of", lambda paths: dict.fromkeys(paths, ("package", "1.0")))
        monkeypatch.setattr(callgrind, "find_valgrind", lambda: "valgrind")
        monkeypatch.chdir(tmp_path)
        return fake

    return make


@pytest.fixture
def p0089(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., FakeP0089]:
    """Replaces the program of P0089R0's experiments by a fake."""

    def make(**config: Any) -> FakeP0089:
        fake = FakeP0089(**config)
        fake.replace_programs(monkeypatch, tmp_path)
        return fake

    return make


@pytest.fixture(scope="module")
def shared_cluster() -> Iterator[Cluster]:
    with open_cluster(ClusterChoice(workers=2)) as found:
        yield found


@pytest.fixture
def cluster(shared_cluster: Cluster) -> Cluster:
    """A cluster of two worker processes, which the tests of a file share. One that was killed has come again."""
    shared_cluster.client.wait_for_workers(2)
    return shared_cluster


@pytest.fixture
def interruptible() -> Iterator[None]:
    """SIGINT raises KeyboardInterrupt during the test, whatever the process was started to do with it."""
    usual = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, usual)
