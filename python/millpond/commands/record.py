# SPDX-License-Identifier: BSL-1.0
"""`millpond record -o FILE [OPTIONS] -- PROGRAM ARGS`: becomes millpond-record; with --references, millpond-references.

The process is replaced, not wrapped: status, signals, standard streams and job control are then the program's own
without any code of ours. No option parser is imported: the recorder checks its own command line.
"""

from __future__ import annotations

import itertools
import re
from pathlib import Path

from millpond.system.becoming import become

USAGE = """\
usage: millpond record -o FILE [--max-bytes N] [--for SECONDS] [--ahead N] [--mode OCTAL] [--check-contexts]
                       [--owners] [--frees] [--scopes FILE] [--scope FUNCTION]... [--scope-entries N] -- PROGRAM ARGS...
       millpond record --finish FILE
       millpond record --references -o FILE [--from N] [--instructions N] [--sample BURST/PERIOD]
                       [--skip-start | --window FUNCTION] [--mode OCTAL] [--simulate DESCRIPTION]...
                       [--bytes-max N] [--with-system] [--preload LIBRARY] -- PROGRAM ARGS...

Records every heap event of PROGRAM and of the processes that it starts: the trace of PROGRAM itself goes to FILE,
that of the process with pid P to FILE.P. Exits as PROGRAM does.

  -o FILE           the trace to write
  --max-bytes N     stop recording (not the program) when the trace has N bytes
  --for SECONDS     stop the program after so long: SIGINT, 5 s later SIGTERM, 5 s later SIGKILL
  --ahead N         map N bytes of the trace at the start, and make no system call for it later: for programs that
                    forbid themselves system calls (seccomp) without the C library
  --mode OCTAL      permissions of the traces (600: only their owner may read them, for they hold command lines)
  --check-contexts  also walk the stack at 1 event in 64 and state how many contexts differed
  --scopes FILE     observe each activation of the functions in this list, which characterise --scopes-out writes: only
                    then can characterise say of a function that it is legal for an arena
  --scope FUNCTION  observe this function of the executable (as often as needed)
  --scope-entries N observe a function no more after N entries (1000000); each takes some 6 us
  --owners          sample the registers and the stack at allocations: only then can characterise say which instance
                    of a type each object belongs to
  --frees           record the call stack of each free, too: only then can characterise say where the blocks of a
                    subsystem are freed; some 10 ns a free
  --finish FILE     complete a recording whose recorder was killed, whose disk was full, or whose program has left
                    processes behind; of references, too

  --references      capture every data reference, too, under Valgrind (package valgrind): five times as long and more
  --from N          capture nothing of the first N instructions
  --instructions N  stop capturing after N instructions; the program goes on
  --sample B/P      capture bursts: B instructions of every P; the heap events of all
  --skip-start      capture nothing that runs before main
  --window FUNCTION capture what is done from the function's entry to its return, by any thread meanwhile, and the heap
                    events of all; by its symbol, as nm prints it
  --simulate DESC   count misses while the program runs, and write counts and heap events alone (`millpond simulate
                    --help` has the descriptions; as often as needed; `millpond simulate FILE` shows the counts)
  --bytes-max N     simulators take longer accesses for N bytes; --with-system: they count system calls' memory, too
  --preload LIBRARY preload another malloc into the program
"""

REFERENCES, FINISH = "--references", "--finish"
_PARTS = re.compile(r"\.[0-9]+\.[0-9]+")


def record(words: list[str]) -> int:
    """Runs the verb. Returns only for help: otherwise this process has become the recorder, or a Failure is raised."""
    own = words.index("--") if "--" in words else len(words)
    if REFERENCES not in words[:own] and not _left_references(words[:own]):
        return become("millpond-record", words, USAGE)
    others = [word for word in words[:own] if word != REFERENCES]
    return become("millpond-references", others + words[own:], USAGE)


def _left_references(words: list[str]) -> bool:
    """Whether --finish names a capture of references, whose processes left files FILE.partial.PID.IMAGE."""
    named = [word.partition("=")[2] for word in words if word.startswith(f"{FINISH}=")]
    named += [following for word, following in itertools.pairwise(words) if word == FINISH]
    return any(_PARTS.fullmatch(name) for file in named for name in _siblings(f"{file}.partial"))


def _siblings(stem: str) -> list[str]:
    """What follows a path in the names of the files next to it; bytes that are no text are kept."""
    name = Path(stem).name
    try:
        return [
            entry.name.removeprefix(name) for entry in Path(stem).parent.iterdir() if entry.name.startswith(f"{name}.")
        ]
    except OSError:
        return []
