# SPDX-License-Identifier: BSL-1.0
"""The legend of an experiment: its strategies by their labels, its axes, and the terms that its text uses.

    multipool:base:wink ──▶ AS10 │ a multipool │ millpond::multipool │ Keeps … ; through a base; winked out

The words are in suites/legend.toml.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from millpond_bench.experiments.experiment import PublishedSpec


@dataclass(frozen=True)
class LabelRow:
    """One strategy: its label in tables and figures, its allocator, its class here, and one sentence."""

    label: str
    allocator: str
    code: str
    sentence: str


@dataclass(frozen=True)
class AxisRow:
    """One axis: its symbol or name, the meaning, and the unit."""

    symbol: str
    meaning: str
    unit: str


@dataclass(frozen=True)
class ExperimentQuestion:
    """The question of an experiment, and the answer of its document."""

    asks: str
    found: str


@cache
def _words() -> Mapping[str, Any]:
    return tomllib.loads((files("millpond_bench.suites") / "legend.toml").read_text(encoding="utf-8"))


def question(name: str) -> ExperimentQuestion:
    """The question of a published experiment. KeyError if the legend has none."""
    return ExperimentQuestion(**_words()["experiment"][name])


def labels(spec: PublishedSpec, strategies: Iterable[str]) -> list[LabelRow]:
    """A row for each strategy, in their order. KeyError for a part of a name that the legend does not have."""
    names = list(dict.fromkeys(strategies))
    parts = [_parts(name) for name in names]
    varies = [len({part[at] for part in parts}) > 1 for at in (2, 3)]
    found = []
    for name, (container, allocator, binding, disposal) in zip(names, parts, strict=True):
        words = _words()
        what, code, sentence, more = _allocator(allocator)
        more += [words["binding"][binding]] if binding and varies[0] else []
        more += [words["disposal"][disposal]] if disposal and varies[1] else []
        what = f"{words['container'][container]} over {what}" if container else what
        found.append(LabelRow(spec.data.alias(name) or name, what, code, "; ".join([sentence, *more])))
    return found


def _parts(name: str) -> tuple[str, str, str, str]:
    """Container, allocator, binding and disposal of a strategy; empty if the name has none."""
    container, rest = name.split(":", 1) if name.split(":")[0] in _words()["container"] else ("", name)
    allocator, _, way = rest.partition(":")
    binding, _, disposal = way.partition(":")
    return container, allocator, binding, disposal


def _allocator(name: str) -> tuple[str, str, str, list[str]]:
    """The allocator's words, class and sentence, and more about it: a lock, or a buffer on the stack."""
    known: Mapping[str, list[str]] = _words()["allocator"]
    if name in known:
        what, code, sentence = known[name]
        return what, code, sentence, []
    if name.startswith("synchronized("):
        what, code, sentence, more = _allocator(name.removeprefix("synchronized(").removesuffix(")"))
        return f"{what}, with a lock", f"synchronized<{code}>", sentence, [*more, "every call takes a lock"]
    what, code, sentence, more = _allocator(name.removesuffix("(buffer)"))
    return f"{what} in a buffer", code, sentence, [*more, "its first memory is a buffer on the stack"]


def axes(spec: PublishedSpec) -> list[AxisRow]:
    """A row for each axis of an experiment. KeyError for an axis that the legend does not have."""
    own = _words()["axis_of"].get(spec.name, {})
    found = []
    for name in spec.data.axes:
        symbol, meaning, unit = own.get(name) or _words()["axis"][name]
        found.append(AxisRow(symbol or name.replace("_", " "), meaning, unit))
    return found


def terms(text: str) -> list[tuple[str, str]]:
    """The terms and abbreviations that occur in a text, with their meanings."""
    return [(term, meaning) for term, meaning in _words()["term"].items() if term.lower() in text.lower()]
