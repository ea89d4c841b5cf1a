# SPDX-License-Identifier: BSL-1.0
"""A store of observations of version 1 is read as if written today, by itself and next to current files.

`data/store_of_version_1` was written by the last revision that wrote version 1: an advice, a replay, an experiment.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from millpond.cells.cell import Cell, Control, Malloc, Outcome, Program, Strategy, Trace, Workload
from millpond.cells.plan_file import PlanRoute
from millpond.cells.plans import Plan
from millpond.store.observations import SCHEMA, Journal
from millpond.store.round_log import outcomes_of
from millpond.store.store import Store
from millpond.store.version_1 import FIELDS_1, SCHEMA_1, observation_of

OLD = Path(__file__).parent / "data" / "store_of_version_1"
AS3 = "multipool(new_delete):type:destroy"
ARGV = Program(("prog", "a b"))
PLAN = Plan(
    "book", "/bin/prog", "ab12",
    (PlanRoute(("book",), "book", "multipool"), PlanRoute(("*",), "rest", "synchronized(multipool)")),
)  # fmt: skip


@pytest.fixture
def store(tmp_path: Path) -> Store:
    shutil.copytree(OLD, tmp_path / "store")
    return Store(tmp_path / "store")


@pytest.mark.lengthy
def test_former_parameters_are_columns_now(store: Store) -> None:
    rows = store.query("select * from observations where metric = 'cpu_seconds' and round = 1")
    found = {(r["contender_kind"], r["contender"], r["subject_kind"], r["stage"]) for r in rows}
    assert found == {
        ("control", "bare", "program", "judging"), ("control", "looked_up", "program", "judging"),
        ("malloc", "jemalloc", "program", "judging"), ("plan", "book", "program", "judging"),
        ("control", "recorded", "trace", "replay"), ("control", "null", "trace", "replay"),
        ("strategy", "multipool", "trace", "replay"), ("malloc", "/lib/libfast.so", "trace", "replay"),
        ("strategy", AS3, "workload", "bench"),
    }  # fmt: skip
    assert {r["schema"] for r in rows} == {SCHEMA}
    (malloc,) = [r for r in rows if r["contender"] == "jemalloc"]
    assert (json.loads(malloc["subject"]), json.loads(malloc["parameters"])) == (["prog", "a b"], {})
    (dead,) = store.query("select distinct signal, exit_status from observations where status = 'killed'")
    assert dead == {"signal": 11, "exit_status": 0}
    assert not store.skipped


@pytest.mark.parametrize(
    ("cell", "stage"),
    [
        (Cell(ARGV, Control("bare")), "judging"),
        (Cell(ARGV, Malloc("jemalloc")), "judging"),
        (Cell(ARGV, PLAN), "judging"),
        (Cell(Trace("/t.mpt"), Strategy("multipool"), (("order", "total"),)), "replay"),
        (Cell(Trace("/t.mpt"), Malloc("/lib/libfast.so"), (("order", "total"),)), "replay"),
        (Cell(Workload("structures"), Strategy(AS3), (("ds", "1"), ("log2_size", "6"))), "bench"),
    ],
)  # fmt: skip
def test_a_cell_of_today_recalls_its_old_rounds(store: Store, cell: Cell, stage: str) -> None:
    rows = [row for contents in store.load_measured() for row in contents.observations]
    outcomes = outcomes_of(rows, [cell], stage)
    assert [o.round for o in outcomes if o.status == "ok" and o.values["cpu_seconds"] >= 1.0]


@pytest.mark.lengthy
def test_files_of_both_versions_lie_in_one_store(store: Store) -> None:
    journal = Journal("advise", ARGV.argv, seed=1)
    journal.add_outcomes([Outcome(Cell(ARGV, Control("bare")), "judging", 1, {"cpu_seconds": 3.0})])
    store.write(journal)
    sql = (
        "select run, max(value) most from observations where contender = 'bare' and metric = 'cpu_seconds' group by run"
    )
    assert {r["most"] for r in store.query(sql)} == {1.2, 3.0}
    assert len(store.runs()) == 4


def test_a_row_of_version_1_is_recovered_from_a_run_that_was_killed() -> None:
    row = dict.fromkeys(FIELDS_1) | {
        "schema": SCHEMA_1, "id": "r:0", "run": "r", "experiment": "trial", "workload": "prog", "round": 1,
        "parameters": json.dumps({"argv": ["prog"], "variant": "empty", "stage": "trial", "exit_status": 0}),
        "strategy": "empty", "metric": "cpu_seconds", "unit": "seconds", "value": 1.0, "status": "ok",
        "kind": "measured", "time_utc": "2026-01-02T03:04:05.000+00:00",
    }  # fmt: skip
    now = observation_of(row)
    assert (now.contender, now.stage, now.subject) == ("empty", "trial", '["prog"]')
    with pytest.raises(ValueError, match="does not hold a JSON object"):
        observation_of({**row, "parameters": "[]"})
