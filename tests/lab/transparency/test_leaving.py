# SPDX-License-Identifier: BSL-1.0
"""Programs that exit inside a call: objects alive at that time have not outlived the unfinished call."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from harness import BIN, PROGRAMS

LEAVING = ("exit", "_exit", "quick_exit", "abort", "term", "kill", "exec", "nested", "other_thread", "pthread_exit",
           "running")  # fmt: skip
RECORD, CHARACTERISE = str(BIN / "millpond-record"), str(BIN / "millpond-characterise")


def run(*words: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*map(str, words)], capture_output=True, text=True, check=False, timeout=300)


def recorded(how: str, trace: Path, *options: object) -> Path:
    run(RECORD, *options, "-o", trace, "--", PROGRAMS / "leaving", how)
    return trace


def characterised(*words: object) -> dict[str, Any]:
    done = run(CHARACTERISE, *words)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def scope(found: dict[str, Any], function: str) -> dict[str, Any]:
    """Returns the legality of a function's scope for the objects that it allocates itself."""
    scopes = [s for one in found["subsystems"] if one["name"] in (function, "app") for s in one["legality"]]
    return next(s for s in scopes if s["name"] == function)


def observed(how: str, folder: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Returns the characterisations without and with a second recording that observes the calls."""
    first, listed = recorded(how, folder / "first.mpt"), folder / "scopes"
    before = characterised("--scopes-out", listed, first)
    second = recorded(how, folder / "second.mpt", "--scopes", listed)
    return before, characterised("--observed", second, first)


@pytest.mark.parametrize("how", LEAVING)
def test_objects_alive_in_an_unfinished_call_did_not_outlive_it(how: str, tmp_path: Path) -> None:
    before, after = observed(how, tmp_path)
    assert scope(before, "app::work")["outliving"] == 0
    one = scope(after, "app::work")
    if how == "pthread_exit":  # unwinds the stack, for which the C library loads a library and keeps some blocks
        assert one["outliving"] == 0
        assert one["alive_at_end"] < 50
        return
    assert scope(before, "app::work")["legality"] == "not disproved"
    assert (one["legality"], one["outliving"], one["alive_at_end"]) == ("legal", 0, 0)
    assert one["running_at_end"] >= 1000
    assert scope(before, "app::work")["running_at_end"] >= 1000


@pytest.mark.parametrize(
    ("how", "function", "legality"),
    [
        ("", "app::work", "legal"),
        ("kept", "app::load", "alive at the end"),
        ("later", "app::load", "illegal"),
        ("touched", "app::load", "alive at the end"),  # a trace of allocations has no reads
    ],
)
def test_programs_that_return_have_three_states(how: str, function: str, legality: str, tmp_path: Path) -> None:
    _, after = observed(how, tmp_path)
    one = scope(after, function)
    assert one["legality"] == legality
    assert one["alive_at_end"] == (500 if legality == "alive at the end" else 0)
    assert bool(one["witnesses"]) == (legality != "legal")


@pytest.mark.parametrize(("how", "legality"), [("kept", "alive at the end"), ("touched", "illegal")])
def test_references_show_objects_touched_after_their_scope(how: str, legality: str, tmp_path: Path) -> None:
    trace = tmp_path / "references.mpt"
    done = run(BIN / "millpond-references", "-o", trace, "--", PROGRAMS / "leaving", how)
    if done.returncode == 4:
        pytest.skip(f"references cannot be captured here: {done.stderr.strip()}")
    one = scope(characterised(trace), "app::load")
    assert one["legality"] == legality
    if how == "touched":
        assert one["outliving"] == 500
        assert one["witnesses"][0]["ended"] == "accessed after the scope ended, and never freed"


def test_a_trace_that_was_cut_decides_nothing_and_says_partial(tmp_path: Path) -> None:
    trace = recorded("much", tmp_path / "cut.mpt", "--max-trace", "300000")
    found = characterised(trace)
    assert "--max-trace" in found["trace"]["partial"]
    assert {s["legality"] for one in found["subsystems"] for s in one["legality"]} == {"not decided"}
