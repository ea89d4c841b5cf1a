# SPDX-License-Identifier: BSL-1.0
"""Statements judged on aarch64, under an emulator: from the suite's program to the verdicts."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from millpond.system.errors import Status
from millpond_bench.bench_cli import main
from millpond_bench.claims.claims import HOLDS, UNTESTABLE

SUITE = Path(__file__).resolve().parents[2] / "build/toolchains/aarch64/bin/millpond-reserve_commit-suite"
pytestmark = pytest.mark.skipif(
    not (SUITE.exists() and shutil.which("qemu-aarch64")), reason="scripts/aarch64 laboratory builds it"
)
INTS, INT_BYTES = 10**7, 4


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The document of two experiments, with cells of two builds of the program."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("MILLPOND_BIN", raising=False)
        patch.chdir(tmp_path_factory.mktemp("statements"))
        words = ("run", "reserve_commit.1", "reserve_commit.2", "--toolchain=aarch64", "--scale=quick")
        assert main([*words, "-o", "out.json", "-o", "out.html"]) == Status.OK
        document: dict[str, Any] = json.loads(Path("out.json").read_text())
    return document


def test_counts_are_judged_and_times_are_not(ran: dict[str, Any]) -> None:
    verdicts = {claim["id"]: claim["verdict"] for claim in ran["claims"]}
    for counted in ("1.used.vector", "1.guard", "2.moves.none", "2.mremap.moves"):
        assert verdicts[counted] == HOLDS
    assert verdicts["2.amortised.vector"] == UNTESTABLE
    rounds = [row for row in ran["observations"] if row["parameters"]["toolchain"] == "aarch64"]
    assert rounds and all(row["status"] == "ok" for row in rounds)


def test_memory_of_the_emulator_is_left_out(ran: dict[str, Any]) -> None:
    peaks = {row["strategy"]: row["median"] for row in ran["summary"]
             if row["experiment"] == "reserve_commit.1" and row["metric"] == "peak_bytes"
             and row["parameters"]["length"] == INTS}  # fmt: skip
    # A reservation of many times that size, for each page of which the emulator has an entry of its tables.
    assert INTS * INT_BYTES <= peaks["dyn_array_2023"] <= 1.02 * INTS * INT_BYTES
