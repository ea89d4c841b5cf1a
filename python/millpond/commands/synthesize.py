# SPDX-License-Identifier: BSL-1.0
"""The verb `millpond synthesize TRACE… -o FILE.hpp`: makes an allocator with size classes for a program's requests."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from millpond.advice import allocator_header, class_score
from millpond.advice.arena_choice import ArenaChoice, choose_arena
from millpond.advice.class_choice import WEIGHT, sources
from millpond.advice.size_tables import read_tables
from millpond.advice.synthesis import synthesize, with_scores
from millpond.commands.writing import prove_all, write_documents, write_form
from millpond.system import callgrind
from millpond.system.errors import Failure, Status
from millpond.verbs.requests import SynthesizeRequest
from millpond.verbs.values import places, takes_stdout


def synthesize_classes(request: SynthesizeRequest) -> None:
    """Makes an allocator whose size classes fit a program's requests."""
    headers, libraries = places(request.out, "header"), places(request.out, "malloc")
    unit, weight, options = _numbers(request, bool(libraries))
    has_arena, has_score = "arena" in request.extras, "score" in request.extras
    name = allocator_header.name_of(Path(headers[0])) if headers else "my_allocator"
    prove_all(request.out)
    for place in headers:
        allocator_header.prove_replaceable(Path(place))
    if libraries or has_score:
        allocator_header.compiler()
        allocator_header.source_folder()
    if has_score:
        callgrind.find_valgrind()
    every, made_from = [*request.traces, *request.on], len(request.traces)
    tables = read_tables(every, *options)
    arena = ArenaChoice(tables)
    if unit == allocator_header.MALLOC_GRANULE:
        arena = choose_arena(tables, made_from, lambda names: read_tables(every, *options, short_sites=names))
    found = synthesize(
        arena.tables[:made_from], arena.tables[made_from:], request.classes, weight, arena.sites, has_arena=has_arena,
        wrong_one_in=arena.wrong_one_in,
    )  # fmt: skip
    if has_score:
        scores = class_score.score(every, sources(found.classes, found.granule_bytes, found.largest_bytes))
        found = with_scores(found, scores)
    text = allocator_header.header(found, name)
    for place in libraries:
        allocator_header.build_library(text, name, Path(place))
    for place in headers:
        write_form(text, place)
    found = replace(found, written=(*headers, *libraries))
    write_documents(request.out, found.to_json())
    if not takes_stdout(request.out):
        from millpond.report import terminal
        from millpond.report.views.synthesis_view import synthesis_section

        terminal.print_section(synthesis_section(found), terminal.console())


def _numbers(request: SynthesizeRequest, is_malloc: bool) -> tuple[int, float, list[str]]:
    """The granule, the weight, and the words for reading traces. Failure (status 2) if they do not
    fit.
    """
    given = dict(request.settings)
    needs = [f"--with {name}" for name in request.extras] + (["-o FILE.so"] if is_malloc else [])
    malloc_unit = allocator_header.MALLOC_GRANULE
    unit = given.get("granule", malloc_unit if needs else 8)
    largest = given.get("largest", 4096)
    if unit not in (8, 16):
        raise Failure(Status.USAGE, f"granule {unit} is neither 8 nor 16")
    if needs and unit != malloc_unit:
        raise Failure(
            Status.USAGE, f"{needs[0]} makes a malloc, whose blocks are aligned to 16: drop --set granule={unit}"
        )
    if largest % unit:
        raise Failure(Status.USAGE, f"largest {largest} is not a multiple of granule {unit}")
    words = [f"--granule={unit}", f"--largest={largest}", f"--moments={given.get('moments', 4096)}"]
    return unit, given.get("weight", WEIGHT), words + (["--damaged"] if request.damaged else [])
