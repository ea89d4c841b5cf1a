# SPDX-License-Identifier: BSL-1.0
"""Fake environments that run nothing and give chosen predictions and truths."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from millpond.rounds import predicted_misses
from millpond.rounds.capture_tools import CacheShape
from millpond.rounds.layouts import Layout
from millpond.rounds.simulation_data import SCHEMA, Simulation

PAGES = 640


def simulation(misses: int, seconds: float | None = None) -> Simulation:
    """Returns a simulation whose caches and memories all have this number of misses."""
    caches = [
        {"metric": "misses", "unit": "references", "value": misses, "cache_bytes": cache.kibibytes * 1024,
         "ways": cache.ways, "line_bytes": cache.line_bytes}
        for cache in predicted_misses.CACHES
    ]  # fmt: skip
    references = {"metric": "references", "unit": "references", "value": misses + 5000}
    cold = {"metric": "cold", "unit": "references", "value": PAGES, "line_bytes": 4096}
    time: dict[str, Any] = {
            "metric": "time_by_level", "unit": "seconds", "value": seconds, "cycles": 1.0, "simulator": "levels",
            "translation": None, "latencies": "f", "cycle_ns": 1.0, "cycles_per_instruction": 1.0, "parts": [],
            "assumptions": []}  # fmt: skip
    return Simulation.from_json({
        "schema": SCHEMA,
        "input": {"path": "t", "format": "recording", "instructions": 10, "references": misses + 5000, "loads": 0,
                  "stores": 0, "modifications": 0},
        "rules": {"straddling_access": "once", "modification": "once", "access_bytes_max": 32, "flush_references": 0,
                  "flush_instructions": 0},
        "simulators": [
            {"description": "direct:line=32,size=16K/64K", "metrics": caches},
            {"description": "distances:line=4K", "metrics": [references, cold],
             "curve": [[0, 5000], [PAGES, misses - PAGES]]},
        ],
        "level_times": [] if seconds is None else [time],
    })  # fmt: skip


def fake_environments(
    monkeypatch: pytest.MonkeyPatch,
    layout_of: Callable[[str], Layout],
    *,
    predicted: int,
    truth: int,
    seconds: Callable[[str], float] = lambda _: 1.0,
) -> list[tuple[str, str, int]]:
    """Fakes predictions and truths with these figures. Returns a list that grows with each prediction: recorded malloc,
    predicted malloc, number of the environment.
    """
    seen: list[tuple[str, str, int]] = []

    class SizedEnvironment:
        def __init__(self, _workload: Any, _tools: Path, number: int, _folder: Path) -> None:
            self.number = number

        def simulate_recorded(self, on: Layout, options: Any = ()) -> Simulation:
            return simulation(predicted, seconds(on.name) if options else None)

        def predict(self, recorded_on: Layout, layout: Layout, options: Any = ()) -> Simulation:
            seen.append((recorded_on.name, layout.name, self.number))
            return simulation(predicted, seconds(layout.name) if options else None)

        def count(self, _layout: Layout, _cache: CacheShape) -> int:
            return truth

    monkeypatch.setattr(predicted_misses, "SizedEnvironment", SizedEnvironment)
    monkeypatch.setattr(predicted_misses, "one_tool_folder", lambda folder: folder)
    monkeypatch.setattr(predicted_misses, "layout_of", layout_of)
    return seen
