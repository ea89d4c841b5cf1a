#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Compares sampled recordings of a program with a whole one: how often the 95 % intervals hold the true figures.

    sampled_coverage.py BIN [--seeds 40] [--bytes 16384] [--out FILE.json] -- PROGRAM ARGS

BIN is the folder of millpond-record and millpond-characterise. The program must allocate the same in every run, in one
thread. A line for each figure: the pairs of a seed and a subsystem in which the interval holds the value of the whole
trace. A pair counts if the subsystem is in the sample. Status 1 if a figure is below 95 %. Lifetimes are times, which
the recorder changes, so only sums are compared.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

FIGURES = ("events", "allocations", "frees", "bytes", "end_live_bytes", "end_live_objects")
WANTED = 0.95


def characterised(folder: Path, work: Path, options: list[str], program: list[str]) -> dict[str, Any]:
    """The figures of one recording, as JSON."""
    trace, out = work / "t.mpt", work / "t.json"
    subprocess.run(
        [folder / "millpond-record", *options, "-o", trace, "--", *program], check=True, stdout=subprocess.DEVNULL
    )
    subprocess.run([folder / "millpond-characterise", "--json", out, trace], check=True)
    found: dict[str, Any] = json.loads(out.read_text())
    return found


def covered(whole: dict[str, Any], sample: dict[str, Any], tally: dict[str, list[int]]) -> None:
    """Counts, by figure, the pairs and those whose interval holds the true value."""
    truth = {one["name"]: one for one in whole["subsystems"]}
    pairs = [(truth[one["name"]], one) for one in sample["subsystems"] if one["name"] in truth]
    for true, one in [(whole["trace"], sample["trace"]), *pairs]:
        for figure in FIGURES:
            low, high = one["intervals"][figure]
            tally[figure][0] += low <= true[figure] <= high
            tally[figure][1] += 1


def main() -> int:
    """Runs the comparison."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bin", type=Path)
    parser.add_argument("--seeds", type=int, default=40)
    parser.add_argument("--bytes", default="16384")
    parser.add_argument("--out", type=Path)
    parser.add_argument("program", nargs="+")
    asked = parser.parse_args()
    tally = {figure: [0, 0] for figure in FIGURES}
    with tempfile.TemporaryDirectory() as place:
        whole = characterised(asked.bin, Path(place), [], asked.program)
        for seed in range(1, asked.seeds + 1):
            options = ["--sample", asked.bytes, "--seed", str(seed)]
            covered(whole, characterised(asked.bin, Path(place), options, asked.program), tally)
    for figure, (held, pairs) in tally.items():
        print(f"{figure}: {held} of {pairs} ({100 * held / max(1, pairs):.1f} %)")
    if asked.out:
        asked.out.write_text(json.dumps(tally))
    return int(any(held < WANTED * pairs for held, pairs in tally.values()))


if __name__ == "__main__":
    sys.exit(main())
