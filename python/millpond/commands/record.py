# SPDX-License-Identifier: BSL-1.0
"""The verb `millpond trace record PROGRAM ARGS`, which becomes millpond-record or (references) millpond-references, and
the verb `millpond trace control`.

The process is replaced, so status, signals, standard streams and job control are the program's own without any code of
ours.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from millpond.system.becoming import become
from millpond.system.debug_files import use_debug_files
from millpond.system.errors import Failure, Status
from millpond.verbs.trace_requests import ControlRequest, RecordRequest
from millpond.verbs.values import size

_LAST = "last="
_MINUTES = re.compile(r"last=[0-9]+(\.[0-9]+)?min")
_PARTS = re.compile(r"\.[0-9]+\.[0-9]+")
_SETTINGS = {"mode": "--mode", "ahead": "--ahead", "scope-entries": "--scope-entries", "access-bytes": "--bytes-max"}
_FLAGS = {
    "owners": "--owners",
    "frees": "--frees",
    "contexts": "--check-contexts",
    "system": "--with-system",
    "idle": "--idle",
    "scan": "--scan",
}


def record(request: RecordRequest) -> int:
    """Becomes the recorder, or raises a Failure."""
    _prove_fitting(request)
    use_debug_files(request.debug_dir, request.sysroot)
    words = _words(request)
    if request.finish is not None:
        if request.program or request.out is not None:
            raise Failure(Status.USAGE, "--finish FILE completes a recording: give neither a program nor -o")
        left_references = "references" in request.extras or _left_references(request.finish)
        become("millpond-references" if left_references else "millpond-record", ["--finish", request.finish, *words])
    if request.attach is not None:
        place = _say_place(request, f"{_executable_of(request.attach)}.mpt")
        become("millpond-record", [*words, "--attach", str(request.attach), "-o", place])
    if not request.program:
        raise Failure(Status.USAGE, "no program is given: write millpond trace record [-o FILE] PROGRAM [ARGS]...")
    place = _say_place(request, f"{Path(request.program[0]).name}.mpt")
    program = "millpond-references" if "references" in request.extras else "millpond-record"
    # The file comes last: in front of `--`, an option that may be repeated would take the program's words.
    become(program, [*words, "-o", place, "--", *request.program])


def _say_place(request: RecordRequest, usual: str) -> str:
    """Returns the trace's file, and says its usual name if the user gave none."""
    if request.out is None:
        print(f"millpond: recording to {usual} (-o FILE chooses another file)", file=sys.stderr)
    return usual if request.out is None else request.out


def _executable_of(process: int) -> str:
    """Returns the name of a process's executable; Failure (status 3) if there is no such process."""
    try:
        return Path(f"/proc/{process}/exe").readlink().name.removesuffix(" (deleted)")
    except FileNotFoundError as error:
        raise Failure(Status.INPUT, f"there is no process {process}, or it has ended") from error
    except OSError as error:
        raise Failure(
            Status.INPUT, f"the executable of process {process} cannot be read ({error.strerror}); run as its user"
        ) from error


def control(request: ControlRequest) -> int:
    """Becomes the program that reaches the recorder, or raises a Failure."""
    if (request.word == "mark") != (request.name is not None):
        raise Failure(Status.USAGE, "mark takes the name of the phase that begins, and nothing else takes one")
    words = [request.word] if request.name is None else [request.word, request.name]
    become("millpond-record", ["--control", str(request.process), "--", *words])


def _prove_fitting(request: RecordRequest) -> None:
    """Failure (status 2) for an option of the other recorder, or one that does not go with idle."""
    names = {name for name, _ in request.settings}
    if "idle" in request.extras and request.scope:
        raise Failure(Status.USAGE, "--with idle does not go with --scope: a call that begins asleep is not seen")
    if request.attach is not None:
        _prove_attachable(request, names)
    of_references = {
        "--window": [one for one in request.window if not one.startswith(_LAST)], "--simulate": request.simulate,
        "--malloc": request.malloc, "--with system": "system" in request.extras,
        "--set access-bytes": "access-bytes" in names,
    }  # fmt: skip
    of_events = {
        "--attach": request.attach, "--for": request.duration, "--max-trace": request.max_trace,
        "--scope": request.scope, "--window last": [one for one in request.window if one.startswith(_LAST)],
        "--set ahead": "ahead" in names, "--set scope-entries": "scope-entries" in names,
        **{f"--with {name}": name in request.extras for name in ("owners", "frees", "contexts", "idle", "scan")},
    }  # fmt: skip
    has_references = "references" in request.extras
    if not has_references:
        _prove_sample(request)
        _prove_last(request)
    for name, value in (of_events if has_references else of_references).items():
        if value not in (None, (), [], False):
            hint = "does not go with --with references" if has_references else "needs --with references"
            raise Failure(Status.USAGE, f"{name} {hint}")


def _prove_attachable(request: RecordRequest, names: set[str]) -> None:
    """Failure (status 2) for what a program must be started with."""
    if request.program or request.finish is not None:
        raise Failure(Status.USAGE, "--attach PID names the program: give neither another one nor --finish")
    at_start = {
        "--scope": request.scope, "--set ahead": "ahead" in names, "--set scope-entries": "scope-entries" in names,
        **{f"--with {name}": name in request.extras for name in ("owners", "idle", "scan")},
    }  # fmt: skip
    for name, value in at_start.items():
        if value not in (None, (), False):
            raise Failure(Status.USAGE, f"--attach does not go with {name}: start the program with that instead")


def _prove_sample(request: RecordRequest) -> None:
    """Failure (status 2) for a sample of heap events that is no number of bytes, or with what needs every event."""
    if request.sample is None:
        return
    if "/" in request.sample:
        raise Failure(Status.USAGE, "--sample BURST/PERIOD needs --with references; of heap events it takes BYTES")
    try:
        size(request.sample)
    except ValueError as error:
        raise Failure(Status.USAGE, f"--sample: {error}") from None
    needing = [f"--with {one}" for one in ("owners", "frees", "scan") if one in request.extras]
    needing += ["--scope"] if request.scope else []
    if needing:
        raise Failure(Status.USAGE, f"--sample does not go with {needing[0]}, which needs every event")


def _prove_last(request: RecordRequest) -> None:
    """Failure (status 2) for the last minutes (`--window last=10min`) of what is not a sample, or in another form."""
    wanted = [one for one in request.window if one.startswith(_LAST)]
    if not wanted:
        return
    if len(wanted) > 1 or not _MINUTES.fullmatch(wanted[0]) or not float(wanted[0].removeprefix(_LAST)[:-3]):
        raise Failure(Status.USAGE, f"--window {wanted[-1]!r}: the last minutes are given once, as last=10min")
    if request.sample is None:
        raise Failure(Status.USAGE, f"--window {wanted[0]} needs --sample BYTES, such as --sample 512KiB")
    names = {name for name, _ in request.settings}
    others = ["--with idle"] if "idle" in request.extras else []
    others += ["--set ahead"] if "ahead" in names else []
    if others:
        raise Failure(Status.USAGE, f"--window {wanted[0]} does not go with {others[0]}")


def _words(request: RecordRequest) -> list[str]:
    """The words of the native program for the options that the user gave."""
    words = [_FLAGS[name] for name in request.extras if name in _FLAGS]
    for name, value in (("--for", request.duration), ("--max-trace", request.max_trace), ("--sample", request.sample),
                        ("--preload", request.malloc)):  # fmt: skip
        words += [name, f"{value:.9g}" if isinstance(value, float) else str(value)] if value is not None else []
    for scope in request.scope:
        words += ["--scopes", scope[1:]] if scope.startswith("@") else ["--scope", scope]
    for window in request.window:
        words += _window_words(window)
    for description in request.simulate:
        words += ["--simulate", description]
    return words + [word for name, value in request.settings for word in (_SETTINGS[name], str(value))]


def _window_words(window: str) -> list[str]:
    """The native words for scope=FUNCTION (or FUNCTION), from=main, instructions=FROM:TO and last=MINUTESmin."""
    kind, equals, value = window.partition("=")
    if window.startswith(_LAST):
        return ["--ring", value.removesuffix("min")]
    if not equals:
        return ["--window", window]
    if kind == "scope":
        return ["--window", value]
    if (kind, value) == ("from", "main"):
        return ["--skip-start"]
    first, colon, last = value.partition(":")
    is_range = kind == "instructions" and colon and all(not n or n.isdecimal() for n in (first, last))
    if not is_range or (first and last and int(first) >= int(last)):
        raise Failure(
            Status.USAGE, f"--window {window!r} is neither scope=FUNCTION nor from=main nor instructions=FROM:TO"
        )
    words = ["--from", first] if first else []
    return words + (["--instructions", str(int(last) - int(first or 0))] if last else [])


def _left_references(file: str) -> bool:
    """True for a capture of references, whose processes left files FILE.partial.PID.IMAGE."""
    return any(_PARTS.fullmatch(name) for name in _siblings(f"{file}.partial"))


def _siblings(stem: str) -> list[str]:
    """Returns the rest of the names of files that begin with a path and a dot; keeps bytes that are not text."""
    name = Path(stem).name
    try:
        return [
            entry.name.removeprefix(name) for entry in Path(stem).parent.iterdir() if entry.name.startswith(f"{name}.")
        ]
    except OSError:
        return []
