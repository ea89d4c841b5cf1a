# SPDX-License-Identifier: BSL-1.0
"""How a prediction came out: what an advice had predicted, next to what two builds of the program then measured.

    advice of BEFORE ──▶ predicted CPU and peak ─┐
    rounds of BEFORE and AFTER ──▶ measured ─────┴─▶ "millpond.builds/1", kept in the store under the advice's run

The document is made by `millpond compare --after` and shown by it and by `millpond report`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from millpond.advice.choice import MALLOC, PLAN
from millpond.cells.plans import has_arena
from millpond.system.wording import effect_text, percent_text, plural

SCHEMA = "millpond.builds/1"
KIND = "outcomes"  # of document in the store
# Metric → its words in a sentence. Both are better when smaller.
WORDS = {"cpu_seconds": "CPU", "peak_bytes": "peak memory"}


@dataclass(frozen=True)
class Line:
    """One metric: what was predicted (None: nothing), what was measured, and whether the two intervals meet."""

    metric: str
    predicted: Mapping[str, Any] | None
    measured: Mapping[str, Any]

    @property
    def meets(self) -> bool | None:
        """Whether the intervals have a value in common; None without a prediction."""
        if self.predicted is None:
            return None
        return bool(self.predicted["low"] <= self.measured["high"] and self.measured["low"] <= self.predicted["high"])

    @property
    def predicted_text(self) -> str:
        """`-31.0 % (-33.1 % to -29.8 %)`; a dash where nothing was predicted."""
        return _interval(self.predicted) if self.predicted else "–"

    @property
    def measured_text(self) -> str:
        return effect_text(dict(self.measured))

    @property
    def sentence(self) -> str:
        """`CPU was predicted to change by … and came out at …: the intervals meet.`"""
        words = WORDS[self.metric][0].upper() + WORDS[self.metric][1:]
        if self.predicted is None:
            return f"{words} came out at {_interval(self.measured)}; nothing was predicted of it."
        if self.meets:
            how = "the intervals meet"
        else:
            better = self.measured["median"] < self.predicted["median"]
            how = f"the intervals do not meet, it came out {'better' if better else 'worse'} than predicted"
        predicted, measured = _interval(self.predicted), _interval(self.measured)
        return f"{words} was predicted at {predicted} and came out at {measured}: {how}."


@dataclass(frozen=True)
class CameOut:
    """What a report shows of a document: its lines, and the sentences around them."""

    run: str
    before: Sequence[str]
    after: Sequence[str]
    rounds: int
    of: str
    output: str
    lines: Sequence[Line]

    @classmethod
    def of_document(cls, document: Mapping[str, Any]) -> CameOut:
        """The document taken apart. KeyError, TypeError, ValueError where it does not have its form."""
        if document["schema"] != SCHEMA:
            raise ValueError(f"its schema is {document['schema']!r}, not {SCHEMA!r}")
        prediction = document["prediction"] or {}
        lines = []
        for metric in WORDS:
            measured = document["measured"].get(metric)
            if measured is not None:
                predicted = (prediction.get("effects") or {}).get(metric)
                line = Line(metric, predicted and _summary(predicted), _summary(measured))
                lines.append(line)
        before, after = ([str(word) for word in document[side]["argv"]] for side in ("before", "after"))
        words = str(prediction.get("words") or "")
        return cls(str(document["run"]), before, after, int(document["rounds"]), words,
                   str(document["output"]["words"]), lines)  # fmt: skip

    @property
    def heading(self) -> str:
        """`Predicted and came out (11 rounds of build-b/app against build-a/app)`."""
        return (
            f"Predicted and came out ({plural(self.rounds, 'round')} of {self.after[0]} against {self.before[0]}, "
            f"run {self.run})"
        )


def _summary(found: Mapping[str, Any]) -> dict[str, Any]:
    """Those fields of a summary of ratios that are shown, with their types made sure."""
    return {
        "n": int(found["n"]), "median": float(found["median"]), "low": float(found["low"]),
        "high": float(found["high"]), "verdict": str(found["verdict"]),
    }  # fmt: skip


def _interval(summary: Mapping[str, Any]) -> str:
    return f"{percent_text(summary['median'])} ({percent_text(summary['low'])} to {percent_text(summary['high'])})"


def prediction_of(advice: Mapping[str, Any]) -> dict[str, Any] | None:
    """What an advice predicts of the change that it leads to, by metric; None where it tried no plan and advises none.

    Of a plan that was tried and is not advised the figures count, too: somebody may have made the change all the same.
    """
    chosen = advice["choice"]
    if chosen["kind"] == MALLOC:
        effects = {"cpu_seconds": chosen["cpu"], "peak_bytes": chosen["peak"]}
        words = f"{chosen['name']} as the program's malloc"
    else:
        net = advice["sums"]["net"]
        effects = {"cpu_seconds": net, "peak_bytes": (net.get("other_metrics") or {}).get("peak_bytes")}
        plan = advice["plan_tried"] or {"routes": []}
        what, tried = ("an arena for a scope", "was") if has_arena(plan) else ("local pools", "were")
        words = what if chosen["kind"] == PLAN else f"{what}, which {tried} tried and not advised"
    known = {metric: _with_interval(found) for metric, found in effects.items() if found and found.get("n")}
    if not known:
        return None
    return {"run": str(advice.get("run") or ""), "kind": str(chosen["kind"]), "words": words, "effects": known}


def _with_interval(found: Mapping[str, Any]) -> dict[str, Any]:
    return {key: found[key] for key in ("n", "median", "low", "high", "level", "verdict")}
