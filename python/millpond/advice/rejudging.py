# SPDX-License-Identifier: BSL-1.0
"""Judges plans that paid on one input of a program on another one, where its own rounds had not settled the question.

    input 1   book: pays             ─▶ its plan ─▶ input 2   bare, looked_up, plan: fresh rounds ─▶ pays there too?
    input 2   book: not tried, or nothing while choosing

A plan pays where it is better than the program as it is beyond the noise, a trial's own cost apart.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from millpond.advice.advice_data import NOTHING, Row
from millpond.advice.effects import METRICS_COMPARED, compare_net, control_cell, plan_cell, saves_memory, saves_time
from millpond.advice.rows import saved_by
from millpond.cells.plans import Plan
from millpond.rounds.interleaved_rounds import run_rounds
from millpond.rounds.preparation import NO_PREPARATION, Preparation
from millpond.rounds.schedule import VERDICT_ROUNDS
from millpond.rounds.trial_rounds import Laboratory
from millpond.statistics.order_statistics import Comparison, judge_family
from millpond.store.observations import Journal
from millpond.store.store import Store
from millpond.system.progress import ProgressReport
from millpond.system.standard_input import StandardInput
from millpond.system.temporary import temporary_folder
from millpond.system.wording import effect_text, plural

STAGE = "judging"
_SLOWEST = 20.0
_PATIENCE_SECONDS = 60.0


@dataclass(frozen=True)
class Judged:
    """A plan on one input: what it gives net, by metric; the rounds behind it."""

    net: Mapping[str, Comparison]
    rounds: int
    evidence: Sequence[str]

    @property
    def pays(self) -> bool:
        """As a subsystem's own pool does in `advise`."""
        return saves_time(self.net) or saves_memory(self.net)


def judge_again(
    program: tuple[str, ...], plans: Mapping[str, Plan], seconds: float, store: Store, seed: int,
    preparation: Preparation = NO_PREPARATION,
) -> dict[str, Judged]:  # fmt: skip
    """Each plan on this input, by the name that it is given under; none where not even one round fits.

    The rounds are kept as a run of their own. Failure where the program cannot be run, or lacks a plan's subsystem.
    """
    deadline = time.monotonic() + seconds
    with temporary_folder() as folder:
        laboratory = Laboratory(folder, program, StandardInput(folder), seed, preparation)
        started = time.monotonic()
        bare = laboratory.run_bare(control_cell(program, "bare"))
        laboratory.expected = (bare.exit_status, bare.signal)
        laboratory.limit_seconds = _PATIENCE_SECONDS + _SLOWEST * (time.monotonic() - started)
        if bare.signal:
            return {}
        laboratory.look_up(list(plans.values()))
        cells = {n: plan_cell(program, p) for n, p in plans.items()}
        controls = [control_cell(program, "bare"), control_cell(program, "looked_up")]
        outcomes = run_rounds(
            [*controls, *cells.values()], laboratory, ProgressReport(), stage=STAGE, rounds=VERDICT_ROUNDS,
            deadline=deadline, seed=seed, warm_up=False,
        )  # fmt: skip
    journal = Journal("advise", program, seed=seed)
    journal.add_outcomes(outcomes)
    store.write(journal)
    compared: dict[str, dict[str, Comparison]] = {name: {} for name in plans}
    for metric in METRICS_COMPARED:
        family = {n: c for n, p in plans.items() if (c := compare_net(outcomes, program, p, metric)) is not None}
        for name, comparison in judge_family(family).items():
            compared[name][metric] = comparison
    return {
        name: Judged(
            compared[name], len({o.round for o in outcomes if o.cell == cell}),
            journal.evidence(STAGE, [*controls, cell], ("cpu_seconds", "peak_bytes")),
        )
        for name, cell in cells.items()
    }  # fmt: skip


def settled(row: Row, judged: Judged, strategy: str, plan: Plan, number: int) -> Row:
    """A subsystem's row of one input, with what fresh rounds say of the plan that paid on input `number`."""
    cpu = judged.net.get("cpu_seconds")
    if cpu is None:
        return row
    return replace(
        row,
        best=strategy if judged.pays else NOTHING,
        plan=plan.file if judged.pays else None,
        saves_cpu_seconds=saved_by(cpu),
        saves_bytes=saved_by(judged.net.get("peak_bytes")),
        reason=f"the plan of input {number} on {plural(judged.rounds, 'fresh round')}: {effect_text(cpu.ratio)} CPU",
        evidence=(*row.evidence, *judged.evidence),
    )
