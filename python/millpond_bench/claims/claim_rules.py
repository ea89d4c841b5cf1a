# SPDX-License-Identifier: BSL-1.0
"""Judges statements in the same way on the figures of a paper and on ours.

    Claim: kind ── claim_terms ──▶ a term for each point and pair ── over, claim_readings ──▶ a figure, its interval
                                       ├─ on the published tables ──▶ one number: is our reading right?
                                       ├─ on ours ──▶ a region of its bound (verdicts) ──▶ Verdict, with its p-value
                                       └─ on the paper's own allocators ──▶ the same: Verdict.on_documents

`of` and `against` are strategies, each one for all, or one for each: [AS2, AS5] against [AS1, AS3] are two pairs. The
`kind` defines a term, and `over` how the terms are combined; `verdicts` explains the verdicts.

A label of the paper (`AS7`) means one strategy among ours, and another one among allocators that are built as the
paper's were (`ExperimentData.documents_own`): such a statement has two verdicts. A statement whose labels mean the same
in both (`AS1`), or that names a strategy without a label (`AS7s`), has one.

A statement names its premise (`premises`). Points where that fails are no evidence; if none is left, the statement
cannot be tested on this program.

The kind `untestable` has no rule: no measurement here could decide it, and `missing` names what it would need.

`where` has a value for an axis, a list of them, or a range: `from`, `to`, `below` another axis, or `is` another axis.
A statement that names no environment (`toolchain`, `malloc`) is about the usual one. Points with more threads than the
machine has cores are no evidence: their threads take turns.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import msgspec

from millpond.cells.cell import Cell
from millpond.system.machine import this_machine
from millpond.system.wording import plural
from millpond_bench.claims.claim_readings import read
from millpond_bench.claims.claims import NOT_MEASURED, UNDECIDED, UNFOUNDED, UNTESTABLE, Claim, Verdict, load
from millpond_bench.claims.premises import NONE, Premise, PremiseCheck, check_premise, premise_of
from millpond_bench.claims.verdicts import FEWEST_ROUNDS, controlled
from millpond_bench.experiments.experiment import PublishedSpec
from millpond_bench.experiments.experiment_data import ExperimentData, Place
from millpond_bench.experiments.result_table import PlaceTable, ResultTable

THREADS = "threads"
Names = Callable[[str], str]


def judge_all(
    experiment: PublishedSpec,
    published: PlaceTable,
    ours: PlaceTable,
    missing: Mapping[str, str] | None = None,
    *,
    cores: int | None = None,
    exact: bool = False,
) -> list[Verdict]:
    """Every statement about this experiment, on our allocators and on the paper's own, all judged together.

    `missing`: requested environments, counters and contenders that are absent, each with the reason. `cores`: of the
    machine that measured, this one's if not given. `exact`: all of our figures are counts, so that one round is
    enough. O(claims × figures).
    """
    data = experiment.data
    claims = [claim for claim in load(experiment.claims) if claim.experiment == experiment.name]
    if exact:
        claims = [msgspec.structs.replace(claim, exact=True) for claim in claims]
    here = cores or this_machine().cores
    within = _within_cores(ours, here)
    reasons = {**(missing or {}), THREADS: f"a core for each thread: this machine has {here}"}
    in_two = [claim for claim in claims if _has_two_verdicts(claim, data)]
    judged = controlled([
        _untestable(
            judge(claim, data, published, within, names=names, premise=premise_of(claim, experiment.claims)),
            data, ours, here, reasons, names,
        )
        for names, some in ((data.canonical, claims), (data.original_allocator, in_two))
        for claim in some
    ])  # fmt: skip
    on_documents = dict(zip((claim.id for claim in in_two), judged[len(claims) :], strict=True))
    return [replace(one, on_documents=on_documents.get(one.claim.id)) for one in judged[: len(claims)]]


def _has_two_verdicts(claim: Claim, data: ExperimentData) -> bool:
    """True if its labels mean other strategies on the paper's own allocators."""
    names = {data.canonical(name) for name in (*claim.of, *claim.against, *_rivals(claim, data))}
    return names <= {*data.strategies} and any(data.original_allocator(name) != name for name in names)


def _within_cores(figures: PlaceTable, cores: int) -> PlaceTable:
    """The figures without points that have more threads than cores."""

    def fits(place: Place) -> bool:
        threads = dict(place[0]).get(THREADS, 0)
        return not isinstance(threads, int) or threads <= cores

    return ResultTable({place: found for place, found in figures.values.items() if fits(place)},
                       {place: status for place, status in figures.failed.items() if fits(place)},
                       figures.why, figures.names)  # fmt: skip


def _untestable(
    judged: Verdict, data: ExperimentData, ours: PlaceTable, cores: int, missing: Mapping[str, str], names: Names
) -> Verdict:
    """Adds the missing part, if that is the reason why nothing was measured."""
    if judged.verdict != NOT_MEASURED:
        return judged
    claim = judged.claim
    named = {*claim.surroundings(), claim.metric, *map(names, (*claim.of, *claim.against))}
    ends = [end for end in (claim.first, claim.last) if claim.axis == THREADS and isinstance(end, int)]
    if max(ends, default=0) > cores or read(in_our_names(claim, data, names), ours):
        named.add(THREADS)
    reasons = dict.fromkeys(why for name, why in missing.items() if name in named)
    if not reasons:
        return judged
    return replace(judged, claim=msgspec.structs.replace(claim, missing="; ".join(reasons)), verdict=UNTESTABLE)


def judge(
    claim: Claim, data: ExperimentData, published: PlaceTable, ours: PlaceTable, *, names: Names | None = None,
    premise: Premise | None = None,
) -> Verdict:  # fmt: skip
    """One statement on both, judged by itself: chance is limited at `RATE` for it only.

    `names`: our strategy for a name of the paper (`AS7`); the experiment's own aliases if not given. `premise`: what
    it supposes of our programs.
    """
    said: dict[str, Any] = {"premise": premise.wording() if premise else NONE}
    if claim.kind == "untestable":
        return Verdict(claim, None, UNTESTABLE, **said)
    names = names or data.canonical
    printed = None if claim.published_lost else read(in_our_names(claim, data, data.canonical), published)
    rule = in_our_names(claim, data, names)
    checked = check_premise(rule, premise, ours, names)
    found = read(rule, checked.figures)
    if printed:
        said |= {"published": printed.figure.median, "published_satisfies": printed.satisfied}
    if not found and checked.failed and read(rule, ours):
        lacks = f"its premise fails: {checked.failed_text()}"
        return Verdict(msgspec.structs.replace(claim, missing=lacks), None, UNFOUNDED, **said)
    if not found:
        return Verdict(claim, None, NOT_MEASURED, **said)
    evidence = tuple(dict.fromkeys(ours.names.get(place, "") for place in found.places))
    judged = Verdict(claim, found.figure, UNDECIDED, **said, points=len(found.places), evidence=evidence,
                     worst=found.worst, note="; ".join(filter(None, (found.note, _note_on(checked)))))  # fmt: skip
    if claim.counted:
        return replace(judged, verdict=found.region or UNDECIDED)
    if found.figure.n < FEWEST_ROUNDS:
        why = f"{plural(found.figure.n, 'round')}, a verdict needs {FEWEST_ROUNDS}"
        return replace(judged, note="; ".join(filter(None, (why, judged.note))))
    return controlled([replace(judged, region=found.region, p=found.p)])[0]


def _note_on(checked: PremiseCheck) -> str:
    """A remark on points that a premise leaves out, or on a premise that was not measured."""
    left_out = f"left out, since the premise fails: {checked.failed_text()}" if checked.failed else ""
    return "; ".join(filter(None, (left_out, "its premise was not measured" if checked.unknown else "")))


def rests_on(claim: Claim, data: ExperimentData, cell: Cell) -> bool:
    """True if a cell is evidence for a statement in the usual environment, on our allocators or the paper's own."""
    at = data.point_of(cell)
    named = (*claim.of, *claim.against, *_rivals(claim, data))
    if at is None or cell.contender.name not in {how(name) for how in (data.canonical, data.original_allocator)
                                                 for name in named}:  # fmt: skip
        return False
    is_end = claim.kind != "growth" or dict(at).get(claim.axis) in (claim.first, claim.last)
    return is_end and in_our_names(claim, data, data.canonical).matches(at, claim.axis)


def in_our_names(claim: Claim, data: ExperimentData, names: Names) -> Claim:
    """The claim with canonical names instead of the paper's, in the usual environment."""
    given = (claim.of, claim.against, _rivals(claim, data))
    of, against, among = (tuple(map(names, some)) for some in given)
    usual = {name: value for name, value in data.usual if name != claim.axis}
    return msgspec.structs.replace(claim, of=of, against=against, among=among,
                                   where={**usual, **claim.where})  # fmt: skip


def _rivals(claim: Claim, data: ExperimentData) -> tuple[str, ...]:
    """The strategies that a winner is compared with: if none is named, all of the paper."""
    return claim.among or (data.strategies if claim.kind == "lead" else ())
