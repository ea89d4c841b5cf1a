# SPDX-License-Identifier: BSL-1.0
"""The verb `millpond record -o FILE -- PROGRAM ARGS`: becomes millpond-record or (--references) millpond-references.

The process is replaced, so status, signals, standard streams and job control are the program's own without any code of
ours. No option parser is imported: the recorder checks its own command line.
"""

from __future__ import annotations

import itertools
import re
from pathlib import Path

from millpond.system.becoming import become
from millpond.system.debug_files import taken_from

USAGE = """\
usage: millpond record -o FILE [--max-bytes N] [--for SECONDS] [--ahead N] [--mode OCTAL] [--check-contexts]
                       [--owners] [--frees] [--scopes FILE] [--scope FUNCTION]... [--scope-entries N]
                       [--debug-dir DIR]... [--sysroot DIR] -- PROGRAM ARGS...
       millpond record --finish FILE
       millpond record --references -o FILE [--from N] [--instructions N] [--sample BURST/PERIOD]
                       [--skip-start | --window FUNCTION] [--mode OCTAL] [--simulate DESCRIPTION]...
                       [--bytes-max N] [--with-system] [--preload LIBRARY] -- PROGRAM ARGS...

Records every heap event of PROGRAM and of the processes that it starts. The trace of PROGRAM itself goes to FILE,
that of the process with pid P to FILE.P. Ends with the exit status of PROGRAM.

  -o FILE           the trace to write
  --max-bytes N     stop recording (not the program) when the trace has N bytes
  --for SECONDS     stop the program after this time: SIGINT, 5 s later SIGTERM, 5 s later SIGKILL
  --ahead N         map N bytes of the trace at the start, and make no system call for it later: for programs that
                    restrict their own system calls (seccomp) without the C library
  --mode OCTAL      permissions of the traces (600: only the owner can read them, because they contain command lines)
  --check-contexts  also walk the stack at 1 event in 64, and report the number of contexts that differ
  --scopes FILE     observe each activation of the functions in this list, written by characterise --scopes-out;
                    characterise needs this to call a function legal for an arena
  --scope FUNCTION  observe this function of the executable (may be repeated)
  --debug-dir DIR   search DIR for separate debug files, which name the functions of --scope (may be repeated)
  --sysroot DIR     search usr/lib/debug below DIR, too
  --scope-entries N stop observing a function after N entries (1000000); an entry takes about 6 us
  --owners          sample the registers and the stack at allocations; characterise needs this to assign objects to
                    instances of a type
  --frees           also record the call stack of each free, at about 10 ns a free; characterise needs this to show
                    where the blocks of a subsystem are freed
  --finish FILE     complete a recording (also of references) whose recorder was killed, whose disk was full, or whose
                    program has left processes behind

  --references      also capture every data reference, under Valgrind (package valgrind): at least five times slower
  --from N          start capturing after N instructions
  --instructions N  stop capturing after N instructions; the program continues
  --sample B/P      capture bursts of B instructions, one in every P instructions; heap events are all captured
  --skip-start      start capturing at main
  --window FUNCTION capture all threads from the function's entry to its return; heap events are all captured.
                    FUNCTION is a symbol as printed by nm
  --simulate DESC   count misses while the program runs, and write only counts and heap events (may be repeated).
                    `millpond simulate --help` explains DESC; `millpond simulate FILE` shows the counts
  --bytes-max N     simulators count an access of more than N bytes as one of N
  --with-system     simulators also count the memory accesses of system calls
  --preload LIBRARY preload another malloc into the program
"""

REFERENCES, FINISH = "--references", "--finish"
_PARTS = re.compile(r"\.[0-9]+\.[0-9]+")


def record(argv: list[str]) -> int:
    """Runs the verb. Returns only for help: otherwise this process has become the recorder, or a Failure is raised."""
    own = argv.index("--") if "--" in argv else len(argv)
    argv = [*taken_from(argv[:own]), *argv[own:]]
    own = argv.index("--") if "--" in argv else len(argv)
    if REFERENCES not in argv[:own] and not _left_references(argv[:own]):
        return become("millpond-record", argv, USAGE)
    others = [word for word in argv[:own] if word != REFERENCES]
    return become("millpond-references", others + argv[own:], USAGE)


def _left_references(argv: list[str]) -> bool:
    """True if --finish names a capture of references, whose processes left files FILE.partial.PID.IMAGE."""
    named = [word.partition("=")[2] for word in argv if word.startswith(f"{FINISH}=")]
    named += [following for word, following in itertools.pairwise(argv) if word == FINISH]
    return any(_PARTS.fullmatch(name) for file in named for name in _siblings(f"{file}.partial"))


def _siblings(stem: str) -> list[str]:
    """Returns the rest of the names of files that begin with a path and a dot; keeps bytes that are not text."""
    name = Path(stem).name
    try:
        return [
            entry.name.removeprefix(name) for entry in Path(stem).parent.iterdir() if entry.name.startswith(f"{name}.")
        ]
    except OSError:
        return []
