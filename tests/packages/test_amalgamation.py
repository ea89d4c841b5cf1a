# SPDX-License-Identifier: BSL-1.0
"""The header of scripts/amalgamate is enough: it has every public name and the compiled part, and no warnings."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import repository
from consumers import COMPILERS, MODES, ROOT, WARNINGS, run, version

pytestmark = pytest.mark.slow

# Two sources of one program, of which only the other has the compiled part.
FILL = """\
#include "millpond_all.hpp"
void fill(millpond::dyn_array<int>& array) { for (int i = 0; i < 100000; ++i) array.push_back(i); }
"""
MAIN = """\
#define MILLPOND_IMPLEMENTATION
#include "millpond_all.hpp"
#include "millpond_all.hpp"
void fill(millpond::dyn_array<int>& array);
int main() {
    millpond::dyn_array<int> array(1 << 20);
    fill(array);
    return array.size() == 100000 && array.back() == 99999 ? 0 : 1;
}
"""


@pytest.fixture(scope="module")
def header(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The header, in a folder that has nothing else."""
    path = tmp_path_factory.mktemp("amalgamation") / "made" / "millpond_all.hpp"
    run(ROOT / "scripts/amalgamate", path)
    assert [each.name for each in path.parent.iterdir()] == [path.name]
    return path


def test_every_header_is_in_it_once(header: Path) -> None:
    text = header.read_text(encoding="utf-8")
    parts = re.findall(r"^// ---- (.+)$", text, re.MULTILINE)
    umbrellas = {path for path in repository.library_headers() if len(path.parts) == 3}
    wanted = {str(path) for path in set(repository.library_headers()) - umbrellas}
    wanted |= {"src/os/posix.cpp", "src/os/windows.cpp", "include/millpond/wrap/watched_operators.cpp"}
    assert len(parts) == len(set(parts))
    assert set(parts) == wanted
    assert text.count("SPDX-License-Identifier") == 1
    assert text.startswith("// SPDX-License-Identifier: BSL-1.0\n")
    assert f"Millpond {version()} " in text.splitlines()[1]
    assert '#include "' not in text.partition("#ifndef MILLPOND_ALL_HPP")[2]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("compiler", COMPILERS)
def test_two_sources_link_and_run_without_a_warning(header: Path, tmp_path: Path, compiler: str, mode: str) -> None:
    (tmp_path / "fill.cpp").write_text(FILL)
    (tmp_path / "main.cpp").write_text(MAIN)
    words = ["-std=c++20", *WARNINGS, *MODES[mode], "-I", header.parent]
    run(compiler, *words, tmp_path / "fill.cpp", tmp_path / "main.cpp", "-o", tmp_path / "program")
    run(tmp_path / "program")


@pytest.mark.parametrize("compiler", COMPILERS)
def test_public_names_are_reachable_through_it(header: Path, tmp_path: Path, compiler: str) -> None:
    names = sorted({name for names in repository.public_names().values() for name in names})
    assert len(names) > 100
    source = tmp_path / "names.cpp"
    uses = "".join(f"namespace probe {{ using millpond::{name}; }}\n" for name in names)
    source.write_text(f'#include "millpond_all.hpp"\n{uses}')
    run(compiler, "-std=c++20", *WARNINGS, "-I", header.parent, "-fsyntax-only", source)


def test_without_exceptions_it_compiles_too(header: Path, tmp_path: Path) -> None:
    source = tmp_path / "main.cpp"
    source.write_text(MAIN)
    words = ["-std=c++20", "-fno-exceptions", "-fno-rtti", *WARNINGS, "-I", header.parent, "-fsyntax-only"]
    for compiler in COMPILERS:
        run(compiler, *words, source)
