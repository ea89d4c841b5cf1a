# SPDX-License-Identifier: BSL-1.0
"""How noisy this machine is: two contenders that are one and the same, measured as any two contenders are.

round   1 2 3 …      the ratios b / a should all be 1; how far their interval reaches is what no effect
a       A A A        below it can be told from, with this many rounds of runs of this length
b       A A A

Rounds of bare programs that are kept anyway say it too, without a measurement: `stored_noise`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from statistics import median, quantiles
from typing import Any

from millpond.cells.cell import Cell, Control, Outcome, Program
from millpond.rounds.interleaved_rounds import by_round
from millpond.statistics.order_statistics import Summary, summarise
from millpond.store.store import Store
from millpond.system.machine import this_machine

COMPARED = ("cpu_seconds", "wall_seconds", "peak_bytes")
FEWEST_ROUNDS = 6


@dataclass(frozen=True)
class Noise:
    """In one metric: `ratio`, b / a within a round; `round`, the median of one; `spread`, of a whole round.

    `spread` is the distance of the quartiles of all rounds, relative to their median.
    """

    metric: str
    ratio: Summary
    round: float
    spread: float

    @property
    def floor(self) -> float:
        """The largest change, relative, that was seen where there is none."""
        return max(abs(self.ratio.high - 1.0), abs(self.ratio.low - 1.0))

    def to_json(self) -> dict[str, Any]:
        return {
            "metric": self.metric,
            "ratio": self.ratio.to_json(),
            "round": self.round,
            "spread": self.spread,
            "floor": self.floor,
        }


def twins(program: Sequence[str]) -> tuple[Cell, Cell]:
    """The two contenders that are the same."""
    bare = Cell(Program(tuple(program)), Control("bare"))
    return replace(bare, parameters=(("twin", "a"),)), replace(bare, parameters=(("twin", "b"),))


def noise_of(outcomes: Sequence[Outcome], cells: tuple[Cell, Cell]) -> list[Noise]:
    """The noise in each metric that both twins have; a metric without rounds is left out."""
    result = []
    for metric in COMPARED:
        a, b = (by_round(outcomes, cell, metric) for cell in cells)
        ratios = [b[i] / a[i] for i in sorted(a.keys() & b.keys()) if a[i] > 0]
        if not ratios:
            continue
        values = [*a.values(), *b.values()]
        result.append(Noise(metric, summarise(ratios), median(values), spread_of(values)))
    return result


def spread_of(values: Sequence[float]) -> float:
    """How far the quartiles lie apart, relative to the median; 0 for fewer than two values, and around zero."""
    middle = median(values) if values else 0.0
    if len(values) < 2 or middle <= 0.0:
        return 0.0
    low, _, high = quantiles(values, n=4, method="inclusive")
    return (high - low) / middle


def rounds_json(values: Mapping[str, Sequence[float]]) -> dict[str, dict[str, float]]:
    """By metric: how many rounds of one contender there are, their median, and how far they spread."""
    return {m: {"n": len(v), "median": median(v), "spread": spread_of(v)} for m, v in values.items() if v}


@dataclass(frozen=True)
class StoredNoise:
    """What the kept bare rounds of one workload on this machine say of its noise, in one metric.

    `within`: the quartiles of a run's rounds lie this far apart, relative to their median; the middle one of all runs.
    `between`: how far the median of one run lies from that of all of them at most, relative; null for a single run. A
    paired comparison is spared both (its rounds meet the same weather), one of two runs made apart is not.
    """

    workload: str
    metric: str
    runs: int
    rounds: int
    within: float
    between: float | None

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def stored_noise(store: Store, metrics: Sequence[str] = COMPARED) -> list[StoredNoise]:
    """The noise of every workload with enough bare rounds in the store, those with most rounds first.

    Runs of fewer than FEWEST_ROUNDS rounds are left out: their quartiles say nothing. Failure as `Store.query`.
    """
    sql = """
        with runs as (
            select workload, metric, run, count(*) as n, median(value) as middle,
                   quantile_cont(value, 0.75) - quantile_cont(value, 0.25) as width
            from observations
            where contender = 'bare' and round > 0 and status = 'ok' and value > 0 and machine = ?
            group by workload, metric, run having count(*) >= ?
        )
        select workload, metric, count(*) as runs, sum(n) as rounds, median(width / middle) as within,
               greatest(max(middle) / median(middle) - 1, 1 - min(middle) / median(middle)) as between_runs
        from runs group by workload, metric order by rounds desc, workload, metric
    """
    return [
        StoredNoise(
            r["workload"],
            r["metric"],
            int(r["runs"]),
            int(r["rounds"]),
            float(r["within"]),
            float(r["between_runs"]) if r["runs"] > 1 else None,
        )
        for r in store.query(sql, [str(this_machine()), FEWEST_ROUNDS])
        if r["metric"] in metrics
    ]
