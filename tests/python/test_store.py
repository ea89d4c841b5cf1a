# SPDX-License-Identifier: BSL-1.0
"""The store keeps every row, returns rows by queries, and never shows half a file."""

from __future__ import annotations

import gzip
import json
import os
import random
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import millpond
from millpond.cells.cell import Cell, Outcome, Program
from millpond.cells.metrics import OF_A_PROCESS
from millpond.cells.plan_file import PlanRoute
from millpond.cells.plans import Plan
from millpond.store import store_files
from millpond.store.call_tree import CallTree
from millpond.store.observations import FIELDS, Journal
from millpond.store.store import Store
from millpond.system.errors import Failure, Status

ROUTES = (PlanRoute(("book",), "book", "multipool"), PlanRoute(("*",), "rest", "multipool"))
PLAN = Plan("single", "/bin/x", "ab", ROUTES)


def journal_of(rounds: int) -> tuple[Journal, Cell]:
    journal = Journal("advise", ["prog", "a b"])
    cell = Cell(Program(("prog", "a b")), PLAN)
    values = {"cpu_seconds": 0.5, "peak_bytes": 4096.0}
    journal.add_outcomes(Outcome(cell, "judging", n, values, "2026-01-01T00:00:00Z") for n in range(rounds))
    return journal, cell


def test_every_row_comes_back_with_exactly_the_fields_of_the_schema(tmp_path: Path) -> None:
    journal, _ = journal_of(3)
    store = Store(tmp_path)
    store.write(journal)
    rows = store.query("select * from observations order by id")
    assert [r["id"] for r in rows] == [r.id for r in journal.rows]
    assert tuple(rows[0]) == FIELDS
    assert rows == [r.to_json() for r in journal.rows] and store.load(journal.run).observations == journal.rows
    assert len(rows) == 3 * len(OF_A_PROCESS)


def test_rows_name_their_run_and_why_a_value_is_absent(tmp_path: Path) -> None:
    journal, _ = journal_of(1)
    Store(tmp_path).write(journal)
    sql = "select * from observations where metric = ?"
    (faults,) = Store(tmp_path).query(sql, ["page_faults"])
    assert (faults["value"], faults["unit"], faults["kind"]) == (None, "faults", "counted")
    assert faults["why_null"]
    (cpu,) = Store(tmp_path).query(sql, ["cpu_seconds"])
    assert (cpu["value"], cpu["why_null"], cpu["subsystem"]) == (0.5, None, "book")
    assert json.loads(cpu["plan"]) == PLAN.to_json()
    assert json.loads(cpu["subject"]) == ["prog", "a b"]


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


def test_empty_damaged_and_good_stores_are_told_apart(tmp_path: Path) -> None:
    store = Store(tmp_path)
    with pytest.raises(Failure, match="no observations") as caught:
        store.query("select 1 from observations")
    assert caught.value.status == Status.INPUT
    path = store.write(journal_of(1)[0])
    path.write_bytes(b"PAR1 not really")
    with pytest.raises(Failure, match="no observations that can be read") as caught:
        store.query("select * from observations")
    assert caught.value.status == Status.INPUT


def test_half_written_files_are_not_part_of_the_relation(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.write(journal_of(1)[0])
    (tmp_path / "observations" / ".x.parquet.1.part").write_bytes(b"PAR1")
    (tmp_path / "observations" / ".x.parquet").write_bytes(b"PAR1")
    assert store.query("select count(*) as n from observations") == [{"n": len(OF_A_PROCESS)}]


def test_a_place_that_cannot_be_written_is_an_environment_failure(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    for act in (Store(file).prepare, lambda: Store(file).write(journal_of(1)[0])):
        with pytest.raises(Failure) as caught:
            act()
        assert caught.value.status == Status.ENVIRONMENT


CHARACTERISATION = {
    "schema": "millpond.characterisation/1",
    "trace": {"events": 12},
    "subsystems": [
        {"name": "book", "kind": "class", "named": True, "events": 7, "bytes": 70, "dvluc": {"D": {"value": 0.5}}},
        {"name": "µ::prices", "kind": "function", "named": False, "events": 5, "dvluc": {"L": {"value": None}}},
    ],
    "heat_map": {"granule_bytes": 4096, "cells": [[0, 0, 1, 0.5, 0.25]]},
    "pins": None,
}
CONTEXTS = CallTree.from_json({
    "schema": "millpond.contexts/1",
    "functions": ["main", "book::add", "never called"],
    "subsystems": ["book", "µ::prices"],
    "nodes": [[0, 0, -1, 0, 0, 0, 0], [1, 1, 0, 7, 70, 1, 10], [1, 1, 1, 5, 50, 0, 0]],
    "peak_bytes": [0, 60, 50],
})  # fmt: skip


def full_store(place: Path) -> tuple[Store, str]:
    store = Store(place)
    journal, _ = journal_of(2)
    store.write(journal)
    store.write_characterisation(journal.run, CHARACTERISATION)
    store.write_contexts(journal.run, CONTEXTS)
    store.write_document("advice", journal.run, {"verdict": "Do nothing", "machine": "m"})
    return store, journal.run


def test_documents_come_back_as_they_were_written(tmp_path: Path) -> None:
    _, run = full_store(tmp_path)
    store = Store(tmp_path)
    contents = store.load(run)
    assert contents.characterisation == CHARACTERISATION
    assert contents.call_tree == CONTEXTS
    assert contents.documents["advice"] == {"verdict": "Do nothing", "machine": "m"}
    another = store.load("another")
    assert another.characterisation is None and another.call_tree is None
    assert store.skipped == []
    store.finish()


def test_subsystems_and_contexts_are_relations(tmp_path: Path) -> None:
    store, run = full_store(tmp_path)
    sql = "select s.name, s.D, c.function, c.objects from subsystems s join contexts c using (run) "
    assert store.query(sql + "where s.name = c.subsystem order by s.position") == [
        {"name": "book", "D": 0.5, "function": "book::add", "objects": 7},
        {"name": "µ::prices", "D": None, "function": "book::add", "objects": 5},
    ]
    assert store.query("select distinct run from contexts") == [{"run": run}]


def test_a_relation_without_files_is_empty(tmp_path: Path) -> None:
    Store(tmp_path).write(journal_of(1)[0])
    assert Store(tmp_path).query("select * from subsystems") == []


@pytest.mark.lengthy
def test_runs_are_found_by_a_beginning_or_as_the_latest(tmp_path: Path) -> None:
    store, run = full_store(tmp_path)
    store.write_document("advice", "20200102T030405-0000", {"program": {"argv": ["quiet", "x"]}, "machine": "m"})
    quiet, measured = store.runs()
    assert (quiet.run, quiet.workload, quiet.machine) == ("20200102T030405-0000", "quiet x", "m")
    assert quiet.time_utc.startswith("2020-01-02T03:04:05")
    assert (measured.run, measured.experiment, measured.workload) == (run, "advise", "prog a b")
    assert store.find_run("latest") == store.find_run(run) == store.find_run(run[:-3]) == measured
    assert store.find_run("2020") == quiet
    for text, reason in (("2", "2 runs begin with"), ("1999", "no run begins with")):
        with pytest.raises(Failure, match=reason) as caught:
            store.find_run(text)
        assert caught.value.status == Status.INPUT
    with pytest.raises(Failure, match="has no runs"):
        Store(tmp_path / "none").find_run("latest")


def test_two_machines_stores_merge_by_copying_files(tmp_path: Path) -> None:
    runs = {full_store(tmp_path / name)[1]: name for name in ("here", "there")}
    shutil.copytree(tmp_path / "there", tmp_path / "here", dirs_exist_ok=True)
    merged = Store(tmp_path / "here")
    assert {r.run for r in merged.runs()} == set(runs)
    assert merged.query("select count(*) n from observations") == [{"n": 2 * 2 * len(OF_A_PROCESS)}]
    for run in runs:
        assert merged.load(run).characterisation == CHARACTERISATION
        assert merged.load(run).call_tree == CONTEXTS
    shutil.copytree(tmp_path / "there", tmp_path / "here", dirs_exist_ok=True)  # once more changes nothing
    assert len(Store(tmp_path / "here").runs()) == 2
    merged.finish()


def test_damaged_and_foreign_files_are_skipped_with_status_3(tmp_path: Path) -> None:
    store, run = full_store(tmp_path)
    parquet, document = store.folder / "observations" / f"{run}.parquet", store.folder / "advice" / f"{run}.json.gz"
    whole = parquet.read_bytes()
    table = pa.table({"run": ["other"], "x": [1]})
    wrong_type = pa.table({name: ["text"] for name in FIELDS})
    bad: dict[str, bytes] = {
        "observations/empty.parquet": b"",
        "observations/cut.parquet": whole[: len(whole) // 2],
        "observations/flipped.parquet": whole[:100] + bytes([whole[100] ^ 4]) + whole[101:],
        "observations/copy.parquet": whole,
        "observations/notes.txt": b"mine",
        "advice/cut.json.gz": document.read_bytes()[:-5],
        "advice/list.json.gz": gzip.compress(b"[1]"),
        "advice/text.json.gz": b"{}",
        "README": b"hello",
    }
    for name, content in bad.items():
        (tmp_path / name).write_bytes(content)
    parquets = {"observations/foreign.parquet": table, "observations/typed.parquet": wrong_type}
    for name, foreign in parquets.items():
        pq.write_table(foreign, tmp_path / name)
    (tmp_path / "observations" / ".old.parquet.7.part").write_bytes(b"PAR1")
    (tmp_path / "observations" / "folder.parquet").mkdir()
    store = Store(tmp_path)
    assert len(store.runs()) == 1  # the verb goes on
    assert store.query("select count(*) n from observations") == [{"n": 2 * len(OF_A_PROCESS)}]
    expected = {tmp_path / name for name in (*bad, *parquets, "observations/folder.parquet")}
    assert {s.path for s in store.skipped} == expected
    assert all(s.reason for s in store.skipped)
    with pytest.raises(Failure) as caught:
        store.finish()
    assert caught.value.status == Status.INPUT
    assert all(str(path) in caught.value.message for path in expected)
    assert "\n" not in caught.value.message


def test_a_damaged_part_of_a_run_is_left_out_and_named(tmp_path: Path) -> None:
    _, run = full_store(tmp_path)
    for name in (f"subsystems/{run}.parquet", f"contexts/{run}.parquet", f"advice/{run}.json.gz"):
        path = tmp_path / name
        path.write_bytes(path.read_bytes()[:-9])
    store = Store(tmp_path)
    contents = store.load(run)
    assert (contents.characterisation, contents.call_tree, contents.documents.get("advice")) == (None, None, None)
    assert len(store.skipped) == 3


@pytest.mark.lengthy
def test_any_flipped_bit_of_a_call_tree_is_noticed(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    _, run = full_store(tmp_path)
    path = tmp_path / "contexts" / f"{run}.parquet"
    whole = path.read_bytes()
    expected = Store(tmp_path).load(run).call_tree
    assert expected is not None
    for _ in range(150):
        at = chance.randrange(len(whole))
        path.write_bytes(whole[:at] + bytes([whole[at] ^ (1 << chance.randrange(8))]) + whole[at + 1 :])
        store = Store(tmp_path)
        assert store.load(run).call_tree is None, f"byte {at} of {len(whole)}"
        assert [s.path for s in store.skipped] == [path]


def test_files_without_a_checksum_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_files, "_sealed", lambda content: content)
    monkeypatch.setattr(store_files, "_SEALED_KEY", "something else")
    _, run = full_store(tmp_path)
    monkeypatch.undo()
    store = Store(tmp_path)
    assert store.load(run).call_tree is not None
    assert store.skipped == []


@pytest.mark.lengthy
def test_a_flipped_bit_is_noticed_or_changes_no_value(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    journal, _ = journal_of(2)
    path = Store(tmp_path).write(journal)
    whole = path.read_bytes()
    sql = "select id, value, round from observations order by id"
    expected = Store(tmp_path).query(sql)
    noticed = 0
    for _ in range(40):
        at = chance.randrange(len(whole))
        path.write_bytes(whole[:at] + bytes([whole[at] ^ (1 << chance.randrange(8))]) + whole[at + 1 :])
        store = Store(tmp_path)
        try:
            assert store.query(sql) == expected, f"byte {at} of {len(whole)}"
        except Failure as failure:
            noticed += 1
            assert str(path) in failure.message
    assert noticed


WRITER = """
import sys
from pathlib import Path
from millpond.cells.cell import Cell, Control, Outcome, Program
from millpond.store import store_files
from millpond.store.observations import Journal
from millpond.store.round_log import RoundLog
from millpond.store.store import Store
store, cell = Store(Path(sys.argv[1])), Cell(Program(("prog",)), Control("bare"))
store.prepare()
log = RoundLog(store, Journal("trial", ["prog"], seed=1), resume=False)
for number in range(4):
    log.keep(Outcome(cell, "trial", number, {"cpu_seconds": 1.0 + number}, "2026-01-01T00:00:00Z"))
if sys.argv[2] == "half a line":
    log._unfinished._file.write(b'[{"run": "')
if sys.argv[2] == "half a file":
    real = Path.write_bytes
    def half(path, content):
        real(path, content[:500])
        print("now", flush=True); sys.stdin.read()
    Path.write_bytes = half
    log.finish()
print("now", flush=True)
sys.stdin.read()
"""


@pytest.mark.lengthy
@pytest.mark.parametrize("moment", ["a round", "half a line", "half a file"])
def test_a_killed_writer_leaves_its_rounds_and_nothing_half(tmp_path: Path, moment: str) -> None:
    command = [sys.executable, "-c", WRITER, str(tmp_path), moment]
    environment = {**os.environ, "PYTHONPATH": str(Path(millpond.__file__).parents[1])}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"now\n"
        store = Store(tmp_path)
        assert (store.runs(), store.skipped) == ([], [])
        store.prepare()
        assert store.runs() == []  # files of living writers are not touched
        writer.send_signal(signal.SIGKILL)
    store.prepare()
    (run,) = store.runs()
    assert (run.experiment, run.workload) == ("trial", "prog")
    sql = "select round, value from observations where metric = 'cpu_seconds' order by round"
    assert [(r["round"], r["value"]) for r in store.query(sql)] == [(n, 1.0 + n) for n in range(4)]
    assert store.skipped == []
    store.prepare()
    assert len(store.runs()) == 1
    assert not list((tmp_path / "observations").glob(".*.rounds"))
