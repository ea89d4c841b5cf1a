# SPDX-License-Identifier: BSL-1.0
"""`millpond-bench run laboratory`: steps are its cells, bars decide the status, and every value goes into the store."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from test_bench import follows_its_schema

from millpond.statistics.order_statistics import summarise
from millpond.store.store import Store
from millpond.system.errors import Failure, Status
from millpond_bench.bench_cli import main
from millpond_bench.claims.claims import Verdict, bar_of
from millpond_bench.laboratory.bench_rows import Bench, observed
from millpond_bench.suites.laboratory import LABORATORY


def bar(name: str, figure: float) -> Verdict:
    rounds = tuple(observed("bare", n, "cpu_seconds", figure) for n in (1, 2, 3))
    return bar_of(name, "gawk", "×", summarise([figure] * 3), 1.05, outcomes=rounds)


@pytest.fixture
def steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Replaces the laboratory's steps."""

    def missing(_: Bench) -> list[Verdict]:
        raise Failure(Status.ENVIRONMENT, "perl is missing")

    found = {"good": lambda _: [bar("good, gawk", 1.0)], "slow": lambda _: [bar("slow, gawk", 1.2)], "gone": missing,
             "demo from a clone": lambda _: [bar("clone", 1.0)]}  # fmt: skip
    monkeypatch.setitem(LABORATORY.__dict__, "steps", lambda: found)
    monkeypatch.chdir(tmp_path)
    return found


@pytest.mark.parametrize(("cells", "status"), [("good", Status.OK), ("slow", Status.GATE), ("gone", Status.GATE)])
def test_a_missed_bar_and_one_without_a_figure_are_status_1(steps: object, cells: str, status: int) -> None:
    assert main(["run", "laboratory", f"--cells={cells}"]) == status


@pytest.mark.lengthy
def test_every_value_is_in_the_document_and_in_the_store(steps: object) -> None:
    assert main(["run", "laboratory", "--store=st", "-o", "out.json"]) == Status.GATE
    document = json.loads(Path("out.json").read_text())
    assert document["schema"] == "millpond.bench/1"
    follows_its_schema(document)
    assert [b["holds"] for b in document["bars"]] == [True, False, False]
    assert document["bars"][2]["note"] == "not measured: perl is missing"
    assert [(o["contender"], o["unit"], o["parameters"]["row"]) for o in document["observations"][:4]] == [
        *[("bare", "seconds", "good, gawk")] * 3, ("bare", "seconds", "slow, gawk"),
    ]  # fmt: skip
    stored = Store(Path("st")).query("select workload, experiment from observations")
    assert stored == [{"workload": "gawk", "experiment": "laboratory"}] * 6
    assert "slow, gawk" in Path("results/bench/laboratory.html").read_text()


def test_its_cells_are_steps_and_paper_scale_has_one_more(steps: object, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "laboratory"]) == Status.OK
    assert capsys.readouterr().out.split() == ["good", "slow", "gone"]
    assert main(["list", "laboratory", "--scale=paper"]) == Status.OK
    assert "demo from a clone" in capsys.readouterr().out


@pytest.mark.parametrize("words", [("laboratory", "--counters"), ("laboratory", "--peer=x"), ("library", "--litter=1"),
                                   ("p0089.1", "--sizes=slots=1"), ("laboratory", "--shard=1/2", "--store=st"),
                                   ("laboratory", "--cells=nothing")])  # fmt: skip
def test_options_that_an_experiment_does_not_take_are_status_2(steps: object, words: tuple[str, ...]) -> None:
    assert main(["run", *words]) == Status.USAGE


def test_all_selects_only_the_published_experiments(capsys: pytest.CaptureFixture[str]) -> None:
    from millpond_bench.command import named
    from millpond_bench.suites.every_experiment import EXPERIMENTS, PUBLISHED

    assert named(["all"]) == list(PUBLISHED)
    assert [spec.name for spec in named(["laboratory"])] == ["laboratory"]
    assert main(["list"]) == Status.OK
    shown = capsys.readouterr().out
    assert all(f"{spec.name}  " in shown for spec in EXPERIMENTS)
