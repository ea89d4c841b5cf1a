# SPDX-License-Identifier: BSL-1.0
"""The verb `millpond trace simulate TRACE`: becomes millpond-simulate, which reads references and counts misses.

With `-o FILE.html`, this process stays: it simulates each TRACE, or reads it if it is a saved document, and writes one
page.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from millpond.system.becoming import become
from millpond.system.errors import Failure, Status
from millpond.verbs.simulators import for_curves, native_words
from millpond.verbs.trace_requests import LayoutRequest, SimulateRequest
from millpond.verbs.values import STDOUT, places

if TYPE_CHECKING:
    from millpond.rounds.simulation_data import Simulation

PROGRAM = "millpond-simulate"


def simulate(request: SimulateRequest) -> int:
    """Becomes the simulator, or writes a page."""
    if request.layouts:
        return _layouts(request)
    pages, documents, texts = (places(request.out, form) for form in ("html", "json", "din"))
    if pages:
        return _write_page(request, pages, documents)
    if not request.traces and not request.measures:
        raise Failure(Status.USAGE, "TRACE is missing: write millpond trace simulate [OPTIONS] TRACE...")
    if request.cluster or request.workers:
        raise Failure(Status.USAGE, "--cluster and --workers simulate several traces for a page: add -o FILE.html")
    if len(documents) > 1 or len(texts) > 1:
        raise Failure(Status.USAGE, "one simulation writes one .json and one .din file: give -o once for each")
    words = native_words(request)
    words += ["--played", request.played] if request.played else []
    words += ["--measure"] if request.measures else []
    words += [word for place in documents for word in ("--json", place)]
    words += [word for place in texts for word in ("--write-din", place)]
    return become(PROGRAM, [*words, *(["--", *request.traces] if request.traces else [])])


def _layouts(request: SimulateRequest) -> int:
    """Runs `trace layout` for the words of an earlier version."""
    from importlib import import_module

    print("millpond: --layout is an old word: write millpond trace layout TRACE LAYOUT...", file=sys.stderr)
    if request.measures or request.played or places(request.out, "din"):
        raise Failure(Status.USAGE, "--measure, --played and a .din file do not go with --layout")
    if len(request.traces) != 1 or "" in request.layouts:
        raise Failure(Status.USAGE, "a comparison of layouts needs one trace and the names of layouts")
    new = LayoutRequest(
        trace=request.traces[0], layouts=request.layouts, out=request.out, simulate=request.simulate,
        latencies=request.latencies, extras=request.extras, settings=request.settings, damaged=request.damaged,
    )  # fmt: skip
    return int(import_module("millpond.commands.layout").layout(new))


def _write_page(request: SimulateRequest, pages: list[str], documents: list[str]) -> int:
    from millpond.report.simulation_page import names_of, render
    from millpond.system import output
    from millpond.system.interruption import watch_signals

    watch_signals()
    if documents or request.measures or places(request.out, "din"):
        raise Failure(Status.USAGE, "a page is the only file of its run: write other files in a second run")
    if not request.traces:
        raise Failure(
            Status.USAGE, "a page needs traces or documents: write millpond trace simulate -o FILE.html TRACE"
        )
    if STDOUT in pages:
        raise Failure(Status.USAGE, "a page needs the name of the file to write: -o FILE.html")
    for page in pages:
        output.prove_writable(page)
    found = _simulations([Path(trace) for trace in request.traces], request)
    text = render(list(zip(names_of(list(request.traces)), found, strict=True)))
    for page in pages:
        output.write_text(Path(page), text)
    return Status.OK


def _simulations(traces: list[Path], request: SimulateRequest) -> list[Simulation]:
    """Reads saved documents, and simulates traces, on a cluster if there is one. Failure (3) for other files."""
    from millpond.cluster.cluster import ClusterChoice, opened
    from millpond.cluster.cluster_layouts import simulate_recordings
    from millpond.rounds.layouts import simulate_recording
    from millpond.system.temporary import temporary_folder

    options = [*native_words(request), *for_curves(request)]
    found = {trace: _document(trace, request) for trace in traces if _is_document(trace)}
    recordings = [trace for trace in dict.fromkeys(traces) if trace not in found]
    with opened(ClusterChoice(request.cluster, request.workers)) as cluster:
        if cluster is not None:
            found |= simulate_recordings(cluster, recordings, options)
        else:
            for recording in recordings:
                with temporary_folder() as folder:
                    found[recording] = simulate_recording(recording, options, folder)
    return [found[trace] for trace in traces]


def _document(trace: Path, request: SimulateRequest) -> Simulation:
    """Reads a saved document. Failure (3) if it is damaged, or another one."""
    from millpond.rounds.simulation_data import Simulation
    from millpond.system import input_file
    from millpond.system.json_seal import seal_flaw
    from millpond.system.progress import say

    try:
        data = input_file.parse_json(input_file.read_bytes(trace))
        if flaw := seal_flaw(data):
            if not request.damaged:
                raise Failure(Status.INPUT, f"{trace}: {flaw}; simulate it again, or add --damaged")
            say(f"{trace}: {flaw}")
        return Simulation.from_json(data)
    except ValueError as error:
        raise Failure(
            Status.INPUT, f"{trace} is not a document of `millpond trace simulate -o FILE.json`: {error}"
        ) from error


def _is_document(trace: Path) -> bool:
    """True if a file begins as JSON does; traces and texts of references never do."""
    from millpond.system import input_file

    try:
        with input_file.open_regular(trace) as file:
            return file.read(64).lstrip()[:1] == b"{"
    except OSError:
        return False  # the native program reports the error
