# SPDX-License-Identifier: BSL-1.0
"""Statements on an emulated platform: bytes and counts are judged there, the rest names the kind that an emulator
changes.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fakes.fake_p0089_suite import FakeP0089

from millpond.cells.metrics import MetricKind
from millpond.store.store import Store
from millpond.system.errors import Failure, Status
from millpond_bench.bench_cli import main
from millpond_bench.claims.claims import NOT_MEASURED, UNDECIDED, UNTESTABLE, load
from millpond_bench.experiments import platforms
from millpond_bench.experiments.experiment import PublishedSpec, surrounded
from millpond_bench.experiments.platforms import PLATFORMS
from millpond_bench.experiments.surroundings import EMULATED
from millpond_bench.pages.kept_results import in_store
from millpond_bench.runs.published_run import cells_of, statement_cells
from millpond_bench.suites.every_experiment import OF_SUITES

Use = Callable[..., FakeP0089]
AARCH64 = PLATFORMS["aarch64"]
ON_AARCH64 = ("--toolchain=aarch64", "--scale=quick")
BY_NAME = {spec.name: spec for spec in OF_SUITES}


def run(*words: str) -> tuple[int, dict[str, Any]]:
    """Returns the status, and the document if one was written."""
    status = main(["run", "-o", "out.json", "-o", "out.html", *words])
    path = Path("out.json")
    return status, json.loads(path.read_text()) if path.exists() else {}


def on_aarch64(name: str) -> tuple[PublishedSpec, list[Any]]:
    """Returns the experiment, and its cells on the platform."""
    spec = surrounded(BY_NAME[name], toolchain=("aarch64",))
    return spec, cells_of(spec.data, "quick", "", around=[(("toolchain", "aarch64"),)])


@pytest.mark.parametrize(
    ("experiment", "metric", "kind"),
    [
        ("reserve_commit.1", "peak_bytes", MetricKind.COUNT), ("reserve_commit.1", "used_share", MetricKind.COUNT),
        ("reserve_commit.3", "mode_ratio", MetricKind.TIME), ("reserve_commit.3", "p99_ns", MetricKind.TIME),
        ("p0089.freeing", "free_to_allocate", MetricKind.TIME), ("p0089.1", "wall_seconds", MetricKind.TIME),
        ("p0089.1", "instructions", MetricKind.EVENT), ("p0089.1", "MEM_LOAD_RETIRED:L3_MISS", MetricKind.EVENT),
        ("unique_chars", "page_faults", MetricKind.FAULTS),
        ("p0089.dials", "measured_utilization", MetricKind.RECORDED),
    ],
)  # fmt: skip
def test_a_metric_has_the_kind_of_its_source(experiment: str, metric: str, kind: MetricKind) -> None:
    assert BY_NAME[experiment].metrics.kind(metric) == kind


@pytest.mark.parametrize("name", BY_NAME)
def test_each_statement_is_judged_or_names_its_kind(name: str) -> None:
    spec, limited = BY_NAME[name], bool(BY_NAME[name].rules.memory_bytes or BY_NAME[name].rules.writable_bytes)
    cannot = AARCH64.untestable(spec)
    for claim in (one for one in load(spec.claims) if one.experiment == name) if spec.claims else ():
        metric = claim.metric if claim.metric not in ("", spec.data.figure.name) else spec.data.figure.metric
        rests_on_count = spec.metrics.kind(metric) is MetricKind.COUNT and not limited
        assert (claim.metric not in cannot) == rests_on_count
        assert rests_on_count or "qemu-aarch64" in cannot[claim.metric]


def test_only_cells_run_that_a_testable_statement_rests_on() -> None:
    timed, cells = on_aarch64("p0089.2")
    assert cells and statement_cells(timed, cells) == []
    counted, cells = on_aarch64("reserve_commit.2")
    kept = statement_cells(counted, cells)
    assert {(dict(cell.parameters)["element"], cell.contender.name) for cell in kept} == {
        ("int", "mremap"), *(("counted", name) for name in ("vector", "dyn_array_2023", "dyn_array"))
    }  # fmt: skip
    here = cells_of(timed.data, "quick", "")
    assert statement_cells(timed, here) == here


def test_an_emulated_round_leaves_only_counts(p0089: Use) -> None:
    fake = p0089()
    status, document = run("suballocator.2", *ON_AARCH64)
    assert status == Status.OK and fake.calls
    assert all(dict([EMULATED]).items() <= environment.items() for environment in fake.environments)
    kinds = {BY_NAME["suballocator.2"].metrics.kind(row["metric"]) for row in document["observations"]}
    assert kinds == {MetricKind.COUNT}
    assert not fake.simulated and not fake.looks


def test_one_round_decides_a_count(p0089: Use) -> None:
    fake = p0089()
    _, document = run("suballocator.sum", "suballocator.2", *ON_AARCH64)
    assert fake.calls and len(fake.calls) == len(set(fake.calls))
    verdicts = {claim["id"]: claim["verdict"] for claim in document["claims"]}
    judged = [verdict for verdict in verdicts.values() if verdict not in (UNTESTABLE, NOT_MEASURED)]
    assert judged and UNDECIDED not in judged


def test_a_platform_is_a_column_even_where_nothing_ran(p0089: Use) -> None:
    fake = p0089()
    assert run("p0089.2", "reserve_commit.short", *ON_AARCH64, "--store=store")[0] == Status.OK
    assert not fake.calls
    parts = [part for results in in_store(Store(Path("store"))) for part in results.parts]
    assert {(part.experiment, part.toolchain, part.malloc) for part in parts} == {
        ("p0089.2", "aarch64", "glibc"), ("reserve_commit.short", "aarch64", "glibc")
    }  # fmt: skip
    missing = {claim.missing for part in parts for claim in part.claims}
    assert all(claim.verdict == UNTESTABLE for part in parts for claim in part.claims)
    assert "a limit of memory would hold for qemu-aarch64 as well" in missing
    assert "times under qemu-aarch64 are not those of a processor" in missing


def test_contenders_that_the_emulator_ignores_are_not_judged(p0089: Use) -> None:
    fake = p0089()
    _, document = run("reserve_commit.5", *ON_AARCH64)
    assert fake.calls and not any("madv_free" in call for call in fake.calls)
    missing = {claim["id"]: claim["missing"] for claim in document["claims"]}
    assert missing["5.resident.free"] == "qemu-aarch64 ignores the system call"
    assert not missing["5.resident.dontneed"]


@pytest.mark.parametrize("option", ["--malloc=tcmalloc", "--counters=simulated", "--event=cycles"])
def test_what_an_emulated_program_cannot_have_is_refused(
    p0089: Use, option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    fake = p0089()
    assert run("reserve_commit.1", *ON_AARCH64, option)[0] == Status.USAGE
    assert "does not apply" in capsys.readouterr().err or not fake.calls


def test_a_missing_emulator_is_named_with_a_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platforms, "find_emulator", lambda _: None)
    with pytest.raises(Failure, match=r"qemu-aarch64.*scripts/setup aarch64") as found:
        _ = AARCH64.runner
    assert found.value.status == Status.ENVIRONMENT
