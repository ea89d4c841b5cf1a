# SPDX-License-Identifier: BSL-1.0
"""Permanent verdicts ("millpond.results/1"): a whole run's verdicts on a paper's statements, with date and machine.

    bench --store DIR ─▶ DIR/results/RUN.json.gz ─┐
    another machine's store, copied into it ──────┼─▶ merged ─┬─▶ docs/results/DOCUMENT.json, pages (results_page)
    docs/results/DOCUMENT.json of an earlier day ─┤           └─▶ a file for other people (contribution)
    contributions of other people ────────────────┘

A **part** is one experiment at one scale on one machine, built by one toolchain, on one malloc. A later part replaces
an earlier one of the same; all other parts stay as they are, with their own date.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from contextlib import suppress
from itertools import product
from pathlib import Path
from typing import Any, Literal

import msgspec

from millpond.cells.cell import MALLOC, SURROUNDINGS, TOOLCHAIN
from millpond.rounds.interleaved_rounds import WHOLE, measured_rounds
from millpond.store.store import Store
from millpond.system import output
from millpond.system.errors import Failure, Status
from millpond.system.input_file import parse_json, read_bytes
from millpond.system.json_seal import seal_flaw
from millpond_bench.experiments.bench_document import BenchRecord, JudgedClaim
from millpond_bench.experiments.platforms import PLATFORMS
from millpond_bench.experiments.suite_rounds import SuiteProgram
from millpond_bench.runs.published_run import PublishedRun

SCHEMA: Literal["millpond.results/1"] = "millpond.results/1"
# The kind of document in a store.
KIND = "results"
QUICK = "quick"
# The order for readers: the standard scale has most rounds, and a quick one is no evidence.
_SCALES = ("standard", "shape", "paper", QUICK)


class KeptPart(BenchRecord, frozen=True, kw_only=True):
    """The verdicts on one experiment. `measured`: the time of its last round, UTC. `compiler`: from the program's
    output. `digests`: SHA-256 of the suite's program and of its malloc's library, by file name; older results have
    none. `remarks`: sentences on the results, of the run's usual environment.
    """

    experiment: str
    title: str
    scale: str
    toolchain: str
    malloc: str
    machine: str
    compiler: str
    version: str
    command: str
    rounds: int
    measured: str
    claims: tuple[JudgedClaim, ...]
    digests: dict[str, str] = msgspec.field(default_factory=dict)
    remarks: tuple[str, ...] = ()

    @property
    def place(self) -> tuple[str, ...]:
        """The place of measurement and build, without the scale: a later part of the same place replaces it."""
        return (self.experiment, self.machine, self.toolchain, self.malloc)

    @property
    def order(self) -> tuple[object, ...]:
        """The sort key of parts: the usual environment comes first."""
        scale = _SCALES.index(self.scale) if self.scale in _SCALES else len(_SCALES)
        usual = (self.toolchain != SURROUNDINGS[TOOLCHAIN], self.malloc != SURROUNDINGS[MALLOC])
        return (self.experiment, scale, usual, self.toolchain, self.malloc, self.machine)


class KeptResults(BenchRecord, frozen=True, kw_only=True):
    """All parts of one paper. `source`: its title."""

    schema: Literal["millpond.results/1"] = SCHEMA
    document: str
    source: str
    parts: tuple[KeptPart, ...]


def keep(run: PublishedRun, store: Store, options: str) -> None:
    """Keeps a run's verdicts in the store. `options`: as for `results_of`. Failure (status 4)."""
    results = results_of(run, options)
    if results is not None:
        store.write_document(KIND, run.journal.run, results.to_json())


def results_of(run: PublishedRun, options: str) -> KeptResults | None:
    """The permanent part of a run: a part for each toolchain and malloc that the user named, else one.

    None for a run without statements, and for a shard, which is not judged. `options`: the verb's options for it.
    """
    ran = [outcome for outcome in run.outcomes if outcome.round > 0]
    if run.request.shard != WHOLE or not run.claims or not (ran or run.platforms):
        return None
    command = f"millpond-bench run {run.spec.name} {options}".rstrip()
    programs = {(program.around.toolchain, program.around.malloc): program for program in run.programs}
    head = run.journal.head(SCHEMA)
    parts = []
    for number, around in enumerate(_surroundings(run)):
        names = dict(around)
        toolchain, malloc = (names.get(name, SURROUNDINGS[name]) for name in (TOOLCHAIN, MALLOC))
        program = programs.get((names.get(TOOLCHAIN, ""), names.get(MALLOC, "")))
        platform = PLATFORMS.get(toolchain)
        parts.append(KeptPart(
            experiment=run.spec.name, title=run.spec.title, scale=run.request.scale, toolchain=toolchain,
            malloc=platform.malloc if platform else malloc, machine=head["machine"],
            compiler=program.built_by if program else "", digests=_digests(program) if program else {},
            version=head["version"], command=command, rounds=measured_rounds(run.outcomes),
            measured=max((outcome.time_utc for outcome in ran), default=run.began),
            remarks=() if number else tuple(run.spec.table.remark(run.results)),
            claims=tuple(
                _without_cells(one.claim_record())
                for one in (run.claims_under(around) if around else run.claims)
                if not number or platform or not one.claim.surroundings()
            ),
        ))  # fmt: skip
    return KeptResults(document=run.spec.document, source=run.spec.source, parts=tuple(parts))


def _digests(program: SuiteProgram) -> dict[str, str]:
    """The digests of the files that ran; a file that cannot be read has none."""
    found = {}
    with suppress(Failure):
        for path in (program.around.program(program.name), Path(program.malloc)):
            with suppress(OSError):
                found[path.name] = f"sha256:{hashlib.sha256(read_bytes(path)).hexdigest()}"
    return found


def _without_cells(claim: JudgedClaim) -> JudgedClaim:
    """The same without the names of all its cells."""
    own = claim.on_documents and msgspec.structs.replace(claim.on_documents, evidence=())
    return msgspec.structs.replace(claim, evidence=(), on_documents=own)


def _surroundings(run: PublishedRun) -> list[tuple[tuple[str, str], ...]]:
    """The program's environment in each part: every combination that the user named and that has cells. Platforms need
    none: what cannot be tested there is a verdict, too.
    """
    axes = [
        [(name, value) for value in run.spec.data.under.get(name, ()) if value in run.request.named]
        for name in (TOOLCHAIN, MALLOC)
    ]
    found = list(product(*(axis for axis in axes if axis)))
    have = [{*cell.parameters} for cell in run.cells]
    return [
        around
        for around in found
        if dict(around).get(TOOLCHAIN) in PLATFORMS or any({*around} <= parameters for parameters in have)
    ]


def merged(found: Iterable[KeptResults]) -> list[KeptResults]:
    """One result for each paper, by name. Of parts of one place and scale the latest stays; of equal times, the last.

    A part of quick scale stays only if its place has none of another scale. O(parts).
    """
    sources: dict[str, str] = {}
    parts: dict[str, dict[tuple[str, ...], KeptPart]] = {}
    for results in found:
        sources[results.document] = results.source
        own = parts.setdefault(results.document, {})
        for part in results.parts:
            before = own.get((*part.place, part.scale))
            if before is None or part.measured >= before.measured:
                own[*part.place, part.scale] = part
    return [
        KeptResults(document=name, source=sources[name], parts=_worth_showing(parts[name].values()))
        for name in sorted(parts)
    ]


def _worth_showing(parts: Iterable[KeptPart]) -> tuple[KeptPart, ...]:
    parts = list(parts)
    better = {part.place for part in parts if part.scale != QUICK}
    kept = [part for part in parts if part.scale != QUICK or part.place not in better]
    return tuple(sorted(kept, key=lambda part: part.order))


def json_text(results: Any) -> str:
    """Results in plain data as JSON with a statement in each line, so that one changed statement changes one line."""
    rows: list[str] = []

    def marked(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: list(map(row, each)) if name == "claims" else marked(each) for name, each in value.items()}
        return list(map(marked, value)) if isinstance(value, list) else value

    def row(claim: Any) -> str:
        rows.append(output.json_text(claim, compact=True).rstrip())
        return f"\0{len(rows) - 1}"  # no text of results has this character

    return re.sub(r'"\\u0000(\d+)"', lambda found: rows[int(found[1])], output.json_text(marked(results)))


def in_store(store: Store) -> list[KeptResults]:
    """The results that runs have left in a store, the oldest first. Files that do not fit are then among
    `store.skipped`.
    """
    return [results for _, results in store.records(KIND, KeptResults.from_json)][::-1]


def in_folder(folder: Path) -> list[KeptResults]:
    """The results in a folder. Failure (status 3) for a file with other content."""
    found = []
    for path in sorted(folder.glob("*.json")):
        try:
            data = parse_json(read_bytes(path))
            if flaw := seal_flaw(data):
                raise ValueError(flaw)
            found.append(KeptResults.from_json(data))
        except (OSError, ValueError) as error:
            raise Failure(Status.INPUT, f"{path} does not hold results ({SCHEMA}): {error}") from error
    return found
