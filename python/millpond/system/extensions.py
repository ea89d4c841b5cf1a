# SPDX-License-Identifier: BSL-1.0
"""Finds what other installed packages add to `millpond`: documents, metrics, results.

    millpond ──entry points "millpond.extensions"──▶ a module of another package, such as millpond_bench.extension

This module imports no other package by name, so `millpond` runs without any of them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib.metadata import entry_points
from types import ModuleType
from typing import Any

from millpond.system.errors import Failure, Status
from millpond.system.progress import say

GROUP = "millpond.extensions"


@cache
def extensions() -> tuple[ModuleType, ...]:
    """The modules that installed packages name, by name; a package that is half installed is said and left out.

    Reads the metadata of all packages: some 10 ms.
    """
    found: list[ModuleType] = []
    for entry in sorted(entry_points(group=GROUP), key=lambda entry: entry.name):
        try:
            found.append(entry.load())
        except ImportError as error:
            say(f"the extension {entry.value} is left out: {error}")
    return tuple(found)


def documents() -> dict[str, str]:
    """The JSON documents of all extensions: name and version → module and class."""
    return _joined("DOCUMENTS")


def _joined(table: str) -> dict[str, str]:
    """The entries of a table of all extensions; one without the table adds nothing."""
    return {key: value for extension in extensions() for key, value in getattr(extension, table, {}).items()}


def metrics() -> list[Any]:
    """The tables of metrics that extensions store, in the form of `cells.metrics`."""
    return [table for extension in extensions() for table in getattr(extension, "metrics", list)()]


def part(name: str, purpose: str) -> Callable[..., Any]:
    """The function `name` of the extension that has it. Failure (status 4) where none is installed.

    `purpose` begins the message, such as `-o results:FOLDER`.
    """
    for extension in extensions():
        if hasattr(extension, name):
            found: Callable[..., Any] = getattr(extension, name)
            return found
    raise Failure(
        Status.ENVIRONMENT,
        f"{purpose} needs the package millpond-bench, which is not installed: pip install millpond-bench",
    )
