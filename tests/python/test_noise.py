# SPDX-License-Identifier: BSL-1.0
"""Equal contenders show the noise of the machine."""

from __future__ import annotations

import numpy as np

from millpond.cells.cell import Cell, Outcome
from millpond.rounds.interleaved_rounds import RoundsRequest, Silence, run_rounds
from millpond.rounds.noise import noise_of, twins


class Weather:
    """A runner with drift: each round is slower or faster as a whole, and each run varies a little."""

    def __init__(self, seed: int, rounds: float, runs: float) -> None:
        self._generator = np.random.default_rng(seed)
        self._rounds, self._runs = rounds, runs
        self._weather: dict[int, float] = {}

    def run(self, cell: Cell, stage: str, number: int) -> Outcome:
        if number not in self._weather:
            self._weather[number] = float(self._generator.lognormal(0, self._rounds))
        seconds = self._weather[number] * float(self._generator.lognormal(0, self._runs))
        return Outcome(cell, stage, number, {"cpu_seconds": seconds, "peak_bytes": 4096.0}, "now")


def test_pairing_removes_drift_from_the_floor_only(seed: int) -> None:
    cells = twins(["prog"])
    outcomes = run_rounds(cells, Weather(seed, 0.2, 0.002), Silence(), RoundsRequest(stage="noise", rounds=31))
    cpu, peak = noise_of(outcomes, cells)
    assert (cpu.metric, cpu.ratio.n) == ("cpu_seconds", 31)
    assert cpu.ratio.low <= 1.0 + 0.002 and cpu.ratio.high >= 1.0 - 0.002
    assert cpu.floor < 0.01 < 0.05 < cpu.spread
    assert (peak.metric, peak.floor, peak.spread) == ("peak_bytes", 0.0, 0.0)
