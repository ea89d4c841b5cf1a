# SPDX-License-Identifier: BSL-1.0
"""The verb `millpond run --plan FILE PROGRAM ARGS`: becomes millpond-run, which runs the program under a plan.

As with `trace record`, no process of ours stays around the program: status, signals and standard streams are its own.
"""

from __future__ import annotations

from millpond.system.becoming import become
from millpond.system.errors import Failure, Status
from millpond.verbs.requests import RunPlanRequest


def run(request: RunPlanRequest) -> int:
    """Becomes the program's parent, or raises a Failure."""
    if request.plan is None:
        raise Failure(
            Status.USAGE,
            "no --plan is given: write millpond run --plan FILE PROGRAM [ARGS]...; `millpond advise PROGRAM` writes "
            "the plan that it judged better",
        )
    if bool(request.program) == (request.out is not None):
        raise Failure(
            Status.USAGE,
            "give either a program, or -o FILE.so for a library with the plan (millpond run --help shows examples)",
        )
    words = ["--plan", request.plan]
    words += ["--stats"] if request.stats else []
    words += ["--export", request.out] if request.out is not None else ["--", *request.program]
    return become("millpond-run", words)
