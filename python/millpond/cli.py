# SPDX-License-Identifier: BSL-1.0
"""The command line `millpond`: one file for each verb; all verbs share exit statuses and the form of messages.

main ──BECOMING──▶ native programs (imports no option parser, so that they start at once)
  └──others───▶ Typer ──▶ the verb's function ──▶ Failure → `millpond: …` and its status
                                               └▶ ProgramExit → end as the program did
"""

from __future__ import annotations

import os
import signal
import sys
from importlib import import_module
from typing import TYPE_CHECKING

from millpond import __version__
from millpond.system import extensions, memory_limit
from millpond.system.errors import Failure, ProgramExit, Status
from millpond.system.interruption import Interruption, line_of, watch_signals
from millpond.system.new_folders import remove_empty_folders
from millpond.system.output import show_any_bytes

if TYPE_CHECKING:
    import typer

# Verbs that become a native program, with their help. Each is the function of its name in its module.
BECOMING = {
    "record": "Record every heap event of a program: record -o FILE -- PROGRAM ARGS...",
    "run": "Run a program under a plan: run --plan FILE -- PROGRAM ARGS...",
    "litter": "Run a program with a littered heap: litter -- PROGRAM ARGS...",
    "simulate": "Count cache misses and page faults: simulate TRACE",
}


# The others, as help lists them: each the function `command` of its module. Verbs of extensions follow them.
PARSED = ("characterise", "trial", "replay", "advise", "synthesize", "report", "compare", "doctor", "schema")


def app(verb: str | None = None) -> typer.Typer:
    """Makes the Typer application: with only this verb if it is one of ours, otherwise with all verbs.

    Each verb needs an import, and importing all of them takes longer than many runs of one verb.
    """
    import typer

    result = typer.Typer(
        name="millpond",
        help="Find out where a local allocator would make a program faster or smaller, and by how much.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
    )
    for becoming, text in BECOMING.items():
        result.command(becoming, help=text)(_listed)
    modules = {name: f"millpond.commands.{name}" for name in PARSED}
    if verb in modules:
        modules = {verb: modules[verb]}
    else:
        modules |= extensions.verbs()
        modules = {verb: modules[verb]} if verb in modules else modules
    for name, module in modules.items():
        result.command(name)(import_module(module).command)

    @result.callback(invoke_without_command=True)
    def root(version: bool = typer.Option(False, "--version", help="Print the version and exit.")) -> None:
        if version:
            print(__version__)
            raise typer.Exit

    return result


def _listed() -> None:
    """Appears in the help only: `main` runs these verbs before any parser is imported."""


def main(argv: list[str] | None = None) -> int:
    """Runs the command line; returns the exit status."""
    if argv is None:
        argv = sys.argv[1:]
        show_any_bytes()
    try:
        if argv and argv[0] in BECOMING:
            verb = import_module(f"millpond.commands.{argv[0]}")
            return int(getattr(verb, argv[0])(argv[1:]))
        watch_signals()
        memory_limit.prepare()
        try:
            return _run(argv)
        finally:
            remove_empty_folders()
    except Failure as failure:
        if failure.message:
            print(f"millpond: {failure.message}", file=sys.stderr)
        return failure.status
    except ProgramExit as ended:
        return _end_as(ended.exit_status, ended.signal)
    except KeyboardInterrupt:
        return _end_as(0, signal.SIGINT)
    except Interruption as interrupted:
        print(f"\r\x1b[Kmillpond: {line_of(interrupted.number)}" if sys.stderr.isatty() else
              f"millpond: {line_of(interrupted.number)}", file=sys.stderr)  # fmt: skip
        return _end_as(0, interrupted.number)
    except BrokenPipeError:
        # The reader of our output has stopped; the interpreter must not try to flush the rest.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return Status.OK
    except Exception as error:
        lack = memory_limit.failure_of(error)
        if lack is None:
            raise
        print(f"millpond: {lack.message}", file=sys.stderr)
        return lack.status


def _run(argv: list[str]) -> int:
    if argv == ["--version"]:
        print(__version__)
        return Status.OK
    import typer

    from millpond.system import arguments

    line = arguments.split(argv)
    parsed = [*line.options, *(["--", *line.program] if line.program is not None else [])]
    try:
        result = app(argv[0] if argv else None)(parsed, standalone_mode=False, prog_name="millpond", obj=line)
    except typer.Exit as done:
        return done.exit_code
    except SystemExit:
        return Status.OK  # Typer's reaction to a reader of our output that has stopped; not our error
    except typer.Abort:
        return _end_as(0, signal.SIGINT)
    except Exception as error:
        # Typer's own errors have one base class with a message; any other error is a bug and shows its trace.
        if not hasattr(error, "format_message"):
            raise
        text = error.format_message().replace(": Value error, ", ": ")
        if text.startswith("No such command"):
            raise _unknown_verb(text.split("'")[1]) from None
        hint = " (millpond --help lists the verbs)" if not line.options else f"; see millpond {argv[0]} --help"
        raise Failure(Status.USAGE, f"{text.rstrip('.')}{hint}") from None
    return int(result) if isinstance(result, int) else Status.OK


def _unknown_verb(name: str) -> Failure:
    import difflib

    near = difflib.get_close_matches(name, [*BECOMING, *PARSED, *extensions.verbs()], n=1)
    hint = f"did you mean `millpond {near[0]}`?" if near else "`millpond --help` lists the verbs"
    return Failure(Status.USAGE, f"unknown verb {name!r}; {hint}")


def _end_as(exit_status: int, number: int) -> int:
    """Ends this process as another one ended: by its status, or by the same signal without a second core dump."""
    if number == 0:
        return exit_status
    import resource

    sys.stdout.flush()
    sys.stderr.flush()
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    if number not in (signal.SIGKILL, signal.SIGSTOP):
        signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [number])
    os.kill(os.getpid(), number)
    return 128 + number


if __name__ == "__main__":
    sys.exit(main())
