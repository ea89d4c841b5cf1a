# SPDX-License-Identifier: BSL-1.0
"""The verb `millpond doctor`: examines the machine and the installation, and explains the effects on results."""

from __future__ import annotations

from msgspec.structs import replace
from rich.console import Console
from rich.table import Table
from rich.text import Text

from millpond.commands.writing import prove_all, write_documents
from millpond.doctor.diagnosis import diagnose, ns_text
from millpond.doctor.examination import examine
from millpond.doctor.examination_data import Examination
from millpond.doctor.replay_error import replay_error
from millpond.store.store import Store
from millpond.system import extensions
from millpond.system.errors import Failure, Status
from millpond.system.json_seal import sealed
from millpond.system.progress import ProgressReport, say
from millpond.system.wording import bytes_text, percent_text
from millpond.verbs.requests import DoctorRequest
from millpond.verbs.values import STDOUT, takes_stdout

_MARKS = {"missing": ("✗", "bold red"), "warning": ("!", "yellow"), "note": ("·", "")}


def doctor(request: DoctorRequest) -> int:
    """Examines this machine and this installation, and explains the effects on results. Status 4: something is
    missing.
    """
    prove_all(request.out)
    if request.validate:
        return _validate(request)
    if request.references or request.programs is not None:
        raise Failure(Status.USAGE, "--references and --programs are words of millpond-bench validate")
    say("measuring costs and noise")
    examined = examine(request.store, ProgressReport(), seed=request.seed)
    document = replace(examined, replay_error=replay_error(Store(request.store)).note)
    findings = diagnose(document)
    document = replace(document, findings=tuple(findings), ok=not any(f.level == "missing" for f in findings))
    write_documents(request.out, sealed(document.to_json()))
    if not takes_stdout(request.out):
        from millpond.report import terminal

        print_document(document, terminal.console())
    return Status.OK if document.ok else Status.ENVIRONMENT


def _validate(request: DoctorRequest) -> int:
    """Runs `millpond-bench validate` for the words of an earlier version."""
    say("--validate is an old word: write millpond-bench validate")
    words = [name.strip() for name in (request.programs or "").split(",") if name.strip()]
    words += ["--with=references"] if request.references else []
    words += [] if request.rounds is None else [f"--rounds={request.rounds}"]
    words += [f"--budget={request.budget}", f"--store={request.store}", f"--seed={request.seed}"]
    words += [f"-o{one.form}:{one.place}" if one.place != STDOUT else "--json" for one in request.out]
    return int(extensions.part("main", "--validate")(["validate", *words]))


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
