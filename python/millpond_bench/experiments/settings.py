# SPDX-License-Identifier: BSL-1.0
"""Parameters that published experiments leave open, set by the user: `--set log2_leaves=22,24`."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat

from millpond.cells.cell import LITTER
from millpond.system.errors import Failure, Status
from millpond_bench.experiments.experiment import ExperimentSpec, PublishedSpec


def values_set(texts: Sequence[str], specs: Sequence[ExperimentSpec]) -> dict[str, tuple[str, ...]]:
    """The values of `--set log2_leaves=22,24`, by name, each once.

    Failure (status 2) for another form, and for a name that one of the experiments does not leave open.
    """
    found: dict[str, tuple[str, ...]] = {}
    for text in texts:
        name, mark, values = text.partition("=")
        words = tuple(dict.fromkeys(word.strip() for word in values.split(",")))
        if not mark or not all(words):
            raise Failure(Status.USAGE, f"--set {text!r}: write NAME=VALUE,VALUE")
        found[name] = tuple(map(_fraction if name == LITTER else _whole, words, repeat(name)))
    for spec in specs:
        free = spec.data.free if isinstance(spec, PublishedSpec) else ()
        for name in found:
            if name not in free:
                open_names = f"it leaves open {', '.join(free)}" if free else "it leaves nothing open"
                raise Failure(Status.USAGE, f"--set {name}: {spec.name} does not leave it open; {open_names}")
    return found


def _whole(word: str, name: str) -> str:
    """A value in the form of a cell's parameter. Failure (status 2) unless it is a whole number."""
    if not word.removeprefix("-").isdecimal():
        raise Failure(Status.USAGE, f"--set {name}={word}: the value must be a whole number")
    return word


def _fraction(word: str, name: str) -> str:
    """The littered share of a heap in the form of a cell's parameter. Failure (status 2) if it is invalid."""
    try:
        share = float(word)
    except ValueError:
        share = -1.0
    if not 0.0 <= share <= 1.0:
        raise Failure(Status.USAGE, f"--set {name}={word}: the share must be from 0 (a fresh heap) to 1")
    return f"{share:g}"
