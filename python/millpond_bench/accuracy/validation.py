# SPDX-License-Identifier: BSL-1.0
"""Runs a validation, keeps the error of predictions in the store, and prints it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from millpond.cluster.cluster import NO_CLUSTER, ClusterChoice, opened
from millpond.cluster.shipment import Shipment
from millpond.doctor import references_error
from millpond.doctor.examination import PROBE
from millpond.doctor.replay_error import KIND
from millpond.rounds.layouts import CAPTURE, LAYOUT, PLAYER, SIMULATE
from millpond.rounds.mallocs import find_mallocs
from millpond.rounds.recording import CHARACTERISE, RECORD
from millpond.rounds.replay_rounds import REPLAY, ReplayRunner
from millpond.rounds.trial_rounds import TRIAL
from millpond.store.store import Store
from millpond.system import output
from millpond.system.errors import Failure, Status
from millpond.system.json_seal import sealed
from millpond.system.progress import ProgressReport, say
from millpond_bench.accuracy.cluster_validation import ValidationOnCluster, Validator
from millpond_bench.accuracy.references_rounds import ENVIRONMENTS, ReferencesValidator
from millpond_bench.accuracy.validation_rounds import PROGRAMS, ROUNDS, ReplayValidator
from millpond_bench.programs.captured_programs import MORE_PREDICTED, PREDICTED

INPUTS = Path("results/bench/inputs")
FEWEST_MALLOCS = 2
_REPLAYING = (RECORD, CHARACTERISE, REPLAY)
_PREDICTING = (PROBE, TRIAL, CAPTURE, LAYOUT, PLAYER, SIMULATE)


def validate_replay(
    names: list[str] | None, rounds: int | None, budget_seconds: float, folder: Path, seed: int, json: str | None,
    choice: ClusterChoice = NO_CLUSTER,
) -> int:  # fmt: skip
    """Replays recorded programs on each malloc and compares with the programs themselves.

    `names`: some of PROGRAMS, or None for all. Failure (status 4) if this machine has only one malloc, or no program
    could be validated.
    """
    mallocs, missing = find_mallocs()
    if len(mallocs) < FEWEST_MALLOCS:
        packages = " ".join(missing.values())
        raise Failure(
            Status.ENVIRONMENT,
            "the validation compares differences between mallocs, but only the C library's is installed; "
            f"install others: {packages}",
        )
    store = Store(folder)
    store.prepare()
    for name, package in missing.items():
        say(f"{name} is not installed (package {package}); comparing the others")
    work = ReplayValidator(mallocs, INPUTS, ReplayRunner, ProgressReport(), rounds or ROUNDS, seed)
    libraries = [malloc.path for malloc in mallocs if malloc.path is not None]
    _run(work, list(PROGRAMS) if names is None else names, budget_seconds, choice, _REPLAYING, libraries)
    document = work.document()
    if not work.differences:
        raise Failure(
            Status.ENVIRONMENT, f"nothing could be validated: {'; '.join(work.notes) or 'no program was named'}"
        )
    store.write(work.journal)
    store.write_document(KIND, work.journal.run, document.to_json())
    output.write_json(sealed(document.to_json()), json)
    if json != "-":
        from millpond.report import terminal
        from millpond_bench.accuracy.validation_table import print_validation

        print_validation(document, terminal.console())
    return Status.OK


def validate_predictions(
    names: list[str] | None, rounds: int | None, budget_seconds: float, folder: Path, seed: int, json: str | None,
    choice: ClusterChoice = NO_CLUSTER,
) -> int:  # fmt: skip
    """Predicts other mallocs from recorded references and compares with Cachegrind's counts and the clock.

    `names`: programs with PREDICTED or MORE_PREDICTED inputs, or command lines; None for PREDICTED, and for both with
    `rounds` 0, which needs no Cachegrind. Failure (status 4) if no program could be validated.
    """
    default = {**PREDICTED, **MORE_PREDICTED} if rounds == 0 else PREDICTED
    environments = ENVIRONMENTS if rounds is None else rounds
    store = Store(folder)
    store.prepare()
    work = ReferencesValidator(INPUTS, ProgressReport(), environments, seed)
    _run(work, list(default) if names is None else names, budget_seconds, choice, _PREDICTING)
    if not work.counts and not work.seconds:
        why = "; ".join(work.notes) or "no program was named"
        raise Failure(
            Status.ENVIRONMENT,
            f"nothing could be validated: {why}; try other --programs, or more time with --budget=SECONDS",
        )
    document = work.document()
    store.write(work.journal)
    store.write_document(references_error.KIND, work.journal.run, document.to_json())
    output.write_json(sealed(document.to_json()), json)
    if json != "-":
        from millpond.report import terminal
        from millpond_bench.accuracy.references_table import print_references

        print_references(document, terminal.console())
    return Status.OK


def _run(
    work: Validator, names: list[str], budget_seconds: float, choice: ClusterChoice, programs: Sequence[str],
    libraries: Sequence[Path] = (),
) -> None:  # fmt: skip
    """Runs the validation here or on a cluster, which needs our `programs`, and has the same `libraries`."""
    with opened(choice) as cluster:
        if cluster is None:
            work.run(names, time.monotonic() + budget_seconds)
        else:
            shipment = Shipment.of(programs, system=libraries, with_libraries=True)
            ValidationOnCluster(cluster, shipment).run(work, names, budget_seconds)
