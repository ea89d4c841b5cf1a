# SPDX-License-Identifier: BSL-1.0
"""Merges recorded traces: figures equal the sums of single characterisations, and broken files are named."""

from __future__ import annotations

import itertools
import json
import random
import shutil
from pathlib import Path
from typing import Any

import forked_verbs
import pytest
from reading_harness import BIN, Done, call

COUNTS = ("events", "allocations", "frees", "reallocations", "bytes", "peak_live_bytes", "peak_live_objects",
          "end_live_bytes")  # fmt: skip
# Programs with their arguments; the seeds are drawn.
PROGRAMS = (
    (str(BIN / "heap_churn"), "--events", "3000", "--live", "200", "--paths", "9", "--seed"),
    (str(BIN / "heap_churn"), "--events", "2000", "--live", "900", "--threads", "3", "--seed"),
    (str(BIN / "call_trees"), "--shape", "3", "--rounds", "1", "--seed"),
    (str(BIN / "call_trees"), "--shape", "4", "--rounds", "1", "--seed"),
)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> dict[Path, dict[str, Any]]:
    """Returns traces of several programs, each with its own characterisation."""
    dice = random.Random(int(request.config.getoption("--seed")))
    folder = tmp_path_factory.mktemp("traces")
    found = {}
    for number in range(10):
        trace = folder / f"{number}.mpt"
        program = [*PROGRAMS[number % len(PROGRAMS)], str(dice.randint(1, 1000))]
        done = call([str(BIN / "millpond-record"), "-o", str(trace), "--", *program], folder)
        assert done.status == 0 and trace.exists(), done
        assert call([str(BIN / "millpond-characterise"), "--json", "own.json", str(trace)], folder).status == 0
        found[trace] = json.loads((folder / "own.json").read_text())
    return found


def merged(folder: Path, *words: object) -> tuple[dict[str, Any], Done]:
    """Merges traces in a fork of this process; returns the document."""
    out = folder / "fleet.json"
    out.unlink(missing_ok=True)
    done = forked_verbs.millpond(folder, "trace", "show", "--merge", "-o", str(out), *map(str, words))
    return json.loads(out.read_text()) if out.exists() else {}, done


def uses_of(fleet: dict[str, Any]) -> dict[tuple[str, str], dict[str, int]]:
    """Returns the counts of each build (an empty name) and of each of its subsystems."""
    return {
        (build["build_id"], name): {count: use[count] for count in COUNTS}
        for build in fleet["builds"]
        for name, use in (("", build["whole"]), *((s["name"], s) for s in build["subsystems"]))
    }


def added(uses: list[tuple[tuple[str, str], dict[str, int]]]) -> dict[tuple[str, str], dict[str, int]]:
    sums: dict[tuple[str, str], dict[str, int]] = {}
    for key, use in uses:
        own = sums.setdefault(key, dict.fromkeys(COUNTS, 0))
        for count in COUNTS:
            own[count] += use[count]
    return sums


def single_uses(own: dict[str, Any]) -> list[tuple[tuple[str, str], dict[str, int]]]:
    build = own["process"]["build_id"]
    return [((build, ""), own["trace"]), *(((build, s["name"]), s) for s in own["subsystems"])]


def test_figures_are_the_sums_of_single_ones(recorded: dict[Path, dict[str, Any]], tmp_path: Path) -> None:
    fleet, done = merged(tmp_path, *recorded)
    assert done.status == 0, done
    assert uses_of(fleet) == added([use for own in recorded.values() for use in single_uses(own)])
    assert len({build["build_id"] for build in fleet["builds"]}) == 2 and len(done.stdout.splitlines()) <= 40
    for build in fleet["builds"]:
        own = [one for one in recorded.values() if one["process"]["build_id"] == build["build_id"]]
        assert len(build["processes"]) == len(own)
        for found in build["subsystems"]:
            each = [s for one in own for s in one["subsystems"] if s["name"] == found["name"]]
            for part, key in (("sizes", "bytes"), ("lifetimes", "below_ns_log2")):
                bins = [b for s in each for b in (s["sizes"] if part == "sizes" else s["lifetimes"]["histogram"])]
                sums = {b[key]: sum(other["count"] for other in bins if other[key] == b[key]) for b in bins}
                assert {b[key]: b["count"] for b in found[part]} == sums, (found["name"], part)


def test_merges_of_random_parts_add_up(recorded: dict[Path, dict[str, Any]], tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)
    order = dice.sample(list(recorded), len(recorded))
    cuts = [0, *sorted(dice.sample(range(1, len(order)), 2)), len(order)]
    parts = [order[first:past] for first, past in itertools.pairwise(cuts)]
    whole, _ = merged(tmp_path, *recorded)
    found = [use for part in parts for use in uses_of(merged(tmp_path, *part)[0]).items()]
    assert added(found) == uses_of(whole)
    shuffled, done = merged(tmp_path, *order)
    assert done.status == 0, done
    distributions = [
        {b["build_id"]: b["whole"]["distributions"] for b in fleet["builds"]} for fleet in (whole, shuffled)
    ]
    assert distributions[0] == distributions[1]


@pytest.fixture
def broken(recorded: dict[Path, dict[str, Any]], tmp_path: Path) -> Path:
    """Returns a folder with two whole traces, one that is cut, one that is empty and one that is no trace."""
    folder = tmp_path / "broken"
    folder.mkdir()
    for name, trace in zip(("a.mpt", "b.mpt", "cut.mpt"), recorded, strict=False):
        shutil.copy(trace, folder / name)
    content = (folder / "cut.mpt").read_bytes()
    (folder / "cut.mpt").write_bytes(content[: len(content) * 9 // 10])
    (folder / "empty.mpt").touch()
    (folder / "foreign.mpt").write_bytes(b"#!/bin/sh\n" * 99)
    return folder


def test_broken_traces_are_refused_by_name(broken: Path, tmp_path: Path) -> None:
    fleet, done = merged(tmp_path, f"{broken}/*.mpt")
    assert (fleet, done.status) == ({}, 3) and "3 of 5 traces cannot be merged" in done.stderr
    assert all(f"{broken}/{name}.mpt" in done.stderr for name in ("cut", "empty", "foreign"))
    assert len(done.stderr.splitlines()) == 1 and "a.mpt is" not in done.stderr
    for name in ("foreign.mpt", "absent.mpt", "empty.mpt"):
        _, alone = merged(tmp_path, broken / name, "--damaged")
        assert alone.status == 3 and f"{broken}/{name}" in alone.stderr, alone


def test_damaged_leaves_out_by_name_what_cannot_be_read(broken: Path, tmp_path: Path) -> None:
    fleet, done = merged(tmp_path, f"{broken}/*.mpt", "--damaged")
    assert done.status == 0, done
    assert [Path(one["trace"]).name for one in fleet["unusable"]] == ["empty.mpt", "foreign.mpt"]
    processes = {Path(p["trace"]).name: p for build in fleet["builds"] for p in build["processes"]}
    assert list(processes) and set(processes) == {"a.mpt", "b.mpt", "cut.mpt"}
    assert "damaged" in " ".join(processes["cut.mpt"]["limits"]) and "limits" not in processes["a.mpt"]
    for name in ("cut.mpt", "empty.mpt", "foreign.mpt"):
        assert name in done.stderr and name in done.stdout
