# SPDX-License-Identifier: BSL-1.0
"""Runs `millpond-bench run library` on the fake program; shared by its tests."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fakes.fake_library_suite import FakeSuite

from millpond_bench.bench_cli import main

LIBRARIES = ("libjemalloc.so.2", "libmimalloc.so.2", "libtcmalloc_minimal.so.4", "libtbbmalloc_proxy.so.2")
# Replaces the real program by a fake with these figures (the fixture `use`).
Use = Callable[..., FakeSuite]


def bench(*words: str) -> int:
    """Runs `millpond-bench run library`; returns its status."""
    return int(main(["run", "library", *words]))


def run(*words: str) -> tuple[int, dict[str, Any]]:
    """Returns the status, and the document if one was written."""
    status = bench(*words)
    path = Path("results/bench/library.json")
    return status, json.loads(path.read_text()) if path.exists() else {}


def line_of(document: dict[str, Any], comparison: str) -> dict[str, Any]:
    (found,) = [row for row in document["summary"] if row["comparison"] == comparison]
    return dict(found)
