# SPDX-License-Identifier: BSL-1.0
"""A program is built with the words that pkg-config says, wherever the installed folder lies."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from consumers import CONSUMER, installed, run, version

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not shutil.which("pkg-config"), reason="pkg-config is not installed"),
]


def said(prefix: Path, *options: str) -> str:
    (folder,) = prefix.rglob("pkgconfig")
    return run("pkg-config", *options, "millpond", PKG_CONFIG_PATH=folder, PKG_CONFIG_LIBDIR="").strip()


@pytest.mark.parametrize("library_folder", ["lib", "lib/of/one-machine"])
def test_a_moved_folder_builds_and_runs_a_program(tmp_path: Path, library_folder: str) -> None:
    prefix = installed(tmp_path, f"-DCMAKE_INSTALL_LIBDIR={library_folder}")
    moved = tmp_path / "elsewhere" / "moved"
    shutil.copytree(prefix, moved)
    shutil.rmtree(prefix)
    assert said(moved, "--modversion") == version()
    words = said(moved, "--cflags", "--libs").split()
    assert "-std=c++20" in words
    assert not [word for word in words if str(prefix) in word]
    run("g++", CONSUMER / "consumer.cpp", *words, "-o", tmp_path / "consumer")
    run(tmp_path / "consumer", "release")
    # A library behind a pool of pages: libmillpond.a is linked.
    source = tmp_path / "region.cpp"
    source.write_text(
        "#include <millpond/millpond.hpp>\n"
        "int main() { millpond::arena pages; return pages.try_allocate(100, 8) == nullptr; }\n"
    )
    run("g++", source, *words, "-o", tmp_path / "region")
    run(tmp_path / "region")
