# SPDX-License-Identifier: BSL-1.0
"""The words and amounts of the metrics that an advice compares. A metric whose reciprocal readers expect is shown as
that: seconds for a unit of work as throughput.

    unit_seconds   0.8 of the unchanged program's   ─▶   throughput +25.0 %, 82.8 k a second instead of 66.2 k
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from millpond.cells.metrics import LATENCIES, MEAN_BYTES, SPEEDS, UNIT_SECONDS
from millpond.statistics.order_statistics import Summary, inverse
from millpond.system.wording import bytes_text, change_text, count_text, seconds_text

_THROUGHPUT = "throughput"


@dataclass(frozen=True)
class ShownMetric:
    """The form in which a metric is shown. `amount`: the words for a value. `is_inverse`: its reciprocal is shown, of
    which more is better.
    """

    name: str
    amount: Callable[[float | None], str]
    is_inverse: bool = False

    def shown(self, summary: Summary) -> Summary:
        """Returns ratios of the metric as ratios of what is shown."""
        return inverse(summary) if self.is_inverse else summary

    def ratio(self, value: float) -> float:
        """Returns one ratio of the metric, above zero, as a ratio of what is shown."""
        return 1.0 / value if self.is_inverse else value


# In the order of a reader's interest.
SHOWN = {
    UNIT_SECONDS: ShownMetric(_THROUGHPUT, lambda seconds: f"{count_text(1.0 / seconds if seconds else None)}/s", True),
    **{metric: ShownMetric(f"latency {name}", count_text) for name, metric in LATENCIES.items()},
    "cpu_seconds": ShownMetric("CPU", seconds_text),
    "peak_bytes": ShownMetric("peak memory", bytes_text),
    MEAN_BYTES: ShownMetric("mean memory", bytes_text),
}


def metric_name(metric: str) -> str:
    """Returns the words for a metric: `CPU`, `throughput`."""
    return SHOWN[metric].name


def change_words(metric: str, ratios: Summary) -> str:
    """Returns `CPU -32.0 % (-34.0 % to -30.0 %)`, or `throughput +25.0 % (+23.1 % to +26.4 %)`."""
    one = SHOWN[metric]
    return f"{one.name} {change_text(one.shown(ratios))}"


def speed_words(comparisons: Mapping[str, Summary]) -> list[str]:
    """Returns the words for throughput, if there is a load, and for CPU time."""
    return [change_words(metric, comparisons[metric]) for metric in SPEEDS if metric in comparisons]
