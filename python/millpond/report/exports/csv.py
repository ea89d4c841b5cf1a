# SPDX-License-Identifier: BSL-1.0
"""Exports a run as CSV (RFC 4180): a row for each observation, or for each subsystem."""

from __future__ import annotations

import csv
import io
from typing import Any

from millpond.store.run_contents import RunContents
from millpond.system.errors import Failure, Status


def table(run: RunContents, relation: str) -> str:
    """Returns the rows of one run with a line of headings; null values are empty. Failure (status 3) if it has none."""
    if relation == "observations":
        rows = [row.to_json() for row in run.observations]
    else:
        rows = [{name: row[name] for name in row if name != "detail"} for row in run.subsystems or ()]
    if not rows:
        raise Failure(Status.INPUT, f"run {run.run} has no {relation}")
    return rows_text(rows)


def rows_text(rows: list[dict[str, Any]]) -> str:
    """Returns the CSV of rows that have the same keys."""
    out = io.StringIO()
    writer = csv.DictWriter(out, fieldnames=list(rows[0]), lineterminator="\r\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()
