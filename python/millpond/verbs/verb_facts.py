# SPDX-License-Identifier: BSL-1.0
"""Exit statuses and environment variables in words, for the man pages and the pages of the documentation."""

from __future__ import annotations

from millpond.system.errors import Status

STATUS_MEANINGS = {
    Status.OK: "done",
    Status.GATE: "a condition or a bar is missed",
    Status.USAGE: "wrong usage",
    Status.INPUT: "an input is missing or damaged",
    Status.ENVIRONMENT: "the environment lacks something",
    Status.PROGRAM: "the program could not be run",
}

# Each variable that a user may set, with its effect.
VARIABLES = {
    "CXX": "The C++ compiler, with its first words, such as `ccache g++`. Default: the first one of this machine.",
    "DEBUGINFOD_URLS": "Servers that are asked for missing debug files. If it is not set, nothing is downloaded.",
    "LD_LIBRARY_PATH": "Folders in which malloc libraries are also searched for.",
    "LD_PRELOAD": "Libraries that the program preloads anyway. They stay, after Millpond's own.",
    "MILLPOND_BIN": "The folder of the native programs. Default: those installed with Millpond, or of its build.",
    "MILLPOND_CHECK": "1: Millpond's malloc guards every block, and reports misuse.",
    "MILLPOND_HUGE": "1: Millpond's malloc makes huge pages of memory that is nearly all in use.",
    "MILLPOND_STATS": "1: a library that `millpond run -o` wrote prints the counts of each pool at exit.",
    "TMPDIR": "The folder of temporary files: recordings of `millpond advise`, and copies of `--cwd-copy`.",
    "XDG_RUNTIME_DIR": "The folder of the socket of `trace record --with idle`. Default: /tmp/millpond-UID.",
}
