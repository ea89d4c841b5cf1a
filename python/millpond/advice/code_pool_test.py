# SPDX-License-Identifier: BSL-1.0
"""Writes the test of a written C header: random operations on each pool, checked against a record of all blocks."""

from __future__ import annotations

from collections.abc import Sequence

from millpond.advice.code_homes import AdvisedAllocator
from millpond.advice.code_pool import C_HEADER, comment
from millpond.advice.code_templates import filled

C_TEST = "millpond_advice_test.c"


def c_test(homes: Sequence[AdvisedAllocator], program: str) -> str:
    """Returns the text of the test."""
    names = [home.name for home in homes]
    return filled(f"{C_TEST}.j2", program=comment(program), header=C_HEADER, names=names)
