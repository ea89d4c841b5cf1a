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

Records every heap event of PROGRAM and of the processes that it starts. The trace of PROGRAM itself goes to FILE,
that of the process with pid P to FILE.P. Ends with the exit status of PROGRAM.

  -o FILE           write the trace to FILE
  --max-bytes N     stop recording when the trace has N bytes; the program goes on
  --for SECONDS     stop the program after SECONDS: by SIGINT, 5 s later SIGTERM, 5 s later SIGKILL
  --ahead N         map N bytes of the trace at the start, so that recording needs no system call later: for programs
                    that forbid themselves system calls (seccomp) without the C library
  --mode OCTAL      permissions of the traces (600: only their owner may read them; they hold command lines)
  --check-contexts  also walk the stack at 1 event in 64, and report how many contexts differed
  --scopes FILE     observe each activation of the functions in this list (written by characterise --scopes-out);
                    characterise needs this to tell which functions are legal for an arena
  --scope FUNCTION  observe this function of the executable (may be repeated)
  --scope-entries N stop observing a function after N entries (1000000); each takes about 6 us
  --owners          sample the registers and the stack at allocations; characterise needs this to tell which instance
                    of a type each object belongs to
  --frees           also record the call stack of each free (about 10 ns each); characterise needs this to tell where
                    the blocks of a subsystem are freed
  --finish FILE     complete a recording (also one of references) whose recorder was killed, whose disk was full, or
                    whose program has left processes behind

  --references      also capture every data reference, under Valgrind (package valgrind): at least five times slower
  --from N          leave out the first N instructions
  --instructions N  stop capturing after N instructions; the program goes on
  --sample B/P      capture B instructions of every P, and all heap events
  --skip-start      leave out everything before main
  --window FUNCTION capture only from the entry of FUNCTION to its return, all threads, and all heap events; FUNCTION is
                    a symbol as nm prints it
  --simulate DESC   count misses while the program runs, and write only counts and heap events (may be repeated;
                    `millpond simulate --help` explains DESC, `millpond simulate FILE` shows the counts)
  --bytes-max N     in simulators, count an access of more than N bytes as one of N
  --with-system     in simulators, also count what system calls read and wrote
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
