# SPDX-License-Identifier: BSL-1.0
"""The verb `millpond run --plan FILE [--stats] -- PROGRAM ARGS`: becomes millpond-run, which runs the program under a
plan.

As with `record`, no process of ours stays around the program: status, signals and standard streams are its own.
"""

from __future__ import annotations

from millpond.system.becoming import become

USAGE = """\
usage: millpond run --plan FILE [--stats] -- PROGRAM ARGS...
       millpond run --plan FILE --export LIBRARY

Runs PROGRAM with the pools and arenas of a plan, for daily use: nothing is measured. Exits as PROGRAM does. A plan
belongs to one build of one program; another build is refused. `millpond advise` writes the plan that it judged better,
and `millpond characterise --plan-out` writes candidate plans.

  --plan FILE       the plan: the subsystems with their pools
  --stats           at the end, print each pool's counts on standard error
  --export LIBRARY  write one library that contains the plan: LD_PRELOAD=./LIBRARY PROGRAM then does the same, and with
                    MILLPOND_STATS=1 prints each pool's counts at exit
"""


def run(argv: list[str]) -> int:
    """Runs the verb. Returns only for help: otherwise this process has become the program's parent, or a Failure is
    raised."""
    return become("millpond-run", argv, USAGE)
