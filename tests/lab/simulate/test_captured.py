# SPDX-License-Identifier: BSL-1.0
"""Simulators on our recordings, and inside a program while it is captured."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[3]
BIN = Path(os.environ.get("MILLPOND_BIN") or ROOT / "build" / "release" / "bin").absolute()
# A cache that holds the whole program: its misses are its lines.
DESCRIPTIONS = ("--simulate", "direct:line=64,size=16K/256M", "--simulate", "distances:line=4K")
# glibc draws a number at the start and compares it on some paths: two runs may differ by a few references.
RUNS_DIFFER = 16


def run(*words: str | Path) -> subprocess.CompletedProcess[str]:
    surroundings = {"PATH": os.environ["PATH"], "LC_ALL": "C"}
    return subprocess.run(
        ["setarch", "-R", *map(str, words)], env=surroundings, capture_output=True, text=True, check=False, timeout=240
    )


def captured(trace: Path, *options: str) -> Path:
    done = run(BIN / "millpond-references", *options, "-o", trace, "--", "od", "-An", "-c", "/dev/null")
    if done.returncode == 4 and "install the package valgrind" in done.stderr:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stderr
    return trace


def simulated(trace: Path, *options: str) -> dict[str, Any]:
    done = run(BIN / "millpond-simulate", "--json", "-", *options, trace)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def values(document: dict[str, Any]) -> dict[str, int]:
    names = ("instructions", "allocator_instructions", "references", "loads", "stores")
    inputs = {name: document["input"][name] for name in names}
    rows = {
        f"{one['description']} {row['metric']} {row.get('cache_bytes')}": row["value"]
        for one in document["simulators"]
        for row in one["metrics"]
    }
    return inputs | rows


def test_counts_inside_the_program_equal_those_of_its_recording(tmp_path: Path) -> None:
    recorded = simulated(captured(tmp_path / "recorded.mpt"), *DESCRIPTIONS)
    inside = simulated(captured(tmp_path / "inside.mpt", *DESCRIPTIONS))
    assert (recorded["input"]["format"], inside["input"]["format"]) == ("recording", "counts")
    before, after = values(recorded), values(inside)
    assert before.keys() == after.keys()
    assert len(before) > 6
    for name, value in before.items():
        if "bytes" not in name:
            assert abs(after[name] - value) <= RUNS_DIFFER, name
    assert [len(one.get("curve", ())) > 0 for one in inside["simulators"]] == [False, True]


def test_system_calls_count_only_when_asked(tmp_path: Path) -> None:
    trace = captured(tmp_path / "t.mpt")
    without, with_them = (simulated(trace, *more)["input"]["references"] for more in ((), ("--with-system",)))
    assert with_them > without


def test_wrong_descriptions_are_refused(tmp_path: Path) -> None:
    captured(tmp_path / "t.mpt")
    done = run(BIN / "millpond-references", "--simulate", "direct:size=3", "-o", tmp_path / "x.mpt", "--", "true")
    assert done.returncode != 0
    assert "a size is no multiple of the line" in done.stderr
    assert not list(tmp_path.glob("x.mpt*"))


def test_a_sample_estimates_the_whole_with_its_error(tmp_path: Path) -> None:
    whole = simulated(captured(tmp_path / "whole.mpt"), "--simulate", "direct:line=64,size=16K")
    assert "bursts" not in whole["input"]
    sampled = simulated(
        captured(tmp_path / "sampled.mpt", "--sample", "2000/8000"), "--simulate", "direct:line=64,size=16K"
    )
    about = sampled["input"]
    assert about["bursts"] > 10
    # References after the last burst are unknown.
    assert 0 <= whole["input"]["instructions"] - about["instructions"] - about["instructions_not_captured"] <= 8000
    [row] = [row for row in sampled["simulators"][0]["metrics"] if row["metric"] == "misses"]
    told = row["whole"]
    assert told["low"] <= told["value"] <= told["high"]
    assert told["with_empty_caches"] >= told["value"]


def test_counts_inside_a_program_are_not_sampled(tmp_path: Path) -> None:
    done = run(
        BIN / "millpond-references", "--sample", "1/10", "--simulate", "direct:size=16K", "-o", tmp_path / "x", "--",
        "true",
    )  # fmt: skip
    assert done.returncode == 2
    assert "--sample" in done.stderr
