# SPDX-License-Identifier: BSL-1.0
"""The verb `millpond simulate [OPTIONS] TRACE`: becomes millpond-simulate, which reads references and counts misses.

With `--html FILE`, this process stays: it simulates each TRACE, or reads it if it is a saved document, and writes one
page. With `--layout NAME` it stays, too: it simulates TRACE as recorded and as on other allocators, side by side.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from millpond.system.becoming import become

if TYPE_CHECKING:
    from pathlib import Path

    from millpond.rounds.simulation_data import Simulation

USAGE = """\
usage: millpond simulate [--simulate DESCRIPTION]... [--straddle once|twice] [--modify once|twice]
                         [--penalty CYCLES,...] [--latencies FILE|measure] [--cpi CYCLES]
                         [--flush-references N] [--flush-instructions N] [--with-system] [--format FORMAT]
                         [--json FILE] [--write-din FILE] TRACE
       millpond simulate --html FILE [OPTIONS] TRACE|DOCUMENT...
       millpond simulate --layout NAME... [OPTIONS] [--html FILE] TRACE
       millpond simulate --measure [--simulate DESCRIPTION]... [TRACE]

Counts the misses of caches and translation buffers, and page faults, for a program's data references.
TRACE is a recording (`millpond record --references`), or text: Dinero's din or Valgrind's lackey; "-" is standard
input.

  --simulate DESCRIPTION   a simulator (may be repeated); default: five direct-mapped caches, 56 LRU caches
                           and memories of all sizes with 4 KiB pages:
                             direct:line=32,size=16K/32K        direct-mapped caches of these sizes
                             lru:line=32,sets=64-4096,ways=8    every LRU cache with these sets and 1 to 8 ways
                             fifo|random:line=64,size=32K,ways=8   with write=around, a store that misses loads no line
                             distances:line=64                  exact LRU stack distances: misses for every size
                             sampled:line=64,one_in=100         the same from a sample, with its error
                             levels:line=64,size=32K/1M,ways=8/16,inclusion=inclusive|exclusive|independent
                             tlb:page=4K,entries=64/1536,ways=4/12
                             attributed:line=64,size=32K,ways=8 cold, capacity and conflict; program and allocator
  --straddle, --modify     count an access to two lines, or a read-modify-write, once or twice (once)
  --penalty CYCLES,...     the cost P of a miss in the time model I + (M x P) x D (10,25,50,100,200)
  --latencies FILE         also estimate the time with all levels: instructions, hits of each level x its latency,
                           and translation. The levels are this machine's, or those of a levels: simulator. FILE
                           is from `millpond doctor --json=FILE`; "measure" measures this machine now
  --cpi CYCLES             with --latencies: cycles for each instruction (1)
  --flush-references N     empty every cache after every N references; --flush-instructions N: instructions
  --with-system            for a recording: also count the memory accesses of system calls
  --format FORMAT          the format of TRACE: automatic, recording, din, lackey
  --json FILE              write the results as JSON ("-": print them instead of the table)
  --html FILE              instead of the table, write a page with curves of misses by cache size and of page faults
                           by memory size; takes several traces, and documents from --json
  --layout NAME            also simulate the recorded program on another allocator (may be repeated): its calls are
                           repeated on that allocator, and its references are moved to the new places of the
                           objects. NAME is glibc, jemalloc, mimalloc, tcmalloc, tbb, one of ours
                           (multipool, first_fit, quick_fit, size_map, ...), per-subsystem (a pool for each), a plan
                           (FILE.json), or the path of a malloc library
  --played FILE            the same for a layout that was played before
  --write-din FILE         also write the references as din text
  --damaged                use the readable part of a damaged recording, which is an error otherwise
  --measure                measure how many references a second each simulator handles
"""


PROGRAM = "millpond-simulate"
# The default simulators of millpond-simulate, and fully associative caches of all sizes.
_FOR_CURVES = ("direct:line=32,size=16K/32K/64K/128K/256K", "lru:line=32,sets=64-4096,ways=8", "distances:line=32",
               "distances:line=4K")  # fmt: skip
_WITHOUT_VALUE = ("--with-system", "--measure", "--damaged")
_NOT_WITH_A_PAGE = ("--json", "--write-din", "--measure")
_NOT_WITH_LAYOUTS = ("--write-din", "--measure", "--played")
_STAYS = ("--html", "--layout")


def simulate(argv: list[str]) -> int:
    """Runs the verb. Returns for help, for a page and for layouts; otherwise becomes the program, or raises a
    Failure.
    """
    own = argv[: argv.index("--")] if "--" in argv else argv
    if any(word.partition("=")[0] in _STAYS for word in own) and not {"--help", "-h"} & set(own):
        from millpond.system.interruption import watch_signals

        watch_signals()
        request = _split(argv)
        return _compare_layouts(request) if request.layouts else _write_page(request)
    return become(PROGRAM, argv, USAGE)


@dataclass(frozen=True)
class Request:
    """A parsed command line. `options`: words for the native program; `given`: the names of all options."""

    page: str
    json: str
    layouts: tuple[str, ...]
    options: tuple[str, ...]
    traces: tuple[str, ...]
    given: frozenset[str]


def _write_page(request: Request) -> int:
    from pathlib import Path

    from millpond.report.simulation_page import names_of, render
    from millpond.system import output
    from millpond.system.errors import Failure, Status

    _refuse(request, "--html", _NOT_WITH_A_PAGE)
    if not request.traces:
        raise Failure(Status.USAGE, "--html needs traces or documents; see millpond simulate --help")
    output.prove_writable(request.page)
    found = [_simulation(Path(trace), list(request.options)) for trace in request.traces]
    output.write_text(Path(request.page), render(list(zip(names_of(list(request.traces)), found, strict=True))))
    return Status.OK


def _compare_layouts(request: Request) -> int:
    from pathlib import Path

    from millpond.report.simulation_page import render
    from millpond.rounds.layouts import layout_of, simulate_layouts
    from millpond.rounds.simulation_data import LAYOUTS_SCHEMA, LayoutComparison, NamedSimulation
    from millpond.system import output
    from millpond.system.errors import Failure, Status
    from millpond.system.json_seal import sealed
    from millpond.system.temporary import temporary_folder

    _refuse(request, "--layout", _NOT_WITH_LAYOUTS)
    if len(request.traces) != 1:
        raise Failure(Status.USAGE, "--layout needs exactly one recording; see millpond simulate --help")
    for place in filter(None, (request.page, request.json)):
        output.prove_writable(place)
    layouts = [layout_of(word) for word in request.layouts]
    options = [*request.options, *(_usual(list(request.options)) if request.page else [])]
    with temporary_folder() as folder:
        found = simulate_layouts(Path(request.traces[0]), layouts, options, folder)
    comparison = LayoutComparison(LAYOUTS_SCHEMA, tuple(NamedSimulation(name, one) for name, one in found))
    if request.page:
        output.write_text(Path(request.page), render(found))
    if request.json:
        output.write_json(sealed(comparison.to_json()), request.json)
    if request.json != "-":
        from millpond.report import terminal
        from millpond.report.views.layout_view import layout_section

        terminal.print_section(layout_section(comparison), terminal.console())
    return Status.OK


def _refuse(request: Request, option: str, others: tuple[str, ...]) -> None:
    from millpond.system.errors import Failure, Status

    for name in others:
        if name in request.given:
            raise Failure(Status.USAGE, f"{option} and {name} cannot be combined: use one run for each")


def _split(argv: list[str]) -> Request:
    """Splits a command line into page, document, layouts, the native program's options, and traces."""
    from millpond.system.errors import Failure, Status

    values: dict[str, list[str]] = {"--html": [], "--json": [], "--layout": []}
    options, traces, given = list[str](), list[str](), set[str]()
    rest = iter(argv)
    for word in rest:
        name, equals, value = word.partition("=")
        if word == "--":
            traces += rest
        elif word == "-" or not word.startswith("-"):
            traces.append(word)
        elif name in _WITHOUT_VALUE:
            given.add(name)
            options.append(word)
        else:
            given.add(name)
            value = value if equals else next(rest, "")
            if name in values:
                if not value:
                    raise Failure(Status.USAGE, f"{name} needs a value; see millpond simulate --help")
                values[name].append(value)
            else:
                options += [name, value]
    page, document = ((values[name] or [""])[-1] for name in ("--html", "--json"))
    if page == "-":
        raise Failure(Status.USAGE, "--html needs the name of the file to write")
    layouts = tuple(dict.fromkeys(values["--layout"]))
    return Request(page, document, layouts, tuple(options), tuple(traces), frozenset(given))


def _usual(options: list[str]) -> list[str]:
    """Returns the simulators of a page's curves, unless others are named."""
    if any(word.startswith(("-s", "--simulate")) for word in options):
        return []
    return [f"--simulate={description}" for description in _FOR_CURVES]


def _simulation(trace: Path, options: list[str]) -> Simulation:
    """Reads a saved document, or simulates a trace. Failure (3) for other files."""
    from millpond.rounds.simulation_data import Simulation
    from millpond.system import input_file, native
    from millpond.system.errors import Failure, Status
    from millpond.system.json_seal import seal_flaw
    from millpond.system.progress import say
    from millpond.system.temporary import temporary_folder

    if _is_document(trace):
        try:
            data = input_file.parse_json(input_file.read_bytes(trace))
            if flaw := seal_flaw(data):
                if "--damaged" not in options:
                    raise Failure(Status.INPUT, f"{trace}: {flaw}; simulate it again, or add --damaged")
                say(f"{trace}: {flaw}")
            return Simulation.from_json(data)
        except ValueError as error:
            raise Failure(Status.INPUT, f"{trace} is not a document of `millpond simulate --json`: {error}") from error
    with temporary_folder() as folder:
        out = folder / "simulation.json"
        said = native.require(PROGRAM, [*options, *_usual(options), "--json", str(out), "--", str(trace)], stdin=0)
        sys.stderr.write(said)
        return Simulation.read(out)


def _is_document(trace: Path) -> bool:
    """True if a file begins as JSON does; traces and texts of references never do."""
    from millpond.system import input_file

    try:
        with input_file.open_regular(trace) as file:
            return file.read(64).lstrip()[:1] == b"{"
    except OSError:
        return False  # the native program reports the error
