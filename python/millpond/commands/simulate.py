# SPDX-License-Identifier: BSL-1.0
"""`millpond simulate [OPTIONS] TRACE`: becomes millpond-simulate, which reads references and counts misses."""

from __future__ import annotations

from millpond.system.becoming import become

USAGE = """\
usage: millpond simulate [--simulate DESCRIPTION]... [--straddle once|twice] [--modify once|twice]
                         [--penalty CYCLES,...] [--latencies FILE|measure] [--cpi CYCLES]
                         [--flush-references N] [--flush-instructions N] [--with-system] [--format FORMAT]
                         [--json FILE] [--write-din FILE] TRACE
       millpond simulate --measure [--simulate DESCRIPTION]... [TRACE]

Counts the misses of caches, translation buffers and memories of all sizes on a program's data references.
TRACE is a recording (`millpond record --references`), or text: Dinero's din or Valgrind's lackey; "-" is standard
input.

  --simulate DESCRIPTION   a simulator, as often as needed; without it five direct-mapped caches, 56 LRU caches
                           and every memory of 4 KiB pages:
                             direct:line=32,size=16K/32K        direct-mapped caches of these sizes
                             lru:line=32,sets=64-4096,ways=8    every LRU cache of so many sets and 1 to 8 ways
                             fifo|random:line=64,size=32K,ways=8
                             distances:line=64                  exact LRU stack distances: misses of every size
                             sampled:line=64,one_in=100         the same from a sample, with its error
                             levels:line=64,size=32K/1M,ways=8/16,inclusion=inclusive|exclusive|independent
                             tlb:page=4K,entries=64/1536,ways=4/12
                             attributed:line=64,size=32K,ways=8 cold, capacity and conflict; program and allocator
  --straddle, --modify     whether an access to two lines, and a read-modify-write, is one reference or two (once)
  --penalty CYCLES,...     P of a miss, in the time model I + (M x P) x D (10,25,50,100,200)
  --latencies FILE         also tell the time with all levels: instructions, hits of each level x its latency, and
                           translation. Levels are this machine's, or those of a levels: that is named; FILE is
                           what `millpond doctor --json=FILE` wrote, or "measure": of this machine, now
  --cpi CYCLES             with --latencies: cycles of an instruction (1)
  --flush-references N     empty every cache after so many references; --flush-instructions N: instructions
  --with-system            of a recording, count what system calls read and wrote, too
  --format FORMAT          of TRACE: automatic, recording, din, lackey
  --json FILE              write the document ("-": to standard output, instead of the table)
  --write-din FILE         also write the references as din text
  --measure                tell how many references a second each simulator takes
"""


def simulate(words: list[str]) -> int:
    """Runs the verb. Returns only for help: otherwise this process has become the program, or a Failure is raised."""
    return become("millpond-simulate", words, USAGE)
