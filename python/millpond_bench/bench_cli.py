# SPDX-License-Identifier: BSL-1.0
"""The command line `millpond-bench`: as `millpond`'s, with a table of its own (bench_verbs)."""

from __future__ import annotations

import sys


def main(argv: list[str] | None = None) -> int:
    """Runs the command line; returns the exit status."""
    from millpond.verbs.guarded_main import command_line

    return command_line(argv, _run)


def _run(words: list[str]) -> int:
    from millpond.verbs import table
    from millpond.verbs.help_text import overview
    from millpond.verbs.running import run_verb, unknown_verb
    from millpond_bench.bench_verbs import SUMMARY, VERBS

    if not words or words[0] in ("-h", "--help", "help"):
        print(overview(VERBS, {}, SUMMARY, "millpond-bench"), end="", file=sys.stdout if words else sys.stderr)
        return 0 if words else 2
    found = table.find(words, VERBS)
    if found is None:
        raise unknown_verb(words[0], table.nearest(words[0], VERBS), "millpond-bench")
    return run_verb(*found, command="millpond-bench")


if __name__ == "__main__":
    sys.exit(main())
