# SPDX-License-Identifier: BSL-1.0
"""Finds and runs the native programs. Python knows only their command lines and files.

Searched in this order: the folder in $MILLPOND_BIN; `_native/bin` next to this package (an installed wheel);
`build/release/bin` of the repository that this file lies in, then `build/demo/bin`, which `make demo` builds. Programs
built by a certain compiler lie in `toolchains/NAME` of the folder in $MILLPOND_BIN, or in `build/toolchains/NAME/bin`
of the repository.
"""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any, Protocol

from millpond.system import process_tree
from millpond.system.any_bytes import system_form
from millpond.system.environment import user_environment
from millpond.system.errors import Failure, Status
from millpond.system.progress import say

_PACKAGE = Path(__file__).resolve().parents[1]
_BUILDS = _PACKAGE.parents[1] / "build"
_PATIENCE_SECONDS = 2.0
# The time that a program gets to end by itself after Ctrl-C, as container runtimes give it.
PROGRAM_GRACE_SECONDS = 10.0
# Tells a native program the id of our process, so that it ends with it (lab/measure/conductor.hpp).
_PARENT = "MILLPOND_PARENT"


def search_path() -> list[Path]:
    """The folders in which native programs are searched for, in this order."""
    chosen = os.environ.get("MILLPOND_BIN")
    if chosen:
        return [Path(chosen)]
    return [_PACKAGE / "_native" / "bin", _BUILDS / "release" / "bin", _BUILDS / "demo" / "bin"]


def find(name: str) -> Path:
    """The native program of that name. Failure (status 4) if it is not built or not installed."""
    advice = (
        f"build it in the repository with `scripts/build release {name}`, or set MILLPOND_BIN to the folder that has it"
    )
    return _first(search_path(), name, name, advice)


def find_example(name: str) -> Path:
    """The example of that name, which an installation keeps in lib/millpond/examples. Failure (4) if it is missing."""
    folders = [place for folder in search_path() for place in (folder, folder.parent / "lib" / "millpond" / "examples")]
    return _first(folders, name, f"the example {name}", f"build it in the repository with `scripts/build demo {name}`")


def libraries(program: str) -> Path:
    """The folder of the libraries that are preloaded into programs; `program` names a native program."""
    return find(program).parent.parent / "lib" / "millpond"


def find_built_by(toolchain: str, name: str, target: str = "bench-toolchains") -> Path:
    """That program as a toolchain built it. Failure (status 4) if it did not, or is not installed.

    `target`: of make, which builds it.
    """
    chosen = os.environ.get("MILLPOND_BIN")
    folder = Path(chosen) / "toolchains" / toolchain if chosen else _BUILDS / "toolchains" / toolchain / "bin"
    advice = f"`make {target}` installs the compilers and builds it"
    return _first([folder], name, f"{name}, built by {toolchain},", advice)


def build_folder() -> Path:
    """The folder of builds of the repository that this file lies in."""
    return _BUILDS


def _first(folders: Sequence[Path], name: str, what: str, advice: str) -> Path:
    for folder in folders:
        candidate = folder / name
        if candidate.is_file() and os.access(candidate, os.X_OK):
            return candidate.absolute()
    raise Failure(Status.ENVIRONMENT, f"{what} is missing; looked in {', '.join(map(str, folders))}; {advice}")


@dataclass(frozen=True)
class ProcessEnd:
    """The end of a native program: its exit status (negative: died of that signal), and its standard error.

    `timed_out`: we ended it, because it exceeded its time limit.
    """

    status: int
    said: str
    timed_out: bool = False


_watch: ContextVar[Callable[[int], None] | None] = ContextVar("watch", default=None)


@contextmanager
def watched_by(watch: Callable[[int], None]) -> Iterator[None]:
    """Gives each program that this thread runs inside the block a process group of its own; `watch` gets its id at
    once.
    """
    token = _watch.set(watch)
    try:
        yield
    finally:
        _watch.reset(token)


@contextmanager
def interrupts_passed_on() -> Iterator[list[int]]:
    """Passes the first SIGINT on to the program that this thread runs inside the block. A second one interrupts us,
    and so does a program that has not ended PROGRAM_GRACE_SECONDS after the first.

    Yields the numbers of the signals that were passed on. Does nothing outside the main thread, or if SIGINT is ignored
    (nohup).
    """
    children, passed = list[int](), list[int]()
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield passed
        return
    us, ended = threading.get_ident(), threading.Event()

    def interrupt_us_later() -> None:
        if not ended.wait(_PATIENCE_SECONDS):
            say("Ctrl-C has gone to the program, which has not ended yet; Ctrl-C again stops both")
        if not ended.wait(PROGRAM_GRACE_SECONDS - _PATIENCE_SECONDS):
            signal.pthread_kill(us, signal.SIGINT)

    def pass_on(number: int, frame: FrameType | None) -> None:
        if passed or not children:
            before(number, frame)
        passed.append(number)
        threading.Thread(target=interrupt_us_later, daemon=True).start()
        with suppress(ProcessLookupError):
            os.killpg(children[-1], number)

    signal.signal(signal.SIGINT, pass_on)
    try:
        with watched_by(children.append):
            yield passed
    finally:
        ended.set()
        if signal.getsignal(signal.SIGINT) is pass_on:  # otherwise it is ignored, so that our cleanup is not cut short
            signal.signal(signal.SIGINT, before)


def run(
    name: str,
    arguments: Sequence[str],
    *,
    stdin: int = subprocess.DEVNULL,
    passing: bool = False,
    seconds: float | None = None,
    folder: Path | None = None,
) -> ProcessEnd:
    """Runs a native program to its end.

    Quiet by default: standard output is dropped, standard error kept. `passing` lets both through to the user.
    `seconds` limits its time; `folder` is its working folder. An interruption of this process ends it too: it is asked
    to stop, which it passes on to the program that it measures, before it is killed. Inside `watched_by` it is a
    process group of its own.
    """
    watch = _watch.get()
    child = _started(
        name, arguments, stdin=stdin, stdout=None if passing else subprocess.DEVNULL,
        stderr=None if passing else subprocess.PIPE, process_group=0 if watch is not None else None, cwd=folder,
    )  # fmt: skip
    try:
        if watch is not None:
            watch(child.pid)
        said = child.communicate(timeout=seconds)[1]
    except subprocess.TimeoutExpired:
        return _stopped(child, seconds)
    except BaseException:
        stop(child)
        raise
    return ProcessEnd(child.returncode, (said or b"").decode(errors="surrogateescape"))


class Driver(Protocol):
    """Acts on a native program while it runs. `output`: the file that gets the program's standard output."""

    output: Path

    def drive(self, child: subprocess.Popen[bytes]) -> None: ...


def run_driven(
    name: str, arguments: Sequence[str], driver: Driver, *, stdin: int = subprocess.DEVNULL,
    seconds: float | None = None, folder: Path | None = None,
) -> ProcessEnd:  # fmt: skip
    """Runs a native program to its end, while the driver acts on it in this thread. `seconds` limits the time after
    that. If the driver raises, the program and all that it has started are ended, as by an interruption of `run`.
    """
    # Files, not pipes: no thread reads what is printed while the driver acts.
    with tempfile.TemporaryFile() as said, driver.output.open("wb") as printed:
        child = _started(name, arguments, stdin=stdin, stdout=printed, stderr=said, cwd=folder)
        try:
            driver.drive(child)
            child.wait(seconds)
        except subprocess.TimeoutExpired:
            return _stopped(child, seconds)
        except BaseException:
            stop(child)
            raise
        said.seek(0)
        return ProcessEnd(child.returncode, said.read().decode(errors="surrogateescape"))


def _started(name: str, arguments: Sequence[str], **how: Any) -> subprocess.Popen[bytes]:
    """Starts a native program; `how`: of Popen. Failure (4) if that is impossible."""
    command = [str(find(name)), *map(system_form, arguments)]
    environment = {**user_environment(), _PARENT: str(os.getpid())}
    try:
        return subprocess.Popen(command, env=environment, **how)
    except OSError as error:
        raise Failure(Status.ENVIRONMENT, f"cannot start {name}: {error.strerror or error}") from error


def _stopped(child: subprocess.Popen[bytes], seconds: float | None) -> ProcessEnd:
    return ProcessEnd(stop(child), f"millpond: stopped after {seconds or 0:.0f} s without a result", timed_out=True)


@dataclass(frozen=True)
class ProgramOutput:
    """The end of a program, and all that it printed. `timed_out`: we killed it, because it exceeded its time limit."""

    status: int
    printed: str
    said: str
    timed_out: bool = False


def capture(
    argv: Sequence[str],
    environment: Mapping[str, str],
    *,
    seconds: float | None = None,
    descriptors: Sequence[int] = (),
) -> ProgramOutput:
    """Runs a program with exactly that environment, without input, and reads both its outputs.

    For programs that print their result; an interruption of this process kills it. It inherits `descriptors` under
    their numbers. Failure (4) if it cannot be started.
    """
    try:
        done = subprocess.run(
            [*map(system_form, argv)], stdin=subprocess.DEVNULL, capture_output=True, env=environment, check=False,
            timeout=seconds, pass_fds=descriptors,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return ProgramOutput(-signal.SIGKILL, "", "", timed_out=True)
    except OSError as error:
        raise Failure(Status.ENVIRONMENT, f"cannot start {argv[0]}: {error.strerror or error}") from error
    printed, said = (text.decode(errors="surrogateescape") for text in (done.stdout, done.stderr))
    return ProgramOutput(done.returncode, printed, said)


def stop(child: subprocess.Popen[bytes]) -> int:
    """Ends a process and all that it has started so far: asks first, then kills."""
    started = process_tree.descendants_of(child.pid)
    child.terminate()
    try:
        child.communicate(timeout=_PATIENCE_SECONDS)
    except subprocess.TimeoutExpired:
        started |= process_tree.descendants_of(child.pid)
        child.kill()
        child.wait()
    process_tree.kill_each(started)
    return child.returncode


def failure_of(name: str, finished: ProcessEnd) -> Failure:
    """The failure that a native program reported, with its message and status."""
    lines = [line for line in finished.said.split("\n") if line.startswith("millpond:")]
    message = "; ".join(line.removeprefix("millpond:").strip() for line in lines)
    if finished.status < 0:
        how = f"{name} died of {signal_name(-finished.status)}: please report this as a bug of ours"
        return Failure(Status.ENVIRONMENT, message or how)
    try:
        status = Status(finished.status)
    except ValueError:
        status = Status.ENVIRONMENT
    return Failure(status, message or f"{name} failed with status {finished.status} and gave no reason")


def require(name: str, arguments: Sequence[str], *, stdin: int = subprocess.DEVNULL, folder: Path | None = None) -> str:
    """Runs a native program; returns its standard error, or raises the failure that it reported."""
    finished = run(name, arguments, stdin=stdin, folder=folder)
    if finished.status != 0:
        raise failure_of(name, finished)
    return finished.said


def answer(name: str, arguments: Sequence[str]) -> str:
    """Runs a native program that prints its result; returns what it printed, or raises the failure that it reported."""
    done = capture([str(find(name)), *arguments], user_environment())
    if done.status != 0:
        raise failure_of(name, ProcessEnd(done.status, done.said, done.timed_out))
    return done.printed


def signal_name(number: int) -> str:
    """`SIGSEGV` for 11; `signal 99` for a number without a name."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
