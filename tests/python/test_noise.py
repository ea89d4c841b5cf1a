# SPDX-License-Identifier: BSL-1.0
"""Equal contenders show the noise that there is, and kept rounds of bare programs show it again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from millpond.cells.cell import Cell, Control, Outcome, Program
from millpond.rounds.interleaved_rounds import Silence, run_rounds
from millpond.rounds.noise import noise_of, stored_noise, twins
from millpond.store.observations import Journal
from millpond.store.store import Store


class Weather:
    """A runner: every round of the machine is slower or quicker as a whole, and each run a little by itself."""

    def __init__(self, seed: int, rounds: float, runs: float) -> None:
        self._generator = np.random.default_rng(seed)
        self._rounds, self._runs = rounds, runs
        self._weather: dict[int, float] = {}

    def run(self, cell: Cell, stage: str, number: int) -> Outcome:
        if number not in self._weather:
            self._weather[number] = float(self._generator.lognormal(0, self._rounds))
        seconds = self._weather[number] * float(self._generator.lognormal(0, self._runs))
        return Outcome(cell, stage, number, {"cpu_seconds": seconds, "peak_bytes": 4096.0}, "now")


def test_pairing_takes_the_weather_out_of_the_floor_but_not_out_of_the_spread(seed: int) -> None:
    cells = twins(["prog"])
    outcomes = run_rounds(cells, Weather(seed, 0.2, 0.002), Silence(), stage="noise", rounds=31)
    cpu, peak = noise_of(outcomes, cells)
    assert (cpu.metric, cpu.ratio.n) == ("cpu_seconds", 31)
    assert cpu.ratio.low <= 1.0 + 0.002 and cpu.ratio.high >= 1.0 - 0.002
    assert cpu.floor < 0.01 < 0.05 < cpu.spread
    assert (peak.metric, peak.floor, peak.spread) == ("peak_bytes", 0.0, 0.0)


def kept(store: Store, seconds: Sequence[float], variant: str = "bare") -> None:
    journal = Journal("trial", ["prog"])
    cell = Cell(Program(("prog",)), Control(variant))
    journal.add_outcomes(
        Outcome(cell, "trial", number, {"cpu_seconds": value}, "2026-01-01T00:00:00Z")
        for number, value in enumerate(seconds)
    )
    store.write(journal)


def test_kept_bare_rounds_show_the_noise_within_runs_and_between_them(tmp_path: Path) -> None:
    store = Store(tmp_path)
    kept(store, [99.0, 1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6])  # the first is the warm-up
    (alone,) = stored_noise(store)
    assert (alone.workload, alone.metric, alone.runs, alone.rounds) == ("prog", "cpu_seconds", 1, 7)
    assert (alone.within, alone.between) == (pytest.approx(0.3 / 1.3), None)
    kept(store, [99.0, *[2.0] * 9])
    kept(store, [99.0, *[1.9] * 6])
    kept(store, [99.0, 50.0, 60.0])  # too few to say anything
    kept(store, [5.0] * 9, "shared")  # not the program as it is
    (three,) = stored_noise(store)
    assert (three.runs, three.rounds) == (3, 22)
    assert three.within == 0.0
    assert three.between == pytest.approx(1 - 1.3 / 1.9)
