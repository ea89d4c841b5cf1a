# SPDX-License-Identifier: BSL-1.0
"""`millpond run --plan FILE [--stats] -- PROGRAM ARGS`: becomes millpond-run, which runs the program under the plan.

As with `record`, nothing of ours is left beside the program: status, signals and standard streams are its own.
"""

from __future__ import annotations

from millpond.system.becoming import become

USAGE = """\
usage: millpond run --plan FILE [--stats] -- PROGRAM ARGS...
       millpond run --plan FILE --export LIBRARY

Runs PROGRAM with the pools and arenas of a plan, as one would every day: nothing is measured. Exits as PROGRAM does.
A plan belongs to one build of one program; another build is refused. `millpond advise` leaves the plan
that it judged better, `millpond characterise --plan-out` candidate plans.

  --plan FILE       which subsystems get which pools
  --stats           at the end, say on standard error what each pool did
  --export LIBRARY  write one library with the plan inside: LD_PRELOAD=./LIBRARY PROGRAM then does the same by itself,
                    and with MILLPOND_STATS=1 says at exit what each pool did
"""


def run(words: list[str]) -> int:
    """Runs the verb. Returns only for help: otherwise this process has become the program's parent, or a Failure is
    raised."""
    return become("millpond-run", words, USAGE)
