# SPDX-License-Identifier: BSL-1.0
"""Every published experiment that there is, document by document."""

from __future__ import annotations

from millpond import p0089, suballocator, unique_chars

EXPERIMENTS = (*p0089.EXPERIMENTS, *unique_chars.EXPERIMENTS, *suballocator.EXPERIMENTS)
