# SPDX-License-Identifier: BSL-1.0
"""A statement about multipools is judged on the paper's multipools and on ours; any other statement once."""

from __future__ import annotations

import math
from typing import Any

import pytest

from millpond_bench.claims import claim_rules
from millpond_bench.claims.claim_rules import judge_all
from millpond_bench.claims.claims import ABSENT, HOLDS, NOT_MEASURED, WEAKER, Claim, Verdict
from millpond_bench.claims.verdicts import FEWEST_ROUNDS
from millpond_bench.experiments.experiment import PublishedSpec
from millpond_bench.experiments.experiment_data import Point
from millpond_bench.experiments.result_table import FIGURE, PlaceTable, ResultTable
from millpond_bench.suites.every_experiment import PUBLISHED
from millpond_bench.suites.p0089 import EXPERIMENTS
from millpond_bench.suites.p0089_strategies import ALIASES, ALL_ALIASES
from millpond_bench.tables.terminal_table import claims_line

ONE = EXPERIMENTS[0]
MULTIPOOLS = {label for label, name in ALIASES.items() if name.startswith("multipool")}
_NONE = ResultTable[Any]({})


def at(size: int = 6) -> Point:
    return (("ds", 1), ("log2_size", size), *ONE.data.usual)


def figures(**found: float) -> PlaceTable:
    """Returns rounds that scatter by 0.5 % around these values, by label; `_2015` stands for `-2015`."""
    return ResultTable({
        (at(), ALL_ALIASES[label.replace("_", "-")]): {
            FIGURE: {n: value * (1.0 + 0.005 * math.sin(2.0 * n)) for n in range(1, FEWEST_ROUNDS + 1)}
        }
        for label, value in found.items()
    }, names={(at(), name): name for name in ALL_ALIASES.values()})  # fmt: skip


def judged(monkeypatch: pytest.MonkeyPatch, found: PlaceTable, **given: Any) -> Verdict:
    """Judges one statement as the only one of Benchmark I."""
    one = Claim(**{"id": "x", "experiment": ONE.name, "statement": "s.", "kind": "ratio", **given})
    monkeypatch.setattr(claim_rules, "load", lambda _file: (one,))
    (verdict,) = judge_all(ONE, _NONE, found)
    return verdict


def test_ours_and_the_documents_multipools_are_judged_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    found = figures(AS1=1.0, AS7=0.8, AS7s_2015=0.3)
    both = judged(monkeypatch, found, of=("AS7",), against=("AS1",), high=0.5)
    assert both.verdict == WEAKER and both.evidence == (ALIASES["AS7"], ALIASES["AS1"])
    assert both.on_documents is not None and both.on_documents.verdict == HOLDS
    assert both.on_documents.evidence == (ONE.data.documents_own["AS7"], ALIASES["AS1"])
    row = both.claim_record().to_json()
    assert (row["verdict"], row["on_documents"]["verdict"]) == (WEAKER, HOLDS)
    assert row["on_documents"]["figure"]["median"] == pytest.approx(0.3, rel=0.01)


def test_each_family_of_allocators_has_its_own_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    both = judged(monkeypatch, figures(AS1=1.0, AS7=0.3), of=("AS7",), against=("AS1",), high=0.5)
    assert both.verdict == HOLDS
    assert both.on_documents is not None and both.on_documents.verdict == NOT_MEASURED


@pytest.mark.parametrize("of", ["AS1", "AS3", "AS7s", "AS7-2015"])
def test_allocators_common_to_both_families_have_one_verdict(monkeypatch: pytest.MonkeyPatch, of: str) -> None:
    found = figures(**{"AS2": 1.0, of.replace("-", "_"): 0.3})
    once = judged(monkeypatch, found, of=(of,), against=("AS2",), high=0.5)
    assert once.verdict == HOLDS and once.on_documents is None
    assert once.claim_record().to_json()["on_documents"] is None


def test_a_statement_that_names_a_lock_has_one_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    once = judged(monkeypatch, figures(AS7=1.0, AS7s=2.0), of=("AS7s",), against=("AS7",), low=1.5)
    assert once.verdict == HOLDS and once.on_documents is None


def test_the_rivals_of_a_winner_are_of_its_own_family(monkeypatch: pytest.MonkeyPatch) -> None:
    labels = ONE.data.documents_own
    ours = {label: 0.5 if label == "AS8" else 1.0 for label in ALIASES}
    theirs = {f"{label}s_2015": 0.2 for label in labels}
    both = judged(monkeypatch, figures(**ours, **theirs), kind="lead", over="every", of=("AS8",), high=0.9)
    assert both.verdict == HOLDS, "what is faster in the other family is no rival"
    assert both.on_documents is not None and both.on_documents.verdict == ABSENT


@pytest.mark.parametrize("experiment", PUBLISHED, ids=lambda e: e.name)
def test_statements_about_the_papers_multipools_have_two_verdicts(experiment: PublishedSpec) -> None:
    own = {label for label in MULTIPOOLS if label in experiment.data.documents_own}
    known = {label for label, name in experiment.data.aliases.items() if name in experiment.data.strategies}
    for verdict in judge_all(experiment, _NONE, _NONE):
        claim = verdict.claim
        named = {*claim.of, *claim.against, *claim.among}
        rivals = known if claim.kind == "lead" and not claim.among else set[str]()
        expected = bool((named | rivals) & own) and named <= known
        assert (verdict.on_documents is not None) == expected, claim.id
    assert not experiment.data.documents_own or any(v.on_documents for v in judge_all(experiment, _NONE, _NONE))


def test_all_verdicts_of_both_families_share_one_control_of_chance(monkeypatch: pytest.MonkeyPatch) -> None:
    doubtful = {FIGURE: dict(enumerate([1.01, 1.03, 1.02, 1.05, 1.02, 1.03], 1))}
    found = ResultTable({(at(), name): doubtful for name in (ALIASES["AS7"], ONE.data.documents_own["AS7"])})
    rule = Claim(id="x", experiment=ONE.name, statement="s.", kind="ratio", of=("AS7",), low=1.0)
    monkeypatch.setattr(claim_rules, "load", lambda _file: (rule,) * 30)
    several = sum(1.0 / k for k in range(1, 2 * 30 + 1))
    for one in judge_all(ONE, _NONE, found):
        for verdict in (one, one.on_documents):
            assert verdict is not None and verdict.p is not None
            assert verdict.p_adjusted == pytest.approx(min(1.0, verdict.p * several))


def test_the_summary_counts_on_both(monkeypatch: pytest.MonkeyPatch) -> None:
    both = judged(monkeypatch, figures(AS1=1.0, AS7=0.8, AS7s_2015=0.3), of=("AS7",), against=("AS1",), high=0.5)
    once = judged(monkeypatch, figures(AS1=1.0, AS2=0.3), of=("AS2",), against=("AS1",), high=0.5)
    assert claims_line([both, once]) == (
        "On the paper's allocators 2 of 2 statements hold. On ours 1 of 2 statements hold; 1 does not: weaker 1"
    )
    assert claims_line([once]) == "1 of 1 statement hold"
