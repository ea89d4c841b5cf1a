# SPDX-License-Identifier: BSL-1.0
"""The load of a server: a command that drives it and ends, and the regular expression that finds figures it prints.

redis-benchmark -q -t set     SET: 66225.17 requests per second, p50=0.391 msec
--rate                             '([\\d.]+) requests per second, p50=(?P<p50>[\\d.]+)'
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from millpond.cells.metrics import LATENCIES, UNIT_SECONDS
from millpond.system.errors import Failure, Status

_RATE = "rate"


@dataclass(frozen=True)
class Load:
    """A shell command that drives a server. `rate`: a regular expression with one group for the units of work per
    second, and groups named p50 and p99 for latencies; None: a unit is the whole load. Failure (status 2) for another
    expression.
    """

    command: str
    rate: str | None = None

    def __post_init__(self) -> None:
        if self.rate is None:
            return
        try:
            pattern = re.compile(self.rate)
        except re.error as error:
            raise Failure(Status.USAGE, f"--rate {self.rate!r} is not a regular expression: {error}") from error
        unknown = sorted(pattern.groupindex.keys() - {_RATE, *LATENCIES})
        if unknown:
            raise Failure(Status.USAGE, f"--rate: the group {unknown[0]!r} is unknown; p50 and p99 are latencies")
        if pattern.groups - len(pattern.groupindex.keys() & LATENCIES.keys()) != 1:
            raise Failure(
                Status.USAGE, f"--rate {self.rate!r} needs one group for the number, such as '([0-9.]+) requests per "
                "second', besides those named p50 and p99; write (?:...) for others",
            )  # fmt: skip

    def options(self) -> list[str]:
        """The options that ask for it. They are stored with a run: rounds under another load are different rounds."""
        return load_options(self.command, self.rate)

    @property
    def files(self) -> list[Path]:
        """The words of the command, each of which may be a file that the load consists of."""
        try:
            return [Path(word) for word in shlex.split(self.command)]
        except ValueError:
            return []

    def figures(self, seconds: float, printed: Sequence[str]) -> dict[str, float]:
        """The figures of one load by metric: seconds for a unit of work, and latencies that were printed.

        `seconds`: how long it took. `printed`: the texts in which to search; the first with a match counts. Where the
        expression matches several times, each figure is a mean: of the seconds for a unit, not of the rates. Failure
        (status 2) if nothing matches.
        """
        if self.rate is None:
            return {UNIT_SECONDS: seconds}
        pattern = re.compile(self.rate, re.MULTILINE)
        matches = next(filter(None, (list(pattern.finditer(text)) for text in printed)), [])
        if not matches:
            raise Failure(
                Status.USAGE, f"--rate {self.rate!r} matches nothing that the load or the server printed"
                f"{last_line_of(*printed)}",
            )  # fmt: skip
        index = pattern.groupindex
        own = next(n for n in range(1, pattern.groups + 1) if n not in {index.get(name) for name in LATENCIES})
        rates = [_number(match.group(own), self.rate) for match in matches]
        found = {UNIT_SECONDS: sum(1.0 / rate for rate in rates) / len(rates)}
        for name, metric in LATENCIES.items():
            values = [_number(m.group(name), self.rate) for m in matches if name in index and m.group(name)]
            if values:
                found[metric] = sum(values) / len(values)
        return found


def load_options(command: str, rate: str | None) -> list[str]:
    """The options of a command line that ask for this load."""
    return ["--load", command, *(["--rate", rate] if rate is not None else [])]


def _number(text: str | None, rate: str) -> float:
    try:
        value = float((text or "").replace(",", ""))
    except ValueError:
        value = 0.0
    if not 0.0 < value < float("inf"):
        raise Failure(Status.USAGE, f"--rate {rate!r} found {text!r}, which is no number above zero")
    return value


def last_line_of(*texts: str) -> str:
    """`; its last line is "…"`, from the first text that has one; empty if none has."""
    lines = (line.strip() for text in texts for line in reversed(re.split(r"[\r\n]", text)))
    last = next(filter(None, lines), "")
    return f'; its last line is "{last}"' if last else ""
