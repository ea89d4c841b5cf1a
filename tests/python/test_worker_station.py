# SPDX-License-Identifier: BSL-1.0
"""A worker's side without Dask: files arrive whole or not at all, and what cannot serve says why."""

from __future__ import annotations

import os
import random
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from cluster_recipes import FakeRecipe, cells_of

from millpond.cells.cell import Cell, Control, Malloc, Trace
from millpond.cluster import worker_station
from millpond.cluster.shipment import CHUNK_BYTES, SENT_BYTES_MAX, Shipment, ShippedFile, digest_of
from millpond.cluster.worker_station import StationGone
from millpond.cluster.workplace import Workplace
from millpond.system import native, process_tree
from millpond.system.errors import Failure, Status

SESSION = "session"


@pytest.fixture(autouse=True)
def station(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    place = tmp_path / "worker"
    place.mkdir()
    monkeypatch.setattr(worker_station, "_new_folder", lambda: place)
    monkeypatch.setattr(process_tree, "kill_descendants", lambda: None)
    monkeypatch.setenv("MILLPOND_BIN", str(tmp_path / "installed" / "bin"))
    yield
    worker_station.leave(SESSION)


def hidden(file: Path) -> Shipment:
    """A shipment of a file that lies at another path here, so that it must be sent."""
    one = ShippedFile.of(file)
    return Shipment((), (ShippedFile(str(file.with_name("elsewhere")), one.digest, one.size_bytes, False),))


def send(shipment: Shipment, content: bytes, step: int = CHUNK_BYTES) -> list[bool]:
    sealed = []
    for digest in worker_station.lacking(SESSION, shipment):
        for offset in range(0, len(content), step):
            worker_station.receive(SESSION, digest, offset, content[offset : offset + step])
        sealed.append(worker_station.seal(SESSION, digest))
    return sealed


@pytest.mark.parametrize("size", [0, 1, 1000])
def test_a_file_arrives_in_parts(size: int, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(random.Random(size).randbytes(size))
    shipment = hidden(file)
    assert send(shipment, file.read_bytes(), 7) == [True]
    assert worker_station.lacking(SESSION, shipment) == []
    assert worker_station.settle(SESSION, shipment, FakeRecipe(), ()) == ""
    place = worker_station.call(SESSION, lambda place: place)
    assert place.located(shipment.files[0].path).read_bytes() == file.read_bytes()


def test_a_file_that_lies_here_is_not_sent(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"content")
    shipment = Shipment.of((), [file])
    assert worker_station.lacking(SESSION, shipment) == []
    file.write_bytes(b"CONTENT")
    assert worker_station.lacking(SESSION, shipment) == [shipment.files[0].digest]


def test_damaged_content_is_refused_and_may_be_sent_again(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"content")
    shipment = hidden(file)
    assert send(shipment, b"CONTENT") == [False]
    assert send(shipment, b"content") == [True]


def test_more_bytes_than_may_travel_are_refused() -> None:
    large = ShippedFile("/a/large", "0" * 64, SENT_BYTES_MAX + 1, False)
    with pytest.raises(Failure, match=r"/a/large .* put it on a file system that the workers share") as refused:
        Shipment((), (large,)).require_sendable([large.digest])
    assert refused.value.status == Status.USAGE


def installed(tmp_path: Path, text: str) -> None:
    program = tmp_path / "installed" / "bin" / "millpond-x"
    library = tmp_path / "installed" / "lib" / "millpond" / "libx.so"
    for path in (program, library):
        path.parent.mkdir(parents=True)
        path.write_text(text)
    program.chmod(0o755)


def test_sent_programs_get_an_installation_of_their_own(tmp_path: Path) -> None:
    installed(tmp_path, "#!/bin/sh\nexit 0\n")
    shipment = Shipment.of(["millpond-x"], with_libraries=True)
    contents = {file.digest: Path(file.path).read_bytes() for _, file in shipment.programs}
    (tmp_path / "installed").rename(tmp_path / "conductor")
    for digest in worker_station.lacking(SESSION, shipment):
        worker_station.receive(SESSION, digest, 0, contents[digest])
        assert worker_station.seal(SESSION, digest)
    assert worker_station.settle(SESSION, shipment, FakeRecipe(), ()) == ""
    found = native.find("millpond-x")
    assert found.is_relative_to(tmp_path / "worker") and found.stat().st_mode & stat.S_IXUSR
    assert (native.libraries("millpond-x") / "libx.so").exists()
    worker_station.leave(SESSION)
    assert os.environ["MILLPOND_BIN"] == str(tmp_path / "installed" / "bin")
    assert not (tmp_path / "worker").exists()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("#!/bin/sh\necho 'x: /lib/libc.so.6: version `GLIBC_9.9'\"'\"' not found (required by x)' >&2; exit 1\n",
         "version `GLIBC_9.9' not found"),
        ("#!/bin/sh\necho 'error while loading shared libraries: libz.so' >&2; exit 127\n", "libz.so"),
        ("#!/bin/sh\nkill -ILL $$\n", "SIGILL"),
        ("\x7fELF of another machine", "Exec format error"),
    ],
)  # fmt: skip
def test_a_program_that_cannot_run_here_is_named(text: str, why: str, tmp_path: Path) -> None:
    installed(tmp_path, text)
    shipment = Shipment.of(["millpond-x"])
    worker_station.lacking(SESSION, shipment)
    found = worker_station.settle(SESSION, shipment, FakeRecipe(), ())
    assert found.startswith("cannot run millpond-x: ") and why in found


def test_a_program_of_the_system_must_be_the_same(tmp_path: Path) -> None:
    program = tmp_path / "gawk"
    program.write_text("one")
    shipment = Shipment.of((), system=[program])
    assert shipment.travelling == ()
    worker_station.lacking(SESSION, shipment)
    assert worker_station.settle(SESSION, shipment, FakeRecipe(), ()) == ""
    program.write_text("two")
    assert "not the same" in worker_station.settle(SESSION, shipment, FakeRecipe(), ())


def test_a_new_process_knows_no_station() -> None:
    with pytest.raises(StationGone):
        worker_station.run_group("other", cells_of(1, 1), "s", 1, False)


def test_a_cell_warms_up_once_before_its_first_round(tmp_path: Path) -> None:
    cells = cells_of(1, 2)
    worker_station.lacking(SESSION, Shipment((), ()))
    worker_station.settle(SESSION, Shipment((), ()), FakeRecipe(), ())
    first, second = (worker_station.run_group(SESSION, cells, "s", number, True) for number in (1, 2))
    assert [o.round for o in first.warm_up] == [0, 0] and second.warm_up == []
    assert [o.cell for o in first.outcomes] == cells and all(o.machine for o in first.outcomes)


def test_rounds_are_pinned_and_the_thread_is_not_afterwards() -> None:
    usual = os.sched_getaffinity(0)
    one = (min(usual),)
    worker_station.lacking(SESSION, Shipment((), ()))
    worker_station.settle(SESSION, Shipment((), ()), FakeRecipe(), one)
    with worker_station._pinned(worker_station._stations[SESSION]):
        assert os.sched_getaffinity(0) == set(one)
    assert os.sched_getaffinity(0) == usual


def test_cells_get_the_paths_here(tmp_path: Path) -> None:
    place = Workplace(tmp_path, {"/c/x.mpt": tmp_path / "1", "/c/libm.so": tmp_path / "2"})
    cell = Cell(Trace("/c/x.mpt"), Malloc("m", Path("/c/libm.so")))
    found = place.located_cell(cell)
    assert found.subject.argv == (str(tmp_path / "1"),)
    assert isinstance(found.contender, Malloc) and found.contender.path == tmp_path / "2"
    assert place.located_cell(Cell(Trace("/c/y"), Control("null"))) == Cell(Trace("/c/y"), Control("null"))


def test_a_digest_is_of_the_content(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / name).write_bytes(b"same")
    assert digest_of(tmp_path / "a") == digest_of(tmp_path / "b")
