# SPDX-License-Identifier: BSL-1.0
"""What surrounds the published experiments: the dials, and what the document left open."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from fakes.fake_p0089_suite import FakeP0089

from millpond import experiment_rounds
from millpond.claim_rules import Claim, evaluate, judge, load
from millpond.cli import main
from millpond.errors import Status
from millpond.experiment_figures import Figures, published_figures
from millpond.experiment_run import cells_of
from millpond.experiments import SCALES
from millpond.library_contenders import KEEPING
from millpond.p0089 import ALIASES
from millpond.p0089_anomalies import EXPERIMENT as ANOMALIES
from millpond.p0089_dials import CENTRE, DIALS, SETTINGS
from millpond.p0089_dials import EXPERIMENT as DIALLED

CANDIDATES = load(ANOMALIES.claims)
EACH_CANDIDATE = pytest.mark.parametrize("rule", CANDIDATES, ids=lambda c: c.id)


@pytest.mark.parametrize("scale", SCALES)
def test_one_dial_at_a_time_is_turned_and_every_dial_is(scale: str) -> None:
    turned = set()
    for cell in cells_of(DIALLED, scale, ""):
        at = {name: int(value) for name, value in cell.parameters}
        away = [name for name in DIALS if at[name] != CENTRE[name]]
        assert len(away) <= 1
        assert at["threads"] == 2 or at["contention"] == 0
        turned |= {(name, at[name]) for name in away}
    least = 2 if scale == "quick" else 4
    assert all(sum(name == dial for name, _ in turned) >= least for dial in DIALS)


def test_the_centre_is_a_setting_of_every_dial_and_settings_rise() -> None:
    assert all(CENTRE[dial] in SETTINGS[dial] for dial in DIALS)
    assert all(list(SETTINGS[dial]) == sorted(set(SETTINGS[dial])) for dial in DIALS)


def test_two_threads_can_contend_as_much_as_the_dial_asks_for() -> None:
    inside = CENTRE["density"] / 1000
    assert max(SETTINGS["contention"]) / 1000 <= inside * inside + 1e-9


@EACH_CANDIDATE
def test_a_candidate_is_judged_by_cells_of_the_standard_scale(rule: Claim) -> None:
    figures = Figures({(ANOMALIES.point_of(c), c.variant): {1: 2.0} for c in cells_of(ANOMALIES, "standard", "")
                       if ANOMALIES.point_of(c)})  # type: ignore[misc]  # fmt: skip
    found, used = evaluate(rule, ANOMALIES, figures)
    assert found == [pytest.approx(1.0)]
    assert used
    assert set(rule.where) <= set(ANOMALIES.axes)
    assert rule.low > 0.0 or rule.high < float("inf")


@EACH_CANDIDATE
def test_what_the_document_saw_is_in_its_own_tables(rule: Claim) -> None:
    judged = judge(rule, ANOMALIES, published_figures(ANOMALIES), Figures({}))
    if rule.id in ("a.appears", "c.rises", "c.recedes"):
        assert judged.published_satisfies is True
    assert judged.published_satisfies is not False or rule.paper_disagrees


def test_candidates_are_statements_each_once() -> None:
    assert len({c.id for c in CANDIDATES}) == len(CANDIDATES)
    assert {c.experiment for c in CANDIDATES} == {ANOMALIES.name}


def test_kept_memory_is_the_environments_matter_and_no_parameter_of_the_program(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    fake = FakeP0089()
    seen: list[tuple[Sequence[str], Mapping[str, str]]] = []

    def capture(argv: Sequence[str], environment: Mapping[str, str], **more: Any) -> Any:
        seen.append((argv, environment))
        return fake.capture(argv, environment, **more)

    monkeypatch.setattr(experiment_rounds.native, "capture", capture)
    monkeypatch.setattr(experiment_rounds.native, "find", Path)
    monkeypatch.setattr("millpond.experiment_run.subject_of", lambda *_: "a program")
    words = ("p0089.anomalies", "--scale=quick", "--rounds=1", "--cells=structures/ds=7/*/AS1", "--json=out.json")
    assert main(["bench", *words]) == Status.OK
    rounds = [(argv, environment) for argv, environment in seen if "--list" not in argv]
    assert rounds and all("--kept" not in argv for argv, _ in rounds)
    name, value = KEEPING
    assert {environment.get(name) for _, environment in rounds} == {None, value}
    summary = json.loads(Path("out.json").read_text())["summary"]
    assert {row["parameters"]["kept"] for row in summary} == {0, 1}
    assert {row["strategy"] for row in summary} == {ALIASES["AS1"]}
