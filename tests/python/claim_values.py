# SPDX-License-Identifier: BSL-1.0
"""Evaluates the rule of a statement without judging it."""

from __future__ import annotations

from millpond_bench.claims.claim_readings import read
from millpond_bench.claims.claim_rules import in_our_names
from millpond_bench.claims.claims import Claim
from millpond_bench.experiments.experiment import PublishedSpec
from millpond_bench.experiments.experiment_data import Place
from millpond_bench.experiments.result_table import PlaceTable


def evaluate(claim: Claim, experiment: PublishedSpec, figures: PlaceTable) -> tuple[list[float], list[Place]]:
    """Returns the rule's value in each round that all its terms have, and the figures that it rests on."""
    found = read(in_our_names(claim, experiment.data, experiment.data.canonical), figures)
    return (list(found.values), list(found.places)) if found else ([], [])
