# SPDX-License-Identifier: BSL-1.0
"""Twelve ways to store debug information of programs and libraries give the plain build's names, or the true reason."""

from __future__ import annotations

import http.server
import lzma
import os
import shutil
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from compiling import characterised, compile_program, compilers
from debug_forms import SOURCE, facts, plain, reasons, run, separated

from tiers import mostly_more


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("source") / "book.cpp"
    path.write_text(SOURCE)
    return path


@dataclass(frozen=True)
class Built:
    """A program, and the file that has its containers: itself or its library."""

    program: Path
    module: Path

    @property
    def folder(self) -> Path:
        return self.module.parent


def linked(library: Path) -> tuple[str, ...]:
    """Returns the options that link a program with a library next to it."""
    return "-Wl,--no-as-needed", str(library), "-Wl,-rpath,$ORIGIN"


def built(source: Path, folder: Path, kind: str, *options: str) -> Built:
    """Builds the source in its own folder, with a main program around it if `kind` is library."""
    folder.mkdir()
    if kind == "program":
        program = plain(source, folder, *options)
        return Built(program, program)
    library = folder / "libbook.so"
    gcc = compilers().get("gcc") or pytest.skip("gcc is not on this machine")
    compile_program(gcc, source, library, "-O2", "-g", "-Wl,--build-id", "-shared", "-fPIC", "-Dmain=work", *options)
    around = folder / "around.cpp"
    around.write_text("int work();\nint main() { return work(); }\n")
    return Built(compile_program(gcc, around, folder / "around", *linked(library)), library)


def build_id(module: Path) -> str:
    done = subprocess.run(["readelf", "-n", module], capture_output=True, text=True, check=True)
    return done.stdout.partition("Build ID: ")[2].split()[0]


def beside(one: Built) -> None:
    separated(one.module, one.folder / "book.debug")


def in_dot_debug(one: Built) -> None:
    separated(one.module, one.folder / ".debug" / "book.debug")


def packed_by_xz(one: Built) -> None:
    beside(one)
    debug = one.folder / "book.debug"
    (one.folder / "book.debug.xz").write_bytes(lzma.compress(debug.read_bytes()))
    debug.unlink()


def below_another_root(one: Built) -> None:
    root = one.folder / "root"
    separated(one.module, root / str(one.folder.resolve()).lstrip("/") / "book.debug")
    os.environ["MILLPOND_DEBUG_PATH"] = str(root)


def packed_below_another_root(one: Built) -> None:
    below_another_root(one)
    debug = next((one.folder / "root").rglob("book.debug"))
    debug.with_name("book.debug.xz").write_bytes(lzma.compress(debug.read_bytes()))
    debug.unlink()


def by_build_id_below_another_root(one: Built) -> None:
    identity = build_id(one.module)
    separated(one.module, one.folder / "root" / ".build-id" / identity[:2] / f"{identity[2:]}.debug")
    os.environ["MILLPOND_DEBUG_PATH"] = f"/nowhere:{one.folder / 'root'}"


def with_zstd(one: Built) -> None:
    run("objcopy", "--compress-debug-sections=zstd", one.module, folder=one.folder)
    beside(one)


def by_the_name_of_a_link(one: Built) -> None:
    """Uses the layout of distributions: NAME.so links to NAME.so.1, and the debug file lies next to that."""
    beside(one)
    real = one.folder / "real" / "book.1"
    real.parent.mkdir()
    one.module.rename(real)
    (one.folder / "book.debug").rename(real.parent / "book.debug")
    one.module.symlink_to(real)


WAYS: tuple[Callable[[Built], None], ...] = (
    beside, in_dot_debug, packed_by_xz, below_another_root, packed_below_another_root, by_build_id_below_another_root,
    with_zstd, by_the_name_of_a_link,
)  # fmt: skip


@pytest.mark.parametrize("kind", mostly_more(["program", "library"], "program"))
@pytest.mark.more
@pytest.mark.parametrize("way", WAYS)
def test_each_debug_file_layout_names_the_same_containers(
    way: Callable[[Built], None], kind: str, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MILLPOND_DEBUG_PATH", "")
    one = built(source, tmp_path / "one", kind)
    expected = facts(one.program)
    assert expected["std::map<int, shop::order>"] == (13, {"orders_"})
    way(one)
    assert facts(one.program) == expected


@pytest.mark.more
@pytest.mark.parametrize("kind", mostly_more(["program", "library"], "program"))
def test_packages_of_split_files_are_read_or_the_reason_is_given(kind: str, source: Path, tmp_path: Path) -> None:
    expected = facts(built(source, tmp_path / "plain", kind).program)
    folder = tmp_path / "split"
    folder.mkdir()
    object_file = folder / "book.o"
    one = Built(folder / "plain", folder / ("plain" if kind == "program" else "libbook.so"))
    gcc = compilers()["gcc"]
    shared = ["-fPIC", "-Dmain=work"] if kind == "library" else []
    compile_program(gcc, source, object_file, "-c", "-O2", "-g", "-gsplit-dwarf", *shared)
    around = folder / "around.cpp"
    around.write_text("int work();\nint main() { return work(); }\n")
    if kind == "library":
        compile_program(gcc, object_file, one.module, "-shared")
        compile_program(gcc, around, one.program, *linked(one.module))
    else:
        compile_program(gcc, object_file, one.program)
    assert facts(one.program) == expected
    packer = next((name for name in ("llvm-dwp-19", "llvm-dwp", "dwp") if shutil.which(name)), "dwp")
    run(packer, "-e", one.module, "-o", f"{one.module}.dwp", folder=folder)
    (folder / "book.dwo").unlink()
    said = reasons(one.program)
    if said:
        assert "this libdw cannot read its split debug information" in said and f"{one.module.name}.dwp" in said
    else:
        assert facts(one.program) == expected


@pytest.mark.parametrize("kind", mostly_more(["program", "library"], "program"))
def test_symbols_left_in_a_stripped_file_name_owners(kind: str, source: Path, tmp_path: Path) -> None:
    one = built(source, tmp_path / "one", kind)
    symbols = one.folder / "symbols"
    run("objcopy", "--strip-debug", one.module, symbols, folder=one.folder)
    run("strip", one.module, folder=one.folder)
    (one.folder / "symbols.xz").write_bytes(lzma.compress(symbols.read_bytes()))
    run("objcopy", f"--add-section=.gnu_debugdata={one.folder / 'symbols.xz'}", one.module, folder=one.folder)
    assert "shop::book" in characterised(one.program)
    said = reasons(one.program)
    assert "stripped" in said and "build with -g to name it" not in said


@pytest.mark.more
@pytest.mark.parametrize("kind", mostly_more(["program", "library"], "program"))
def test_a_link_with_another_sum_is_refused(kind: str, source: Path, tmp_path: Path) -> None:
    one = built(source, tmp_path / "one", kind, "-Wl,--build-id=none")
    expected = facts(one.program)
    beside(one)
    assert facts(one.program) == expected
    debug = one.folder / "book.debug"
    content = debug.read_bytes()
    debug.unlink()
    packed = one.folder / "book.debug.xz"
    packed.write_bytes(lzma.compress(content))
    assert facts(one.program) == expected
    packed.unlink()
    debug.write_bytes(content + b"x")
    said = reasons(one.program)
    assert "book.debug has another CRC" in said and "build with -g" not in said


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[str, Path, list[str]]]:
    """A local server: its address, the folder that it serves, and its requests so far."""
    folder = tmp_path / "served"
    folder.mkdir()
    asked: list[str] = []

    class Handler(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *words: Any) -> None:
            super().__init__(*words, directory=str(folder))

        def log_message(self, *_: Any) -> None:
            asked.append(self.path)

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", folder, asked
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("kind", mostly_more(["program", "library"], "program"))
def test_servers_are_asked_by_build_id(
    kind: str, source: Path, tmp_path: Path, served: tuple[str, Path, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    address, folder, asked = served
    one = built(source, tmp_path / "one", kind)
    expected = facts(one.program)
    place = folder / "buildid" / build_id(one.module) / "debuginfo"
    separated(one.module, place)
    hidden = place.rename(tmp_path / "hidden")
    monkeypatch.setenv("DEBUGINFOD_CACHE_PATH", str(tmp_path / "cache"))
    monkeypatch.setenv("DEBUGINFOD_URLS", "")
    assert "debuginfod" not in reasons(one.program)
    assert asked == []
    monkeypatch.setenv("DEBUGINFOD_URLS", address)
    for proxy in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(proxy, raising=False)
    said = reasons(one.program)
    if "libdebuginfod.so.1 is missing" in said:
        pytest.skip("libdebuginfod is not on this machine")
    assert "debuginfod has none" in said and "build with -g to name it" not in said
    hidden.rename(place)
    monkeypatch.setenv("DEBUGINFOD_CACHE_PATH", str(tmp_path / "another_cache"))
    assert facts(one.program) == expected
    assert f"/buildid/{build_id(one.module)}/debuginfo" in asked


def test_a_missing_server_is_reported(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = built(source, tmp_path / "one", "program")
    beside(one)
    (one.folder / "book.debug").unlink()
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        monkeypatch.setenv("DEBUGINFOD_CACHE_PATH", str(tmp_path / "cache"))
        monkeypatch.setenv("DEBUGINFOD_URLS", f"http://127.0.0.1:{unused.getsockname()[1]}")
        said = reasons(one.program)
    if "libdebuginfod.so.1 is missing" in said:
        pytest.skip("libdebuginfod is not on this machine")
    assert "debuginfod has none (" in said and "book.debug (.gnu_debuglink)" in said
