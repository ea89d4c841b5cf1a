# SPDX-License-Identifier: BSL-1.0
"""The verb `millpond litter [--blocks N | --trace FILE] -- PROGRAM ARGS`: becomes millpond-litter, then the program.

As with `record`, no process of ours stays around the program: status, signals and standard streams are its own.
"""

from __future__ import annotations

from millpond.system.becoming import become

USAGE = """\
usage: millpond litter [--blocks N | --trace FILE] [--fraction F] [--seed N] -- PROGRAM ARGS...

Runs PROGRAM with the heap of a program that has run for a long time. Allocates blocks from its own malloc before main
begins, and frees a fraction of them in random order. Exits as PROGRAM does. A line on standard error describes the
remaining blocks. Programs that PROGRAM starts have fresh heaps.

  --blocks N    number of blocks, of 16 to 1024 bytes, log-uniformly distributed (100000)
  --trace FILE  use the sizes of this trace's allocations instead, without its frees; at most 256 MiB
  --fraction F  share of the blocks to free, from 0 to 1 (0.5)
  --seed N      random seed; the same seed leaves the same heap (1)
"""


def litter(argv: list[str]) -> int:
    """Runs the verb. Returns only for help: otherwise this process has become the program, or a Failure is raised."""
    return become("millpond-litter", argv, USAGE)
