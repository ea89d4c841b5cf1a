# SPDX-License-Identifier: BSL-1.0
"""Verdicts of whole runs are kept as JSON, become pages, and are the only source of figures in texts."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import repository
from fakes.fake_p0089_suite import FakeP0089
from msgspec.structs import replace

from millpond.cli import main
from millpond.report import json_schemas
from millpond.report.markdown import escaped
from millpond.rounds.mallocs import find_mallocs
from millpond.store.store import Store
from millpond.system.errors import Status
from millpond_bench.bench_cli import main as bench_main
from millpond_bench.pages.kept_results import KeptPart, KeptResults, in_folder, in_store, merged
from millpond_bench.pages.quoted_figures import quoted
from millpond_bench.pages.results_page import NO_EVIDENCE, figure_text, pages

pytestmark = pytest.mark.more  # tests the bench of published experiments, not the product

Use = Callable[..., FakeP0089]
RESULTS = repository.ROOT / "docs" / "results"
TEXTS = [repository.ROOT / "README.md", *sorted((repository.ROOT / "docs").rglob("*.md"))]


def bench(*words: str) -> int:
    return bench_main(["run", "-o", "out.json", "-o", "out.html", "--scale=quick", "--store=store", *words])


def report(folder: str = "kept", store: str = "store") -> int:
    return main(["report", store, "-o", f"results:{folder}"])


def texts(folder: str) -> dict[str, str]:
    return {path.name: path.read_text(encoding="utf-8") for path in sorted(Path(folder).iterdir())}


def part(**given: Any) -> KeptPart:
    usual = {"experiment": "d.1", "title": "t", "scale": "standard", "toolchain": "release", "malloc": "glibc",
             "machine": "m", "compiler": "", "version": "1", "command": "c", "rounds": 11,
             "measured": "2026-01-01T00:00:00+00:00", "claims": ()}  # fmt: skip
    return KeptPart(**{**usual, **given})


def results(*parts: KeptPart) -> KeptResults:
    return KeptResults(document="d", source="s", parts=parts)


@pytest.mark.lengthy
def test_a_whole_run_keeps_its_verdicts_and_a_complete_page(p0089: Use) -> None:
    p0089()
    assert bench("suballocator.1", "suballocator.2", "--rounds=6", "--seed=3") == Status.OK
    assert report() == Status.OK
    written = texts("kept")
    assert set(written) == {"README.md", "matrix.md", "suballocator.json", "suballocator.md"}
    schema = json_schemas.schema("millpond.results.1")
    jsonschema.validate(json.loads(written["suballocator.json"]), schema, cls=jsonschema.Draft202012Validator)
    (kept,) = in_folder(Path("kept"))
    unwrapped = written["suballocator.md"].replace("\n  ", " ").splitlines()
    measured = json.loads(Path("out.json").read_text(encoding="utf-8"))
    assert [c.id for p in kept.parts for c in p.claims] == [c["id"] for c in measured["claims"]]
    for one in kept.parts:
        assert (one.scale, one.rounds, one.toolchain, one.malloc) == ("quick", 6, "release", "glibc")
        for fact in (
            f"**{NO_EVIDENCE}**", f"- quick scale, 6 rounds, measured {one.measured[:10]}",
            f"- machine: {escaped(one.machine)}",
            f"- `millpond-bench run {one.experiment} --scale=quick --rounds=6 --seed=3`",
        ):  # fmt: skip
            assert fact in unwrapped
        for claim in one.claims:
            line, *notes = [
                row
                for row in written["suballocator.md"].splitlines()
                if row.startswith(f"| <code>{escaped(claim.id)}</code>")
            ]
            assert len(notes) <= 1
            assert claim.verdict in line and figure_text(claim.ours) in line
            assert f"| <code>{escaped(claim.id)}</code>" in written["matrix.md"]


@pytest.mark.lengthy
def test_pages_are_reproducible_from_json(p0089: Use) -> None:
    p0089()
    bench("suballocator.1")
    report()
    first = texts("kept")
    report()
    assert texts("kept") == first
    assert pages(in_folder(Path("kept"))).items() <= first.items()
    assert not list(Path("kept").glob(".*"))


@pytest.mark.more
def test_a_later_experiment_replaces_its_own_part_only(p0089: Use) -> None:
    p0089()
    bench("suballocator.1", "suballocator.2")
    report()
    before = {p.experiment: p for p in in_folder(Path("kept"))[0].parts}
    shutil.rmtree("store")
    bench("suballocator.2", "--seed=2")
    report()
    after = {p.experiment: p for p in in_folder(Path("kept"))[0].parts}
    assert after["suballocator.1"] == before["suballocator.1"]
    assert (
        "--seed=2" in after["suballocator.2"].command
        and after["suballocator.2"].measured >= before["suballocator.2"].measured
    )


@pytest.mark.more
def test_each_malloc_and_each_machine_has_a_column(p0089: Use) -> None:
    p0089()
    if "tcmalloc" not in [malloc.name for malloc in find_mallocs()[0]]:
        pytest.skip("tcmalloc is not installed")
    bench("p0089.2", "--malloc=glibc,tcmalloc")
    found = in_store(Store(Path("store")))
    assert [(p.toolchain, p.malloc) for p in found[0].parts] == [("release", "glibc"), ("release", "tcmalloc")]
    named = [p.claims for p in found[0].parts]
    assert {c.id for c in named[1]} <= {c.id for c in named[0]}
    elsewhere = results(*(replace(p, machine="another machine") for p in found[0].parts))
    (one,) = merged([*found, replace(elsewhere, document="p0089")])
    matrix = pages([one])["matrix.md"]
    assert len(one.parts) == 4
    assert "| id | statement | verdicts | M1 | M2 | M3 | M4 |" in matrix and matrix.count("another machine") == 2
    headings = [line for line in pages([one])["p0089.md"].splitlines() if line.startswith("## ")]
    assert len(headings) == 4 and {heading.split(", ")[-1] for heading in headings} == {f"M{n})" for n in (1, 2, 3, 4)}


@pytest.mark.lengthy
@pytest.mark.parametrize("words", [("--cells=*",), ("--litter=0.5",), ("--shard=1/2",)])
def test_partial_runs_and_littered_heaps_are_not_kept(p0089: Use, words: tuple[str, ...]) -> None:
    p0089()
    assert bench("suballocator.1", *words) == Status.OK
    assert in_store(Store(Path("store"))) == []
    assert report() == Status.INPUT
    assert not Path("kept").exists()


@pytest.mark.lengthy
def test_several_files_need_a_folder(p0089: Use) -> None:
    p0089()
    bench("suballocator.1")
    Path("file").touch()
    assert report("file") == Status.USAGE
    assert main(["report", "store", "-o", "results:-"]) == Status.USAGE


@pytest.mark.lengthy
def test_a_foreign_file_is_named_and_nothing_is_written(p0089: Use, capsys: pytest.CaptureFixture[str]) -> None:
    p0089()
    bench("suballocator.1")
    Path("kept").mkdir()
    Path("kept/other.json").write_text("{}")
    assert report() == Status.INPUT
    assert "kept/other.json" in capsys.readouterr().err
    assert set(texts("kept")) == {"other.json"}


def test_the_latest_result_of_a_scale_replaces_earlier_ones() -> None:
    early, late = part(), part(measured="2026-02-01T00:00:00+00:00", rounds=12)
    assert merged([results(late), results(early)])[0].parts == (late,)
    quick = part(scale="quick", measured="2026-03-01T00:00:00+00:00")
    assert merged([results(early), results(quick)])[0].parts == (early,)
    assert merged([results(quick)])[0].parts == (quick,)
    paper, other = part(scale="paper"), part(scale="quick", machine="n")
    assert merged([results(other, paper, quick, early)])[0].parts == (early, paper, other)


@pytest.mark.lengthy
def test_a_marked_figure_is_that_of_the_kept_statement(p0089: Use) -> None:
    p0089()
    bench("suballocator.2", "--rounds=6")
    kept = in_store(Store(Path("store")))
    claim = next(c for c in kept[0].parts[0].claims if c.ours)
    text = f"so <!-- result suballocator {claim.id} -->7<!-- end --> times"
    assert (
        quoted(text, kept) == f"so <!-- result suballocator {claim.id} -->{figure_text(claim.ours)}<!-- end --> times"
    )
    assert quoted(quoted(text, kept), kept) == quoted(text, kept)
    with pytest.raises(ValueError, match="of nothing is among"):
        quoted("<!-- result suballocator nothing -->7<!-- end -->", kept)


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.name)
def test_our_texts_quote_the_kept_results(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text == quoted(text, in_folder(RESULTS)), "scripts/quote_results writes them"
    assert text.count("<!-- result ") == text.count("<!-- end -->")


def test_the_pages_in_the_repository_are_those_of_its_json() -> None:
    for name, text in pages(in_folder(RESULTS)).items():
        assert (RESULTS / name).read_text(encoding="utf-8") == text, "millpond report -o results:FOLDER writes them"
