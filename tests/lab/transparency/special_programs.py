# SPDX-License-Identifier: BSL-1.0
"""The test programs of tests/lab/programs in all their modes, and the expected sums of their traces."""

from __future__ import annotations

from harness import PROGRAMS, Program
from trace_reading import Trace, count_marked

KINDS = ("allocations", "frees", "reallocations")


def said(stdout: bytes) -> list[tuple[int, ...]]:
    """Returns the counts of each process as it printed them: (allocations, frees, reallocations)."""
    numbers = [line.rsplit(b" ", 1) for line in stdout.splitlines()]
    values = [int(value) for name, value in numbers if name.decode() in KINDS]
    return [tuple(values[i : i + 3]) for i in range(0, len(values), 3)]


def counted(trace: Trace) -> tuple[int, ...]:
    """Returns the same counts of the marked events of one trace."""
    counts = count_marked(trace)
    return tuple(counts[kind] for kind in KINDS)


def _modes(name: str, *modes: str) -> list[Program]:
    return [Program(f"{name}-{mode}", (f"{{programs}}/{name}", mode)) for mode in modes]


# One process each, which prints the exact number of its marked events at its end.
COUNTED = [
    Program("calls", ("{programs}/calls",)),
    Program("early", ("{programs}/early",)),
    Program("loading", ("{programs}/loading", "{programs}/plugin.so", "200")),
    *_modes("endings", "return", "exit", "quick_exit", "_exit", "abort", "segfault", "kill", "hang_up", "terminate"),
    *_modes("endings", "atexit"),
    *_modes("threads", "hand_on", "ending", "keys", "together", "detached"),
    *_modes("stacks", "jump", "coroutines", "thread_coroutines", "frames", "recursion", "exceptions"),
    *_modes("signals", "handler", "alternate", "nested", "jump", "blocked"),
    *_modes("descriptors", "numbers", "close", "folder"),
    Program("killed-late", ("{programs}/endings", "kill", "60000")),
]  # fmt: skip

# Several processes, or several programs in one: every trace of the recording belongs to one of them.
FAMILIES = {
    "fork": ("{programs}/processes", "fork"),
    "vfork": ("{programs}/processes", "vfork"),
    "exec": ("{programs}/processes", "exec", "300"),
    "spawn": ("{programs}/processes", "spawn", "300"),
    "system": ("{programs}/processes", "system", "300"),
}
FAMILY_PROGRAMS = [Program(f"processes-{name}", command) for name, command in FAMILIES.items()]

# Programs whose events are not printed, or vary from run to run.
_PRELOADED = {"LD_PRELOAD": f"{PROGRAMS}/early_library.so"}
UNCOUNTED = [
    *_modes("processes", "forked_thread"),
    *_modes("signals", "timer"),
    *_modes("descriptors", "silent"),
    Program("quiet", ("{programs}/quiet",)),
    Program("preloaded", ("sh", "-c", "getconf PAGESIZE; ls"), environment=_PRELOADED),
]  # fmt: skip

# Limits its own file size below a trace's: recording must stop, and the program must not notice.
LIMITED = Program("descriptors-limit", ("{programs}/descriptors", "limit"))

SPECIAL_PROGRAMS = [*COUNTED, *FAMILY_PROGRAMS, *UNCOUNTED]
