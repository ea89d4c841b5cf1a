# SPDX-License-Identifier: BSL-1.0
"""Predicted layouts: their order, the dropped ones, and their text in an advice."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from simulated import document

from millpond.advice.advice_data import LayoutPrediction, PredictedLayouts
from millpond.advice.layout_prediction import (
    LayoutPredictor,
    can_be_predicted,
    in_order,
    mallocs_in_order,
    predicted_text,
    rank,
)
from millpond.cells import plans as plans_of
from millpond.cells.plans import Plan
from millpond.rounds import layouts
from millpond.rounds.characterisation import Affinity, AffinityRow
from millpond.rounds.simulation_data import Simulation
from millpond.system.errors import Failure, Status


def plan(name: str, *subsystems: str) -> Plan:
    return plans_of.from_json(
        {
            "schema": "millpond.plan/1",
            "program": {"path": "/bin/x", "build_id": "00"},
            "routes": [{"subsystems": list(subsystems or [name]), "pool": name, "strategy": "multipool"}],
        },
        name,
    )


def prediction(
    name: str, misses: float, seconds: float | None, *, kind: str = "plan", dropped: bool = False
) -> LayoutPrediction:
    return LayoutPrediction(
        kind=kind, name=name, misses=int(1000 * misses), misses_ratio=misses, seconds_ratio=seconds,
        instructions_ratio=1.0, dropped=dropped,
    )  # fmt: skip


ratios = st.floats(0.1, 2.0)


@pytest.mark.lengthy
@given(st.dictionaries(st.sampled_from("abcdef"), st.tuples(ratios, st.none() | ratios), min_size=1))
def test_trials_begin_with_the_largest_predicted_gain(found: dict[str, tuple[float, float | None]]) -> None:
    layouts_of = tuple(prediction(name, *ratio) for name, ratio in found.items())
    predicted = PredictedLayouts(seconds_taken=1.0, cache="c", misses=1000, layouts=layouts_of)
    order = in_order([plan(name) for name in found], predicted)
    assert sorted(p.name for p in order) == sorted(found)
    ranks = {p.name: rank(p) for p in layouts_of}
    assert [ranks[p.name] for p in order] == sorted(ranks.values())


def test_plans_are_ordered_by_prediction_without_dropped_ones() -> None:
    layouts_of = (
        prediction("good", 0.5, 0.6),
        prediction("bad", 1.2, 1.1),
        prediction("worst", 1.5, 1.4, dropped=True),
    )
    predicted = PredictedLayouts(seconds_taken=1.0, cache="c", misses=1000, layouts=layouts_of)
    order = in_order([plan(name) for name in ("worst", "bad", "unknown", "good")], predicted)
    assert [p.name for p in order] == ["good", "unknown", "bad"]
    mallocs = PredictedLayouts(
        seconds_taken=1.0, cache="c", misses=1000,
        layouts=(prediction("jemalloc", 0.9, 0.9, kind="malloc"), prediction("tbb", 0.7, 0.8, kind="malloc")),
    )  # fmt: skip
    assert mallocs_in_order(["jemalloc", "x", "tbb"], mallocs) == ["tbb", "jemalloc", "x"]


def test_the_text_has_both_ratios_or_only_misses() -> None:
    assert predicted_text(prediction("a", 0.842, 0.852)) == "misses -15.8 %, time of the model -14.8 %"
    assert predicted_text(prediction("a", 0.842, None)) == "misses -15.8 %"
    with_interval = replace(prediction("a", 0.842, 0.852), seconds_interval=(0.639, 1.065))
    assert predicted_text(with_interval).endswith("time of the model -14.8 % (-36.1 % to +6.5 %)")


class FakeLayouts:
    """Replaces real layouts: misses by the layout's name; unknown names fail."""

    def __init__(self, misses: dict[str, int]) -> None:
        self.misses = misses
        self.last = ""

    def write_script(self, _recording: Path, folder: Path, _pools: object = ()) -> layouts.Script:
        return layouts.Script(folder / "calls.script", "host", folder)

    def play(self, _script: layouts.Script, layout: layouts.Layout) -> Path:
        self.last = layout.name
        if layout.name not in self.misses:
            raise Failure(Status.ENVIRONMENT, "it gave nothing")
        return Path("played")

    def simulate(self, _recording: Path, options: list[str], _folder: Path) -> Simulation:
        misses = self.misses[self.last] if "--played" in options else 8000
        return Simulation.from_json(attributed(misses))


def attributed(misses: int) -> dict[str, object]:
    data = document(misses=misses)
    first = {
        "description": "attributed:line=64,size=32K,ways=8",
        "metrics": [{"metric": "capacity", "unit": "references", "value": misses, "origin": "program"}],
    }
    return {**data, "simulators": [first]}


@pytest.fixture
def predictor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LayoutPredictor:
    played = FakeLayouts(
        {"jemalloc": 4000, "predicted_0.json": 6000, "predicted_1.json": 9000, "predicted_2.json": 9500}
    )
    monkeypatch.setattr(layouts, "write_script", played.write_script)
    monkeypatch.setattr(layouts.Script, "play", lambda script, layout: played.play(script, layout))  # noqa: PLW0108
    monkeypatch.setattr(layouts, "simulate_recording", played.simulate)
    monkeypatch.setattr(layouts, "layout_of", lambda word: layouts.Layout(Path(word).name))
    monkeypatch.setattr(LayoutPredictor, "_latencies", lambda _: [])
    return LayoutPredictor(tmp_path / "r.mpt", tmp_path, float("inf"))


def test_hopeless_plans_are_dropped_and_failures_noted(predictor: LayoutPredictor) -> None:
    plans = [plan(name) for name in ("helps", "hurts", "hurts_more", "fails")]
    found = predictor.predict(plans, {"jemalloc": None})
    assert [(p.name, p.dropped) for p in found.layouts] == [
        ("jemalloc", False), ("helps", False), ("hurts", True), ("hurts_more", True)
    ]  # fmt: skip
    assert found.misses == 8000 and found.layouts[1].misses_ratio == pytest.approx(0.75)
    assert any("fails was not predicted: it gave nothing" in note for note in predictor.notes)


def test_the_best_plan_is_tried_even_where_it_is_predicted_to_lose(predictor: LayoutPredictor) -> None:
    plans = [plan("unused"), plan("hurts"), plan("hurts_more")]
    predictor.folder.joinpath("x").touch()
    found = predictor.predict(plans[1:], {})
    assert {p.name: p.dropped for p in found.layouts} == {"hurts": False, "hurts_more": True}


def test_after_the_deadline_nothing_is_predicted(predictor: LayoutPredictor) -> None:
    predictor.deadline = 0.0
    assert predictor.predict([plan("a")], {}).layouts == ()
    assert predictor.notes == ["a was not predicted: the time for predictions was up"]


def test_strength_is_the_share_of_visits_that_meet_a_near_object() -> None:
    rows = (AffinityRow("a", 300), AffinityRow("b", 100))
    both = Affinity(32, 256, rows, ((0, 0, 300, 150), (0, 1, 80, 40), (1, 0, 90, 60)))
    assert both.strengths[0, 1] == both.strengths[1, 0] == pytest.approx(100 / 400)
    assert both.strengths[0, 0] == pytest.approx(0.5)


def test_pools_for_each_instance_cannot_be_predicted() -> None:
    assert can_be_predicted(plan("a"))
