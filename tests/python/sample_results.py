# SPDX-License-Identifier: BSL-1.0
"""Made-up results of published experiments: a statement, a part, a contribution in the current folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from millpond.system.private_names import PrivateNames
from millpond_bench.experiments.bench_document import JudgedClaim
from millpond_bench.pages.contribution import packed
from millpond_bench.pages.kept_results import KeptPart, KeptResults

NOBODY = PrivateNames(frozenset(), frozenset(), frozenset())


def claim(**given: Any) -> JudgedClaim:
    usual = {
        "id": "1.x", "experiment": "d.1", "section": "1", "statement": "A is faster than B.", "rule": {"kind": "ratio"},
        "low": 1.5, "high": None, "published": None, "published_satisfies": None, "paper_disagrees": None,
        "published_lost": None, "verdict": "holds", "p_adjusted": None, "worst": None, "note": None, "missing": None,
        "points": 3, "evidence": [],
        "ours": {"n": 11, "median": 1.75, "low": 1.7, "high": 1.8, "level": 0.98, "method": "order statistics",
                 "verdict": ""},
    }  # fmt: skip
    return JudgedClaim.from_json({**usual, **given})


def part(**given: Any) -> KeptPart:
    usual = {"experiment": "d.1", "title": "t", "scale": "standard", "toolchain": "release", "malloc": "glibc",
             "machine": "m", "compiler": "g++ 12", "version": "1", "command": "millpond-bench run d.1", "rounds": 11,
             "measured": "2026-01-01T00:00:00+00:00", "claims": (claim(),)}  # fmt: skip
    return KeptPart(**{**usual, **given})


def results(*parts: KeptPart, document: str = "d") -> KeptResults:
    return KeptResults(document=document, source="Source", parts=parts)


def contribution(name: str, *parts: KeptPart) -> Path:
    path = Path(f"{name}.contribution.json")
    path.write_text(packed([results(*parts)], NOBODY), encoding="utf-8")
    return path
