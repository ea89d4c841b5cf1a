# SPDX-License-Identifier: BSL-1.0
"""Every statement of a paper can fail: figures that break it are judged so, and figures that keep it hold."""

from __future__ import annotations

import pytest
from planted_figures import planted

from millpond_bench.claims.claim_rules import judge
from millpond_bench.claims.claims import BROKEN, HOLDS, Claim, load
from millpond_bench.experiments.result_table import ResultTable
from millpond_bench.suites.every_experiment import PUBLISHED

BY_NAME = {spec.name: spec for spec in PUBLISHED}
FILES = sorted({spec.claims for spec in PUBLISHED if spec.claims})
STATEMENTS = [claim for name in FILES for claim in load(name) if claim.kind != "untestable"]
SEED = 20260401
EACH = pytest.mark.parametrize("claim", STATEMENTS, ids=[f"{claim.experiment}:{claim.id}" for claim in STATEMENTS])


@EACH
def test_figures_on_the_far_side_break_a_statement(claim: Claim) -> None:
    spec = BY_NAME[claim.experiment]
    judged = judge(claim, spec.data, ResultTable({}), planted(claim, spec, breaks=True, seed=SEED))
    assert judged.verdict in BROKEN, (judged.verdict, judged.ours, judged.remark)
    assert judged.holds is False


@EACH
def test_figures_within_the_bound_keep_a_statement(claim: Claim) -> None:
    spec = BY_NAME[claim.experiment]
    judged = judge(claim, spec.data, ResultTable({}), planted(claim, spec, breaks=False, seed=SEED))
    assert judged.verdict == HOLDS, (judged.verdict, judged.ours, judged.remark)


@EACH
def test_a_rule_on_a_bare_metric_states_its_value_of_no_effect(claim: Claim) -> None:
    spec = BY_NAME[claim.experiment]
    quotient = claim.against or claim.kind != "ratio" or claim.over in ("share", "spread")
    unit = (
        spec.metrics.units.get(claim.metric, "")
        if claim.metric
        else "ratio"
        if spec.data.figure.twin
        else spec.data.figure.unit
    )
    assert quotient or claim.no_effect is not None or unit == "ratio"
