# SPDX-License-Identifier: BSL-1.0
"""`make bench-lab`: the laboratory's own costs against their bars, as a table and as results/bench/lab.json.

    python -m millpond.bench_lab [--json FILE] [--quick] [--only WORDS] [--demo]
    python -m millpond.bench_lab --truth [--quick] [--only NAME]
    python -m millpond.bench_lab --examples [--quick] [--only NAME]
    python -m millpond.bench_lab --real [--quick] [--only NAME]

What each row means, and what it leaves out, is in docs/benchmarks.md. Ratios are paired within a round; the figure of a
row is their median, with its interval, and a bar holds if the median does. A row that could not be measured says why
and does not hold. Exit status: 0 every bar holds, 1 one does not.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from millpond import __version__
from millpond.bench.laboratory import bench_advice, bench_real, bench_rows, bench_truth
from millpond.bench.laboratory.bench_rows import Bench
from millpond.bench.results import PLACE, SCHEMA, Row, print_table
from millpond.store.observations import FIELDS
from millpond.store.observations import SCHEMA as OBSERVATION_SCHEMA
from millpond.system import output
from millpond.system.clock import utc_now
from millpond.system.errors import Failure, Status
from millpond.system.machine import this_machine
from millpond.system.progress import say
from millpond.system.temporary import temporary_folder

ROUNDS, QUICK_ROUNDS = 11, 3


@dataclass
class Results:
    """Rows in the order in which they were measured, and the observations behind them."""

    run: str
    rows: list[Row] = field(default_factory=list)

    def observations(self) -> list[dict[str, Any]]:
        """Every value of every row by the shared schema."""
        return [o for row in self.rows for o in self._observations_of(row)]

    def _observations_of(self, row: Row) -> Iterator[dict[str, Any]]:
        for number, value in enumerate(row.values):
            known: dict[str, Any] = {
                "schema": OBSERVATION_SCHEMA, "id": f"{self.run}:{value.metric}:{row.name}:{value.contender}:{number}",
                "run": self.run, "experiment": "bench-lab", "workload": row.workload,
                "parameters": {"row": row.name}, "strategy": value.contender, "heap_state": "fresh",
                "page_policy": this_machine().page_policy, "pass": "warm", "metric": value.metric, "unit": value.unit,
                "value": value.value, "status": "ok", "kind": value.kind, "round": value.round,
                "machine": str(this_machine()), "version": __version__, "time_utc": value.time_utc,
            }  # fmt: skip
            yield {name: known.get(name) for name in FIELDS}

    def to_json(self) -> dict[str, Any]:
        """The benchmark schema. A row without a bar has limit and holds null."""
        return {
            "schema": SCHEMA,
            "machine": str(this_machine()),
            "peers": [],
            "time_utc": utc_now(),
            "bars": [row.to_json() for row in self.rows],
            "summary": [row.summary_json() for row in self.rows],
            "observations": self.observations(),
        }


def measure(steps: list[tuple[str, Callable[[Bench], list[Row]]]], bench: Bench) -> list[Row]:
    """The rows of all steps. A step that fails becomes a row that says why: the others are still worth having."""
    rows: list[Row] = []
    for number, (name, step) in enumerate(steps, 1):
        started = time.monotonic()
        try:
            found = step(bench)
        except Failure as failure:
            found = [Row.missing(name, failure.message)]
        rows += found
        say(f"{number} of {len(steps)}, {time.monotonic() - started:.0f} s: " + "; ".join(r.short() for r in found))
    return rows


def _options(words: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m millpond.bench_lab", description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--json",
        type=Path,
        default=None,
        metavar="FILE",
        help="where the JSON goes (results/bench/lab.json; truth.json, examples.json, real.json)",
    )
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_ROUNDS} rounds, and a tenth of the large trace")
    parser.add_argument("--only", default="", metavar="WORDS", help="only steps whose name contains this")
    parser.add_argument("--demo", action="store_true", help="also time `make demo` from a fresh clone")
    instead = parser.add_mutually_exclusive_group()
    instead.add_argument(
        "--truth", action="store_true", help="instead: advice on programs for which the right change is known"
    )
    instead.add_argument(
        "--examples",
        action="store_true",
        help="instead: advice on the programs of examples/, against their changed form",
    )
    instead.add_argument("--real", action="store_true", help="instead: advice on real programs, followed by hand")
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args(words)


def main(words: list[str] | None = None) -> int:
    """Measures, prints, writes. The status says whether every bar holds."""
    chosen = _options(words)
    try:
        name = next((n for n in ("truth", "examples", "real") if getattr(chosen, n)), "lab")
        if chosen.truth:
            known = bench_truth.steps()
        elif chosen.examples:
            known = bench_truth.examples()
        elif chosen.real:
            known = bench_real.steps()
        else:
            known = [*bench_rows.steps(fresh_clone=chosen.demo), *bench_advice.steps()]
        steps = [(n, s) for n, s in known if chosen.only in n]
        if not steps:
            raise Failure(Status.USAGE, f"no step is named like {chosen.only!r}; without --only, all of them run")
        chosen.json = chosen.json or PLACE / f"{name}.json"
        chosen.json.parent.mkdir(parents=True, exist_ok=True)
        output.prove_writable(str(chosen.json))
        with temporary_folder(chosen.json.parent) as folder:
            rounds = QUICK_ROUNDS if chosen.quick else ROUNDS
            bench = Bench(folder, PLACE / "inputs", rounds, chosen.quick, random.Random(chosen.seed))
            rows = measure(steps, bench)
        results = Results(f"bench-lab-{utc_now()}", rows)
        print_table(rows)
        output.write_json(results.to_json(), str(chosen.json))
    except Failure as failure:
        say(failure.message)
        return failure.status
    say(f"all rounds are in {chosen.json}")
    return Status.OK if all(row.holds is not False for row in rows) else Status.GATE


if __name__ == "__main__":
    sys.exit(main())
