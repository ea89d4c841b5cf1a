# SPDX-License-Identifier: BSL-1.0
"""The verb `millpond doctor`: examines the machine and the installation, and explains the effects on results."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from msgspec.structs import replace
from rich.console import Console
from rich.table import Table
from rich.text import Text

from millpond.commands.options import Json
from millpond.doctor.diagnosis import diagnose, ns_text
from millpond.doctor.examination import examine
from millpond.doctor.examination_data import Examination
from millpond.doctor.replay_error import replay_error
from millpond.store.store import DEFAULT, Store
from millpond.system import extensions, output
from millpond.system.errors import Failure, Status
from millpond.system.json_seal import sealed
from millpond.system.progress import ProgressReport, say
from millpond.system.wording import bytes_text, percent_text

_MARKS = {"missing": ("✗", "bold red"), "warning": ("!", "yellow"), "note": ("·", "")}


def command(
    store: Annotated[Path, typer.Option(metavar="DIR", help="The store whose disk is examined.")] = DEFAULT,
    json: Json = None,
    seed: Annotated[int, typer.Option(metavar="N", help="Seed for the order of the rounds.")] = 1,
    validate: Annotated[
        bool, typer.Option("--validate", help="Compare replay's predictions with real programs, and store the error.")
    ] = False,
    references: Annotated[
        bool,
        typer.Option(
            "--references",
            help="With --validate: instead compare predictions for other mallocs, made from recorded references, "
            "with Cachegrind and the clock.",
        ),
    ] = False,
    programs: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            help="With --validate: only these programs, separated by commas; an unknown name prints the list. With "
            "--references also any command line.",
            show_default=False,
        ),
    ] = None,
    rounds: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=0,
            help="With --validate: rounds of each contender. With --references: number of environment sizes (0: CPU "
            "only, without Cachegrind).",
            show_default=False,
        ),
    ] = None,
    budget: Annotated[
        float, typer.Option(metavar="SECONDS", min=0.0, help="With --validate: time for the whole validation.")
    ] = 1800.0,
) -> int:
    """Examine this machine and this installation, and explain the effects on results. Status 4: something is
    missing.
    """
    output.prove_writable(json)
    if references and not validate:
        raise Failure(Status.USAGE, "--references needs --validate")
    if rounds == 0 and not references:
        raise Failure(Status.USAGE, "--rounds 0 needs --references: validating replay takes at least one round")
    if validate:
        names = None if programs is None else [n.strip() for n in programs.split(",") if n.strip()]
        validation = extensions.part("validate_references" if references else "validate", "--validate")
        return int(validation(names, rounds, budget, store, seed, json))
    say("measuring costs and noise")
    document = replace(examine(store, ProgressReport(), seed=seed), replay_error=replay_error(Store(store)).note)
    findings = diagnose(document)
    document = replace(document, findings=tuple(findings), ok=not any(f.level == "missing" for f in findings))
    output.write_json(sealed(document.to_json()), json)
    if json != "-":
        from millpond.report import terminal

        print_document(document, terminal.console())
    return Status.OK if document.ok else Status.ENVIRONMENT


def print_document(document: Examination, out: Console) -> None:
    """Prints the findings first, then the facts behind them."""
    out.print(Text(document.machine), style="bold")
    for finding in document.findings:
        mark, style = _MARKS[finding.level]
        out.print(Text(f"{mark} {finding.sentence}"), style=style)
    table = Table(title="Facts behind these findings", title_justify="left", title_style="bold", show_header=False)
    table.add_column(overflow="fold")
    table.add_column(overflow="fold")
    for name, words in _facts(document):
        table.add_row(name, Text(words))
    out.print(table)


def _facts(document: Examination) -> list[tuple[str, str]]:
    facts, installed, store = document.facts, document.installed, document.store
    names = {"cycle": "cycle", "time_stamp": "time stamp", "clock": "clock", "allocation": "malloc and free",
             "page_fault": "page fault", "huge_page_fault": "huge page", "memory_latency": "memory"}  # fmt: skip
    caches = [f"{_binary_text(one.bytes)} in {one.ways} ways" for one in document.caches]
    buffers = [f"{one.entries} pages" for one in document.translation_buffers]
    costs = [f"{words} {ns_text(document.cost(name))}" for name, words in names.items() if document.cost(name)]
    latencies = [f"{_binary_text(one.set_bytes)} {ns_text(one.median)}" for one in document.latencies if one.median]
    works = [a.name + ("" if a.available else " (failed)") for a in document.works]
    counted = [c.name for c in document.counters if c.available]
    limits = [
        f"{n} {bytes_text(x.value) if x.unit == 'bytes' else x.value}"
        for n, x in facts.limits.items()
        if x.value is not None
    ]
    mallocs = [m.name + (f" {m.path}" if m.path else "") for m in installed.mallocs]
    present = [t.name for t in installed.tools if t.path]
    absent = [t.name for t in installed.tools if not t.path]
    noise = [f"{n.metric} {percent_text(n.ratio.low)} to {percent_text(n.ratio.high)}" for n in document.noise.metrics]
    return [
        ("cores, load, clock", f"{facts.cores}, {facts.load}, {facts.clock_source}"),
        ("costs", ", ".join(costs) or "not measured"),
        ("caches, buffers", ", ".join([*caches, *buffers]) or "not known"),
        ("load latency by set", ", ".join(latencies) or "not measured"),
        ("counters", ", ".join(counted) or "none"),
        ("works", ", ".join(works)),
        ("huge pages", f"{facts.huge_pages}, defrag {facts.huge_pages_defrag}"),
        ("overcommit, addresses", f"{facts.overcommit}, randomised {facts.address_randomisation}"),
        ("limits", ", ".join(limits) or "none"),
        ("programs", ", ".join(p.name for p in installed.programs if p.path) or "none"),
        ("mallocs", ", ".join(mallocs)),
        ("tools", ", ".join(present) + (f"; missing: {', '.join(absent)}" if absent else "")),
        ("store", f"{store.path}, {bytes_text(store.free_bytes)} free"),
        ("noise (equal contenders)", "; ".join(noise) or "not measured"),
    ]


def _binary_text(size_bytes: int) -> str:
    """Returns a power of two in the units of caches: 32 KiB."""
    return f"{size_bytes >> 20} MiB" if size_bytes >= 1 << 20 else f"{size_bytes >> 10} KiB"
