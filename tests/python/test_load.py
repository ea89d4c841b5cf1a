# SPDX-License-Identifier: BSL-1.0
"""A load's figures are those that it printed, and a verdict under a load goes by its throughput."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from conftest import FakeLab

from millpond.cells.metrics import POOL_COST, POOL_COST_OF_UNIT, UNIT_SECONDS
from millpond.rounds import served_run
from millpond.rounds.load import Load
from millpond.rounds.trial_data import RoundResult
from millpond.rounds.trial_rounds import share_costs
from millpond.statistics.order_statistics import inverse, summarise
from millpond.system import native
from millpond.system.errors import Failure, Status
from tiers import scaled

RATE = r"([\d.]+) requests per second(?:, p50=(?P<p50>[\d.]+))?(?:, p99=(?P<p99>[\d.]+))?"


@pytest.mark.parametrize("seed", range(scaled(200, 20)))
def test_a_printed_rate_becomes_seconds_for_a_unit(seed: int) -> None:
    rng = random.Random(seed)
    print("seed", seed)
    rates = [rng.uniform(0.1, 1e6) for _ in range(rng.randrange(1, 5))]
    p50, p99 = rng.uniform(0.01, 9.0), rng.uniform(0.01, 9.0)
    lines = [f"TEST: {rate:.3f} requests per second, p50={p50:.3f}, p99={p99:.3f}" for rate in rates]
    text = "\r".join(f"{rng.random()} of it\r{line}" for line in lines)
    where = [text, ""] if rng.random() < 0.5 else ["nothing here", text]
    found = Load("load", RATE).figures(rng.random(), where)
    assert found[UNIT_SECONDS] == pytest.approx(sum(1 / rate for rate in rates) / len(rates), rel=0.01)
    assert found["latency_p50"] == pytest.approx(p50, abs=1e-3)
    assert found["latency_p99"] == pytest.approx(p99, abs=1e-3)


def test_without_an_expression_a_unit_is_the_whole_load() -> None:
    assert Load("load").figures(2.5, ["1 requests per second"]) == {UNIT_SECONDS: 2.5}


def test_latencies_that_were_not_printed_are_left_out() -> None:
    assert Load("load", RATE).figures(1.0, ["8 requests per second"]) == {UNIT_SECONDS: 0.125}


@pytest.mark.parametrize(
    ("rate", "why"),
    [
        ("(", "is not a regular expression"),
        ("[0-9]+ per second", "needs one group for the number"),
        ("([0-9]+) of ([0-9]+)", "needs one group for the number"),
        ("(?P<p50>[0-9]+)", "needs one group for the number"),
        ("([0-9]+) (?P<p75>[0-9]+)", "the group 'p75' is unknown"),
    ],
)
def test_an_unusable_expression_is_refused(rate: str, why: str) -> None:
    with pytest.raises(Failure) as refused:
        Load("load", rate)
    assert why in refused.value.message and refused.value.status == Status.USAGE


@pytest.mark.parametrize("text", ["0 requests per second", ". requests per second"])
def test_a_rate_is_a_number_above_zero(text: str) -> None:
    with pytest.raises(Failure, match="is no number above zero"):
        Load("load", RATE).figures(1.0, [text])


# --- the whole advice


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--rate", "([0-9]+)"], "add --load COMMAND"),
        (["--load", "true", "--inputs", "lines"], "--load and --inputs do not go together"),
        (["--load", "true", "--with", "references"], "--load and --with references do not go together"),
        (["--load", "true", "--rate", "("], "is not a regular expression"),
    ],
)
def test_options_that_do_not_fit_are_refused(lab: FakeLab, words: list[str], why: str) -> None:
    (lab.work / "lines").write_text("1\n")
    done = lab.run("advise", *words, "--", "true")
    assert done.status == Status.USAGE and why in done.stderr


LOAD = "load 1000"
SUBSYSTEMS = [{"name": "book", "bytes": 5000}, {"name": "prices", "bytes": 4000}]
MALLOCS = {"busy": [1.3, 1.0], "idle": [0.8, 1.0], "lean": [1.0, 0.8]}
THROUGHPUTS = {"busy": 1.25, "idle": 1.0, "lean": 1.0}


def driven(lab: FakeLab, monkeypatch: pytest.MonkeyPatch) -> None:
    """Replaces the run of a server: the fake's CPU time, and a throughput that does not follow it."""

    def run_driven(name: str, words: Sequence[str], served: served_run.ServedRun, **_: object) -> native.ProcessEnd:
        ended = lab.native_run(name, words)
        setting = re.search(r"/lib/lib(.*)\.so", " ".join(words))
        if "--result" in words:
            found = RoundResult.read(Path(words[words.index("--result") + 1]))
            noise = 1 + 0.002 * random.Random(len(lab.calls())).gauss(0.0, 1.0)
            served.values = {
                "cpu_seconds": found.cpu_seconds or 0.0, "wall_seconds": 2.0, "mean_bytes": 1e6,
                UNIT_SECONDS: 1e-3 * noise / (THROUGHPUTS[setting[1]] if setting else 1.0),
            }  # fmt: skip
        return ended

    monkeypatch.setattr(native, "run_driven", run_driven)


def advise(lab: FakeLab, *options: str) -> dict[str, Any]:
    words = ("--budget=30", "-o", "advice.json", "-o", "advice.txt", "-o", "advice.html", *options)
    done = lab.run("advise", *words, "--load", LOAD, "--rate", RATE, "--", "true")
    assert done.status == 0, done.stderr
    return dict(json.loads((lab.work / "advice.json").read_text()))


@pytest.fixture
def served(lab: FakeLab, monkeypatch: pytest.MonkeyPatch) -> FakeLab:
    driven(lab, monkeypatch)
    lab.configure(events=1000, subsystems=SUBSYSTEMS, mallocs=MALLOCS, cpu={"bare": 0.5, "looked_up": 0.5})
    return lab


def test_the_verdict_follows_the_throughput_and_shows_cpu(served: FakeLab) -> None:
    found = advise(served)
    assert (found["choice"]["kind"], found["choice"]["name"], found["choice"]["for"]) == (
        "malloc",
        "busy",
        "throughput",
    )
    assert found["choices"]["fastest"]["name"] == "busy", "though it takes more CPU"
    change = found["choice"]["of_load"][UNIT_SECONDS]
    assert change["median"] == pytest.approx(0.8, rel=0.01) and change["verdict"] == "better"
    assert found["choice"]["cpu"]["verdict"] == "worse"
    assert re.search(r"throughput \+2[45]\.\d %.*CPU \+(29|30)\.\d %", found["verdict"]), found["verdict"]
    assert found["load"] == {"command": LOAD, "rate": RATE}


def test_every_report_shows_the_throughput(served: FakeLab) -> None:
    advise(served)
    text = " ".join((served.work / "advice.txt").read_text().split())
    assert re.search(r"throughput \+2[45]\.\d %", text) and "1.25 k/s instead of 1.00 k/s" in text
    page = (served.work / "advice.html").read_text()
    assert "throughput" in page and "1.25 k/s instead of 1.00 k/s" in page and "driven by" in page


def test_only_the_same_load_continues_an_advise(served: FakeLab) -> None:
    advise(served)
    rounds = len(served.calls())
    advise(served)
    assert len(served.calls()) - rounds < rounds / 2, "its rounds are in the store"
    done = served.run("advise", "--budget=30", "--load", "another", "--rate", RATE, "--", "true")
    assert "the options changed since then" in done.stderr


@pytest.mark.parametrize("seed", range(scaled(200, 20)))
def test_the_interval_of_a_throughput_is_that_of_its_reciprocal(seed: int) -> None:
    rng = random.Random(seed)
    print("seed", seed)
    ratios = [rng.uniform(0.5, 2.0) for _ in range(2 * rng.randrange(2, 9) + 1)]
    found, wanted = inverse(summarise(ratios)), summarise([1 / ratio for ratio in ratios])
    assert (found.median, found.low, found.high) == pytest.approx((wanted.median, wanted.low, wanted.high))
    assert inverse(found).median == pytest.approx(summarise(ratios).median)


@pytest.mark.parametrize("seed", range(scaled(200, 20)))
def test_a_units_share_of_a_trials_cost_is_at_most_the_cpus(seed: int) -> None:
    """A busy server's unit gets the same share of the cost as its CPU time; an idle one's gets less."""
    rng = random.Random(seed)
    print("seed", seed)
    cpu, wall, unit, cost = (rng.uniform(0.1, 9.0) for _ in range(4))
    values = share_costs({"cpu_seconds": 2 * cpu, POOL_COST: 2 * cost},
                         {"cpu_seconds": cpu, "wall_seconds": wall, UNIT_SECONDS: unit})  # fmt: skip
    assert values[POOL_COST] == pytest.approx(cost), "the warm-up has the other half"
    of_unit, of_cpu = values[POOL_COST_OF_UNIT] / unit, values[POOL_COST] / cpu
    assert of_unit == pytest.approx(of_cpu * min(1.0, cpu / wall))
