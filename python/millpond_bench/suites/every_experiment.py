# SPDX-License-Identifier: BSL-1.0
"""All experiments: published ones, paper by paper, and our own. Add the experiments of a new paper here."""

from __future__ import annotations

from millpond_bench.experiments.experiment import ExperimentSpec
from millpond_bench.suites import (
    grunwald1993,
    grunwald1993_locality,
    laboratory,
    library,
    malloc,
    p0089,
    p0089_anomalies,
    p0089_bindings,
    p0089_dials,
    p0089_freeing,
    p0089_memory,
    p0089_shuffles,
    p0089_spike,
    references,
    reserve_commit,
    suballocator,
    unique_chars,
)

# Published experiments on a suite's program: counters, toolchains and mallocs apply only to these.
OF_SUITES = (
    *p0089.EXPERIMENTS,
    p0089_memory.EXPERIMENT,
    p0089_shuffles.EXPERIMENT,
    p0089_dials.EXPERIMENT,
    p0089_anomalies.EXPERIMENT,
    p0089_spike.EXPERIMENT,
    *p0089_bindings.EXPERIMENTS,
    *unique_chars.EXPERIMENTS,
    *suballocator.EXPERIMENTS,
    p0089_freeing.EXPERIMENT,
    *reserve_commit.EXPERIMENTS,
)
PUBLISHED = (*OF_SUITES, *grunwald1993_locality.EXPERIMENTS)

EXPERIMENTS: tuple[ExperimentSpec, ...] = (
    *PUBLISHED,
    library.LIBRARY,
    malloc.MALLOC,
    *grunwald1993.EXPERIMENTS,
    references.REFERENCES,
    *laboratory.EXPERIMENTS,
)
