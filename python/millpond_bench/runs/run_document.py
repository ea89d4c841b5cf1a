# SPDX-License-Identifier: BSL-1.0
"""The document ("millpond.bench/1") of one experiment or several, and its file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from millpond.system import output
from millpond.system.arguments import STDOUT
from millpond_bench.experiments.bench_document import SCHEMA, BenchDocument
from millpond_bench.runs.experiment_run import ExperimentRun


def document(runs: Sequence[ExperimentRun]) -> BenchDocument:
    """The document ("millpond.bench/1") of one experiment or several."""
    return BenchDocument(
        **runs[0].journal.head(SCHEMA),
        seed=runs[0].request.seed,
        experiments=tuple(run.record() for run in runs),
        peers=tuple(peer for run in runs for peer in run.peers),
        notes=tuple(note for run in runs for note in run.notes),
        bars=tuple(bar.bar_record() for run in runs for bar in run.bars),
        claims=tuple(claim.claim_record() for run in runs for claim in run.claims),
        summary=tuple(row for run in runs for row in run.summary()),
        observations=tuple(row for run in runs for row in run.observations()),
    )


def write(document: BenchDocument, target: str) -> None:
    """Writes the document whole or not at all: indented for a reader, but one line for each of its many
    observations.
    """
    data = document.to_json()
    head = output.json_text({**data, "observations": []}).rstrip().removesuffix("[]\n}")
    rows = ",\n".join(output.json_text(row, compact=True).rstrip() for row in data["observations"])
    text = f"{head}[\n{rows}\n]\n}}\n" if rows else f"{head}[]\n}}\n"
    if target == STDOUT:
        output.print_bytes(text.encode())
    else:
        output.write_bytes(Path(target), text.encode())
