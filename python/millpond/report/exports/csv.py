# SPDX-License-Identifier: BSL-1.0
"""Exports a run as CSV (RFC 4180): a row for each observation, or for each subsystem."""

from __future__ import annotations

import csv
import io
from typing import Any

from millpond.store.store import Store
from millpond.system.errors import Failure, Status

_QUERIES = {
    "observations": "select * from observations where run = ? order by id",
    "subsystems": "select * exclude (detail) from subsystems where run = ? order by position",
}


def table(store: Store, run: str, relation: str) -> str:
    """Returns the rows of one run with a line of headings; null values are empty. Failure (status 3) if it has none."""
    rows = store.query(_QUERIES[relation], [run])
    if not rows:
        raise Failure(Status.INPUT, f"run {run} has no {relation}")
    return rows_text(rows)


def rows_text(rows: list[dict[str, Any]]) -> str:
    """Returns the CSV of rows that have the same keys."""
    out = io.StringIO()
    writer = csv.DictWriter(out, fieldnames=list(rows[0]), lineterminator="\r\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()
