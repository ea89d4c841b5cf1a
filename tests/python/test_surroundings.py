# SPDX-License-Identifier: BSL-1.0
"""The toolchain and malloc of a suite's program: parameters of a cell that are not passed to the program."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fakes.fake_p0089_suite import LIBC, FakeP0089
from hypothesis import given
from hypothesis import strategies as st

from millpond.cells.cell import SURROUNDINGS, Cell, Strategy, Workload
from millpond.report.comparison import cell_samples
from millpond.rounds import mallocs
from millpond.store.store import Store
from millpond.system import native
from millpond.system.errors import Failure, Status
from millpond_bench.bench_cli import main
from millpond_bench.experiments.experiment import surrounded
from millpond_bench.experiments.experiment_data import points
from millpond_bench.experiments.platforms import PLATFORMS
from millpond_bench.experiments.surroundings import TOOLCHAINS, Surroundings, said
from millpond_bench.runs.published_run import cells_of
from millpond_bench.suites import p0089
from millpond_bench.suites.every_experiment import OF_SUITES as EXPERIMENTS

ROOT = Path(__file__).resolve().parents[2]
Use = Callable[..., FakeP0089]
AS1, AS7 = p0089.ALIASES["AS1"], p0089.ALIASES["AS7"]
TWO = (
    "p0089.1",
    "--scale=quick",
    "--rounds=1",
    "--cells=structures/ds=5/log2_size=8/*/AS1",
    "--cells=structures/ds=5/log2_size=8/*/AS7",
)
REAL = ROOT / "build" / "toolchains" / "clang-libc++" / "bin" / "millpond-p0089-suite"


@pytest.fixture(autouse=True)
def here(libraries: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fakes the mallocs of this machine: libraries in a folder of the test."""
    monkeypatch.setattr(mallocs, "library_folders", lambda: [libraries])


def run(*words: str) -> tuple[int, dict[str, Any]]:
    """Returns the status, and the document if one was written."""
    Path("out.json").unlink(missing_ok=True)
    status = main(["run", "-o", "out.json", "-o", "out.html", *words])
    path = Path("out.json")
    return status, json.loads(path.read_text()) if path.exists() else {}


@pytest.mark.more
def test_environment_values_multiply_cells_and_stay_off_the_argv(p0089: Use, libraries: Path) -> None:
    fake = p0089()
    status, document = run(*TWO, "--toolchain=gcc,clang-libc++", "--malloc=glibc,tcmalloc")
    assert status == Status.OK
    assert len(fake.calls) == 2 * 2 * 2
    assert not any(word.startswith(("--toolchain", "--malloc")) for call in fake.calls for word in call)
    ran = {
        (Path(call[0]).parent.name, environment.get("LD_PRELOAD"), call[call.index("--contender") + 1])
        for call, environment in zip(fake.calls, fake.environments, strict=True)
    }
    tcmalloc = str(libraries / "libtcmalloc_minimal.so.4")
    assert ran == {(t, m, s) for t in ("gcc", "clang-libc++") for m in (None, tcmalloc) for s in (AS1, AS7)}
    rows = [row for row in document["summary"] if row["metric"] == "leaves_cpu_seconds"]
    assert {(row["toolchain"], row["malloc"]) for row in rows} == {
        (t, m) for t in ("gcc", "clang-libc++") for m in ("glibc", "tcmalloc")
    }


@pytest.mark.more
def test_every_row_names_the_compiler_of_its_program(p0089: Use) -> None:
    p0089()
    _, document = run(*TWO, "--toolchain=gcc,clang-libc++")
    built = {"gcc": "g++ 12.2.0, libstdc++ 12", "clang-libc++": "clang++ 19.1.7, libc++ 19.1.7"}
    assert all(row["compiler"] == built[row["toolchain"]] for row in document["summary"])
    assert all(row["compiler"] == built[row["parameters"]["toolchain"]] for row in document["observations"])
    programs = document["experiments"][0]["programs"]
    assert [p["toolchain"] for p in programs] == ["gcc", "clang-libc++"]
    assert all(p["malloc_library"] == LIBC for p in programs)


@pytest.mark.more
def test_a_run_that_names_none_is_the_release_build_on_its_own_malloc(p0089: Use, tmp_path: Path) -> None:
    fake = p0089()
    _, document = run(*TWO)
    assert {call[0] for call in fake.calls} == {str(tmp_path / "millpond-p0089-suite")}
    assert not any("LD_PRELOAD" in environment for environment in fake.environments)
    assert {(row["toolchain"], row["malloc"]) for row in document["summary"]} == {("release", "glibc")}
    assert [p["toolchain"] for p in document["experiments"][0]["programs"]] == ["release"]


@pytest.mark.more
def test_each_value_has_its_tables_next_to_the_published_ones(p0089: Use, capsys: pytest.CaptureFixture[str]) -> None:
    p0089()
    run(*TWO, "--toolchain=gcc,clang", "--malloc=glibc,jemalloc", "-o", "google:google.json")
    winners, *titles = re.findall(r"<h4[^>]*>([^<]*)", Path("out.html").read_text())
    assert winners == "Map of winners"  # of the usual environment
    ds5 = "DS5, vector&lt;vector&lt;int&gt;&gt;"
    assert titles == [f"{ds5}, by {t}{m}" for t in ("gcc", "clang") for m in ("", ", on jemalloc")]
    assert Path("out.html").read_text().count(">published<") >= len(titles)
    # The whole published table appears once; elsewhere only measured rows.
    rows = re.findall(r'<th scope="row">([^<]*)</th>', Path("out.html").read_text())
    assert rows.count("2^16") == 1 and rows.count("2^8") == 4 * len(titles)
    names = [entry["name"] for entry in json.loads(Path("google.json").read_text())["benchmarks"]]
    assert len(set(names)) == 2 * 2 * 2 and all("toolchain=" in name and "malloc=" in name for name in names)
    shown = capsys.readouterr().out
    assert all(f"{t}, {m}" in shown for t in ("gcc", "clang") for m in ("glibc", "jemalloc"))


@pytest.mark.parametrize("words", [["list"], ["run", "--dry-run"]])
def test_listing_cells_needs_no_program_and_shows_the_values(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    monkeypatch.setenv("MILLPOND_BIN", str(tmp_path / "nothing"))
    assert main([*words, *TWO, "--toolchain=clang", "--malloc=mimalloc"]) == Status.OK
    shown = capsys.readouterr().out
    assert shown.count("/toolchain=clang/malloc=mimalloc/") == 2


@pytest.mark.parametrize(
    ("words", "part"), [(("--toolchain=tcc",), "clang-libc++"), (("--malloc=none",), "tcmalloc"),
                        (("--toolchain=",), "gcc"), (("--malloc=glibc,,tcmalloc",), "jemalloc")],
)  # fmt: skip
def test_an_unknown_name_is_status_2_with_a_list(
    p0089: Use, words: tuple[str, ...], part: str, capsys: pytest.CaptureFixture[str]
) -> None:
    fake = p0089()
    assert run(*TWO, *words)[0] == Status.USAGE
    assert part in capsys.readouterr().err and not fake.calls


def test_a_toolchain_without_programs_is_status_4_with_a_remedy(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MILLPOND_BIN", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert run(*TWO, "--toolchain=clang")[0] == Status.ENVIRONMENT
    said = capsys.readouterr().err
    assert "make bench-toolchains" in said and str(tmp_path / "toolchains" / "clang") in said


def test_programs_of_toolchains_lie_below_the_folder_of_the_others(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    program = tmp_path / "toolchains" / "clang" / "millpond-p0089-suite"
    program.parent.mkdir(parents=True)
    program.write_text("")
    monkeypatch.setenv("MILLPOND_BIN", str(tmp_path))
    with pytest.raises(Failure, match="missing"):
        native.find_built_by("clang", program.name)
    program.chmod(0o755)
    assert native.find_built_by("clang", program.name) == program


def test_a_missing_malloc_is_status_4_and_names_its_package(
    p0089: Use, libraries: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fake = p0089()
    (libraries / "libjemalloc.so.2").unlink()
    assert run(*TWO, "--malloc=glibc,jemalloc")[0] == Status.ENVIRONMENT
    assert "libjemalloc2" in capsys.readouterr().err and not fake.calls


# The loader warns of a library that it cannot preload, and continues: before the first round, and between rounds.
@pytest.mark.parametrize("preloads", [0, 1, 2])
def test_a_malloc_that_was_not_preloaded_is_an_error(
    p0089: Use, preloads: int, capsys: pytest.CaptureFixture[str]
) -> None:
    fake = p0089(preloads=preloads)
    assert run(*TWO, "--malloc=tcmalloc")[0] == Status.ENVIRONMENT
    said = capsys.readouterr().err
    assert "libtcmalloc_minimal.so.4" in said and LIBC in said
    assert len(fake.calls) == preloads


def test_glibc_too_is_confirmed_where_it_was_asked_for() -> None:
    Surroundings(malloc="glibc").confirm("a program", LIBC)
    for found in ("/opt/libjemalloc.so.2", ""):
        with pytest.raises(Failure, match="should run on glibc"):
            Surroundings(malloc="glibc").confirm("a program", found)
    Surroundings().confirm("a program", "/opt/libjemalloc.so.2")


@pytest.mark.more
def test_cells_of_missing_toolchains_are_left_out_with_a_note(
    p0089: Use, libraries: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = p0089()
    (libraries / "libtcmalloc_minimal.so.4").unlink()

    def nowhere(toolchain: str, _name: str) -> Path:
        raise Failure(Status.ENVIRONMENT, f"nothing by {toolchain}")

    monkeypatch.setattr(native, "find_built_by", nowhere)
    words = ("p0089.1", "--rounds=1", "--cells=structures/ds=5/log2_size=8/*")
    status, document = run(*words)
    assert status == Status.OK and fake.calls
    assert {(row["toolchain"], row["malloc"]) for row in document["summary"]} == {
        ("release", "glibc"), ("release", "jemalloc"),
    }  # fmt: skip
    for part in ("nothing by gcc", "nothing by clang", "libtcmalloc-minimal4"):
        assert any(part in note for note in document["notes"])
    fake.calls.clear()
    assert run(*words, "--cells=*toolchain=clang*")[0] == Status.OK
    assert run(*words[:2], "--cells=*toolchain=clang*")[0] == Status.ENVIRONMENT, "nothing would be left"


@pytest.mark.lengthy
def test_strategies_missing_in_one_build_are_left_out_with_a_note(p0089: Use) -> None:
    own = "mt_alloc:type:destroy"
    p0089(lacks_by={"clang-libc++": [own]})
    status, document = run("suballocator.1", "--scale=quick", "--rounds=1", "--toolchain=gcc,clang-libc++")
    assert status == Status.OK
    of = {row["toolchain"] for row in document["summary"] if row["strategy"] == own}
    assert of == {"gcc"}
    assert any(own in note and "clang-libc++" in note for note in document["notes"])


@pytest.mark.more
def test_only_a_rebuilt_program_is_measured_again(p0089: Use, tmp_path: Path) -> None:
    programs = {t: tmp_path / "toolchains" / t / "millpond-p0089-suite" for t in ("gcc", "clang")}
    for path in programs.values():
        path.parent.mkdir(parents=True)
        path.write_text("a program")
    fake = p0089()

    def calls(toolchain: str) -> int:
        before = len(fake.calls)
        assert run(*TWO, "--store=st", f"--toolchain={toolchain}")[0] == Status.OK
        return len(fake.calls) - before

    assert [calls("gcc"), calls("clang"), calls("gcc"), calls("clang")] == [2, 2, 0, 0]
    programs["clang"].write_text("another program")
    assert [calls("gcc"), calls("clang"), calls("clang")] == [0, 2, 0]


@pytest.mark.more
def test_runs_of_two_builds_of_a_program_are_compared_cell_by_cell(p0089: Use, tmp_path: Path) -> None:
    p0089()
    for number, content in enumerate(("a program", "another program")):
        (tmp_path / "millpond-p0089-suite").write_text(content)
        assert run(*TWO, f"--store=st{number}")[0] == Status.OK
    runs = {name: Store(Path(name)).load_measured() for name in ("st0", "st1")}
    sides = [
        cell_samples.cells_of(name, [row for one in kept for row in one.observations]) for name, kept in runs.items()
    ]
    assert sides[0].keys and sides[0].keys == sides[1].keys


@pytest.mark.more
def test_another_library_of_the_same_malloc_is_measured_again(p0089: Use, libraries: Path) -> None:
    fake = p0089()
    words = (*TWO, "--store=st", "--malloc=jemalloc")
    for content, expected in (("1", 2), ("1", 2), ("another", 4)):
        if (libraries / "libjemalloc.so.2").read_bytes() != content.encode():
            (libraries / "libjemalloc.so.2").write_text(content)
        run(*words)
        assert len(fake.calls) == expected


@pytest.mark.more
def test_counters_are_simulated_in_the_same_environment(p0089: Use, libraries: Path) -> None:
    fake = p0089(callgrind="==1== Events    : Ir\n==1== Collected : 900\n")
    assert run(*TWO, "--toolchain=clang", "--malloc=tcmalloc", "--counters=simulated")[0] == Status.OK
    assert len(fake.simulated) == 2
    assert all(any("toolchains/clang/" in word for word in argv) for argv in fake.simulated)
    tcmalloc = str(libraries / "libtcmalloc_minimal.so.4")
    assert {environment.get("LD_PRELOAD") for environment in fake.environments} == {tcmalloc}


@pytest.mark.more
def test_statements_are_judged_under_the_first_environment_named(p0089: Use) -> None:
    p0089()
    verdicts = {}
    for toolchains in ("clang,gcc", "gcc"):
        _, document = run("p0089.1", "--scale=quick", "--rounds=6", "--cells=structures/ds=[25]/*",
                          f"--toolchain={toolchains}")  # fmt: skip
        verdicts[toolchains] = {c["id"]: (c["verdict"], c["points"]) for c in document["claims"]}
        first = toolchains.partition(",")[0]
        assert any(note.endswith(f"are judged under {first}") for note in document["notes"])
    assert verdicts["clang,gcc"]["1.ds2.multipool"] == verdicts["gcc"]["1.ds2.multipool"]
    assert verdicts["gcc"]["1.ds2.multipool"][0] == "holds"


@pytest.mark.lengthy
def test_other_environments_have_cells_at_standard_but_not_at_quick() -> None:
    for experiment in p0089.EXPERIMENTS:
        around = [
            experiment.data.around(experiment.data.point_of(c) or ()) for c in cells_of(experiment.data, "standard", "")
        ]
        assert set(around) > {experiment.data.usual}
        quick = cells_of(experiment.data, "quick", "")
        assert {experiment.data.around(experiment.data.point_of(c) or ()) for c in quick} == {experiment.data.usual}
        for name, values in experiment.data.under.items():
            assert values[0] == SURROUNDINGS[name]


pairs = st.lists(
    st.tuples(st.sampled_from([*SURROUNDINGS, "ds", "litter", "threads"]), st.sampled_from(["1", "0", "x"])),
    unique_by=lambda pair: pair[0],
)


@pytest.mark.lengthy
@given(pairs)
def test_a_parameter_belongs_to_the_program_or_its_environment(parameters: list[tuple[str, str]]) -> None:
    rest = [pair for pair in parameters if pair[0] in SURROUNDINGS]
    assert sorted([*said(parameters), *rest]) == sorted(parameters)
    assert not {name for name, _ in said(parameters)} & SURROUNDINGS.keys()


@given(st.sampled_from(["", *TOOLCHAINS]), st.sampled_from(["", *mallocs.known_mallocs()]), st.booleans())
def test_environments_can_be_read_back_from_a_cell(toolchain: str, malloc: str, kept: bool) -> None:
    given_ = {"toolchain": toolchain, "malloc": malloc, "kept": "1" if kept else ""}
    cell = Cell(Workload("w"), Strategy("s"), tuple((k, v) for k, v in given_.items() if v))
    assert Surroundings.of(cell) == Surroundings(toolchain, malloc, kept)


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda e: e.name)
def test_any_experiment_takes_environment_parameters(experiment: Any) -> None:
    asked = {"toolchain": ("gcc", "clang"), "malloc": ("tcmalloc",)}
    inside = surrounded(experiment, **asked)
    cells = cells_of(inside.data, "quick", "", around=points(**asked))
    plain = cells_of(experiment.data, "quick", "", around=points(toolchain=["gcc"]))
    assert len(cells) == 2 * len(plain)
    on_a_point = [cell for cell in cells if inside.data.point_of(cell) is not None]
    assert on_a_point
    for cell in on_a_point:
        at = inside.data.point_of(cell) or ()
        assert dict(inside.data.around(at)).items() >= {"malloc": "tcmalloc"}.items()
        assert not dict(inside.data.published_point(at)).keys() & inside.data.under.keys()
        assert "tcmalloc" in inside.table.layout.titles({n: dict(at).get(n, 0) for n in inside.table.layout.split})


def test_every_toolchain_has_a_preset_and_is_built_by_the_menu() -> None:
    presets = {p["name"]: p for p in json.loads((ROOT / "CMakePresets.json").read_text())["configurePresets"]}
    for name in (*TOOLCHAINS, *PLATFORMS):
        assert presets[f"toolchain-{name}"]["binaryDir"].endswith(f"/build/toolchains/{name}")
    menu = (ROOT / "Makefile").read_text()
    for variable, names in (("TOOLCHAINS", TOOLCHAINS), ("PLATFORMS", PLATFORMS)):
        assert re.search(rf"^{variable} = (.*)$", menu, re.MULTILINE)[1].split() == list(names)  # type: ignore[index]


@pytest.mark.skipif(not REAL.exists(), reason="clang-libc++ has built no suite here: make bench-toolchains")
def test_a_libcxx_program_runs_on_every_malloc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    monkeypatch.delenv("MILLPOND_BIN", raising=False)
    monkeypatch.chdir(tmp_path)
    found = [each.name for each in mallocs.find_mallocs()[0]]
    status, document = run(*TWO, "--toolchain=clang-libc++", f"--malloc={','.join(found)}")
    assert status == Status.OK
    assert {row["malloc"] for row in document["summary"]} == set(found)
    assert all("libc++" in row["compiler"] and row["status"] == "ok" for row in document["summary"])
