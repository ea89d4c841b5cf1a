# SPDX-License-Identifier: BSL-1.0
"""Selects the tests of each tier by pytest marks.

no mark   `make test`
more      `make test-more`: the same of more programs, compilers, options
scaled    both: with `scaled(full, small)` repetitions, small in `make test`
slow      only `make test-all`
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any

import pytest

# The value of $MILLPOND_SCALE in `make test`; without it, tests have their full size.
SMALL = "small"

# Of our mallocs, those that `make test` builds (tests/lab/mallocs/CMakeLists.txt); it builds the monotonic one, too.
USUAL_MALLOCS = ("multipool", "quick_fit", "size_map")


def is_small() -> bool:
    return os.environ.get("MILLPOND_SCALE") == SMALL


def scaled(full: int, small: int) -> int:
    """Returns the number of repetitions of a random or exhaustive test: `small` in `make test`, otherwise `full`."""
    return small if is_small() else full


def mostly_more(values: Iterable[Any], *kept: str) -> Sequence[Any]:
    """Marks the values of a parameter (or tuples of values) as `more`, except those whose name or text is in `kept`."""
    result = []
    found = set()
    for value in values:
        words = value if isinstance(value, tuple) else (value,)
        name = getattr(value, "name", None) or " ".join(map(str, words))
        if name in kept:
            found.add(name)
            result.append(value)
        else:
            result.append(pytest.param(*words, marks=pytest.mark.more))
    assert found == set(kept), f"no such values: {set(kept) - found}"
    return result
