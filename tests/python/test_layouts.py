# SPDX-License-Identifier: BSL-1.0
"""Layouts by name on the command line, and the table that compares them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from millpond.cli import main
from millpond.report.views.layout_view import layout_rows
from millpond.rounds import layouts
from millpond.rounds.layouts import Layout, layout_of
from millpond.rounds.simulation_data import Simulation
from millpond.system.errors import Failure, Status


@pytest.fixture
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A build with two mallocs of ours and the library of pools."""
    folder = tmp_path / "lib" / "millpond"
    folder.mkdir(parents=True)
    for name in ("multipool", "bsd", "record", "layout_pools"):
        (folder / f"libmillpond-{name}.so").touch()
    monkeypatch.setattr(layouts.native, "find", lambda name: tmp_path / "bin" / name)
    return folder


def test_a_layout_has_a_name_or_a_path(built: Path, tmp_path: Path) -> None:
    pools = built / "libmillpond-layout_pools.so"
    own = tmp_path / "mine.so"
    own.touch()
    assert layout_of("glibc") == Layout("glibc")
    assert layout_of("bsd") == Layout("bsd", built / "libmillpond-bsd.so")
    assert layout_of(str(own)) == Layout(str(own), own)
    assert layout_of("per-subsystem") == Layout("per-subsystem", pools, ("--per-subsystem",))
    assert layout_of("plans/all.json") == Layout("all.json", pools, ("--plan", "plans/all.json"))


def test_an_unknown_layout_is_refused_with_a_list(built: Path) -> None:
    with pytest.raises(Failure) as unknown:
        layout_of("nope")
    assert unknown.value.status == Status.USAGE
    assert "bsd" in unknown.value.message
    assert "multipool" in unknown.value.message
    assert "record" not in unknown.value.message.replace("per-subsystem", "")
    assert "layout_pools" not in unknown.value.message
    with pytest.raises(Failure) as missing:
        layout_of(str(built / "none.so"))
    assert missing.value.status == Status.INPUT


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["trace", "layout"], "TRACE is missing"),
        (["trace", "layout", "one.mpt"], "LAYOUT... is missing"),
        (["trace", "layout", "one.mpt", "no-such-layout"], "unknown layout"),
        (["trace", "layout", "-o", "x.din", "one.mpt", "glibc"], "the ending of 'x.din'"),
        (["simulate", "--layout", "glibc"], "one trace"),
        (["simulate", "--layout", "glibc", "one.mpt", "two.mpt"], "one trace"),
        (["simulate", "--layout=", "one.mpt"], "names of layouts"),
        (["simulate", "--layout", "glibc", "--measure", "one.mpt"], "--measure"),
        (["simulate", "--layout", "glibc", "--played", "p", "one.mpt"], "--played"),
    ],
)
def test_a_wrong_command_line_is_refused(built: Path, words: list[str], reason: str, capsys: Any) -> None:
    assert main(words) == Status.USAGE
    assert reason in capsys.readouterr().err


def simulation(misses: int, faults: int) -> Simulation:
    rules = {"straddling_access": "once", "modification": "once", "access_bytes_max": 0, "flush_references": 0,
             "flush_instructions": 0}  # fmt: skip
    source = {"path": "t", "format": "recording", "instructions": 10, "references": 1000, "loads": 1000, "stores": 0,
              "modifications": 0}  # fmt: skip
    common = {"unit": "references", "line_bytes": 32, "ways": 1, "sets": 512, "cache_bytes": 16384}
    references = {"metric": "references", "unit": "references", "value": 1000}
    cache: dict[str, Any] = {
        "description": "direct:line=32,size=16K",
        "metrics": [references, {"metric": "misses", "value": misses, **common}],
    }
    pages: dict[str, Any] = {
        "description": "distances:line=4K",
        "metrics": [references, {"metric": "cold", "unit": "references", "value": 100, "line_bytes": 4096}],
        "curve": [[0, 900 - faults], [3, faults]],
    }
    return Simulation.from_json(
        {"schema": "millpond.simulation/1", "input": source, "rules": rules, "simulators": [cache, pages]}
    )


def test_rows_match_the_recorded_simulators() -> None:
    rows = dict(layout_rows([simulation(40, 10), simulation(80, 30)]))
    assert rows["instructions"] == [10, 10]
    assert rows["16 KiB, direct-mapped, lines of 32"] == [40, 80]
    assert rows["page faults, memory of 8 KiB"] == [110, 130]
