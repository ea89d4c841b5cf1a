# SPDX-License-Identifier: BSL-1.0
"""The verb `millpond synthesize TRACE… -o FILE.hpp`: makes an allocator with size classes for a program's requests."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from msgspec.structs import replace

from millpond.advice import allocator_header, class_score
from millpond.advice.class_choice import CLASSES_AT_MOST, WEIGHT, sources
from millpond.advice.site_choice import choose_sites
from millpond.advice.size_tables import read_tables
from millpond.advice.synthesis import synthesize, with_scores
from millpond.commands.options import DAMAGED, DamagedOption, Json
from millpond.system import callgrind, output
from millpond.system.errors import Failure, Status


def command(
    traces: Annotated[list[Path], typer.Argument(metavar="TRACE...", help="Traces from which the classes are made.")],
    header: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE.hpp", help="Write the allocator as a C++ header.")
    ] = None,
    preload: Annotated[
        Path | None, typer.Option(metavar="FILE.so", help="Also build a malloc for LD_PRELOAD; needs a compiler.")
    ] = None,
    on: Annotated[
        list[Path] | None,
        typer.Option(metavar="TRACE", help="Also try the classes on this trace, from which they are not made; may be "
                     "repeated."),
    ] = None,
    classes: Annotated[int, typer.Option(metavar="N", min=1, max=1024, help="The largest number of classes.")]
    = CLASSES_AT_MOST,
    weight: Annotated[
        float, typer.Option(metavar="X", min=0.0, max=1e6, help="The weight of a byte of internal fragmentation "
                            "against a free byte; 1: the least memory.")
    ] = WEIGHT,
    granule: Annotated[
        int | None, typer.Option(metavar="8|16", help="Classes are multiples of this; 16 for a malloc (--preload, "
                                 "--arena, --score), otherwise 8.")
    ] = None,
    largest: Annotated[
        int, typer.Option(metavar="BYTES", min=64, max=1 << 20, help="No class above this size.")
    ] = 4096,
    moments: Annotated[
        int, typer.Option(metavar="N", min=1, max=1 << 16, help="The number of moments with counts of live blocks.")
    ] = 4096,
    arena: Annotated[
        bool, typer.Option("--arena", help="Give an arena to call sites whose objects are all short-lived; needs "
                           "--granule 16.")
    ] = False,
    score: Annotated[
        bool, typer.Option("--score", help="Count instructions and simulated misses for each set of classes: replays "
                           "every trace on a malloc of it, under Valgrind.")
    ] = False,
    damaged: DamagedOption = False,
    json: Json = None,
) -> None:  # fmt: skip
    """Make an allocator whose size classes fit a program's requests."""
    unit = granule if granule is not None else allocator_header.MALLOC_GRANULE if preload or arena or score else 8
    if unit not in (8, 16):
        raise Failure(Status.USAGE, f"--granule {unit} is neither 8 nor 16")
    if preload and unit != allocator_header.MALLOC_GRANULE:
        raise Failure(Status.USAGE, "--preload: blocks of a malloc are aligned to 16: drop --granule 8")
    if largest % unit:
        raise Failure(Status.USAGE, f"--largest {largest} is not a multiple of {unit}")
    if (arena or score) and unit != allocator_header.MALLOC_GRANULE:
        raise Failure(Status.USAGE, f"--{'arena' if arena else 'score'} needs a malloc, whose blocks are aligned to "
                      "16: add --granule 16")  # fmt: skip
    name = allocator_header.name_of(header) if header else "my_allocator"
    for place in (header, preload):
        output.prove_writable(str(place) if place else None)
    if header:
        allocator_header.prove_replaceable(header)
    if preload or score:
        allocator_header.compiler()
        allocator_header.source_folder()
    if score:
        callgrind.find_valgrind()
    output.prove_writable(json)
    every = [*traces, *(on or [])]
    options = [f"--granule={unit}", f"--largest={largest}", f"--moments={moments}"]
    options += [DAMAGED] if damaged else []
    tables = read_tables(every, *options)
    short = choose_sites(tables[: len(traces)]) if unit == allocator_header.MALLOC_GRANULE else ()
    if short:
        tables = read_tables(every, *options, short_sites=[site.name for site in short])
    found = synthesize(tables[: len(traces)], tables[len(traces) :], classes, weight, short, has_arena=arena)
    if score:
        scores = class_score.score(every, sources(found.classes, found.granule_bytes, found.largest_bytes))
        found = with_scores(found, scores)
    text = allocator_header.header(found, name)
    if preload:
        allocator_header.build_library(text, name, preload)
    if header:
        output.write_text(header, text)
    found = replace(found, written=tuple(str(place) for place in (header, preload) if place))
    output.write_json(found.to_json(), json)
    if json != "-":
        from millpond.report import terminal
        from millpond.report.views.synthesis_view import synthesis_section

        terminal.print_section(synthesis_section(found), terminal.console())
