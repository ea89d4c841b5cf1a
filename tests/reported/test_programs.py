# SPDX-License-Identifier: BSL-1.0
"""Programs made after bug reports of allocators, heap profilers, tracers and unwinders, run bare and under our tools.

A file of this folder is one program or script. Its first comment names the reports and the expected behaviour:

    Report: PROJECT NUMBER, ...       the trackers' own numbers
    Situation: ...                    what the program does
    Holds: ...                        the promise, in addition to equal output and status in all modes
    Build: COMMAND                    in the test's folder, with $CC, $CXX and $SOURCE; may be repeated
    Run: COMMAND                      ./program, or the script by sh
    Library: yes                      the program uses our headers: it runs bare only
    Modes: bare, record, ...          the modes in which it runs (default: all)
    Tier: long                        it runs only in `make test-all`
    Owner: NAME                       a subsystem that the recording must contain; may be repeated
    On the stack: NAME                a function that must be among the frames of the recording
    Live at the end: N                at most N blocks are alive when the trace ends
    Allocations: N of BYTES, ...      exactly N allocations of each size

Modes: bare; record (and the trace is whole: no event is lost); plan (under the plan of all subsystems of that
recording); malloc (on our malloc); check (on our malloc with MILLPOND_CHECK=1); classic (on first_fit); litter (on a
littered heap).
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lab" / "transparency"))

from trace_reading import ALLOCATE, REALLOC_ALLOCATE, read

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BIN = Path(os.environ.get("MILLPOND_BIN") or ROOT / "build" / "release" / "bin").absolute()
LIBRARIES = BIN.parent / "lib" / "millpond"
LIMIT_SECONDS = 120
MODES = ("bare", "record", "plan", "malloc", "check", "classic", "litter")
FIELDS = (
    "Report", "Situation", "Holds", "Build", "Run", "Library", "Modes", "Tier",
    "Owner", "On the stack", "Live at the end", "Allocations",
)  # fmt: skip
FIELD = re.compile(rf"^(?://|#) ({'|'.join(FIELDS)}): (.*)")
DEFAULT_BUILD = {
    ".c": "$CC -O1 -g -pthread $SOURCE -o program",
    ".cpp": "$CXX -O1 -g -std=c++20 -pthread $SOURCE -o program",
    ".sh": "",
    ".rs": "rustc -O -g -o program $SOURCE",
}


@dataclass(frozen=True)
class Report:
    """A program of this folder, and the fields of its first comment."""

    path: Path
    fields: dict[str, list[str]] = field(default_factory=dict)

    def one(self, name: str, default: str = "") -> str:
        return self.fields.get(name, [default])[0]

    def modes(self) -> tuple[str, ...]:
        if self.one("Library"):
            return ("bare",)
        return tuple(mode.strip() for mode in self.one("Modes", ", ".join(MODES)).split(","))


def read_report(path: Path) -> Report:
    """Reads the first comment of a program; a field continues in lines that are indented by two more."""
    fields: dict[str, list[str]] = {}
    last: list[str] = []
    for line in path.read_text().splitlines():
        if match := FIELD.match(line):
            last = fields.setdefault(match[1], [])
            last.append(match[2])
        elif more := re.match("(?://|#)   (.*)", line):
            last[-1] += f" {more[1]}"
        elif not line.startswith(("//", "#!", "# ")):
            break
    return Report(path, fields)


REPORTS = [read_report(path) for path in sorted(HERE.iterdir()) if path.suffix in DEFAULT_BUILD]


@dataclass(frozen=True)
class RunResult:
    """The result of a run. A negative status is the signal that ended it."""

    status: int
    stdout: bytes
    stderr: bytes


def run(words: list[str], folder: Path, **variables: str) -> RunResult:
    """Runs a command in `folder`."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    environment = {**kept, "LC_ALL": "C", "CC": "cc", "CXX": "c++", **variables}
    done = subprocess.run(
        words,
        cwd=folder,
        env=environment,
        capture_output=True,
        timeout=LIMIT_SECONDS,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    return RunResult(done.returncode, done.stdout, done.stderr)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Report], Path]:
    """Returns the folder of a report's program, which is built once; skips if its compiler is missing."""
    known: dict[str, Path] = {}

    def build(report: Report) -> Path:
        if report.path.name in known:
            return known[report.path.name]
        folder = tmp_path_factory.mktemp(report.path.stem)
        for command in report.fields.get("Build", [DEFAULT_BUILD[report.path.suffix]]):
            if command.startswith("rustc") and shutil.which("rustc") is None:
                pytest.skip("rustc is not installed")
            extra = f" -I'{ROOT}/include' '{ROOT}/src/os/posix.cpp'" if report.one("Library") else ""
            made = run(["sh", "-c", command + extra], folder, SOURCE=str(report.path))
            assert made.status == 0, made.stderr.decode(errors="replace")
        if report.path.suffix == ".sh":
            shutil.copy(report.path, folder / "script.sh")
        known[report.path.name] = folder
        return folder

    return build


def check_trace(report: Report, trace: Path, folder: Path) -> None:
    """Checks a recording against its report."""
    whole = read(trace)
    assert whole.process and whole.end
    assert whole.end_number(4) == 0, "events were lost"
    sizes: Counter[int] = Counter()
    alive: set[int] = set()
    for event in whole.events():
        if event.operation in (ALLOCATE, REALLOC_ALLOCATE):
            sizes[event.bytes] += 1
            alive.add(event.address)
        else:
            alive.discard(event.address)
    if limit := report.one("Live at the end"):
        assert len(alive) <= int(limit)
    for number, size in re.findall(r"(\d+) of (\d+)", report.one("Allocations")):
        assert sizes[int(size)] == int(number), f"allocations of {size} bytes"
    names = report.fields.get("Owner", []) + report.fields.get("On the stack", [])
    if not names:
        return
    told = run([str(BIN / "millpond-characterise"), "--json", "c.json", "--contexts", "contexts", str(trace)], folder)
    assert told.status == 0, told.stderr.decode(errors="replace")
    owners = [one["name"] for one in json.loads((folder / "c.json").read_text())["subsystems"]]
    for name in report.fields.get("Owner", []):
        assert name in owners, f"{name} owns nothing: {owners}"
    contexts = (folder / "contexts").read_text(errors="replace")
    for name in report.fields.get("On the stack", []):
        assert name in contexts, f"{name} is on no stack"


def run_in_mode(report: Report, mode: str, words: list[str], place: Path) -> RunResult:
    """Runs the program in a mode, in its copies `recorded` and `tried` in `place`."""
    recorded, tried = place / "recorded", place / "tried"
    if mode == "bare":
        return run(words, tried)
    if mode in ("record", "plan"):
        ended = run([str(BIN / "millpond-record"), "-o", "trace.mpt", "--", *words], recorded)
        if mode == "record":
            if report.path.suffix != ".sh":
                check_trace(report, recorded / "trace.mpt", recorded)
            return ended
        run([str(BIN / "millpond-characterise"), "--json", "c.json", "--plan-out", "plans", "trace.mpt"], recorded)
        plan = recorded / "plans" / "all.plan.json"
        if not plan.exists():
            pytest.skip("there is no candidate plan for this program")
        return run([str(BIN / "millpond-run"), "--plan", str(plan), "--", *words], tried)
    if mode == "litter":
        return run([str(BIN / "millpond-litter"), "--blocks", "2000", "--", *words], tried)
    name = "first_fit" if mode == "classic" else "multipool"
    variables = {"MILLPOND_CHECK": "1"} if mode == "check" else {}
    return run(words, tried, LD_PRELOAD=str(LIBRARIES / f"libmillpond-{name}.so"), **variables)


@pytest.mark.parametrize("report", REPORTS, ids=lambda report: report.path.stem)
def test_report_names_its_source(report: Report) -> None:
    assert re.fullmatch(r"[\w.-]+/[\w.-]+ \d+(, [\w.-]+/[\w.-]+ \d+)*", report.one("Report")), report.one("Report")
    assert report.one("Situation") and report.one("Holds")
    assert set(report.modes()) <= set(MODES)


# Most reports come from a program that ran on another malloc.
USUAL_MODES = ("malloc",)


def tier(report: Report, mode: str) -> list[pytest.MarkDecorator]:
    if report.one("Tier") == "long":
        return [pytest.mark.slow]
    return [] if mode in USUAL_MODES else [pytest.mark.more]


CASES = [
    pytest.param(report, mode, marks=tier(report, mode), id=f"{report.path.stem}-{mode}")
    for report in REPORTS
    for mode in report.modes()
]


@pytest.mark.parametrize(("report", "mode"), CASES)
def test_runs_as_bare(report: Report, mode: str, built: Callable[[Report], Path], tmp_path: Path) -> None:
    words = ["sh", "./script.sh"] if report.path.suffix == ".sh" else report.one("Run", "./program").split()
    for place in ("bare", "recorded", "tried"):
        shutil.copytree(built(report), tmp_path / place)
    bare = run(words, tmp_path / "bare")
    assert bare.status == 0, (bare.stdout, bare.stderr)
    ended = run_in_mode(report, mode, words, tmp_path)
    assert (ended.status, ended.stdout) == (bare.status, bare.stdout), ended.stderr.decode(errors="replace")
