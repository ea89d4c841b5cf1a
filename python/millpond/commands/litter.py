# SPDX-License-Identifier: BSL-1.0
"""`millpond litter [--blocks N | --trace FILE] -- PROGRAM ARGS`: becomes millpond-litter, which becomes the program.

As with `record`, nothing of ours is left beside the program: status, signals and standard streams are its own.
"""

from __future__ import annotations

from millpond.system.becoming import become

USAGE = """\
usage: millpond litter [--blocks N | --trace FILE] [--fraction F] [--seed N] -- PROGRAM ARGS...

Runs PROGRAM with the heap of a program that has been running for long: blocks are allocated from its own malloc
before its main begins, and a fraction of them is freed in random order. Exits as PROGRAM does; a line on standard
error says what was left in the heap. The programs that PROGRAM starts have fresh heaps.

  --blocks N    how many blocks, of 16 to 1024 bytes, their logarithms uniform; 100000
  --trace FILE  the sizes of this trace's allocations instead, deletes held back; at most 256 MiB
  --fraction F  the share of the blocks that is freed, from 0 to 1; 0.5
  --seed N      of all that is drawn; the same one leaves the same heap; 1
"""


def litter(words: list[str]) -> int:
    """Runs the verb. Returns only for help: otherwise this process has become the program, or a Failure is raised."""
    return become("millpond-litter", words, USAGE)
