# SPDX-License-Identifier: BSL-1.0
"""Replay's error is that of its predicted differences; it is kept, and widens intervals that rest on a replay."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from conftest import FakeLab
from msgspec import structs

from millpond.cells.cell import Cell, Control, Outcome, Program
from millpond.cells.metrics import PROCESS_METRICS, REPLAY_METRICS
from millpond.doctor import replay_error
from millpond.doctor.replay_error import Difference, Validation
from millpond.rounds import mallocs
from millpond.rounds.interleaved_rounds import Silence
from millpond.rounds.mallocs import Malloc
from millpond.rounds.real_program import RealProgram
from millpond.rounds.replay_rounds import PACED
from millpond.statistics.order_statistics import summarise
from millpond.store.store import Store
from millpond.system.errors import Failure, Status
from millpond_bench.accuracy import validation, validation_rounds

GLIBC, FAST, LEAN = Malloc("glibc", None), Malloc("fast", Path("/lib/fast.so")), Malloc("lean", Path("/lib/lean.so"))
MALLOCS = (GLIBC, FAST, LEAN)


class FakeRunner:
    """A runner of rounds with given seconds and bytes by malloc, the same in every round."""

    def __init__(self, cpu: Sequence[float], peak: Sequence[float]) -> None:
        self._values = {m.name: (c, p) for m, c, p in zip(MALLOCS, cpu, peak, strict=True)}

    def run(self, cell: Cell, stage: str, number: int) -> Outcome:
        cpu, peak = self._values[GLIBC.name if isinstance(cell.contender, Control) else cell.contender.name]
        values = {"cpu_seconds": cpu, "wall_seconds": cpu, "peak_bytes": peak, "page_faults": 10.0}
        known = {
            m: v
            for m, v in values.items()
            if m in (PROCESS_METRICS if isinstance(cell.subject, Program) else REPLAY_METRICS).units
        }
        return Outcome(cell, stage, number, known, "2026-01-02T03:04:05.000+00:00")


@pytest.fixture
def programs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replaces the real programs by two that need no input."""
    made = {name: lambda _, name=name: RealProgram(name, ("true", name)) for name in ("one", "two")}
    monkeypatch.setattr(validation_rounds, "PROGRAMS", made)
    monkeypatch.setattr(replay_error, "FEWEST_PROGRAMS", 2)
    monkeypatch.setattr(
        validation_rounds, "MallocRunner", lambda *_, **__: FakeRunner((1.0, 0.9, 1.1), (1e7, 1.2e7, 9e6))
    )
    monkeypatch.setattr(validation_rounds, "library_bytes", lambda *_: dict.fromkeys((m.name for m in MALLOCS), 0.0))


def validated(tmp_path: Path, cpu: Sequence[float], peak: Sequence[float]) -> validation_rounds.ReplayValidator:
    work = validation_rounds.ReplayValidator(MALLOCS, tmp_path, lambda *_: FakeRunner(cpu, peak), Silence(), rounds=3)
    work.run(["one", "two"])
    return work


@pytest.mark.lengthy
def test_a_replay_that_is_right_has_no_error(lab: FakeLab, programs: None, tmp_path: Path) -> None:
    """Only differences count, because all rounds include the cost of the replay's loop."""
    lab.configure(events=1000)
    work = validated(tmp_path, (0.3, 0.2, 0.4), (3e6, 5e6, 2e6))
    found = work.document()
    assert not found.notes
    assert len(found.differences) == 2 * 2 * 3
    assert {d.error for d in found.differences if d.metric == "peak_bytes"} == {0.0}
    for summary in found.summary.values():
        assert summary.holds and summary.within == summary.differences == 6
        assert summary.widens_by == pytest.approx(0.0, abs=1e-9)


def test_parts_make_the_whole_validation(lab: FakeLab, programs: None, tmp_path: Path) -> None:
    """Each worker of a cluster validates one program."""
    lab.configure(events=1000)
    whole = validated(tmp_path, (0.3, 0.2, 0.4), (3e6, 5e6, 2e6))
    work = whole.part()
    for name in ("one", "two"):
        part = work.part()
        part.run([name])
        work.take_in(part)
    assert replace_head(work.document()) == replace_head(whole.document())
    rows = [[(r.contender, r.parameters, r.stage, r.metric, r.value) for r in w.journal.rows] for w in (work, whole)]
    assert rows[0] == rows[1] and {row.run for row in work.journal.rows} == {work.journal.run}


def replace_head(found: Validation) -> Validation:
    return structs.replace(found, run="", time_utc="")


def test_seconds_need_full_speed_and_bytes_the_programs_pace(lab: FakeLab, programs: None, tmp_path: Path) -> None:
    """Some mallocs purge by the clock, so bytes need the program's pace. Paced rounds share a processor: no seconds."""
    lab.configure(events=1000)
    full_speed, pace = FakeRunner((0.3, 0.2, 0.4), (1.0, 1.0, 1.0)), FakeRunner((9.0, 5.0, 7.0), (3e6, 5e6, 2e6))

    class Either:
        def run(self, cell: Cell, stage: str, number: int) -> Outcome:
            return (pace if PACED in cell.parameters else full_speed).run(cell, stage, number)

    work = validation_rounds.ReplayValidator(MALLOCS, tmp_path, lambda *_: Either(), Silence(), rounds=3)
    work.run(["one", "two"])
    assert all(s.holds and s.within == 6 for s in work.document().summary.values())


def test_a_round_runs_measurement_and_prediction_together(
    lab: FakeLab, programs: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab.configure(events=1000)
    rounds: list[int] = []

    class RoundRecorder(FakeRunner):
        def run(self, cell: Cell, stage: str, number: int) -> Outcome:
            rounds.append(number)
            return super().run(cell, stage, number)

    noting = RoundRecorder((1.0, 0.9, 1.1), (1e7, 1.2e7, 9e6))
    monkeypatch.setattr(validation_rounds, "MallocRunner", lambda *_, **__: noting)
    work = validation_rounds.ReplayValidator(MALLOCS, tmp_path, lambda *_: noting, Silence(), rounds=2)
    work.run(["one"])
    assert rounds == [0] * 9 + [1] * 9 + [2] * 9


def test_a_replay_that_is_wrong_does_not_hold(lab: FakeLab, programs: None, tmp_path: Path) -> None:
    lab.configure(events=1000)
    found = validated(tmp_path, (0.3, 0.4, 0.4), (3e6, 5e6, 2e6)).document()
    cpu = found.summary["cpu_seconds"]
    assert not cpu.holds
    assert cpu.widens_by > 0.1
    assert found.summary["peak_bytes"].holds


@pytest.mark.parametrize(
    ("measured", "predicted", "whole", "holds"),
    [
        (0.10, 0.12, 1.0, True),  # a fifth of the difference
        (0.10, 0.13, 1.0, False),
        (0.01, 0.029, 1.0, True),  # twice the difference, but within 2 % of the program
        (0.01, 0.031, 1.0, False),
        (-0.10, 0.10, 1.0, False),
        (0.0, 0.0, 1.0, True),
    ],
)
def test_the_bar_is_25_percent_of_the_difference_or_2_of_the_whole(
    measured: float, predicted: float, whole: float, holds: bool
) -> None:
    sides = [summarise([value] * 3) for value in (measured, predicted)]
    found = Difference.between("p", "b", "a", "cpu_seconds", sides[0], sides[1], whole)
    assert found.holds is holds


def test_a_difference_that_was_measured_coarsely_decides_nothing() -> None:
    coarse, fine = summarise([0.0, 0.1, 0.2]), summarise([0.09, 0.1, 0.11])
    assert not Difference.between("p", "b", "a", "cpu_seconds", coarse, fine, 1.0).decided
    assert Difference.between("p", "b", "a", "cpu_seconds", fine, coarse, 1.0).decided


@pytest.mark.lengthy
def test_the_observations_of_both_sides_are_kept(lab: FakeLab, programs: None, tmp_path: Path) -> None:
    lab.configure(events=1000)
    work = validated(tmp_path, (0.3, 0.2, 0.4), (3e6, 5e6, 2e6))
    store = Store(tmp_path / "store")
    store.write(work.journal)
    rows = store.query("select * from observations")
    assert {r["experiment"] for r in rows} == {"validation"}
    seen = {(json.loads(r["parameters"])["program"], r["stage"]) for r in rows}
    assert seen == {(p, s) for p in ("one", "two") for s in ("measured", "predicted")}


def test_a_program_that_fails_becomes_a_note_and_the_others_go_on(
    lab: FakeLab, programs: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab.configure(events=1000)

    def absent(_: Path) -> RealProgram:
        raise Failure(Status.ENVIRONMENT, "one is missing")

    monkeypatch.setattr(validation_rounds, "PROGRAMS", {**validation_rounds.PROGRAMS, "one": absent})
    work = validated(tmp_path, (0.3, 0.2, 0.4), (3e6, 5e6, 2e6))
    assert [p.name for p in work.programs] == ["two"]
    assert work.notes == ["one: one is missing"]


@pytest.mark.lengthy
def test_the_error_of_the_latest_validation_of_this_machine_is_taken(
    lab: FakeLab, programs: None, tmp_path: Path
) -> None:
    lab.configure(events=1000)
    store = Store(tmp_path / "store")
    assert replay_error.replay_error(store) == replay_error.NOT_VALIDATED
    assert "not validated on this machine" in replay_error.NOT_VALIDATED.sentence
    for cpu in ((0.3, 0.4, 0.4), (0.3, 0.2, 0.4)):
        work = validated(tmp_path, cpu, (3e6, 5e6, 2e6))
        store.write(work.journal)
        document = work.document()
        store.write_document(replay_error.KIND, work.journal.run, document.to_json())
    found = replay_error.replay_error(store)
    assert found.validated and found.programs == 2
    assert found.run == max(r.run for r in store.runs() if r.time_utc)
    assert found.of("end_bytes") == found.of("peak_bytes")


def test_a_validation_of_few_programs_is_kept_and_not_used(lab: FakeLab, programs: None, tmp_path: Path) -> None:
    lab.configure(events=1000)
    work = validation_rounds.ReplayValidator(
        MALLOCS, tmp_path, lambda *_: FakeRunner((0.3,) * 3, (3e6,) * 3), Silence(), rounds=2
    )
    work.run(["one"])
    store = Store(tmp_path / "store")
    store.write(work.journal)
    store.write_document(replay_error.KIND, work.journal.run, work.document().to_json())
    assert replay_error.replay_error(store) == replay_error.NOT_VALIDATED


def test_a_validation_of_another_machine_counts_for_nothing(lab: FakeLab, programs: None, tmp_path: Path) -> None:
    lab.configure(events=1000)
    work = validated(tmp_path, (0.3, 0.2, 0.4), (3e6, 5e6, 2e6))
    work.journal.rows[:] = [structs.replace(row, machine="another [abc]") for row in work.journal.rows]
    store = Store(tmp_path / "store")
    store.write(work.journal)
    store.write_document(replay_error.KIND, work.journal.run, {**work.document().to_json(), "machine": "another [abc]"})
    assert not replay_error.replay_error(store).validated


def test_a_validation_of_the_first_version_is_read(lab: FakeLab, programs: None, tmp_path: Path) -> None:
    """Validations of the first version have neither `decided` nor `undecided`."""
    lab.configure(events=1000)
    work = validated(tmp_path, (0.3, 0.2, 0.4), (3e6, 5e6, 2e6))
    store = Store(tmp_path / "store")
    store.write(work.journal)
    old = work.document().to_json()
    for found in (*old["differences"], *old["summary"].values()):
        found.pop("decided", None)
        found.pop("undecided", None)
    store.write_document(replay_error.KIND, work.journal.run, old)
    assert replay_error.replay_error(store).validated and not store.skipped


def test_a_widened_interval_contains_the_narrow_one() -> None:
    narrow = summarise([1.0, 1.1, 1.2])
    wide = replay_error.widen(narrow, 0.5)
    assert (wide.low, wide.median, wide.high) == (narrow.low - 0.5, narrow.median, narrow.high + 0.5)
    assert "widened" in wide.method
    assert replay_error.widen(wide, 0.0) == wide
    with pytest.raises(ValueError, match="cannot be made narrower"):
        replay_error.widen(narrow, -1.0)


@pytest.mark.lengthy
def test_the_verb_keeps_its_result_and_doctor_shows_it(
    lab: FakeLab, programs: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab.configure(events=1000)
    monkeypatch.setattr(validation, "find_mallocs", lambda: (list(MALLOCS), {"tcmalloc": "libtcmalloc-minimal4"}))
    monkeypatch.setattr(validation, "ReplayRunner", lambda *_: FakeRunner((0.3, 0.2, 0.4), (3e6, 5e6, 2e6)))
    done = lab.bench("validate", "one", "two", "--rounds=3", "-o", "v.json")
    assert done.status == 0, done.stderr
    found: dict[str, Any] = json.loads((lab.work / "v.json").read_text())
    assert found.pop("checksum", "").startswith("crc32:")
    assert found["schema"] == "millpond.validation/1"
    assert Validation.from_json(found).to_json() == found
    assert "fast − glibc" in done.stdout and "tcmalloc is not installed" in done.stderr
    store = Store(lab.work / "results/store")
    assert store.load(found["run"]).documents["validation"] == found
    lab.run("doctor", "-o", "d.json")
    told = json.loads((lab.work / "d.json").read_text())["replay_error"]
    assert (told["validated"], told["run"]) == (True, found["run"])


def test_without_a_second_malloc_the_verb_says_what_to_install(lab: FakeLab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(validation, "find_mallocs", lambda: mallocs.find_mallocs([lab.work]))
    done = lab.run("doctor", "--validate")
    assert done.status == 4
    assert "libjemalloc2" in done.stderr and "libmimalloc2.0" in done.stderr


def test_an_unknown_program_is_refused(lab: FakeLab, programs: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(validation, "find_mallocs", lambda: (list(MALLOCS), {}))
    done = lab.run("doctor", "--validate", "--programs=three")
    assert done.status == 2
    assert "'three'" in done.stderr and "one, two" in done.stderr


def test_rounds_count_only_if_the_program_ends_well(lab: FakeLab, tmp_path: Path) -> None:
    lab.configure(cpu={"bare": 0.5}, noise=0.0)
    runner = mallocs.MallocRunner(tmp_path)
    cell = Cell(Program(("true",)), FAST)
    good = runner.run(cell, "measured", 1)
    assert (good.status, good.values["cpu_seconds"]) == ("ok", 0.5)
    assert lab.calls()[-1][-2:] == [f"LD_PRELOAD={FAST.path}", "true"]
    lab.configure(exit=3)
    bad = runner.run(replace(cell, contender=GLIBC), "measured", 2)
    assert bad.status == "killed" and "exits with 3" in bad.why
