# SPDX-License-Identifier: BSL-1.0
"""The contents of a run are one value: read once, complete, and honest about missing and damaged files."""

from __future__ import annotations

from dataclasses import FrozenInstanceError
from pathlib import Path

import pytest
import sample_store

from millpond.store.store import Store

KINDS = {"observations", "subsystems", "contexts", "characterisation", "advice"}


@pytest.fixture
def stored(tmp_path: Path) -> tuple[Store, str]:
    """A store with one whole run, and the run's id."""
    run = str(sample_store.advise(tmp_path)["run"])
    return Store(tmp_path), run


def test_contents_hold_every_file_of_a_run(stored: tuple[Store, str]) -> None:
    store, run = stored
    contents = store.load(run)
    assert contents.kinds == KINDS and contents.documents.keys() == {"characterisation", "advice"}
    assert len(contents.observations) == store.query("select count(*) n from observations")[0]["n"]
    assert [row["name"] for row in contents.subsystems or ()] == list(sample_store.NAMES)
    assert contents.call_tree is not None and contents.characterisation is not None
    with pytest.raises(FrozenInstanceError):
        contents.run = "another"  # type: ignore[misc]


def test_a_run_without_files_has_empty_contents(stored: tuple[Store, str]) -> None:
    contents = stored[0].load("another")
    assert (contents.kinds, contents.documents, contents.observations) == (frozenset(), {}, ())
    assert contents.subsystems is None and contents.call_tree is None and contents.characterisation is None


def test_damaged_files_have_a_kind_and_no_content(stored: tuple[Store, str]) -> None:
    store, run = stored
    files = sorted(path for path in store.folder.rglob("*") if path.is_file())
    for path in files:
        path.write_bytes(path.read_bytes()[:-9])
    contents = store.load(run)
    assert contents.kinds == KINDS
    assert (contents.documents, contents.observations, contents.subsystems) == ({}, (), None)
    assert contents.call_tree is None
    assert [skipped.path for skipped in store.skipped] == files


def test_contents_once_read_outlive_their_files(stored: tuple[Store, str]) -> None:
    store, run = stored
    contents = store.load(run)
    rows, documents = contents.observations, dict(contents.documents)
    for path in [path for path in store.folder.rglob("*") if path.is_file()]:
        path.unlink()
    assert rows and contents.observations is rows and contents.documents == documents
    assert contents.call_tree is None, "a relation is read when it is first used"
    assert store.load(run).kinds == frozenset()


def test_a_document_that_does_not_fit_becomes_a_skipped_file(stored: tuple[Store, str]) -> None:
    store, run = stored
    contents = store.load(run)
    assert contents.made("advice", lambda data: data["verdict"]) is not None
    assert contents.made("subsystems", len) == len(sample_store.NAMES)
    assert contents.made("inputs", dict) is None and store.skipped == []
    assert contents.made("advice", lambda data: data["no such field"]) is None
    assert list(store.records("advice", lambda data: data["no such field"])) == []
    assert [skipped.path for skipped in store.skipped] == [store.folder / "advice" / f"{run}.json.gz"]
