# SPDX-License-Identifier: BSL-1.0
"""Intervals of sampled recordings hold the figures of a whole one: sampled_coverage.py with a few seeds."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

BIN = Path(os.environ.get("MILLPOND_BIN") or Path(__file__).resolve().parents[3] / "build" / "release" / "bin")


@pytest.mark.more
def test_intervals_of_samples_hold_the_figures_of_all() -> None:
    program = BIN.parent / "test_programs" / "steady"
    script = Path(__file__).with_name("sampled_coverage.py")
    done = subprocess.run([sys.executable, script, BIN, "--seeds", "6", "--", program, "200000", "100"],
                          capture_output=True, text=True, check=False)  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
