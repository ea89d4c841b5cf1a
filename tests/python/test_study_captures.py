# SPDX-License-Identifier: BSL-1.0
"""Captures of the study of 1993 simulate in every round what statements ask for, and no more."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from millpond.cells.cell import Cell, Strategy, Workload
from millpond.rounds.layouts import Layout
from millpond.rounds.real_program import RealProgram
from millpond_bench.claims.claims import load
from millpond_bench.programs import grunwald1993_captures
from millpond_bench.programs.grunwald1993_captures import CACHES_KIBIBYTES, LINES_BYTES
from millpond_bench.programs.page_faults import MEMORIES_KIBIBYTES
from millpond_bench.runs.capture_run import CaptureSpec
from millpond_bench.suites.grunwald1993_locality import ABLATION, CACHES, CLASSES, MODEL, PAGING, PROGRAMS, TAGS, TIME

pytestmark = pytest.mark.more  # tests the bench of published experiments, not the product

BY_ID = {claim.id: claim for claim in load("grunwald1993.toml")}


def test_contents_are_simulated_where_a_statement_asks() -> None:
    def has_contents(allocator: str, given: str) -> bool:
        cell = Cell(Workload("capture"), Strategy(allocator), (("program", "MAKE"), ("input", given)))
        return any(one.startswith("contents:") for one in grunwald1993_captures.descriptions_of(cell))

    asking = BY_ID["g.sizes.tags"]
    assert all(has_contents(TIME.data.canonical(name), "measured") for name in asking.of)
    assert not has_contents("first_fit", "trained") and not has_contents("gnu_local", "measured")


# The values of a capture by the simulator that counts them.
SIMULATED = {
    "direct": [f"misses_{line}_{size}" for line in LINES_BYTES for size in CACHES_KIBIBYTES],
    "attributed": ["cold_misses", "allocator_misses", "indirect_misses"],
    "levels": ["level_1_misses", "level_2_misses", "model_seconds"],
    "distances": ["pages", "fault_slope", *(f"faults_{size}" for size in MEMORIES_KIBIBYTES)],
    "contents": ["fetched_bytes", "allocator_bytes"],
}


def values_of(allocator: str, misses: float, program: str = "MAKE", number: int = 1) -> dict[str, float]:
    """A capture's values: those of every capture, and those of the simulators that the allocator's captures have."""
    cell = Cell(Workload("capture"), Strategy(allocator), (("program", program), ("input", "measured")))
    values = dict.fromkeys(("instructions_executed", "allocator_instructions", "references", "objects_allocated",
                            "objects_freed", "requested_bytes", "heap_bytes", "lost_bytes", "granted_bytes", "blocks",
                            "cpu_seconds"), 1e6)  # fmt: skip
    for description in grunwald1993_captures.descriptions_of(cell, number):
        kind, _, geometry = description.partition(":")
        values |= {name: misses for name in SIMULATED.get(kind, ())
                   if kind != "direct" or name.startswith(f"misses_{geometry[5:7]}_")}  # fmt: skip
    return values


@pytest.mark.parametrize("spec", [PAGING, TIME, CACHES, MODEL], ids=lambda spec: spec.name)
def test_every_round_has_what_statements_about_rounds_ask(spec: CaptureSpec) -> None:
    """Later rounds leave out simulators whose counts only tables and figures have."""
    asking = [each for each in BY_ID.values()
              if each.experiment == spec.name and not each.exact and each.kind != "untestable"]  # fmt: skip
    assert asking
    for claim in asking:
        metric = claim.metric or spec.data.figure.metric
        for allocator in map(spec.data.canonical, (*claim.of, *claim.against)):
            for program in claim.where.get("program", PROGRAMS):
                points = list(spec.unfold(values_of(allocator, 2e4, str(program), number=2), None))
                assert any(metric in values for _, values in points), (claim.id, allocator, program)


def test_only_captures_with_levels_are_read_with_latencies(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The simulator refuses a model of a capture that has no counts of levels."""
    asked: dict[str, bool] = {}

    def values(_trace: Path, latencies: Path | None, told: str) -> dict[str, float]:
        asked[told] = latencies is not None
        return {"misses_32_64": 1.0}

    ended = subprocess.CompletedProcess([], 0, stderr=b"")
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: ended)
    monkeypatch.setattr(grunwald1993_captures, "_values", values)
    monkeypatch.setattr(grunwald1993_captures, "layout_of", lambda name: Layout(name, None))
    monkeypatch.setattr(grunwald1993_captures, "statistics_of", lambda _, __: allocator)
    monkeypatch.setattr(grunwald1993_captures, "program_of", lambda *_: RealProgram("make", ("make",)))
    monkeypatch.setattr(grunwald1993_captures, "require_program", str)
    monkeypatch.setattr(grunwald1993_captures.native, "find", Path)
    (tmp_path / "probe.json").touch()
    runner = grunwald1993_captures.CaptureRunner(tmp_path, tmp_path / "inputs")
    for allocator in ("first_fit", "first_fit_uncoalesced", "gnu_local_padded", "size_map_3", "glibc"):
        cell = Cell(Workload("capture"), Strategy(allocator), (("program", "MAKE"), ("input", "measured")))
        assert runner.run(cell, "bench", 2).status == "ok"
    assert asked == {"first_fit": True, "first_fit_uncoalesced": False, "gnu_local_padded": False,
                     "size_map_3": False, "glibc": True}  # fmt: skip


@pytest.mark.parametrize("spec", [ABLATION, CLASSES, TAGS], ids=lambda spec: spec.name)
def test_changed_allocators_are_simulated_for_what_statements_ask(spec: CaptureSpec) -> None:
    base = values_of(spec.data.baseline, 1e4)
    for claim in (each for each in BY_ID.values() if each.experiment == spec.name):
        for allocator in map(spec.data.canonical, (*claim.of, *claim.against)):
            points = list(spec.unfold(values_of(allocator, 2e4), base))
            assert points
            assert all((claim.metric or spec.data.figure.metric) in values for _, values in points), allocator
