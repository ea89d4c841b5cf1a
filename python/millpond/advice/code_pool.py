# SPDX-License-Identifier: BSL-1.0
"""Writes the C header of an advised change of C code: for each allocator a pool whose blocks have no head.

The pool does the same as the trial's: the same size classes, the same slabs, blocks in the same order. A free finds the
pool and the size of a block by its address, so a function that frees any block can free these, too.
"""

from __future__ import annotations

from collections.abc import Sequence

from millpond.advice.code_header import one_line
from millpond.advice.code_homes import PROCESS, AdvisedAllocator
from millpond.advice.code_templates import filled

C_HEADER = "millpond_advice.h"


def c_header(homes: Sequence[AdvisedAllocator], program: str) -> str:
    """Returns the text of the header."""
    return filled(f"{C_HEADER}.j2", program=comment(program), example=homes[0].name, homes=homes, said=_comment_lines)


def comment(text: str) -> str:
    """Returns a program's text for a comment of C."""
    return one_line(text).replace("*/", "* /").replace("/*", "/ *")


def _comment_lines(home: AdvisedAllocator) -> str:
    """Returns the lines about a pool, as they follow the first ` * ` of a comment."""
    lines = [f"Owner: {comment(home.owner)}."]
    if home.kind != PROCESS:
        lines.append(
            "The plan gives it another allocator than a pool of the process. C has only the latter: measure again "
            "what it saves."
        )
    if home.several_threads:
        lines.append("Several threads use it, so each call takes a lock, which the trial's pool did not.")
    return "\n * ".join(lines)
