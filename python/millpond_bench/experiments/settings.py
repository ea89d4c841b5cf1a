# SPDX-License-Identifier: BSL-1.0
"""What a user sets of what published experiments leave open: `--set log2_leaves=22,24`."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat

from millpond.cells.cell import LITTER
from millpond.system.errors import Failure, Status
from millpond_bench.experiments.experiment import ExperimentSpec, PublishedSpec


def values_set(texts: Sequence[str], specs: Sequence[ExperimentSpec]) -> dict[str, tuple[str, ...]]:
    """The values of `--set log2_leaves=22,24`, by name, each once.

    Failure (status 2) for a text that is not so given, and for a name that one of the experiments does not leave open.
    """
    found: dict[str, tuple[str, ...]] = {}
    for text in texts:
        name, mark, values = text.partition("=")
        words = tuple(dict.fromkeys(word.strip() for word in values.split(",")))
        if not mark or not all(words):
            raise Failure(Status.USAGE, f"--set {text!r}: it is given as NAME=VALUE,VALUE")
        found[name] = tuple(map(_fraction if name == LITTER else _whole, words, repeat(name)))
    for spec in specs:
        free = spec.free if isinstance(spec, PublishedSpec) else ()
        for name in found:
            if name not in free:
                open_names = f"it leaves open {', '.join(free)}" if free else "it leaves nothing open"
                raise Failure(Status.USAGE, f"--set {name}: {spec.name} does not leave it open; {open_names}")
    return found


def _whole(word: str, name: str) -> str:
    """A value as cells have it. Failure (status 2) for what is no whole number."""
    if not word.removeprefix("-").isdecimal():
        raise Failure(Status.USAGE, f"--set {name}={word}: the value is a whole number")
    return word


def _fraction(word: str, name: str) -> str:
    """The share of a heap that is littered, as cells have it. Failure (status 2) for what is none."""
    try:
        share = float(word)
    except ValueError:
        share = -1.0
    if not 0.0 <= share <= 1.0:
        raise Failure(Status.USAGE, f"--set {name}={word}: the share is from 0, a fresh heap, to 1")
    return f"{share:g}"
