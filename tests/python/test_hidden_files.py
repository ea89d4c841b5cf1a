# SPDX-License-Identifier: BSL-1.0
"""Hidden files of a store: only files of dead writers are removed, after their rows are kept elsewhere."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path
from typing import Any

import pytest

from millpond.cells.cell import Cell, Control, Outcome, Program
from millpond.store.observations import Journal
from millpond.store.relations import observations_in
from millpond.store.round_log import RoundLog
from millpond.store.store import Store
from millpond.store.unfinished import abandoned
from millpond.system import output

STAMP = "2026-01-01T00:00:00Z"


def killed(folder: Path, rounds: int = 3) -> tuple[Path, str]:
    """Returns the hidden file of a run whose writer has died, and the run's id."""
    store = Store(folder)
    store.prepare()
    log = RoundLog(store, Journal("trial", ["prog"], seed=1), resume=False)
    for number in range(rounds):
        cell = Cell(Program(("prog",)), Control("bare"))
        log.keep(Outcome(cell, "trial", number, {"cpu_seconds": 1.0}, STAMP))
    file = log._unfinished._file
    assert file is not None
    file.close()  # the lock goes with it, as when a process ends
    return log._unfinished.path, log.journal.run


def listing(folder: Path) -> dict[str, str]:
    return {p.name: p.read_text() for p in sorted(folder.iterdir()) if p.suffix != ".parquet" and p.is_file()}


def lines_of(path: Path) -> list[Any]:
    return [json.loads(line.partition("\t")[0]) for line in path.read_text().splitlines()]


@pytest.mark.lengthy
def test_a_dead_writers_file_is_moved_into_its_run(tmp_path: Path) -> None:
    hidden, run = killed(tmp_path)
    Store(tmp_path).prepare()
    assert not hidden.exists()
    assert [r.run for r in Store(tmp_path).runs()] == [run]


@pytest.mark.lengthy
def test_flipped_bits_lose_no_row_silently(tmp_path: Path, seed: int, capfd: pytest.CaptureFixture[str]) -> None:
    hidden, _ = killed(tmp_path)
    whole = hidden.read_bytes()
    rows = [one for _, one in abandoned(hidden.parent)]
    assert len(rows) == 1
    dice = random.Random(seed)
    for _ in range(60):
        data = bytearray(whole)
        data[dice.randrange(len(data))] ^= 1 << dice.randrange(8)
        hidden.write_bytes(data)
        Store(tmp_path).prepare()
        (made,) = list(hidden.parent.glob("*.parquet")) or [None]
        said = capfd.readouterr().err
        if made is None or observations_in(made) != rows[0]:
            assert "damaged" in said
        for path in hidden.parent.iterdir():
            path.unlink()


@pytest.mark.lengthy
def test_a_cut_last_line_is_dropped(tmp_path: Path) -> None:
    hidden, run = killed(tmp_path)
    with hidden.open("a") as file:
        file.write('[{"run": "')
    Store(tmp_path).prepare()
    assert not hidden.exists()
    assert [r.run for r in Store(tmp_path).runs()] == [run]


ABOUT = {"run": "notes", "experiment": "e", "workload": "w", "machine": "m", "fingerprint": "f", "version": "1"}
FOREIGN = {
    ".empty.rounds": "",
    ".text.rounds": "my own notes\n",
    ".notes.rounds": '{"run": "notes"}\n[]\n',
    ".list.rounds": "[1]\n",
    ".other.rounds": json.dumps(ABOUT) + "\n",
    "..rounds": json.dumps({**ABOUT, "run": "../../x"}) + "\n",
    ".number.rounds": json.dumps({**ABOUT, "run": 5}) + "\n",
    ".deep.rounds": "[" * 100_000 + "\n",
    ".deeper.rounds": '{"a":' * 100_000 + "\n",
    ".binary.rounds": "\0\1\2\n",
    ".x.parquet.1.part": "half of something",
}


def test_foreign_hidden_files_stay(tmp_path: Path) -> None:
    folder = tmp_path / "observations"
    folder.mkdir()
    for name, content in FOREIGN.items():
        (folder / name).write_text(content)
    os.mkfifo(folder / ".fifo.rounds")
    (folder / ".folder.rounds").mkdir()
    (tmp_path / "elsewhere").write_text(json.dumps({**ABOUT, "run": "link"}) + "\n")
    (folder / ".link.rounds").symlink_to(tmp_path / "elsewhere")
    before = (listing(folder), sorted(p.name for p in folder.iterdir()))
    Store(tmp_path).prepare()
    assert abandoned(folder) == []
    assert (listing(folder), sorted(p.name for p in folder.iterdir())) == before


@pytest.mark.lengthy
@pytest.mark.parametrize(
    "line",
    [
        "{}", "5", "[5]", '[{"run": "x"}]', "nonsense", "[" * 100_000,
        '[{"run": "RUN", "value": "text"}]', '[{"run": "RUN", "unknown": 1}]',
    ],
)  # fmt: skip
def test_a_partly_readable_file_stays_and_its_rows_are_kept(tmp_path: Path, line: str) -> None:
    hidden, run = killed(tmp_path)
    with hidden.open("a") as file:
        file.write(line.replace("RUN", run) + "\n")
    content = hidden.read_text()
    for _ in range(2):
        Store(tmp_path).prepare()
        assert hidden.read_text() == content
        assert [r.run for r in Store(tmp_path).runs()] == [run]


@pytest.mark.parametrize("field", ["round", "metric", "value", "parameters", "plan", "id", "time_utc"])
@pytest.mark.parametrize("value", [True, [], {}, "x", 1e308, 2**70, float("nan")])
def test_rows_of_wrong_types_stop_no_verb_and_are_not_lost(tmp_path: Path, field: str, value: Any) -> None:
    hidden, _ = killed(tmp_path, 1)
    about, rows = lines_of(hidden)
    rows[0][field] = value
    hidden.write_text(json.dumps(about) + "\n" + json.dumps(rows) + "\n")
    content = hidden.read_text()
    Store(tmp_path).prepare()
    store = Store(tmp_path)
    kept = store.query("select count(*) n from observations") if store.runs() else [{"n": 0}]
    assert store.skipped == []
    assert kept[0]["n"] == len(rows) or hidden.read_text() == content


def test_a_file_with_rows_missing_from_its_run_stays(tmp_path: Path) -> None:
    hidden, run = killed(tmp_path, 3)
    (tmp_path / "observations" / f"{run}.parquet").write_text("not a table")
    Store(tmp_path).prepare()
    assert hidden.exists()


def test_results_replace_only_their_own_file(tmp_path: Path) -> None:
    target = tmp_path / "report.html"
    own = f".report.html.{os.getpid()}"
    for name in (f"{own}.part", f"{own}-1.part", "report.html.part", ".report.html"):
        (tmp_path / name).write_text("precious")
    before = {p.name: p.read_text() for p in tmp_path.iterdir()}
    output.write_text(target, "new")
    with pytest.raises(RuntimeError), output.written_aside(target):
        raise RuntimeError
    assert {p.name: p.read_text() for p in tmp_path.iterdir()} == {**before, "report.html": "new"}
    umask = os.umask(0)
    os.umask(umask)
    assert target.stat().st_mode & 0o777 == 0o666 & ~umask
