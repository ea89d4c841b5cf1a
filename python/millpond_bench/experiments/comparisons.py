# SPDX-License-Identifier: BSL-1.0
"""An experiment that compares our allocators with their peers, as data, and the rows that its rounds give.

    ComparisonSpec ── parts ─────▶ cells: points of workloads × contenders, rounds, seeds
                   ── questions ─▶ rows:  for each point ours, the best peer, the ideal

The best peer is the one with the smallest median over the rounds. The figure is the median of the ratios paired within
rounds, with its interval.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Any

from millpond.cells.cell import Cell, Outcome, Strategy, Workload
from millpond.rounds.interleaved_rounds import groups_of
from millpond.statistics.order_statistics import summarise
from millpond_bench.experiments.contenders import Contender, Contenders, Takes
from millpond_bench.experiments.experiment import STANDARD, ExperimentSpec, at_scale
from millpond_bench.experiments.experiment_data import Parameters
from millpond_bench.experiments.result_table import ResultRow, ResultTable, label, size_text, table_of

# Bytes are compared only with peers whose time is at most this many times ours.
NEAR = 1.10
WARM, COLD, RESIDENT = "warm_ns", "cold_ns", "resident_bytes"


@dataclass(frozen=True)
class WorkloadPart:
    """Points that are measured in the same way. `seconds`: about the time of one process on the reference machine.

    `rounds`: at most this many (0: as many as the scale has). `only`: contenders by pattern; without it, all except
    `aside` (empty: the experiment's), which run only at paper scale. `seeds`: their number, counted from the run's
    own; 0 if nothing is random.
    """

    workload: str
    sizes: tuple[int, ...] = (0,)
    seconds: float = 0.1
    seeds: int = 1
    rounds: int = 0
    units: int = 0
    factors: tuple[int, ...] = (0,)
    shuffles: int = 0
    threads: tuple[int, ...] = (0,)
    only: tuple[str, ...] = ()
    aside: tuple[str, ...] = ()

    def takes(self, contender: Contender, every: bool) -> bool:
        """True if the contender runs in this part; `every`: also those without a bar."""
        if self.only:
            return any(fnmatchcase(contender.name, pattern) for pattern in self.only)
        return every or not any(fnmatchcase(contender.name, pattern) for pattern in self.aside)

    def points(self, seed: int) -> Iterable[Parameters]:
        """The parameters of each point. Parameters that are 0 are left to the program."""
        for size in self.sizes:
            for factor in self.factors:
                for threads in self.threads:
                    for offset in range(max(1, self.seeds)):
                        drawn = seed + offset if self.seeds else 0
                        known = {"size": size, "af": factor, "sf": self.shuffles, "threads": threads, "seed": drawn,
                                 "units": self.units}  # fmt: skip
                        yield tuple((name, str(value)) for name, value in known.items() if value)


def nobody(_: Contender) -> bool:
    return False


@dataclass(frozen=True)
class Question:
    """A comparison: the best of `ours` with the best contender that `peers` accepts, in one metric.

    `unit`: empty for ns per unit of the workload. `held`: resident bytes instead, compared with the leanest peer that
    is at most NEAR times as slow. `narrow`: selects among the peers. Instead of a peer: `itself`, another metric of
    the same process, and its name; or `payload`, this many bytes for each of `size` (`payload_name`: empty for a
    figure that is only divided). `each`: a row for each accepted contender, with its name after the comparison's.
    """

    comparison: str
    ours: tuple[str, ...] = ()
    peers: Takes = nobody
    metric: str = WARM
    ideals: Takes = nobody
    unit: str = ""
    held: bool = False
    narrow: Callable[[ResultTable[Cell], list[Cell]], list[Cell]] | None = None
    itself: tuple[str, str] | None = None
    payload: int = 0
    payload_name: str = "payload"
    each: Takes | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class ComparisonSpec(ExperimentSpec):
    """Our allocators compared with their peers on the workloads of a suite's program.

    `parts` by scale. `counted`: workloads whose instructions are counted, by those of the program. `questions`: the
    comparisons of each workload; a workload without an entry has none.
    """

    parts: Mapping[str, Callable[[], Sequence[WorkloadPart]]]
    aside: tuple[str, ...]
    counted: Mapping[str, str]
    questions: Mapping[str, Sequence[Question | Special]]

    @property
    def workloads(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(part.workload for part in self.parts[STANDARD]()))

    def rounds_and_seconds(
        self, scale: str, contenders: Contenders, rounds: int, seed: int, sizes: Mapping[str, tuple[int, ...]]
    ) -> dict[Cell, tuple[int, float]]:
        """The cells of a scale: every point with every contender that can run it, those with most rounds first.

        `sizes` replace those of some workloads. Failure (status 4) if the program lacks a workload.
        """
        found: dict[Cell, tuple[int, float]] = {}
        for one in at_scale(self.parts, scale)():
            part = replace(one, sizes=sizes.get(one.workload, one.sizes), aside=one.aside or self.aside)
            workload = contenders.program.workload(self.counted.get(part.workload, part.workload))
            able = [c for c in contenders.of(workload) if part.takes(c, scale == "paper")]
            if part.workload in self.counted:
                able = [c for c in able if c.kind == "ours"]
            for point in part.points(seed):
                for contender in able:
                    cell = Cell(Workload(part.workload), Strategy(contender.name), point)
                    found[cell] = min(rounds, part.rounds or rounds), part.seconds
        return dict(sorted(found.items(), key=lambda item: -item[1][0]))

    def rows(self, cells: Sequence[Cell], outcomes: Sequence[Outcome], contenders: Contenders) -> list[ResultRow]:
        """All rows, group by group. A question without contenders in a group is left out. O(outcomes)."""
        table = table_of(outcomes)
        rows: list[ResultRow] = []
        for cells_of_point in groups_of(cells):
            (workload,) = cells_of_point[0].subject.argv
            unit = "instruction" if workload in self.counted else contenders.program.workload(workload).unit
            group = PointGroup(cells_of_point, contenders.by_name, table, unit)
            for question in self.questions.get(workload, ()):
                rows += group.answers(question) if isinstance(question, Question) else question(group)
        return rows


@dataclass
class PointGroup:
    """The cells that take turns at one point."""

    cells: Sequence[Cell]
    contenders: Mapping[str, Contender]
    table: ResultTable[Cell]
    unit: str
    by_name: dict[str, Cell] = field(init=False)

    def __post_init__(self) -> None:
        self.by_name = {cell.contender.name: cell for cell in self.cells}
        (self.workload,) = self.cells[0].subject.argv
        self.parameters = dict(self.cells[0].parameters)

    def row(self, comparison: str, unit: str, **known: Any) -> ResultRow:
        """A row of this point."""
        usual = {"workload": label(self.workload, self.parameters), "parameters": self.parameters}
        return ResultRow(benchmark=self.workload, comparison=comparison, unit=unit or f"ns a {self.unit}",
                         **{**usual, **known})  # fmt: skip

    def takes(self, takes: Takes) -> list[Cell]:
        """The cells of the contenders that `takes` accepts."""
        return [cell for name, cell in self.by_name.items() if takes(self.contenders[name])]

    def answers(self, q: Question) -> list[ResultRow]:
        """The rows of a question."""
        if q.each is not None:
            takes = q.each
            names = [name for name in self.by_name if takes(self.contenders[name])]
            return [self._alone(replace(q, comparison=q.comparison + name), self.by_name[name]) for name in names]
        ours = [self.by_name[name] for name in q.ours if name in self.by_name]
        if ours and (q.itself or q.payload):
            return [self._alone(q, ours[0])]
        peers, ideals = self.takes(q.peers), self.takes(q.ideals)
        return [self._against(q, ours, peers, ideals)] if ours and (peers or ideals) else []

    def _alone(self, q: Question, cell: Cell) -> ResultRow:
        """One contender of ours, compared with another metric of its own, the payload, or nothing."""
        table, known = self.table, dict[str, Any]()
        if q.itself:
            other, name = q.itself
            pairs = table.pairs(cell, cell, q.metric, other)
            known = {"best_peer_name": name, "best_peer": table.median(cell, other), "pairs": pairs}
        elif q.payload:
            whole = q.payload * int(self.parameters["size"])
            pairs = {n: value / whole for n, value in table.by_round(cell, q.metric).items()}
            known = {"pairs": pairs}
            if q.payload_name:
                known |= {"best_peer_name": q.payload_name, "best_peer": float(whole)}
        ours = table.median(cell, q.metric)
        to_peer = summarise(list(known["pairs"].values())) if known.get("pairs") else None
        if q.payload and not q.payload_name:
            ours = to_peer.median if to_peer else None
        return self.row(q.comparison, q.unit, ours_name=cell.contender.name, ours=ours, to_peer=to_peer,
                        note=self.left_out([cell]), **known)  # fmt: skip

    def _against(self, q: Question, cells: list[Cell], peers: list[Cell], ideals: list[Cell]) -> ResultRow:
        table = self.table
        ours = table.least(cells, q.metric)
        metric, note = q.metric, self.left_out([*cells, *peers])
        if q.held:
            metric = RESIDENT
            peers = self._near(peers, ours, q.metric)
            if ours is not None and not peers:
                note = "; ".join(filter(None, ["no peer is within 10 % of our time", note]))
        elif q.narrow is not None:
            peers = q.narrow(table, peers)
        peer, ideal = table.least(peers, metric), table.least(ideals, metric)
        return self.row(
            q.comparison, "bytes" if q.held else q.unit,
            ours_name=ours.contender.name if ours else q.ours[0], ours=table.median(ours, metric),
            best_peer_name=peer.contender.name if peer else "", best_peer=table.median(peer, metric),
            ideal_name=ideal.contender.name if ideal else "", ideal=table.median(ideal, metric),
            to_peer=table.ratio(ours, peer, metric), to_ideal=table.ratio(ours, ideal, metric),
            peer_to_ideal=table.ratio(peer, ideal, metric), pairs=table.pairs(ours, peer, metric),
            cold=None if q.held else table.ratio(ours, peer, COLD), note=note,
        )  # fmt: skip

    def _near(self, peers: Iterable[Cell], ours: Cell | None, metric: str) -> list[Cell]:
        """The peers that are at most a tenth slower than we are."""
        own = self.table.median(ours, metric)
        medians = {peer: self.table.median(peer, metric) for peer in peers}
        return [peer for peer, m in medians.items() if own is not None and m is not None and m <= NEAR * own]

    def left_out(self, cells: Iterable[Cell]) -> str:
        """The names of those that failed, and why."""
        table = self.table
        return "; ".join(f"{c.contender.name}: {table.why_failed(c)}" for c in cells if c in table.failed)

    def series(self, cell: Cell | None, metric: str) -> list[int]:
        """The steps of a series, rising."""
        names = self.table.values.get(cell, {}) if cell is not None else {}
        return sorted(int(name.partition(":")[2]) for name in names if name.startswith(f"{metric}:"))


# Makes rows that compare something else than one metric of two contenders.
Special = Callable[[PointGroup], list[ResultRow]]


def sweep(group: PointGroup) -> list[ResultRow]:
    """multipool at each size compared with the ideal, and each size with the next."""
    ours, ideal = group.by_name.get("multipool"), group.by_name.get("ideal_free_list")
    if ours is None:
        return []
    table, rows = group.table, []
    known = group.series(ours, "step_ns")
    if not known or ours in table.failed:
        failed = {"ours_name": ours.contender.name, "note": group.left_out([ours])}
        return [group.row(comparison, "", **failed) for comparison in ("against_free_list", "step")]
    for number, size in enumerate(known):
        metric = f"step_ns:{size}"
        own = {"workload": f"{group.workload} {size_text(size)} B",
               "parameters": {**group.parameters, "size": str(size)},
               "ours_name": "multipool", "ours": table.median(ours, metric)}  # fmt: skip
        if ideal is not None:
            rows.append(group.row("against_free_list", "", **own, ideal_name=ideal.contender.name,
                                  ideal=table.median(ideal, metric),
                                  to_ideal=table.ratio(ours, ideal, metric)))  # fmt: skip
        if number:
            before = f"step_ns:{known[number - 1]}"
            rows.append(group.row("step", "", **own, best_peer_name=f"multipool {size_text(known[number - 1])} B",
                                  best_peer=table.median(ours, before),
                                  to_peer=table.ratio(ours, ours, metric, before)))  # fmt: skip
    return rows


def longest_pause(group: PointGroup) -> list[ResultRow]:
    """dyn_array's longest pause compared with std::vector's; both minus that of a control that never grows.

    The medians over the rounds come first: a run's longest pause is caused as often by the system as by the array.
    """
    names = [name for name in ("dyn_array", "reserved", "vector") if name in group.by_name]
    if "dyn_array" not in names:
        return []
    medians = {name: group.table.median(group.by_name[name], "pause_ns") for name in names}
    control = medians.get("reserved")
    own, peer = (
        max(0.0, m - control) if (m := medians.get(name)) is not None and control is not None else None
        for name in ("dyn_array", "vector")
    )
    return [group.row(
        "longest_pause", "ns", ours_name="dyn_array", ours=own, best_peer_name="vector" if "vector" in names else "",
        best_peer=peer, ideal_name="reserved" if "reserved" in names else "", ideal=control,
        to_peer=summarise([own / peer]) if own is not None and peer else None,
        note=group.left_out([group.by_name["dyn_array"]]),
    )]  # fmt: skip


def construction(group: PointGroup) -> list[ResultRow]:
    """The cost of a fresh reservation of dyn_array, and of its end, without a comparison."""
    cell = group.by_name.get("dyn_array")
    if cell is None:
        return []
    ends = [m for metric in ("before_ns", "after_ns") if (m := group.table.median(cell, metric)) is not None]
    return [group.row("construction", "ns an array", ours_name="dyn_array", ours=sum(ends) if ends else None,
                      note=group.left_out([cell]))]  # fmt: skip


def commit_steps(group: PointGroup) -> list[ResultRow]:
    """Nanoseconds per element of dyn_array for each size of the step."""
    cell = group.by_name.get("dyn_array")
    if cell is None:
        return []
    return [
        group.row("commit_step", "ns an element", workload=f"{group.workload} {size_text(step)} B",
                  parameters={**group.parameters, "step": str(step)}, ours_name="dyn_array",
                  ours=group.table.median(cell, f"step_ns:{step}"), note=group.left_out([cell]))
        for step in group.series(cell, "step_ns")
    ]  # fmt: skip


def returning(table: ResultTable[Cell], peers: list[Cell]) -> list[Cell]:
    """The peers that return more than half of their memory when everything is freed.

    If none does, the one that keeps least: otherwise a bar without a peer would hold. Mallocs return memory later, by
    a clock.
    """

    def gives_back(peer: Cell) -> bool:
        full, left = table.median(peer, RESIDENT), table.median(peer, "left_bytes")
        return full is not None and left is not None and left < full / 2

    leanest = table.least(peers, "left_bytes")
    return [p for p in peers if gives_back(p)] or ([leanest] if leanest else [])


def keeping(table: ResultTable[Cell], peers: list[Cell]) -> list[Cell]:
    """The other peers."""
    back = returning(table, peers)
    return [peer for peer in peers if peer not in back]
