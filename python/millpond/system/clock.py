# SPDX-License-Identifier: BSL-1.0
"""The time in the format of documents and observations."""

from __future__ import annotations

import datetime


def utc_now() -> str:
    """The time in UTC, ISO 8601, to the millisecond."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")
