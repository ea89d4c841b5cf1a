# SPDX-License-Identifier: BSL-1.0
"""Layouts by name on the command line, and the table that compares them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from millpond.cli import main
from millpond.report.simulation_curves import DIRECT
from millpond.report.simulation_page import render
from millpond.report.views.layout_view import layout_rows, layout_section
from millpond.report.views.model import Words
from millpond.rounds import layouts
from millpond.rounds.layouts import Layout, layout_of
from millpond.rounds.simulation_data import LayoutComparison, NamedSimulation, Simulation
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


def counted(description: str, *rows: dict[str, Any]) -> dict[str, Any]:
    """Returns a simulator with these counts."""
    references = {"metric": "references", "unit": "references", "value": 1000}
    return {"description": description, "metrics": [references, *({"unit": "references", **row} for row in rows)]}


def cache(ways: int, size: int, misses: int, *, line: int = 64, metric: str = "misses", **more: Any) -> dict[str, Any]:
    return {"metric": metric, "value": misses, "line_bytes": line, "ways": ways, "sets": size // line // ways,
            "cache_bytes": size, **more}  # fmt: skip


ASKED = [
    counted("lru:line=64,sets=64,ways=12", *(cache(ways, 4096 * ways, 900 - 10 * ways) for ways in range(1, 13))),
    counted("direct:line=64,size=8K", cache(1, 8192, 600)),
    counted("fifo:line=64,size=16K,ways=4", cache(4, 16384, 500)),
    counted("levels:line=64,size=32K/1280K,ways=8/20", cache(8, 32768, 400, level=1), cache(20, 1310720, 40, level=2)),
    counted("tlb:page=4K,entries=64/1536,ways=4/12", cache(4, 64 * 4096, 30, line=4096, level=1),
            cache(12, 1536 * 4096, 3, line=4096, level=2)),
    counted("attributed:line=64,size=32K,ways=8", cache(8, 32768, 7, metric="cold", origin="program"),
            cache(8, 32768, 2, metric="cold", origin="allocator"),
            cache(8, 32768, 9, metric="cold", origin="program", subject=0),
            cache(8, 32768, 11, metric="conflict", origin="program")),
    counted("contents:line=64,size=32K,ways=8", cache(8, 32768, 640, metric="fetched"),
            cache(8, 32768, 21, metric="held", origin="program"),
            cache(8, 32768, 3, metric="held", origin="allocator")),
    {**counted("distances:line=64"), "curve": [[0, 600], [500, 300]]},
]  # fmt: skip
ASKED[-1]["metrics"][0]["line_bytes"] = 64


def test_rows_are_the_caches_that_were_asked_for() -> None:
    one = Simulation.from_json({**simulation(0, 0).to_json(), "simulators": ASKED})
    rows = dict(layout_rows([one, simulation(40, 10)]))
    assert {name: values for name, values in rows.items() if "fully" not in name} == {
        "instructions": [10, 10], "references": [1000, 1000],
        "48 KiB, 12 ways, lines of 64": [780, None],
        "8 KiB, direct-mapped, lines of 64": [600, None],
        "16 KiB, 4 ways, fifo, lines of 64": [500, None],
        "level 1, 32 KiB, 8 ways, lines of 64": [400, None],
        "level 2, 1.25 MiB, 20 ways, lines of 64": [40, None],
        "translation level 1, 64 entries, 4 ways, pages of 4 KiB": [30, None],
        "translation level 2, 1536 entries, 12 ways, pages of 4 KiB": [3, None],
        "cold, 32 KiB, 8 ways, lines of 64": [9, None],
        "conflict, 32 KiB, 8 ways, lines of 64": [11, None],
        "bytes fetched, 32 KiB, 8 ways, lines of 64": [640, None],
        "bytes held by the program, 32 KiB, 8 ways, lines of 64": [21, None],
        "bytes held by the allocator, 32 KiB, 8 ways, lines of 64": [3, None],
    }  # fmt: skip
    assert rows["16 KiB, fully associative, lines of 64"] == [400, None]
    assert rows["4 MiB, fully associative, lines of 64"] == [100, None], "beyond the largest distance"


def test_the_table_and_the_page_name_the_simulators() -> None:
    one = Simulation.from_json({**simulation(0, 0).to_json(), "simulators": ASKED})
    comparison = LayoutComparison("millpond.layouts/1", (NamedSimulation("recorded", one),))
    words = [part.text for part in layout_section(comparison).parts if isinstance(part, Words)]
    named = "; ".join(each["description"] for each in ASKED)
    assert words == [f"simulated: {named}"]
    page = render([("recorded", one)])
    assert f"simulated: {named}" in page
    series = {part.split('"')[0]: part for part in page.split('{"name":"')[1:]}
    assert '"shown":false' in series["11 ways"]
    assert all('"shown":false' not in series[name] for name in ("12 ways", "4 ways, fifo", DIRECT))


def test_rows_match_the_recorded_simulators() -> None:
    rows = dict(layout_rows([simulation(40, 10), simulation(80, 30)]))
    assert rows["instructions"] == [10, 10]
    assert rows["16 KiB, direct-mapped, lines of 32"] == [40, 80]
    assert rows["page faults, memory of 8 KiB"] == [110, 130]
