# SPDX-License-Identifier: BSL-1.0
"""What the rounds of bench-library amount to: for each workload and question ours, the best peer, the ideal.

    question   default          the better of multipool and monotonic    best of all peers and mallocs, nothing tuned
               kept_multipool   multipool                                best pool peer over kept chunks
               kept_monotonic   monotonic                                best monotonic peer over kept chunks
               held…            the bytes of whoever answered these      leanest peer within 10 % of our time
               …                those of the workloads with a bar of their own

The best peer is the one with the smallest median over the rounds; the ratio is paired within rounds, and its median
with the interval is the figure. Warm passes are compared; the cold ratio stands beside them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from millpond.bench.library.arrays import array_lines
from millpond.bench.library.library_contenders import HARDENED, IDEAL, MONOTONIC, OURS, POOL, Contender
from millpond.bench.library.lines import Line, Rounds, label, size_text
from millpond.bench.library.random_sizes import RANDOM_SIZES, random_size_lines
from millpond.bench.library.slots import SLOTS, slot_lines
from millpond.cells.cell import Cell, Outcome
from millpond.rounds.interleaved_rounds import groups_of

NEAR = 1.10
WARM, COLD, WALL, AFTER, BEFORE, RESIDENT = "warm_ns", "cold_ns", "wall_ns", "after_ns", "before_ns", "resident_bytes"
COUNT, STEP = "instructions", "step_ns"
STRUCTURES = (
    "vector_string", "unordered_set_int", "unordered_set_string", "vector_vector_string", "vector_unordered_set_int",
    "vector_unordered_set_string",
)  # fmt: skip
GROWTH = ("push_back", "push_back_huge")
SMALL_ARRAYS = ("small_array_int", "small_array_unique")
OTHERS = ("unique_characters", "free_allocate", "threads_own")
ARRAYS = (*GROWTH, *SMALL_ARRAYS, "push_back_pauses", "commit_steps")
BOTH = ("multipool", "monotonic")


@dataclass(frozen=True)
class Question:
    """A comparison: the best of `ours`, against the best contender that `peers` takes, in one metric.

    `held`: their resident bytes instead, against the leanest peer that is no more than NEAR times as slow.
    """

    comparison: str
    ours: tuple[str, ...]
    peers: Callable[[Contender], bool]
    metric: str = WARM
    held: bool = False
    ideals: Callable[[Contender], bool] = lambda c: c.kind == IDEAL


def _against(name: str) -> Callable[[Contender], bool]:
    return lambda c: c.name == name


def _against_glibc(ours: str, metric: str = WARM) -> Question:
    return Question(f"{ours}_against_glibc", (ours,), _against("glibc"), metric)


def _three(metric: str, *ours: str) -> list[Question]:
    """The three comparisons of `ours` (BOTH without): at defaults, over kept chunks, and the bytes held meanwhile."""
    asked = [
        Question("default", ours or BOTH, lambda c: c.is_peer and not c.kept, metric),
        Question("kept_multipool", ("multipool",), lambda c: c.kind == POOL and c.kept, metric),
        Question("kept_monotonic", ("monotonic",), lambda c: c.kind == MONOTONIC and c.kept, metric),
    ]
    asked = [q for q in asked if not ours or set(q.ours) <= set(ours)]
    held = [Question(q.comparison.replace("default", "held").replace("kept_", "held_"), q.ours, q.peers, metric, True)
            for q in asked]  # fmt: skip
    return [*asked, *held]


def _hardened(metric: str) -> Question:
    return Question("hardened", (HARDENED,), _against("multipool"), metric, ideals=lambda _: False)


def _small_arrays() -> list[Question]:
    """A fresh one without its reservation, and one that is kept: each against the vector that is used alike."""
    pairs = {"fresh": "", "cleared": ":cleared"}
    return [Question(name, (f"dyn_array{how}",), _against(f"vector{how}")) for name, how in pairs.items()]


_FREE_LIST = Question("against_free_list", ("multipool",), lambda _: False, ideals=_against("ideal_free_list"))
_AFTER = Question("after_shuffling", ("multipool",), lambda c: c.kind == POOL, AFTER)
# What is asked of each workload. Those without an entry are asked nothing.
QUESTIONS: Mapping[str, Sequence[Question]] = {
    **{name: [*_three(WARM), _hardened(WARM)] for name in STRUCTURES},
    "unique_characters": [*_three(WARM), _hardened(WARM)],
    "free_allocate": [*_three(WARM, "multipool"), _FREE_LIST, _hardened(WARM)],
    "threads_own": [*_three(WALL, "multipool"), _hardened(WALL), _against_glibc("synchronized_multipool", WALL)],
    "threads_handover": [_against_glibc("synchronized_multipool", WALL)],
    "vector_int": [*_three(WARM), _hardened(WARM), *(_against_glibc(name) for name in BOTH)],
    "vector_int_64": [_hardened(WARM), *(_against_glibc(name) for name in BOTH)],
    "lists_shuffled": [*_three(AFTER, "multipool"), _AFTER],
    "churn_fifo": [_against_glibc("multipool")],
    "churn_random": [_against_glibc("multipool")],
    **{name: [Question("growth", ("dyn_array",), lambda c: c.is_peer, COLD)] for name in GROWTH},
    **{name: _small_arrays() for name in SMALL_ARRAYS},
}


def lines_of(
    cells: Sequence[Cell], outcomes: Sequence[Outcome], contenders: Mapping[str, Contender], units: Mapping[str, str]
) -> list[Line]:
    """All lines, group by group. A question none of whose contenders run in a group is left out. O(outcomes)."""
    rounds = Rounds.of(outcomes)
    lines: list[Line] = []
    for group in groups_of(cells):
        here = _Group(group, contenders, rounds, units.get(group[0].subject.words[0], "unit"))
        lines += [line for q in QUESTIONS.get(here.benchmark, ()) if (line := here.answer(q)) is not None]
        lines += here.special()
    return lines


class _Group:
    """The cells that take turns at one point."""

    def __init__(self, cells: Sequence[Cell], contenders: Mapping[str, Contender], rounds: Rounds, unit: str) -> None:
        self.benchmark = cells[0].subject.words[0]
        self._parameters = dict(cells[0].parameters)
        self._contenders = contenders
        self._cells = {cell.contender.name: cell for cell in cells}
        self._rounds = rounds
        self._unit = unit

    def _line(self, comparison: str, unit: str, **known: Any) -> Line:
        return Line(
            label(self.benchmark, self._parameters), self.benchmark, self._parameters, comparison, unit, **known
        )

    def _that(self, takes: Callable[[Contender], bool]) -> list[Cell]:
        return [cell for name, cell in self._cells.items() if takes(self._contenders[name])]

    def answer(self, q: Question) -> Line | None:
        rounds = self._rounds
        ours_cells = [self._cells[name] for name in q.ours if name in self._cells]
        peers, ideals = self._that(q.peers), self._that(q.ideals)
        if not ours_cells or not (peers or ideals):
            return None
        ours = rounds.least(ours_cells, q.metric)
        metric, note = q.metric, self._left_out([*ours_cells, *peers])
        if q.held:
            metric = RESIDENT
            peers = self._near(peers, ours, q.metric)
            if ours is not None and not peers:
                note = "; ".join(filter(None, ["no peer is within 10 % of our time", note]))
        peer, ideal = rounds.least(peers, metric), rounds.least(ideals, metric)
        return self._line(
            q.comparison, "bytes" if q.held else f"ns a {self._unit}",
            ours_name=ours.contender.name if ours else q.ours[0], ours=rounds.median(ours, metric) if ours else None,
            best_peer_name=peer.contender.name if peer else "", best_peer=rounds.median(peer, metric) if peer else None,
            ideal_name=ideal.contender.name if ideal else "", ideal=rounds.median(ideal, metric) if ideal else None,
            to_peer=rounds.ratio(ours, peer, metric), to_ideal=rounds.ratio(ours, ideal, metric),
            peer_to_ideal=rounds.ratio(peer, ideal, metric),
            cold=None if q.held else rounds.ratio(ours, peer, COLD), note=note,
        )  # fmt: skip

    def _near(self, peers: Iterable[Cell], ours: Cell | None, metric: str) -> list[Cell]:
        """The peers that are not more than a tenth slower than we are."""
        own = self._rounds.median(ours, metric) if ours else None
        medians = {peer: self._rounds.median(peer, metric) for peer in peers}
        return [peer for peer, m in medians.items() if own is not None and m is not None and m <= NEAR * own]

    def _left_out(self, cells: Iterable[Cell]) -> str:
        failed = {cell.contender.name: self._rounds.failed[cell] for cell in cells if cell in self._rounds.failed}
        return "; ".join(f"{name}: {why}" for name, why in failed.items())

    def special(self) -> list[Line]:
        """The lines that compare something else than one metric of two contenders."""
        if self.benchmark == "lists_shuffled":
            return self._before_and_after()
        if self.benchmark == "size_sweep":
            return self._steps()
        if self.benchmark.startswith("instructions_"):
            return self._instructions()
        if self.benchmark in SLOTS:
            peers = self._that(lambda c: c.is_peer and not c.kept)
            return slot_lines(self.benchmark, self._parameters, self._cells, peers, self._rounds)
        if self.benchmark == RANDOM_SIZES:
            return random_size_lines(
                self._parameters,
                self._that(lambda c: c.kind == OURS),
                self._that(lambda c: c.is_peer and not c.kept),
                self._rounds,
            )
        if self.benchmark in ARRAYS:
            return array_lines(self.benchmark, self._parameters, self._cells, self._rounds)
        return []

    def _before_and_after(self) -> list[Line]:
        cell = self._cells.get("multipool")
        if cell is None:
            return []
        rounds = self._rounds
        return [
            self._line(
                "after_against_before",
                f"ns a {self._unit}",
                ours_name="multipool",
                ours=rounds.median(cell, AFTER),
                best_peer_name="multipool before",
                best_peer=rounds.median(cell, BEFORE),
                to_peer=rounds.ratio(cell, cell, AFTER, BEFORE),
                note=self._left_out([cell]),
            )
        ]

    def _steps(self) -> list[Line]:
        """A line for each size against the ideal, and one for each step from a size to the next."""
        ours, ideal = self._cells.get("multipool"), self._cells.get("ideal_free_list")
        if ours is None:
            return []
        rounds, lines = self._rounds, []
        known = sorted(int(m.partition(":")[2]) for m in rounds.values.get(ours, {}) if m.startswith(f"{STEP}:"))
        if not known or ours in rounds.failed:
            failed = {"ours_name": ours.contender.name, "note": self._left_out([ours])}
            return [self._line(c, f"ns a {self._unit}", **failed) for c in (_FREE_LIST.comparison, "step")]
        steps = [f"{STEP}:{size}" for size in known]
        for number, (size, metric) in enumerate(zip(known, steps, strict=True)):
            at = {
                "workload": f"{self.benchmark} {size_text(size)} B",
                "parameters": {**self._parameters, "size": str(size)},
            }
            own = {"ours_name": "multipool", "ours": rounds.median(ours, metric)}
            if ideal is not None:
                lines.append(
                    self._at(at, _FREE_LIST.comparison, **own, ideal_name=ideal.contender.name,
                             ideal=rounds.median(ideal, metric), to_ideal=rounds.ratio(ours, ideal, metric))
                )  # fmt: skip
            if number:
                before = steps[number - 1]
                lines.append(
                    self._at(at, "step", **own, best_peer_name=f"multipool {size_text(known[number - 1])} B",
                             best_peer=rounds.median(ours, before), to_peer=rounds.ratio(ours, ours, metric, before))
                )  # fmt: skip
        return lines

    def _at(self, at: Mapping[str, Any], comparison: str, **known: Any) -> Line:
        return Line(benchmark=self.benchmark, comparison=comparison, unit=f"ns a {self._unit}", **at, **known)

    def _instructions(self) -> list[Line]:
        return [
            self._line(
                f"{COUNT}_{name}",
                COUNT,
                ours_name=name,
                ours=self._rounds.median(cell, COUNT),
                note=self._left_out([cell]),
            )
            for name, cell in self._cells.items()
        ]


def hardened_pairs(cells: Sequence[Cell], rounds: Rounds) -> list[dict[int, float]]:
    """Hardened against release by round, for each group that has both."""
    result = []
    for group in groups_of(cells):
        by_name = {cell.contender.name: cell for cell in group}
        asked = [q for q in QUESTIONS.get(group[0].subject.words[0], ()) if q.ours == (HARDENED,)]
        if asked and HARDENED in by_name and "multipool" in by_name:
            result.append(rounds.pairs(by_name[HARDENED], by_name["multipool"], asked[0].metric))
    return result
