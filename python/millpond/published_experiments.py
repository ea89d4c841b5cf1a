# SPDX-License-Identifier: BSL-1.0
"""Every published experiment that there is, document by document. A new document adds its own here."""

from __future__ import annotations

from millpond import p0089_all, reserve_commit, suballocator, unique_chars

EXPERIMENTS = (
    *p0089_all.EXPERIMENTS,
    *unique_chars.EXPERIMENTS,
    *suballocator.EXPERIMENTS,
    *reserve_commit.EXPERIMENTS,
)
