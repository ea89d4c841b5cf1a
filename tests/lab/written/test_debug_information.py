# SPDX-License-Identifier: BSL-1.0
"""Debug information in another place or form names the same containers, lines and members, or gives the reason."""

from __future__ import annotations

import gzip
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from compiling import characterised, compile_program, compilers
from debug_forms import SOURCE, facts, plain, reasons, run, separated

from tiers import mostly_more


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("source") / "book.cpp"
    path.write_text(SOURCE)
    return path


@pytest.mark.more
@pytest.mark.parametrize(
    ("compiler", "options"),
    [("gcc", "-fdebug-types-section"), ("gcc", "-gdwarf-4 -fdebug-types-section"), ("gcc", "-gdwarf-4"),
     ("gcc", "-gsplit-dwarf"), ("gcc", "-flto"), ("gcc", "-no-pie"), ("clang", "-gsimple-template-names"),
     ("clang", "-fdebug-types-section")],
)  # fmt: skip
def test_every_debug_form_names_the_same_containers(compiler: str, options: str, source: Path, tmp_path: Path) -> None:
    for folder in ("plain", "other"):
        (tmp_path / folder).mkdir()
    expected = facts(plain(source, tmp_path / "plain", compiler=compiler))
    assert expected["std::map<int, shop::order>"] == (13, {"orders_"})
    assert facts(plain(source, tmp_path / "other", *options.split(), compiler=compiler)) == expected


@pytest.mark.parametrize("how", mostly_more(["zstd", "zlib"], "zlib"))
def test_compressed_sections_are_read(how: str, source: Path, tmp_path: Path) -> None:
    program = plain(source, tmp_path)
    expected = facts(program)
    run("objcopy", f"--compress-debug-sections={how}", program, folder=tmp_path)
    assert facts(program) == expected


@pytest.mark.parametrize(
    "place", mostly_more(["plain.debug", ".debug/plain.debug", "plain.debug.gz"], ".debug/plain.debug")
)
def test_links_are_followed(place: str, source: Path, tmp_path: Path) -> None:
    program = plain(source, tmp_path)
    expected = facts(program)
    debug = tmp_path / place.removesuffix(".gz")
    separated(program, debug)
    if place.endswith(".gz"):
        (tmp_path / place).write_bytes(gzip.compress(debug.read_bytes()))
        debug.unlink()
    assert facts(program) == expected


@pytest.mark.more
def test_debug_paths_have_files_by_build_id(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = plain(source, tmp_path)
    expected = facts(program)
    done = subprocess.run(["readelf", "-n", program], capture_output=True, text=True, check=True)
    build_id = done.stdout.partition("Build ID: ")[2].split()[0]
    folder = tmp_path / "symbols" / ".build-id" / build_id[:2]
    separated(program, folder / f"{build_id[2:]}.debug")
    monkeypatch.setenv("MILLPOND_DEBUG_PATH", f"/nowhere:{tmp_path / 'symbols'}")
    assert facts(program) == expected


@pytest.mark.more
def test_files_of_other_builds_are_refused(source: Path, tmp_path: Path) -> None:
    program = separated(plain(source, tmp_path), tmp_path / "plain.debug")
    other = compile_program(compilers()["gcc"], source, tmp_path / "other", "-O1", "-g", "-Wl,--build-id")
    shutil.move(other, tmp_path / "plain.debug")
    assert "has another build-id" in reasons(program)


@pytest.mark.more
def test_links_without_build_ids_are_checked_by_their_sum(source: Path, tmp_path: Path) -> None:
    program = plain(source, tmp_path, "-Wl,--build-id=none")
    expected = facts(program)
    separated(program, tmp_path / "plain.debug")
    assert facts(program) == expected
    with (tmp_path / "plain.debug").open("ab") as file:
        file.write(b"x")
    assert "has another CRC" in reasons(program)


def test_missing_files_are_named(source: Path, tmp_path: Path) -> None:
    program = separated(plain(source, tmp_path), tmp_path / "plain.debug")
    (tmp_path / "plain.debug").unlink()
    said = reasons(program)
    assert "plain.debug (.gnu_debuglink)" in said
    assert "build with -g to name it" not in said


@pytest.mark.more
def test_missing_split_files_are_named(source: Path, tmp_path: Path) -> None:
    program = plain(source, tmp_path, "-gsplit-dwarf")
    for file in Path.cwd().glob("plain-*.dwo"):
        file.unlink()
    for file in tmp_path.glob("*.dwo"):
        file.unlink()
    assert ".dwo is missing" in reasons(program)


def test_line_tables_without_types_are_recognised(source: Path, tmp_path: Path) -> None:
    program = plain(source, tmp_path, "-g1")
    [container] = [
        c for c in characterised(program)["shop::book"]["containers"] if c["type"] == "std::map<int, shop::order>"
    ]
    assert container["places"][0]["line"] == 13
    assert container["members"] == []
    assert "-g1" in container["why_no_members"]
    bare = compile_program(compilers()["gcc"], source, tmp_path / "bare", "-O2")
    assert "build with -g to name it" in reasons(bare)


def test_debuginfod_is_asked_where_it_is_set(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = plain(source, tmp_path)
    expected = facts(program)
    done = subprocess.run(["readelf", "-n", program], capture_output=True, text=True, check=True)
    build_id = done.stdout.partition("Build ID: ")[2].split()[0]
    served = tmp_path / "served" / "buildid" / build_id / "debuginfo"
    separated(program, served)
    monkeypatch.setenv("DEBUGINFOD_CACHE_PATH", str(tmp_path / "cache"))
    monkeypatch.setenv("DEBUGINFOD_URLS", "")
    assert "debuginfod" not in reasons(program)
    monkeypatch.setenv("DEBUGINFOD_URLS", f"file://{tmp_path / 'served'}")
    said = reasons(program)
    if "libdebuginfod.so.1 is missing" in said:
        pytest.skip("libdebuginfod is not on this machine")
    assert facts(program) == expected
    assert not os.environ["DEBUGINFOD_URLS"].startswith("http")
