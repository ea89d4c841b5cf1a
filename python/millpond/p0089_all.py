# SPDX-License-Identifier: BSL-1.0
"""All experiments around P0089R0: the four published ones, the one that it misses, and what it left open."""

from __future__ import annotations

from millpond import p0089_anomalies, p0089_dials
from millpond.p0089 import PUBLISHED

EXPERIMENTS = (*PUBLISHED, p0089_dials.EXPERIMENT, p0089_anomalies.EXPERIMENT)
