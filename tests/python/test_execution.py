# SPDX-License-Identifier: BSL-1.0
"""Rounds are interleaved in an order from the seed, stop with the budget, and warm-ups never count."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millpond.cells.cell import CONTROLS, Cell, Control, Outcome, Program
from millpond.cells.plan_file import PlanRoute
from millpond.cells.plans import Plan
from millpond.rounds.interleaved_rounds import (
    RoundsRequest,
    Shard,
    Silence,
    Work,
    by_round,
    groups_of,
    measured_rounds,
    order_of,
    run_rounds,
)
from millpond.system.errors import Failure, Status
from millpond_bench.programs.counted_rounds import run_counted

CELLS = [Cell(Program(("prog",)), Control(name)) for name in CONTROLS]


class Script:
    """A runner with scripted outcomes and clock: every run takes `seconds`."""

    def __init__(self, seconds: float = 1.0, status: Callable[[Cell, int], str] = lambda _c, _n: "ok") -> None:
        self.now = 0.0
        self.ran: list[tuple[str, int]] = []
        self._seconds = seconds
        self._status = status

    def run(self, cell: Cell, stage: str, number: int) -> Outcome:
        self.now += self._seconds
        self.ran.append((cell.name, number))
        values = {"cpu_seconds": float(number)}
        return Outcome(cell, stage, number, values, "now", self._status(cell, number))

    def clock(self) -> float:
        return self.now


def test_every_round_has_every_contender_once_before_the_next_begins() -> None:
    script = Script()
    run_rounds(CELLS, script, Silence(), RoundsRequest(stage="s", rounds=4, seed=7))
    for number in range(5):
        piece = script.ran[number * len(CELLS) : (number + 1) * len(CELLS)]
        assert {name for name, _ in piece} == {c.name for c in CELLS}
        assert {n for _, n in piece} == {number}


@pytest.mark.lengthy
@given(st.integers(0, 2**31), st.integers(0, 50))
def test_the_order_is_a_permutation_that_the_seed_decides(seed: int, number: int) -> None:
    assert sorted(c.name for c in order_of(CELLS, seed, number)) == sorted(c.name for c in CELLS)
    assert order_of(CELLS, seed, number) == order_of(CELLS, seed, number)


def test_the_order_changes_from_round_to_round() -> None:
    assert len({tuple(c.name for c in order_of(CELLS, 1, n)) for n in range(20)}) > 5


def test_the_warm_up_is_kept_but_never_measured() -> None:
    outcomes = run_rounds(CELLS, Script(), Silence(), RoundsRequest(stage="s", rounds=3))
    assert sum(o.round == 0 for o in outcomes) == len(CELLS)
    assert measured_rounds(outcomes) == 3
    assert list(by_round(outcomes, CELLS[0], "cpu_seconds")) == [1, 2, 3]


@pytest.mark.parametrize("budget", [0.0, 9.0, 10.0, 17.0, 1000.0])
def test_rounds_respect_the_deadline_but_one_always_runs(budget: float) -> None:
    script = Script()
    outcomes = run_rounds(
        CELLS, script, Silence(), RoundsRequest(stage="s", rounds=11, deadline=budget, clock=script.clock, warm_up=True)
    )
    fit = int(budget // len(CELLS)) - 1
    assert measured_rounds(outcomes) == max(1, min(11, fit))
    assert len(outcomes) % len(CELLS) == 0


@pytest.mark.parametrize(("until", "rounds"), [(0.0, 1), (25.0, 5), (40.0, 6), (1000.0, 6)])
def test_wanted_rounds_run_past_the_deadline_up_to_a_second_one(until: float, rounds: int) -> None:
    script = Script()
    outcomes = run_rounds(
        CELLS,
        script,
        Silence(),
        RoundsRequest(
            stage="s", rounds=11, deadline=10.0, at_least=6, at_least_until=until, clock=script.clock, warm_up=False
        ),
    )
    assert measured_rounds(outcomes) == rounds


@pytest.mark.parametrize(("decided_from", "rounds"), [(1, 2), (2, 2), (3, 5), (6, 7)])
def test_rounds_end_at_the_first_look_that_decides(decided_from: int, rounds: int) -> None:
    looked: list[int] = []

    def is_decided(outcomes: Sequence[Outcome]) -> bool:
        looked.append(measured_rounds(outcomes))
        return looked[-1] >= decided_from

    outcomes = run_rounds(
        CELLS,
        Script(),
        Silence(),
        RoundsRequest(stage="s", rounds=7, looks=(2, 5, 7), is_decided=is_decided, warm_up=False),
    )
    assert measured_rounds(outcomes) == rounds
    assert looked == [n for n in (2, 5, 7) if n <= rounds]


def test_a_killed_contender_is_neither_run_again_nor_compared() -> None:
    script = Script(status=lambda cell, n: "killed" if cell.contender.name == "shared" and n == 2 else "ok")
    outcomes = run_rounds(CELLS, script, Silence(), RoundsRequest(stage="s", rounds=4, warm_up=False))
    shared = next(c for c in CELLS if c.contender.name == "shared")
    assert sorted(by_round(outcomes, shared, "cpu_seconds")) == [1]
    assert max(n for name, n in script.ran if name == "shared") == 2
    assert max(n for name, n in script.ran if name == "bare") == 4


def test_a_cell_has_a_plan_exactly_if_its_contender_is_one() -> None:
    plan = Plan("p", "/bin/x", "ab", (PlanRoute(("s",), "s", "multipool"),))
    assert Cell(Program(("x",)), plan).name == "plan:p"
    assert Cell(Program(("x",)), plan).to_json()["plan"]["routes"][0]["subsystems"] == ["s"]
    assert Cell(Program(("x",)), plan).plan == plan
    assert Cell(Program(("x",)), Control("plan")).plan is None


class RunMemory:
    """A memory of runs in this process: `runs` are earlier runs; new outcomes are added to the last one."""

    def __init__(self, *runs: list[Outcome]) -> None:
        self.runs = [*map(list, runs), []]

    def recall(self, cells: Sequence[Cell], stage: str) -> list[list[Outcome]]:
        return [[o for o in run if o.cell in cells and o.stage == stage] for run in self.runs]

    def keep(self, outcome: Outcome) -> None:
        self.runs[-1].append(outcome)

    def again(self) -> RunMemory:
        return RunMemory(*self.runs)


def ran(script: Script) -> set[tuple[str, int]]:
    """Returns the runs without warm-ups; fails if one ran twice."""
    measured = [(name, number) for name, number in script.ran if number > 0]
    assert len(measured) == len(set(measured))
    return set(measured)


def resumed(memory: RunMemory, rounds: int, cells: Sequence[Cell] = CELLS, seed: int = 1) -> tuple[Script, RunMemory]:
    script, memory = Script(), memory.again()
    outcomes = run_rounds(cells, script, Silence(), RoundsRequest(stage="s", rounds=rounds, seed=seed), memory=memory)
    assert measured_rounds(outcomes) == rounds
    assert all(len(by_round(outcomes, c, "cpu_seconds")) == rounds for c in cells)
    return script, memory


def test_completely_stored_rounds_are_not_run_again() -> None:
    first, memory = resumed(RunMemory(), 4)
    assert ran(first) == {(c.name, n) for c in CELLS for n in range(1, 5)}
    second, memory = resumed(memory, 4)
    assert second.ran == []  # not even a warm-up
    third, _ = resumed(memory, 6)
    assert ran(third) == {(c.name, n) for c in CELLS for n in (5, 6)}


@pytest.mark.lengthy
@given(killed_after=st.integers(0, 30))
def test_a_killed_run_is_continued_and_pairs_stay_pairs(killed_after: int) -> None:
    memory = RunMemory()

    class KilledScript(Script):
        def run(self, cell: Cell, stage: str, number: int) -> Outcome:
            if len(self.ran) == killed_after:
                raise KeyboardInterrupt
            return super().run(cell, stage, number)

    with contextlib.suppress(KeyboardInterrupt):
        run_rounds(CELLS, KilledScript(), Silence(), RoundsRequest(stage="s", rounds=5, seed=3), memory=memory)
    assert len(memory.runs[-1]) == killed_after
    whole = max(0, killed_after // len(CELLS) - 1)  # the warm-up does not count
    script, _ = resumed(memory, 5, seed=3)
    assert ran(script) == {(c.name, n) for c in CELLS for n in range(whole + 1, 6)}


def test_a_round_without_all_contenders_does_not_count() -> None:
    _, memory = resumed(RunMemory(), 3, CELLS[:4])
    script, _ = resumed(memory, 3)
    assert ran(script) == {(c.name, n) for c in CELLS for n in range(1, 4)}
    fewer, _ = resumed(memory, 3, CELLS[:2])
    assert fewer.ran == []


def test_a_contender_that_was_killed_in_an_earlier_run_stays_out() -> None:
    shared = next(c for c in CELLS if c.contender.name == "shared")
    memory = RunMemory()
    script = Script(status=lambda cell, n: "killed" if cell == shared and n == 2 else "ok")
    run_rounds(CELLS, script, Silence(), RoundsRequest(stage="s", rounds=3), memory=memory)
    later = Script()
    outcomes = run_rounds(CELLS, later, Silence(), RoundsRequest(stage="s", rounds=5), memory=memory.again())
    assert ran(later) == {(c.name, n) for c in CELLS if c != shared for n in (4, 5)}
    assert [o.round for o in outcomes if o.cell == shared and o.status == "killed"] == [2]


def test_recalled_rounds_count_for_the_budget() -> None:
    _, memory = resumed(RunMemory(), 2)
    script = Script()
    outcomes = run_rounds(
        CELLS,
        script,
        Silence(),
        RoundsRequest(stage="s", rounds=9, deadline=-1.0, clock=script.clock, warm_up=False),
        memory=memory,
    )
    assert script.ran == []
    assert measured_rounds(outcomes) == 2


WIDE = [Cell(Program((f"prog{i}",)), Control(name)) for i in range(3) for name in CONTROLS[:3]]


def test_cells_that_are_compared_run_side_by_side() -> None:
    script = Script()
    outcomes = run_rounds(WIDE, script, Silence(), RoundsRequest(stage="s", rounds=4, seed=5))
    order = [o.cell for o in outcomes]
    assert len(groups_of(WIDE)) == 3
    assert len(order) == len(script.ran)
    for at in range(0, len(order), 3):
        assert {c.contender.name for c in order[at : at + 3]} == set(CONTROLS[:3])
        assert len({c.subject for c in order[at : at + 3]}) == 1


def test_parameters_divide_the_cells_unless_they_name_a_contender() -> None:
    cells = [Cell(Program(("x",)), Control("bare"), (("size", size), ("twin", t))) for size in "12" for t in "ab"]
    assert groups_of(cells) == [cells[:2], cells[2:]]


@pytest.mark.lengthy
@given(of=st.integers(1, 7), rounds=st.integers(1, 12), cells=st.sampled_from([CELLS, WIDE, WIDE[:2]]))
def test_shards_are_disjoint_complete_and_keep_pairs_together(of: int, rounds: int, cells: list[Cell]) -> None:
    parts = []
    for number in range(1, of + 1):
        work = Work.of(cells, stage="s", rounds=rounds, shard=Shard(number, of))
        parts.append({(g.index, n) for g in work.groups for n in work.numbers(g)})
        script, seen = Script(), set()
        for outcome in run_rounds(
            cells, script, Silence(), RoundsRequest(stage="s", rounds=rounds, shard=Shard(number, of))
        ):
            if outcome.round > 0:
                seen.add((outcome.cell, outcome.round))
        assert seen == {(c, n) for i, n in parts[-1] for c in work.groups[i].alive}
        assert len(script.ran) == work.runs(warm_up=True)
    assert sum(map(len, parts)) == len(set().union(*parts)) == len(groups_of(cells)) * rounds
    sizes = [len(p) for p in parts]
    assert max(sizes) - min(sizes) <= len(groups_of(cells))


@pytest.mark.parametrize("text", ["0/2", "3/2", "1", "", "a/b", "1/2/3", "-1/2", "1/0"])
def test_a_malformed_shard_is_a_usage_failure(text: str) -> None:
    with pytest.raises(Failure) as caught:
        Shard.parse(text)
    assert caught.value.status == Status.USAGE
    assert Shard.parse("2/3") == Shard(2, 3)


@pytest.mark.lengthy
@given(
    processors=st.integers(1, 5), rounds=st.integers(1, 4), dead=st.integers(0, 8), kept=st.integers(0, 30),
    part=st.sampled_from([Shard(), Shard(1, 2), Shard(2, 3)]),
)  # fmt: skip
def test_counts_do_not_depend_on_the_number_of_processors(
    processors: int, rounds: int, dead: int, kept: int, part: Shard
) -> None:
    def status(cell: Cell, number: int) -> str:
        return "killed" if cell == WIDE[dead] and number == 2 else "ok"

    def counted(memory: RunMemory, script: Script, processors: int) -> set[tuple[Cell, int, str]]:
        outcomes = run_counted(
            WIDE,
            script,
            Silence(),
            RoundsRequest(stage="s", rounds=rounds, shard=part),
            memory=memory,
            processors=processors,
        )
        found = {(o.cell, o.round, o.status) for o in outcomes}
        assert len(outcomes) == len(found)
        return found

    memory = RunMemory()
    whole = counted(memory, Script(status=status), 1)
    # Any outcome of an earlier run serves as well as a new one.
    some = RunMemory([o for o in memory.runs[-1] if o.status == "ok"][:kept])
    later = Script(status=status)
    assert counted(some, later, processors) == whole
    assert len(later.ran) == len(memory.runs[-1]) - len(some.runs[0])


def test_counted_rounds_end_with_what_a_runner_raises() -> None:
    class FailingScript(Script):
        def run(self, cell: Cell, stage: str, number: int) -> Outcome:
            if number == 2 and cell == WIDE[4]:
                raise Failure(Status.ENVIRONMENT, "the tool is gone")
            return super().run(cell, stage, number)

    memory = RunMemory()
    with pytest.raises(Failure, match="the tool is gone"):
        request = RoundsRequest(stage="s", rounds=3)
        run_counted(WIDE, FailingScript(), Silence(), request, memory=memory, processors=2)
    assert {o.cell for o in memory.runs[-1] if o.round == 1} == set(WIDE)
    assert not [o for o in memory.runs[-1] if o.round == 3]
