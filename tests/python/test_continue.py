# SPDX-License-Identifier: BSL-1.0
"""A second `advise` of the same program resumes the first; if anything differs, it starts over."""

from __future__ import annotations

import itertools
import json
import random
from pathlib import Path
from typing import Any

import pytest
from conftest import Done, FakeLab
from hypothesis import given
from hypothesis import strategies as st

from millpond.advice.advice_state import KIND, AdviceState
from millpond.advice.looks import Looks
from millpond.cells.cell import Outcome
from millpond.cells.metrics import Metrics
from millpond.rounds import schedule
from millpond.rounds.schedule import LOOKS, MOST_ROUNDS
from millpond.statistics.order_statistics import ALPHA, compare
from millpond.store.round_log import RoundLog
from millpond.store.store import Store

CPU = {"bare": 0.010, "looked_up": 0.0103}
CLEAR: dict[str, Any] = {
    "events": 1000, "subsystems": [{"name": "book", "bytes": 5000}, {"name": "prices", "bytes": 4000}], "cpu": CPU,
    "gains": {"book": 0.85, "prices": 0.9}, "mallocs": {"fast": [0.95, 1.01], "usual": [1.0, 1.0]},
}  # fmt: skip
# A gain that a first run's rounds cannot tell from the noise.
NOISY = {**CLEAR, "gains": {}, "mallocs": {"fast": [0.965, 1.0]}, "noise": 0.05}

AMPLE = 600  # seconds; a busy machine has all its rounds within them


@pytest.fixture
def program(lab: FakeLab) -> Path:
    path = lab.work / "program"
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def advise(lab: FakeLab, program: Path, *options: str, words: tuple[str, ...] = (), budget: int = 30) -> Done:
    return lab.run("advise", f"--budget={budget}", "-o", "advice.json", *options, "--", str(program), *words)


def advice(lab: FakeLab) -> dict[str, Any]:
    return dict(json.loads((lab.work / "advice.json").read_text()))


def rounds_run(lab: FakeLab) -> int:
    return sum("--round" in call for call in lab.calls())


def test_a_second_run_repeats_nothing(lab: FakeLab, program: Path) -> None:
    lab.configure(**CLEAR)
    assert advise(lab, program).status == 0
    first, calls = advice(lab), len(lab.calls())
    done = advise(lab, program)
    second = advice(lab)
    assert done.status == 0 and len(lab.calls()) == calls
    assert "its recording is used" in done.stderr and "recording " + str(program) not in done.stderr
    assert f"{first['rounds']} rounds of judging from earlier runs" in done.stderr
    note = next(note for note in second["notes"] if note.startswith("uses rounds of earlier runs"))
    assert f"{first['rounds']} of judging" in note
    same = ("verdict", "choice", "rounds", "effects", "sums", "plan", "replay")
    strip = {"evidence"}
    for name in same:
        one, other = (_without(a[name], strip) for a in (first, second))
        assert one == other, name
    assert all(row["evidence"] for row in second["subsystems"] if row["tried"])


def _without(value: Any, names: set[str]) -> Any:
    if isinstance(value, dict):
        return {k: _without(v, names) for k, v in value.items() if k not in names}
    return value


@pytest.mark.lengthy
def test_the_file_of_a_continued_run_has_every_round(lab: FakeLab, program: Path) -> None:
    lab.configure(**CLEAR)
    advise(lab, program)
    advise(lab, program)
    store = Store(lab.work / "results/store")
    sql = "select run, count(*) n from observations where stage in ('choosing', 'judging') and round > 0 group by run"
    counts = [row["n"] for row in store.query(sql)]
    assert len(counts) == 2 and counts[0] == counts[1]


def test_continuing_without_an_earlier_run_is_refused(lab: FakeLab, program: Path) -> None:
    lab.configure(**CLEAR)
    done = advise(lab, program, "--continue")
    assert done.status == 3
    assert "nothing to continue" in done.stderr and "--store" in done.stderr and "omit --continue" in done.stderr
    assert not lab.calls()


@pytest.mark.lengthy
def test_continuing_settles_open_questions(lab: FakeLab, program: Path) -> None:
    lab.configure(**NOISY)
    advise(lab, program, budget=AMPLE)
    first, before = advice(lab), rounds_run(lab)
    assert first["rounds"] == MOST_ROUNDS and first["choice"]["kind"] != "malloc"
    assert advise(lab, program, budget=AMPLE).status == 0
    assert rounds_run(lab) == before, "without --continue a judgement that has all its rounds gets no more"
    done = advise(lab, program, "--continue", budget=AMPLE)
    last = advice(lab)
    assert done.status == 0 and last["rounds"] > MOST_ROUNDS
    assert last["choice"]["kind"] == "malloc" and last["choice"]["cpu"]["verdict"] == "better"
    contenders = len({json.dumps(o) for o in _judged(lab)})
    assert rounds_run(lab) - before == contenders * (last["rounds"] - MOST_ROUNDS), "only judging rounds were added"
    after = rounds_run(lab)
    assert advise(lab, program, "--continue", budget=AMPLE).status == 0
    assert rounds_run(lab) == after, "what is decided needs no more rounds"


@pytest.mark.lengthy
def test_a_few_more_rounds_keep_the_verdict_and_are_stored(
    lab: FakeLab, program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab.configure(**NOISY)
    advise(lab, program, budget=AMPLE)
    first = advice(lab)
    with monkeypatch.context() as patch:
        patch.setattr(schedule, "rounds_in", lambda *_: 2)
        assert advise(lab, program, "--continue", budget=AMPLE).status == 0
    second = advice(lab)
    assert second["rounds"] == first["rounds"] == MOST_ROUNDS
    assert _without(second["effects"], {"evidence"}) == _without(first["effects"], {"evidence"})
    assert "10 rounds more are kept for later: the verdict changes after 62 at the earliest" in second["notes"]


def _judged(lab: FakeLab) -> list[Any]:
    sql = "select distinct contender_kind, contender from observations where stage = 'judging'"
    return [list(row.values()) for row in Store(lab.work / "results/store").query(sql)]


@pytest.mark.lengthy
@pytest.mark.parametrize("change", ["program", "input", "options", "libraries"])
def test_a_changed_program_or_input_starts_over_with_a_reason(lab: FakeLab, program: Path, change: str) -> None:
    lab.configure(**CLEAR)
    data = lab.work / "data"
    data.write_text("1")
    advise(lab, program, words=(str(data),))
    before = rounds_run(lab)
    options: tuple[str, ...] = ()
    if change == "program":
        program.write_text("#!/bin/sh\n# another build\n")
    elif change == "input":
        data.write_text("2")
    elif change == "options":
        options = ("--seed=2",)
    else:
        lab.configure(**{**CLEAR, "mallocs": {"other": [1.0, 1.0]}})
    done = advise(lab, program, "--continue", *options, words=(str(data),))
    assert done.status == 0
    assert f"starting again, not from the earlier advise: the {change} changed since then" in done.stderr
    assert rounds_run(lab) > 1.5 * before
    assert not any("earlier runs" in note for note in advice(lab)["notes"])


@pytest.mark.lengthy
def test_another_command_line_is_another_program(lab: FakeLab, program: Path) -> None:
    lab.configure(**CLEAR)
    advise(lab, program)
    done = advise(lab, program, "--continue", words=("--more",))
    assert done.status == 3 and "has no advise of this command line" in done.stderr


def test_several_inputs_are_not_continued(lab: FakeLab, program: Path) -> None:
    (lab.work / "inputs").write_text("1\n2\n")
    done = advise(lab, program, "--continue", "--inputs=inputs", words=("{}",))
    assert done.status == 2 and "--inputs" in done.stderr


class KillSignal(BaseException):
    """Ends a run as a signal does."""


@pytest.mark.lengthy
@pytest.mark.parametrize(("at", "leaves_file"), [(3, False), (12, True), (40, False), (70, True)])
def test_an_interrupted_run_is_continued(
    lab: FakeLab, program: Path, monkeypatch: pytest.MonkeyPatch, at: int, leaves_file: bool
) -> None:
    lab.configure(**CLEAR)
    advise(lab, program, "--store=whole")
    whole, all_rounds = advice(lab), rounds_run(lab)
    kept = itertools.count(1)
    keep, finish = RoundLog.keep, RoundLog.finish

    def keep_until(self: RoundLog, outcome: Outcome, metrics: Metrics | None = None) -> None:
        keep(self, outcome, metrics)
        if next(kept) == at:
            raise KillSignal

    with monkeypatch.context() as patch, pytest.raises(KillSignal):
        patch.setattr(RoundLog, "keep", keep_until)
        if not leaves_file:  # the process is gone before it could write its file
            patch.setattr(RoundLog, "finish", lambda self: self._unfinished._file.close())
        advise(lab, program)
    assert RoundLog.finish is finish
    before = rounds_run(lab)
    done = advise(lab, program, "--continue")
    last = advice(lab)
    assert done.status == 0, done.stderr
    assert "its recording is used" in done.stderr
    assert last["rounds"] == whole["rounds"] and last["choice"]["kind"] == whole["choice"]["kind"]
    contenders = 6
    repeated = (before - all_rounds) + (rounds_run(lab) - before) - all_rounds
    assert repeated <= contenders, "at most the round that was not whole is run again"


@pytest.mark.lengthy
def test_the_state_of_a_run_survives_the_store(lab: FakeLab, program: Path) -> None:
    lab.configure(**CLEAR)
    advise(lab, program)
    ((run, document),) = Store(lab.work / "results/store").records(KIND, dict)
    state = AdviceState.from_json(document)
    assert state.run == run and state.steps.decided and state.steps.chosen
    assert AdviceState.from_json(state.to_json()) == state


@pytest.mark.lengthy
def test_a_damaged_state_is_ignored(lab: FakeLab, program: Path) -> None:
    lab.configure(**CLEAR)
    advise(lab, program)
    (path,) = (lab.work / "results/store" / KIND).iterdir()
    path.write_bytes(path.read_bytes()[:-9])
    assert advise(lab, program, "--continue").status == 3
    assert advise(lab, program).status == 0


@given(st.lists(st.tuples(st.integers(1, 400), st.booleans()), min_size=1, max_size=12))
def test_all_looks_together_spend_no_more_than_the_error(runs: list[tuple[int, bool]]) -> None:
    """Holds for any number of rounds at which time ends a run, and any number of continuations."""
    spent, judged, made, there, shares = None, 0, 0, 0, 0.0
    for more, goes_on in runs:
        looks = Looks(spent=spent, judged=judged, made=made, there=there, goes_on=goes_on)
        end = min(there + more, max(looks.rounds, there))
        rests_on = looks.judged(end)
        passed = [n for n in looks.numbers if n < end] if spent is None else [n for n in looks.numbers if n <= end]
        for number in dict.fromkeys([*passed, rests_on]):
            factor = looks.look(number)
            shares += 1.0 / factor if number != judged else 0.0
        spent, judged, made, there = looks.look(rests_on), rests_on, looks.made, end
        again = Looks(spent=spent, judged=judged, made=made, there=there)
        assert again.look(judged) == spent, "the same rounds have the same interval"
    assert shares <= 1.0 + 1e-9


def test_continuations_do_not_widen_the_first_look() -> None:
    values = [0.8 + 0.01 * n for n in range(LOOKS[0])]
    one, kept = (compare("cpu_seconds", "a", "b", values, [1.0] * len(values), n) for n in (1, Looks().look(LOOKS[0])))
    assert one is not None and kept is not None
    assert (one.low, one.high) == (kept.low, kept.high)


@pytest.mark.lengthy
def test_continued_runs_keep_the_error_rate_for_equal_programs(seed: int) -> None:
    source = random.Random(seed)
    wrong = 0
    for _ in range(300):
        values: list[float] = []
        spent, judged, made, is_wrong = None, 0, 0, False
        for run in range(4):
            looks = Looks(spent=spent, judged=judged, made=made, there=len(values), goes_on=run > 0)
            for number in looks.numbers[:1] if run else LOOKS:
                while len(values) < number:
                    values.append(source.lognormvariate(0.0, 0.05))
                found = compare("cpu_seconds", "a", "b", values, [1.0] * number, looks.look(number))
                assert found is not None
                is_wrong = is_wrong or found.verdict in ("better", "worse")
            judged = len(values)
            spent, made = looks.look(judged), looks.made
        wrong += is_wrong
    assert wrong <= 300 * ALPHA
