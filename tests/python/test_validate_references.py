# SPDX-License-Identifier: BSL-1.0
"""Predictions from references are compared with measurements; the errors are kept, and give intervals."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import FakeLab
from fakes.fake_environments import fake_environments
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from millpond.cells.cell import Cell, Outcome
from millpond.doctor import references_error
from millpond.doctor.references_error import (
    KIND,
    NOT_VALIDATED,
    ReferencesValidation,
    half_width,
    leave_one_out,
)
from millpond.rounds import predicted_misses
from millpond.rounds.interleaved_rounds import Silence
from millpond.rounds.layouts import Layout
from millpond.rounds.predicted_misses import MALLOCS
from millpond.rounds.real_program import RealProgram
from millpond.statistics.order_statistics import rank_correlation
from millpond.store.store import Store
from millpond.system.errors import Failure, Status
from millpond_bench.accuracy import references_rounds
from millpond_bench.accuracy.references_rounds import ReferencesValidator

PREDICTED = dict(zip(MALLOCS, (1.0, 0.8, 0.9, 1.2, 0.7), strict=True))
MEASURED = dict(zip(MALLOCS, (2.0, 1.6, 1.8, 2.4, 1.4), strict=True))
ROWS = len(MALLOCS) * (len(predicted_misses.CACHES) + len(predicted_misses.MEMORY_SHARES))


class FakeRunner:
    """A runner of rounds with given seconds by malloc."""

    def run(self, cell: Cell, stage: str, number: int) -> Outcome:
        seconds = MEASURED[cell.contender.name]
        values = {"cpu_seconds": seconds, "wall_seconds": seconds, "peak_bytes": 1.0, "page_faults": 1.0}
        return Outcome(cell, stage, number, {**values, "major_faults": 0.0}, "2026-01-02T03:04:05.000+00:00")


@pytest.fixture
def programs(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str, int]]:
    """Two programs; counts are predicted 1 % too high on every malloc, seconds at half of the measured ones."""
    made = {name: lambda _, name=name: RealProgram(name, ("true", name)) for name in ("one", "two")}
    monkeypatch.setattr(references_rounds, "PROGRAMS", made)
    monkeypatch.setattr(references_error, "FEWEST_PROGRAMS", 2)
    monkeypatch.setattr(references_rounds, "MallocRunner", lambda *_, **__: FakeRunner())
    monkeypatch.setattr(references_rounds, "layout_of", Layout)
    monkeypatch.setattr(ReferencesValidator, "_latencies", lambda _self, folder: folder / "probe.json")
    return fake_environments(monkeypatch, Layout, predicted=10100, truth=10000, seconds=PREDICTED.__getitem__)


def validated(tmp_path: Path, *names: str, environments: int = 3) -> ReferencesValidator:
    work = ReferencesValidator(tmp_path, Silence(), environments)
    work.run(names)
    return work


@pytest.mark.lengthy
def test_every_prediction_is_a_row_with_its_error(programs: list[tuple[str, str, int]], tmp_path: Path) -> None:
    found = validated(tmp_path, "one", "two").document()
    assert not found.notes
    assert len(found.counts) == 2 * ROWS
    assert all(row.error_percent == pytest.approx(1.0) for row in found.counts)
    assert {(row.metric, len(row.environments)) for row in found.counts} == {("misses", 3), ("page_faults", 1)}
    assert all(summary.holds for summary in found.summary.values())
    assert {(on, of) for on, of, _ in programs} == {("multipool" if m == "glibc" else "glibc", m) for m in MALLOCS}
    assert {number for _, _, number in programs} == {0, 1, 2}


def test_parts_make_the_whole_validation(programs: list[tuple[str, str, int]], tmp_path: Path) -> None:
    """Each worker of a cluster validates one program."""
    whole = validated(tmp_path, "one", "two")
    work = whole.part()
    for name in ("one", "two"):
        part = work.part()
        part.run([name])
        work.take_in(part)
    here, there = (structs.replace(one.document(), run="", time_utc="") for one in (whole, work))
    assert there == here
    rows = [[(row.cell, row.metric, row.value) for row in one.journal.rows] for one in (whole, work)]
    assert rows[0] == rows[1]


@pytest.mark.lengthy
def test_seconds_are_compared_as_ratios_and_ranks(programs: list[tuple[str, str, int]], tmp_path: Path) -> None:
    """All seconds are predicted at half of the measured ones, which leaves ratios exact."""
    found = validated(tmp_path, "one", environments=1).document()
    assert [each.rank_correlation for each in found.ranks] == [pytest.approx(1.0)]
    assert {row.malloc: row.error_percent for row in found.seconds} == {
        m: None if m == "glibc" else pytest.approx(0.0) for m in MALLOCS
    }
    summary = found.seconds_summary
    assert summary is not None and summary.half_width == pytest.approx(0.0)
    assert (summary.checked, summary.coverage) == (0, None)  # no other program is left


def test_without_environments_only_seconds_are_validated(programs: list[tuple[str, str, int]], tmp_path: Path) -> None:
    found = validated(tmp_path, "one", "two", environments=0).document()
    assert (found.counts, found.summary, found.notes) == ((), {}, ())
    assert {(row.program, row.malloc) for row in found.seconds} == {(p, m) for p in ("one", "two") for m in MALLOCS}
    assert {(on, of) for on, of, _ in programs} == {("glibc", m) for m in MALLOCS if m != "glibc"}
    assert {number for _, _, number in programs} == {0}
    assert ReferencesValidation.from_json(found.to_json()).seconds_summary == found.seconds_summary


def test_a_spent_budget_leaves_programs_out(programs: list[tuple[str, str, int]], tmp_path: Path) -> None:
    work = ReferencesValidator(tmp_path, Silence(), 3)
    work.run(["one"], float("-inf"))
    assert work.notes == ["one: not run, the budget is spent"]


def test_after_its_deadline_a_program_keeps_its_first_malloc(
    programs: list[tuple[str, str, int]], tmp_path: Path
) -> None:
    found = predicted_misses.predict_program(RealProgram("one", ("true",)), tmp_path, 3, deadline=float("-inf"))
    assert list(found.counts) == [MALLOCS[0]]
    assert found.why_not["glibc"] == "1 of 3 environments: the budget is spent"
    assert found.why_not["multipool"] == "0 of 3 environments: the budget is spent"


def test_a_command_line_is_a_program(programs: list[tuple[str, str, int]], tmp_path: Path) -> None:
    found = references_rounds.program_of("true --fast 'two words'", tmp_path)
    assert Path(found.command[0]).name == "true" and found.command[1:] == ("--fast", "two words")
    with pytest.raises(Failure) as unknown:
        references_rounds.program_of("no-such-program", tmp_path)
    assert unknown.value.status == Status.USAGE and "one, two" in unknown.value.message


def test_a_command_line_may_hold_paths(programs: list[tuple[str, str, int]], tmp_path: Path) -> None:
    found = validated(tmp_path, "true ./a/file", environments=0).document()
    assert not found.notes and {row.program for row in found.seconds} == {"true ./a/file"}


def test_a_program_that_cannot_be_recorded_becomes_a_note(
    programs: list[tuple[str, str, int]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(workload: RealProgram, *arguments: object, **options: object) -> object:
        raise Failure(Status.ENVIRONMENT, f"{workload.name} ended with 3")

    monkeypatch.setattr(references_rounds, "predict_program", failing)
    assert validated(tmp_path, "one").notes == ["one: one ended with 3"]


@pytest.mark.lengthy
def test_the_verb_keeps_its_document_in_the_store(lab: FakeLab, programs: list[tuple[str, str, int]]) -> None:
    done = lab.bench("validate", "--with=references", "one", "two", "--rounds=2", "-o", "v.json")
    assert done.status == 0, done.stderr
    found = json.loads((lab.work / "v.json").read_text())
    assert found.pop("checksum", "").startswith("crc32:")
    assert ReferencesValidation.from_json(found).to_json() == found
    assert "32 KiB, 8-way" in done.stdout and "rank correlation" in done.stdout
    store = Store(lab.work / "results/store")
    assert store.load(found["run"]).documents[KIND] == found
    error = references_error.references_error(store)
    assert (error.run, error.programs, error.coverage) == (found["run"], 2, 1.0)
    assert error.note.values == {"cpu_ratio": error.half_width}
    stages = {row["stage"] for row in store.query("select * from observations")}
    assert stages == {"predicted", "truth", "measured"}


@pytest.mark.lengthy
def test_the_verb_can_validate_only_seconds(lab: FakeLab, programs: list[tuple[str, str, int]]) -> None:
    done = lab.bench("validate", "--with=references", "one", "two", "--rounds=0")
    assert done.status == 0, done.stderr
    assert "rank correlation" in done.stdout and "Cachegrind" not in done.stdout
    error = references_error.references_error(Store(lab.work / "results/store"))
    assert (error.programs, error.coverage) == (2, 1.0)


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (["--rounds=0"], Status.USAGE, "needs --with references"),
        (["--with", "references", "no-such-program"], Status.USAGE, "one, two"),
        (["--with", "references", "one", "--budget=0"], Status.ENVIRONMENT, "--budget"),
    ],
)
def test_a_request_without_a_result_has_a_remedy(
    lab: FakeLab, programs: list[tuple[str, str, int]], words: list[str], status: Status, said: str
) -> None:
    done = lab.bench("validate", *words)
    assert done.status == status
    assert said in done.stderr


@pytest.mark.lengthy
def test_only_validations_of_this_machine_on_enough_programs_count(
    programs: list[tuple[str, str, int]], tmp_path: Path
) -> None:
    store = Store(tmp_path / "store")
    few, foreign = validated(tmp_path, "one"), validated(tmp_path, "one", "two")
    foreign.journal.rows[:] = [structs.replace(row, machine="another [abc]") for row in foreign.journal.rows]
    for work in (few, foreign):
        store.write(work.journal)
        machine = work.journal.rows[0].machine
        store.write_document(KIND, work.journal.run, {**work.document().to_json(), "machine": machine})
    assert references_error.references_error(store) == NOT_VALIDATED
    assert "by default" in NOT_VALIDATED.sentence and not NOT_VALIDATED.note.validated
    assert NOT_VALIDATED.interval(0.8) == pytest.approx((0.4, 1.2))


@pytest.mark.lengthy
@given(
    st.dictionaries(st.integers(), st.lists(st.floats(0.0, 10.0), min_size=1), min_size=9).map(
        lambda found: {str(number): own for number, own in found.items()}
    )
)
def test_a_half_width_contains_nine_programs_in_ten(distances: dict[str, list[float]]) -> None:
    width = half_width(distances)
    assert any(width in own for own in distances.values())
    assert sum(max(own) <= width for own in distances.values()) >= 0.9 * len(distances)


def test_no_interval_goes_below_nothing() -> None:
    assert references_error.ReferencesError(0.5).interval(0.8) == (pytest.approx(0.4), pytest.approx(1.2))
    assert references_error.ReferencesError(1.3).interval(0.8)[0] == 0.0


def test_mallocs_of_one_program_are_not_many_programs() -> None:
    """One program in five is wrong on all mallocs; the many good ratios of the others must not narrow the interval."""
    assert half_width({**{name: [0.1] * 40 for name in "abcd"}, "e": [0.6] * 4}) == 0.6


def test_coverage_is_of_programs_that_were_left_out() -> None:
    alike = {name: [0.1, 0.2] for name in "abc"}
    assert leave_one_out(alike) == (6, 6)
    assert leave_one_out({**alike, "d": [0.15, 5.0]}) == (7, 8)
    assert leave_one_out({"a": [0.1]}) == (0, 0)


@given(st.lists(st.floats(0.1, 10.0), min_size=2, unique=True))
def test_ranks_correlate_fully_where_the_order_is_the_same(values: list[float]) -> None:
    assert rank_correlation(values, [value**3 for value in values]) == pytest.approx(1.0)
    assert rank_correlation(values, [-value for value in values]) == pytest.approx(-1.0)


def test_equal_values_share_their_ranks() -> None:
    assert rank_correlation([1, 2, 2, 3], [1, 2, 3, 4]) == pytest.approx(0.9486832980505138)
    assert rank_correlation([1, 1], [1, 2]) is None
