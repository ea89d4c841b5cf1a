# SPDX-License-Identifier: BSL-1.0
"""A program with few allocations gets its verdict after the recording; with a given budget, pools are tried anyway."""

from __future__ import annotations

import json
from typing import Any

import pytest
from conftest import FakeLab
from msgspec.structs import replace
from test_advise import CPU, MALLOCS, SUBSYSTEMS

from millpond.advice.allocation_bound import bound_of, first_estimate
from millpond.rounds.characterisation import Characterisation, Dimension, RecordedTrace, Subsystem
from millpond.rounds.mallocs import HUGE

LITTLE = {"cpu_seconds": 1.0, "peak_live_objects": 100, "peak_live_bytes": 100_000}
TRACE = RecordedTrace(events=1000, lost=0, stopped_early=0, **LITTLE)


def advise(lab: FakeLab, *options: str) -> tuple[dict[str, Any], str]:
    done = lab.run("advise", "-o", "advice.json", *options, "--", "true")
    assert done.status == 0, done.stderr
    return dict(json.loads((lab.work / "advice.json").read_text())), done.stderr


def test_the_bound_holds_only_for_few_events_of_few_objects() -> None:
    found = bound_of(TRACE)
    assert found is not None and not found.huge_pages_may_matter
    assert "1.00 k heap events take less than 1 % of 1.00 s" in found.words
    for changed in (
        {"events": 40_000}, {"cpu_seconds": 0.02}, {"peak_live_objects": 20_000}, {"recorder_seconds": 0.99},
        {"stopped_early": 3}, {"lost": 1}, {"peak_live_objects": None}, {"cpu_seconds": None},
    ):  # fmt: skip
        assert bound_of(replace(TRACE, **changed)) is None, changed
    asleep = replace(TRACE, cpu_seconds=0.001)  # its threads allocate first, and then only compute
    assert bound_of(asleep) is None and bound_of(asleep, recording_cpu_seconds=2.0) is not None
    large = bound_of(replace(TRACE, peak_live_bytes=100_000_000))
    assert large is not None and large.huge_pages_may_matter


def test_a_program_with_few_allocations_gets_its_verdict_untried(lab: FakeLab) -> None:
    lab.configure(events=1000, trace=LITTLE, subsystems=SUBSYSTEMS, cpu=CPU, gains={"book": 0.8}, mallocs=MALLOCS)
    found, _ = advise(lab)
    assert found["choice"]["kind"] == "nothing" and not lab.calls()
    assert found["verdict"].startswith("Do nothing: 1.00 k heap events take less than 1 % of 1.00 s of CPU")


@pytest.mark.lengthy
def test_huge_pages_are_judged_where_the_heap_is_large(lab: FakeLab) -> None:
    large = {**LITTLE, "peak_live_bytes": 100_000_000}
    lab.configure(events=1000, trace=large, subsystems=SUBSYSTEMS, cpu=CPU, mallocs={HUGE: [0.8, 1.0], **MALLOCS})
    found, _ = advise(lab)
    assert found["choice"]["name"] == HUGE, found["verdict"]
    assert [a["name"] for a in found["alternatives"] if a["judged"]] == [HUGE]
    assert any("only huge pages were tried" in note for note in found["notes"])
    lab.configure(events=1000, trace=large, subsystems=SUBSYSTEMS, cpu=CPU, mallocs={HUGE: [1.0, 1.0], **MALLOCS})
    found, _ = advise(lab, "--seed=2")
    assert found["verdict"].startswith("Do nothing: 1.00 k heap events")


@pytest.mark.lengthy
def test_a_given_budget_still_tries_pools(lab: FakeLab) -> None:
    lab.configure(events=1000, trace=LITTLE, subsystems=SUBSYSTEMS, cpu=CPU, gains={"book": 0.8}, mallocs=MALLOCS)
    found, _ = advise(lab, "--budget=30")
    assert found["choice"]["kind"] == "plan"


@pytest.mark.lengthy
def test_the_default_budget_follows_the_program_and_is_reported(lab: FakeLab) -> None:
    lab.configure(events=1000, subsystems=SUBSYSTEMS, cpu=CPU, gains={"book": 0.8}, mallocs=MALLOCS)
    found, said = advise(lab)
    assert found["choice"]["kind"] == "plan"
    assert "a run takes " in said and "at most 60.0 s in all" in said


def test_the_first_estimate_is_the_timed_share_of_the_program() -> None:
    def of(seconds: float, least: float | None, cpu_seconds: float) -> str:
        density = Dimension(absolute={"at_least": least})
        one = Subsystem(name="all", operation_seconds=seconds, dvluc={"D": density})
        return first_estimate(Characterisation(trace=TRACE, subsystems=(one,)), cpu_seconds)

    assert "malloc and free take 10 to 30 % of the 1.00 s of CPU" in of(0.3, 0.1, 1.0)
    assert "take 30 % of" in of(0.3, 0.3, 1.0) and "take 0 to 30 % of" in of(0.3, None, 1.0)
    assert "take 100 % of" in of(3.0, 2.0, 1.0), "a busy machine may have timed more than a bare run takes"
