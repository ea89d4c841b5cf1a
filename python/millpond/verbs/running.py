# SPDX-License-Identifier: BSL-1.0
"""Runs the verb that a command line names: parses its request, imports its function and calls it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module

from millpond.system.errors import Failure, Status
from millpond.verbs.guarded_main import prepared
from millpond.verbs.help_text import verb_help
from millpond.verbs.option import Verb
from millpond.verbs.parser import HelpRequest, parse


def run_verb(verb: Verb, words: Sequence[str], command: str = "millpond") -> int:
    """Parses the words after a verb and runs it; returns the exit status. Failure (status 2) for a wrong line."""
    try:
        request, notes = parse(verb, words, command=command)
    except HelpRequest:
        print(verb_help(verb, command), end="")
        return Status.OK
    for note in notes:
        print(f"millpond: {note}", file=sys.stderr)

    def call() -> int:
        module, _, name = verb.function.partition(":")
        return int(getattr(import_module(module), name)(request) or Status.OK)

    return call() if getattr(request, "becomes_program", False) else prepared(call)


def unknown_verb(name: str, near: str, command: str) -> Failure:
    """The failure for a word that is no verb. `near`: the most similar verb, or empty."""
    hint = f"did you mean `{command} {near}`?" if near else f"`{command} --help` lists the verbs"
    return Failure(Status.USAGE, f"unknown verb {name!r}; {hint}")
