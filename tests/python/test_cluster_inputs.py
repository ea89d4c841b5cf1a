# SPDX-License-Identifier: BSL-1.0
"""Advice on several inputs on a cluster is that of one machine, and everything that workers stored is in one store."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("distributed")

from conftest import FakeLab
from test_inputs import advice, rows_of

from millpond.advice import cluster_inputs
from millpond.advice.advise_options import Options
from millpond.advice.cluster_inputs import CallPlace, inputs_on_cluster
from millpond.advice.inputs import Input, InputCommand
from millpond.cluster.cluster import Cluster
from millpond.cluster.ready_workers import ReadyWorkers
from millpond.cluster.shipment import Shipment
from millpond.cluster.workplace import Workplace
from millpond.store.store import Store
from millpond.system.errors import Failure, Status

pytestmark = pytest.mark.lengthy


@pytest.fixture
def unexamined(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers whose noise is not measured, which takes seconds, but known, and without native programs."""

    def quiet(self: ReadyWorkers, addresses: list[str]) -> set[str]:
        self._noise.update(dict.fromkeys(addresses, 0.001))
        return set(addresses)

    monkeypatch.setattr(ReadyWorkers, "_quiet", quiet)
    monkeypatch.setattr(Shipment, "with_programs", lambda self, _names: self)
    monkeypatch.setattr(Shipment, "of", lambda _programs, files=(), **_: Shipment((), ()))


def command(number: int, *words: str) -> InputCommand:
    return InputCommand(number, Input(number, words[1:]), words)


@pytest.mark.more
def test_advice_on_a_cluster_is_that_of_one_machine(lab: FakeLab, unexamined: None) -> None:
    cpu = {"bare": 0.010, "empty": 0.0101, "shared": 0.0090, "shared_huge": 0.0090, "looked_up": 0.0103}
    subsystems = [{"name": "book", "bytes": 5000}, {"name": "prices", "bytes": 4000}]
    lab.configure(events=1000, subsystems=subsystems, cpu=cpu, gains={"book": 0.85})
    (lab.work / "inputs").write_text("one\n# no\ntwo words\nthree\n")
    found: list[dict[str, Any]] = []
    for place, words in (("here", ()), ("there", ("--workers=2",))):
        done = lab.run("advise", "--budget=80", *words, f"--store={place}", "--inputs=inputs", "-o", f"{place}.json",
                       "--", "true", "{}")  # fmt: skip
        assert done.status == 0, done.stderr
        found.append(json.loads((lab.work / f"{place}.json").read_text()))
        runs = {i["run"] for i in found[-1]["inputs"]}
        assert runs == {run.run for run in Store(Path(place)).runs()} and len(runs) == 3
        assert not Store(Path(place)).skipped
    here, there = found
    assert [i["arguments"] for i in there["inputs"]] == [["one"], ["two", "words"], ["three"]]
    assert there["verdict"] == here["verdict"]
    assert any(note.startswith("measured on 2 workers") for note in there["notes"]), there["notes"]
    assert {n: row["best"] for n, row in rows_of(there).items()} == {n: row["best"] for n, row in rows_of(here).items()}


def test_a_failure_on_a_worker_is_that_inputs_answer(
    cluster: Cluster, unexamined: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(cluster_inputs, "_advise", _refusing)
    with inputs_on_cluster(cluster, "true", Options(store=tmp_path / "store")) as adviser:
        answers = adviser.advise([command(1, "true", "one"), command(2, "true", "bad")], 60.0)
    assert isinstance(answers[1], Failure) and answers[1].status == Status.PROGRAM
    assert not isinstance(answers[0], Failure)


def _refusing(words: tuple[str, ...], options: Options, store: Path) -> object:
    if words[-1] == "bad":
        raise Failure(Status.PROGRAM, "no such program")
    return options.budget_seconds


@pytest.mark.parametrize(("inputs", "share"), [(1, 60.0), (2, 60.0), (3, 30.0), (4, 30.0)])
def test_inputs_share_the_time_of_a_turn(
    inputs: int, share: float, cluster: Cluster, unexamined: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(cluster_inputs, "_advise", _refusing)
    with inputs_on_cluster(cluster, "true", Options(store=tmp_path / "store")) as adviser:
        answers: list[Any] = adviser.advise([command(n, "true") for n in range(1, inputs + 1)], 60.0)
    assert answers == [share] * inputs


def test_a_call_has_the_conductors_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given, work, usual = tmp_path / "stdin", tmp_path / "work", Path.cwd()
    given.write_bytes(b"an order")
    work.mkdir()
    monkeypatch.setenv("MILLPOND_SYSROOT", "other")
    at = CallPlace(work, given, {"MILLPOND_SYSROOT": "root"})

    def look(store: Path) -> tuple[bytes, Path, str]:
        (store / "advice").mkdir(parents=True)
        (store / "advice" / "r.json.gz").write_bytes(b"made")
        return os.read(0, 100), Path.cwd(), os.environ["MILLPOND_SYSROOT"]

    answer, files = cluster_inputs._at_work(Workplace(tmp_path, {}), 1, at, look)
    assert answer == (b"an order", work, "root")
    assert files == {"advice/r.json.gz": b"made"}
    assert Path.cwd() == usual


def test_a_folder_that_a_worker_lacks_is_named(tmp_path: Path) -> None:
    at = CallPlace(tmp_path / "nowhere", Path(os.devnull), {})
    with pytest.raises(Failure, match=r"does not see the folder .*nowhere: put it on a file system"):
        cluster_inputs._at_work(Workplace(tmp_path, {}), 1, at, lambda _store: None)


def test_a_cluster_needs_several_inputs(lab: FakeLab) -> None:
    done = lab.run("advise", "--workers=2", "--", "true")
    assert done.status == 2 and "add --inputs FILE" in done.stderr


def test_what_workers_stored_is_added_whole(tmp_path: Path) -> None:
    one, both = Store(tmp_path / "one"), Store(tmp_path / "both")
    one.write_document("advice", "a", advice().to_json())
    both.write_document("advice", "b", advice().to_json())
    done: Future[tuple[Mapping[str, int], dict[str, bytes]]] = Future()
    done.set_result(({}, one.contents()))
    cluster_inputs._kept(done, both)
    assert {place: len(text) > 0 for place, text in both.contents().items()} == {
        "advice/a.json.gz": True, "advice/b.json.gz": True,
    }  # fmt: skip
