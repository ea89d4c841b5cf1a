# SPDX-License-Identifier: BSL-1.0
"""What the tests of the conductor share: a laboratory of fakes, and the command line run as a user runs it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
FAKE = Path(__file__).parent / "fakes" / "fake_lab.py"
PROGRAMS = ("millpond-record", "millpond-characterise", "millpond-trial")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--seed", type=int, default=20260101, help="seed of the random tests")


@pytest.fixture
def seed(request: pytest.FixtureRequest) -> int:
    """The seed of this run; printed, so that a failure can be repeated."""
    value = int(request.config.getoption("--seed"))
    print(f"--seed {value}")
    return value


class FakeLab:
    """The native programs, faked: a folder for $MILLPOND_BIN whose figures `configure` decides."""

    def __init__(self, folder: Path) -> None:
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

    def calls(self) -> list[list[str]]:
        """The command lines of millpond-trial so far."""
        log = self.bin / "calls.log"
        return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []

    def run(self, *words: str, stdin: bytes | None = None, **extra: Any) -> subprocess.CompletedProcess[bytes]:
        """`millpond WORDS` in a fresh process, in `work`."""
        environment = {
            **os.environ,
            "MILLPOND_BIN": str(self.bin),
            "PYTHONPATH": str(ROOT / "python"),
            "COLUMNS": "160",
        }
        where: dict[str, Any] = {"input": stdin} if stdin is not None else {"stdin": subprocess.DEVNULL}
        return subprocess.run(
            [sys.executable, "-m", "millpond", *words],
            cwd=self.work, env=environment, capture_output=True, check=False, timeout=120, **(where | extra),
        )  # fmt: skip


@pytest.fixture
def lab(tmp_path: Path) -> FakeLab:
    return FakeLab(tmp_path)


@pytest.fixture
def plan_file(lab: FakeLab) -> Callable[..., Path]:
    """Writes a plan with a pool for each of the subsystems named."""

    def write(name: str, *subsystems: str) -> Path:
        routes = [{"subsystems": [s], "pool": s, "strategy": "multipool", "huge_pages": False} for s in subsystems]
        path = lab.work / f"{name}.plan.json"
        program = {"path": "/bin/fake", "build_id": "ab12"}
        path.write_text(json.dumps({"schema": "millpond.plan/1", "program": program, "routes": routes}))
        return path

    return write
