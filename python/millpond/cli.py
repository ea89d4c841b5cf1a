# SPDX-License-Identifier: BSL-1.0
"""The command line `millpond`: one verb a file, statuses and messages the same for all.

main ──BECOMING──▶ native programs (no option parser is imported: they must start at once)
  └──others───▶ Typer ──▶ the verb's function ──▶ Failure → `millpond: …` and its status
                                               └▶ ProgramExit → we end as the program did
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

# Verbs that become a native program, each the function of its name in its module; and what help says of them.
BECOMING = {
    "record": "Record every heap event of a program: record -o FILE -- PROGRAM ARGS...",
    "run": "Run a program under a plan: run --plan FILE -- PROGRAM ARGS...",
    "litter": "Run a program with a littered heap: litter -- PROGRAM ARGS...",
    "simulate": "Count the misses of caches and memories: simulate TRACE",
}


# The others, as help lists them: each the function `command` of its module. Verbs of extensions follow them.
PARSED = ("characterise", "trial", "replay", "advise", "synthesize", "report", "compare", "doctor")


def app(verb: str | None = None) -> typer.Typer:
    """The Typer application: of this verb alone, where it is one of ours; of all otherwise, whose help needs them.

    A module is imported for each verb it has, and the modules of all verbs take longer than many a run of one.
    """
    import typer

    result = typer.Typer(
        name="millpond",
        help="Would a local allocator make this program faster or smaller, where, which one, and by how much?",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
    )
    for becoming, words in BECOMING.items():
        result.command(becoming, help=words)(_listed)
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
    """Listed for help only: `main` takes these verbs before any parser is imported."""


def main(words: list[str] | None = None) -> int:
    """Runs the command line; returns the exit status."""
    if words is None:
        words = sys.argv[1:]
        show_any_bytes()
    try:
        if words and words[0] in BECOMING:
            verb = import_module(f"millpond.commands.{words[0]}")
            return int(getattr(verb, words[0])(words[1:]))
        watch_signals()
        memory_limit.prepare()
        try:
            return _run(words)
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
        # Whoever read our output has stopped; the interpreter must not try to flush the rest of it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return Status.OK
    except Exception as error:
        lack = memory_limit.failure_of(error)
        if lack is None:
            raise
        print(f"millpond: {lack.message}", file=sys.stderr)
        return lack.status


def _run(words: list[str]) -> int:
    if words == ["--version"]:
        print(__version__)
        return Status.OK
    import typer

    from millpond.system import arguments

    line = arguments.split(words)
    parsed = [*line.options, *(["--", *line.program] if line.program is not None else [])]
    try:
        result = app(words[0] if words else None)(parsed, standalone_mode=False, prog_name="millpond", obj=line)
    except typer.Exit as done:
        return done.exit_code
    except SystemExit:
        return Status.OK  # Typer's answer to a reader of our output that has stopped reading: no error of ours
    except typer.Abort:
        return _end_as(0, signal.SIGINT)
    except Exception as error:
        # Typer's own errors have one base, whose message is the sentence; anything else is a bug and shows its trace.
        if not hasattr(error, "format_message"):
            raise
        text = error.format_message().replace(": Value error, ", ": ")
        hint = " (millpond --help lists the verbs)" if not line.options else f"; see millpond {words[0]} --help"
        raise Failure(Status.USAGE, f"{text.rstrip('.')}{hint}") from None
    return int(result) if isinstance(result, int) else Status.OK


def _end_as(exit_status: int, number: int) -> int:
    """Ends this process as another one ended: by the same signal, without a second core dump, or by its status."""
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
