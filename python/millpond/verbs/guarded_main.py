# SPDX-License-Identifier: BSL-1.0
"""Runs a command line: errors become one line and a status; signals and exits of the program are passed on."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable

from millpond.system.errors import Failure, ProgramExit, Status
from millpond.system.interruption import Interruption, kept_text, line_of, watch_signals


def command_line(argv: list[str] | None, run: Callable[[list[str]], int]) -> int:
    """Runs `run` on the words of a command line, by default this process's; returns the exit status. `--version` is
    answered here.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    if words == ["--version"]:
        from millpond import __version__

        print(__version__)
        return 0
    if argv is None:
        from millpond.system.output import show_any_bytes

        show_any_bytes()
    return guarded(lambda: run(words))


def guarded(action: Callable[[], int]) -> int:
    """Runs the action; returns the exit status. A Failure is printed as a line that begins with `millpond:`."""
    try:
        return action()
    except Failure as failure:
        if failure.message:
            print(f"millpond: {'; '.join(filter(None, (failure.message, kept_text())))}", file=sys.stderr)
        return failure.status
    except ProgramExit as ended:
        return end_as(ended.exit_status, ended.signal)
    except KeyboardInterrupt:
        return end_as(0, signal.SIGINT)
    except Interruption as interrupted:
        print(f"\r\x1b[Kmillpond: {line_of(interrupted.number)}" if sys.stderr.isatty() else
              f"millpond: {line_of(interrupted.number)}", file=sys.stderr)  # fmt: skip
        return end_as(0, interrupted.number)
    except BrokenPipeError:
        # The reader of our output has stopped; the interpreter must not try to flush the rest.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return Status.OK
    except Exception as error:
        from millpond.system import memory_limit

        lack = memory_limit.failure_of(error)
        if lack is None:
            raise
        print(f"millpond: {lack.message}", file=sys.stderr)
        return lack.status


def prepared(action: Callable[[], int]) -> int:
    """Runs the action of a verb that stays in this process: signals are watched, memory limits are respected."""
    from millpond.system import memory_limit
    from millpond.system.new_folders import remove_empty_folders

    watch_signals()
    memory_limit.prepare()
    try:
        return action()
    finally:
        remove_empty_folders()


def end_as(exit_status: int, number: int) -> int:
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
