# SPDX-License-Identifier: BSL-1.0
"""The command line `millpond`.

    millpond ./program ARGS   = millpond advise ./program ARGS
    millpond VERB …           ──table──▶ request ──▶ the verb's function in millpond.commands
    millpond OLD …            a verb of an earlier version: the same, after a note

`--version` and `--help` import no verb, and the verbs that become native programs import no library.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from millpond.verbs.option import Verb

FIRST = "       millpond PROGRAM [ARGS]...      advises on the program, such as ./program"


def main(argv: list[str] | None = None) -> int:
    """Runs the command line; returns the exit status."""
    from millpond.verbs.guarded_main import command_line

    return command_line(argv, _run)


def _run(words: list[str]) -> int:
    from millpond.verbs import table
    from millpond.verbs.running import run_verb

    words = _without_old_verb(words)
    if words[:1] == [table.OLD_BENCH]:
        return _bench(words[1:])
    if not words or words[0] in ("-h", "--help", "help") or words[0] in table.NOUNS:
        if found := table.find(words):
            return run_verb(*found)
        return _show_help(words)
    found = table.find(words) or _advise(words)
    return run_verb(*found)


def _without_old_verb(words: list[str]) -> list[str]:
    from millpond.verbs.table import OLD_VERBS

    if not words or words[0] not in OLD_VERBS:
        return words
    new = OLD_VERBS[words[0]]
    print(f"millpond: {words[0]} is an old word: write millpond {' '.join(new)}", file=sys.stderr)
    if words[0] == "simulate" and "--json" in words[:-1]:  # which took the next word
        at = words.index("--json")
        words = [*words[:at], f"--json={words[at + 1]}", *words[at + 2 :]]
    return [*new, *words[1:]]


def _advise(words: list[str]) -> tuple[Verb, list[str]]:
    """The verb advise, for a command line that begins with a program or with an option. Failure (2) for others."""
    from millpond.verbs import table
    from millpond.verbs.running import unknown_verb

    if words[0].startswith("-") or "/" in words[0]:
        return table.ADVISE, words
    import shutil

    near = f"advise {words[0]}" if shutil.which(words[0]) else table.nearest(words[0])
    raise unknown_verb(words[0], near, "millpond")


def _show_help(words: list[str]) -> int:
    """Prints the list of verbs; without any word, or for an unknown verb of a noun, as an error (status 2)."""
    from millpond.system.errors import Failure, Status
    from millpond.verbs import table
    from millpond.verbs.help_text import overview
    from millpond.verbs.running import unknown_verb

    if not words:
        print(
            "usage: millpond PROGRAM [ARGS]...\n\n"
            "Tells where a local allocator would make the program faster or smaller, and by how much.\n"
            "Type: millpond ./program\n"
            "millpond --help lists all verbs.",
            file=sys.stderr,
        )
        return 2
    if words[0] not in table.NOUNS:
        print(overview(table.VERBS, table.NOUNS, table.SUMMARY, first=[FIRST]), end="")
        return 0
    own = tuple(verb for verb in table.VERBS if verb.words[0] == words[0])
    if words[1:2] and not words[1].startswith("-"):
        near = next((verb.name for verb in own if verb.name == table.nearest(words[1], own)), "")
        raise unknown_verb(" ".join(words[:2]), near, "millpond")
    if words[1:2] and words[1] not in ("-h", "--help"):
        raise Failure(Status.USAGE, f"options follow the verb: write millpond {words[0]} VERB {words[1]} ...")
    nouns = {words[0]: table.NOUNS[words[0]]}
    print(overview(own, nouns, table.SUMMARY), end="", file=sys.stdout if words[1:] else sys.stderr)
    return 0 if words[1:] else 2


def _bench(words: list[str]) -> int:
    from millpond.system import extensions

    print("millpond: bench is an old word: write millpond-bench run", file=sys.stderr)
    return int(extensions.part("main", "millpond bench")(["run", *words]))


if __name__ == "__main__":
    sys.exit(main())
