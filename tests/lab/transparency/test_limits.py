# SPDX-License-Identifier: BSL-1.0
"""Every verb under a limit on address space gives its result or one sentence, and leaves no half-written file.

Without memory, the libraries that read the store may end the process or wait endlessly. So the tests try limits one by
one, from the first at which a verb starts to the first at which it has enough.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from harness import BIN, LIMIT_SECONDS, REPOSITORY

PROGRAM = ("--", "od", "-c", "/etc/passwd")
VERBS = {
    "record": ("trace", "record", "-o", "new.mpt", *PROGRAM),
    "characterise": ("trace", "show", "-o", "new.json", "trace.mpt"),
    "replay": ("trace", "replay", "--rounds=1", "--budget=1", "--store=kept", "-o", "new.json", "trace.mpt"),
    "synthesize": ("synthesize", "trace.mpt", "-o", "new.hpp"),
    "advise": ("advise", "--budget=1", "--store=kept", "-o", "new.json", "-o", "new.html", *PROGRAM),
    "page": ("report", "a", "-o", "new.html"),
    "document": ("report", "a", "-o", "new.json"),
    "compare": ("compare", "-o", "new.json", "a", "b"),
    "compare builds": ("compare", "--after", "od", "--store=kept", "-o", "new.json", *PROGRAM),
    "simulate": ("trace", "simulate", "-o", "new.html", "references.mpt"),
    "litter": ("try", "--litter", *PROGRAM),
}


def called(words: tuple[str, ...], folder: Path, mebibytes: int | None = None) -> subprocess.CompletedProcess[str]:
    """Runs a verb in a folder under a limit on address space."""

    def limit() -> None:
        if mebibytes is not None:
            resource.setrlimit(resource.RLIMIT_AS, (mebibytes << 20, resource.RLIM_INFINITY))

    where = {"MILLPOND_BIN": str(BIN), "PYTHONPATH": str(REPOSITORY / "python")}
    return subprocess.run(
        [sys.executable, "-m", "millpond", *words],
        check=False,
        cwd=folder,
        env={**os.environ, **where},
        preexec_fn=limit,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=LIMIT_SECONDS,
    )


@pytest.fixture(scope="module")
def ready(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two stores, a trace, and, where Valgrind is installed, a trace with references."""
    folder = tmp_path_factory.mktemp("ready")
    for store in ("a", "b"):
        assert called(("advise", "--budget=1", f"--store={store}", *PROGRAM), folder).returncode == 0
    assert called(("trace", "record", "-o", "trace.mpt", *PROGRAM), folder).returncode == 0
    if shutil.which("valgrind") is not None:
        assert (
            called(
                ("trace", "record", "--with", "references", "-o", "references.mpt", "--", "/bin/true"), folder
            ).returncode
            == 0
        )
    return folder


def ends_well(verb: str, mebibytes: int, ready: Path, work: Path) -> None:
    if verb == "simulate" and not (ready / "references.mpt").exists():
        pytest.skip("references are recorded by Valgrind, which is not installed")
    for each in ready.iterdir():
        (work / each.name).symlink_to(each)
    before = {each.name for each in work.iterdir()}
    ended = called(VERBS[verb], work, mebibytes)
    lines = [line for line in ended.stderr.splitlines() if line]
    assert ended.returncode in (0, 4), ended.stderr
    assert all(line.startswith("millpond: ") for line in lines), ended.stderr
    if ended.returncode != 0:
        assert lines[-1].startswith(f"millpond: out of memory: this process may have {(mebibytes << 20) / 1e6:.0f} MB")
    for name in {each.name for each in work.iterdir()} - before - {"kept"}:
        text = (work / name).read_bytes()
        assert not name.startswith("."), name
        assert not name.endswith(".json") or json.loads(text)
        assert not name.endswith(".html") or text.rstrip().endswith(b"</html>")
    if ended.returncode == 0 and (new := [word.rpartition("=")[2] for word in VERBS[verb] if "new." in word]):
        assert all((work / name).exists() for name in new)


@pytest.mark.slow
@pytest.mark.parametrize("mebibytes", [200, 400, 800])
@pytest.mark.parametrize("verb", VERBS)
def test_limits_end_in_results_or_a_sentence(verb: str, mebibytes: int, ready: Path, tmp_path: Path) -> None:
    ends_well(verb, mebibytes, ready, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("mebibytes", [260, 340, 420, 500, 580])
@pytest.mark.parametrize("verb", ["page", "compare"])
def test_limits_in_between_end_the_same_way(verb: str, mebibytes: int, ready: Path, tmp_path: Path) -> None:
    ends_well(verb, mebibytes, ready, tmp_path)


def test_recorded_programs_that_die_under_a_limit_are_explained(tmp_path: Path) -> None:
    ended = called(
        ("trace", "record", "-o", "new.mpt", "--", sys.executable, "-c", "import os; os.abort()"), tmp_path, 200
    )
    assert ended.returncode == -signal.SIGABRT
    assert ended.stderr.splitlines()[-1] == (
        "millpond: the program died of SIGABRT; it may have 209 MB of addresses (ulimit -v), and recording takes some"
        " of them: allow more"
    )
