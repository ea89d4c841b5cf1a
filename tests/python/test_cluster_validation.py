# SPDX-License-Identifier: BSL-1.0
"""A validation on a cluster takes in each program's results, from whichever worker; one that fails becomes a note."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

pytest.importorskip("distributed")

from millpond.cluster.cluster import Cluster
from millpond.cluster.ready_workers import ReadyWorkers
from millpond.cluster.shipment import Shipment
from millpond.system.errors import Failure, Status
from millpond_bench.accuracy.cluster_validation import ValidationOnCluster

pytestmark = pytest.mark.lengthy
KILLER, DAMAGED, UNKNOWN = "killer", "damaged", "unknown"


@dataclass
class FakeValidator:
    """A validator whose results are the programs' names, their time in seconds, and the process."""

    inputs: Path
    notes: list[str] = field(default_factory=list)
    results: list[tuple[str, float, int]] = field(default_factory=list)

    def require_known(self, names: Sequence[str]) -> None:
        if UNKNOWN in names:
            raise Failure(Status.USAGE, "unknown program")

    def part(self) -> FakeValidator:
        return FakeValidator(self.inputs)

    def take_in(self, part: FakeValidator) -> None:
        self.results += part.results
        self.notes += part.notes

    def run(self, names: Sequence[str], deadline: float = float("inf")) -> None:
        for name in names:
            if name == KILLER:
                os.kill(os.getpid(), signal.SIGKILL)
            if name == DAMAGED:
                raise Failure(Status.INPUT, "its trace is damaged")
            self.results.append((name, deadline - time.monotonic(), os.getpid()))
            self.notes.append(f"{name} from {self.inputs.name}")


@pytest.fixture
def work(cluster: Cluster, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> FakeValidator:
    monkeypatch.setattr(ReadyWorkers, "_quiet", lambda _self, addresses: set(addresses))
    monkeypatch.setattr(Shipment, "with_programs", lambda self, _names: self)
    return FakeValidator(tmp_path / "here")


def test_all_programs_are_validated_in_their_share_of_time(cluster: Cluster, work: FakeValidator) -> None:
    names = ["gawk", "perl", "sqlite3"]
    ValidationOnCluster(cluster, Shipment((), ())).run(work, names, 600.0)
    assert [name for name, _, _ in work.results] == names
    assert all(0 < seconds <= 300.0 for _, seconds, _ in work.results)  # two turns of two workers
    assert os.getpid() not in {process for _, _, process in work.results}
    assert work.notes[:3] == [f"{name} from here" for name in names]


def test_a_program_that_fails_leaves_the_others(cluster: Cluster, work: FakeValidator) -> None:
    ValidationOnCluster(cluster, Shipment((), ())).run(work, ["gawk", DAMAGED], 600.0)
    assert [name for name, _, _ in work.results] == ["gawk"]
    assert "damaged: its trace is damaged" in work.notes


def test_unknown_programs_are_refused_before_any_runs(cluster: Cluster, work: FakeValidator) -> None:
    with pytest.raises(Failure, match="unknown program"):
        ValidationOnCluster(cluster, Shipment((), ())).run(work, ["gawk", UNKNOWN], 600.0)
    assert not work.results


@pytest.mark.more
def test_a_program_that_ends_every_worker_is_given_up(cluster: Cluster, work: FakeValidator) -> None:
    ValidationOnCluster(cluster, Shipment((), ())).run(work, [KILLER], 600.0)
    assert not work.results
    assert any(note.startswith(f"{KILLER}: ") and "given up" in note for note in work.notes)
