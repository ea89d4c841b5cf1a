# SPDX-License-Identifier: BSL-1.0
"""The store keeps every row, is read back by queries, and never shows half a file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from millpond.cells import METRICS, Cell, Outcome
from millpond.errors import Failure, Status
from millpond.observations import FIELDS, Journal
from millpond.plans import Plan, Route
from millpond.store import Store

PLAN = Plan("alone", "/bin/x", "ab", (Route(("book",), "book", "multipool"), Route(("*",), "rest", "multipool")))


def journal_of(rounds: int) -> tuple[Journal, Cell]:
    journal = Journal("advise", ["prog", "a b"])
    cell = Cell(("prog", "a b"), "plan", PLAN)
    values = {"cpu_seconds": 0.5, "peak_bytes": 4096.0}
    journal.add_outcomes(Outcome(cell, "judging", n, values, 0, 0, "ok", "2026-01-01T00:00:00Z") for n in range(rounds))
    return journal, cell


def test_every_row_comes_back_with_exactly_the_fields_of_the_schema(tmp_path: Path) -> None:
    journal, _ = journal_of(3)
    store = Store(tmp_path)
    store.write(journal)
    rows = store.query("select * from observations order by id")
    assert [r["id"] for r in rows] == [r["id"] for r in journal.rows]
    assert tuple(rows[0]) == FIELDS
    assert rows == journal.rows
    assert len(rows) == 3 * len(METRICS)


def test_rows_say_what_was_run_and_why_a_value_is_absent(tmp_path: Path) -> None:
    journal, _ = journal_of(1)
    Store(tmp_path).write(journal)
    sql = "select * from observations where metric = ?"
    (faults,) = Store(tmp_path).query(sql, ["page_faults"])
    assert (faults["value"], faults["unit"], faults["kind"]) == (None, "faults", "counted")
    assert faults["why_null"]
    (cpu,) = Store(tmp_path).query(sql, ["cpu_seconds"])
    assert (cpu["value"], cpu["why_null"], cpu["subsystem"]) == (0.5, None, "book")
    assert json.loads(cpu["plan"]) == PLAN.to_json()
    assert json.loads(cpu["parameters"])["argv"] == ["prog", "a b"]


def test_evidence_names_measured_rounds_only(tmp_path: Path) -> None:
    journal, cell = journal_of(3)
    ids = journal.evidence("judging", [cell], ["cpu_seconds"])
    Store(tmp_path).write(journal)
    rows = {r["id"]: r for r in Store(tmp_path).query("select * from observations")}
    assert [rows[i]["round"] for i in ids] == [1, 2]
    assert journal.evidence("choosing", [cell], ["cpu_seconds"]) == []


def test_two_runs_are_two_files_and_one_relation(tmp_path: Path) -> None:
    for _ in range(2):
        Store(tmp_path).write(journal_of(1)[0])
    assert len(list((tmp_path / "observations").iterdir())) == 2
    assert Store(tmp_path).query("select count(distinct run) as runs from observations") == [{"runs": 2}]


def test_an_empty_store_and_a_damaged_one_are_told_apart_from_a_good_one(tmp_path: Path) -> None:
    store = Store(tmp_path)
    with pytest.raises(Failure, match="no observations") as caught:
        store.query("select 1 from observations")
    assert caught.value.status == Status.INPUT
    path = store.write(journal_of(1)[0])
    path.write_bytes(b"PAR1 not really")
    with pytest.raises(Failure, match="no observations that can be read") as caught:
        store.query("select * from observations")
    assert caught.value.status == Status.INPUT


def test_half_written_files_are_no_part_of_the_relation(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.write(journal_of(1)[0])
    (tmp_path / "observations" / ".x.parquet.1.part").write_bytes(b"PAR1")
    (tmp_path / "observations" / ".x.parquet").write_bytes(b"PAR1")
    assert store.query("select count(*) as n from observations") == [{"n": len(METRICS)}]


def test_a_place_that_cannot_be_written_is_an_environment_failure(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    for act in (Store(file).prepare, lambda: Store(file).write(journal_of(1)[0])):
        with pytest.raises(Failure) as caught:
            act()
        assert caught.value.status == Status.ENVIRONMENT
