# SPDX-License-Identifier: BSL-1.0
"""`pip install .` installs the native programs in the package, and they start from there."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = ["millpond-record", "millpond-characterise", "millpond-trial"]
LIBRARIES = ["libmillpond-record.so", "libmillpond-trial.so"]
# The files outside include and preload that `synthesize --preload` compiles.
CLASSIC_SOURCES = {
    "lab/mallocs/bump_heap.hpp", "lab/mallocs/classic_heaps.hpp", "lab/mallocs/classic_library.cpp",
    "lab/mallocs/site_prediction.hpp", "lab/mallocs/tagged_blocks.hpp", "src/os/posix.cpp",
}  # fmt: skip
SOURCES = "millpond/_native/lib/millpond/source/"
SUFFIXES = (".c", ".cc", ".cpp", ".h", ".hpp", ".inc", ".o", ".a", ".cmake", "CMakeLists.txt")
# Allocates blocks of one size at two call sites; the blocks of one site are freed at once.
SITES = """\
#include <stdio.h>
#include <stdlib.h>

static char* kept[20000];
static char* __attribute__((noinline)) brief(size_t bytes) { char* const p = malloc(bytes); *p = 60; return p; }
static char* __attribute__((noinline)) lasting(size_t bytes) { char* const p = malloc(bytes); *p = 40; return p; }

int main(void) {
    int sum = 0;
    for (int i = 0; i < 20000; ++i) {
        char* const p = brief(48);
        sum += *p;
        free(p);
        kept[i] = lasting(48);
    }
    for (int i = 0; i < 20000; ++i) { sum += *kept[i]; free(kept[i]); }
    printf("%d\\n", sum);
    return 0;
}
"""

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an installed wheel of this tree. The build's requirements come from .venv."""
    work = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    offline = ["--no-deps", "--no-build-isolation"]
    building = [*offline, f"--config-settings=build-dir={work / 'build'}", "--wheel-dir", str(work)]
    subprocess.run([*pip, "wheel", *building, str(ROOT)], env=with_ccache(), check=True)
    (wheel,) = work.glob("millpond-*.whl")
    assert "py3-none-linux" in wheel.name, "the wheel holds programs of this machine, and no Python extension"
    subprocess.run([*pip, "install", "--no-deps", "--target", str(work / "site"), str(wheel)], check=True)
    return work / "site"


@pytest.fixture(scope="module")
def with_bench(installed: Path) -> Path:
    """A folder with the wheels of both packages installed."""
    work, site = installed.parent, installed.parent / "both"
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    building = ["--no-deps", "--no-build-isolation", "--wheel-dir", str(work)]
    subprocess.run([*pip, "wheel", *building, str(ROOT / "python")], check=True)
    wheels = [str(path) for path in (*work.glob("millpond-*.whl"), *work.glob("millpond_bench-*.whl"))]
    assert len(wheels) == 2
    subprocess.run([*pip, "install", "--no-deps", "--target", str(site), *wheels], check=True)
    return site


def with_ccache() -> dict[str, str]:
    """Returns the environment of scripts/build: if ccache is installed, it serves earlier compilations."""
    launcher = shutil.which("ccache")
    launchers = {f"CMAKE_{language}_COMPILER_LAUNCHER": launcher for language in ("C", "CXX") if launcher}
    return {**launchers, **os.environ}


def user_environment(installed: Path) -> dict[str, str]:
    """Returns the environment of a user who installed the wheel. With -S, python ignores editable installs."""
    kept = {key: value for key, value in os.environ.items() if key != "MILLPOND_BIN"}
    return {**kept, "PYTHONPATH": f"{installed}{os.pathsep}{sysconfig.get_path('purelib')}"}


def test_wheel_holds_programs_and_libraries(installed: Path) -> None:
    native = installed / "millpond/_native"
    for program in PROGRAMS:
        assert os.access(native / "bin" / program, os.X_OK), program
    for library in LIBRARIES:
        assert (native / "lib/millpond" / library).is_file(), library
    assert {path.name for path in native.iterdir()} == {"bin", "lib"}


def test_wheel_holds_the_script_of_figures(installed: Path) -> None:
    """A page is one file, made offline: nothing of the script is fetched later."""
    script = installed / "millpond/report/bundle/figures.js"
    assert script.read_bytes() == (ROOT / "python/millpond/report/bundle/figures.js").read_bytes()
    assert [path.name for path in script.parent.iterdir()] == ["figures.js"]


def test_wheel_of_millpond_holds_no_papers(installed: Path) -> None:
    assert not (installed / "millpond_bench").exists()
    assert not [path for path in installed.rglob("*") if path.suffix in (".csv", ".toml")]
    command = [sys.executable, "-S", "-m", "millpond", "doctor", "--validate"]
    environment = {**user_environment(installed), "PYTHONPATH": f"{installed}{os.pathsep}{_others(installed.parent)}"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 4 and "pip install millpond-bench" in done.stderr


def _others(work: Path) -> Path:
    """A folder with what millpond depends on, and without the editable packages of .venv."""
    folder = work / "others"
    if not folder.exists():
        folder.mkdir()
        for path in Path(sysconfig.get_path("purelib")).iterdir():
            if "millpond" not in path.name:
                (folder / path.name).symlink_to(path)
    return folder


def test_wheel_of_the_bench_holds_the_published_tables_and_statements(with_bench: Path) -> None:
    """`millpond bench` reads them from its package."""
    package = with_bench / "millpond_bench/suites"
    assert len(list((package / "paper").glob("p0089_benchmark*.csv"))) == 4
    for table in ("countertree_claims", "reserve_commit_dtrace"):
        assert (package / f"paper/{table}.csv").is_file()
    for document in ("p0089", "unique_chars", "suballocator", "reserve_commit"):
        assert (package / f"claims/{document}.toml").is_file()


def test_millpond_finds_the_bench(with_bench: Path) -> None:
    environment = {
        **user_environment(with_bench),
        "PYTHONPATH": f"{with_bench}{os.pathsep}{_others(with_bench.parent)}",
    }
    command = [sys.executable, "-S", "-m", "millpond", "bench", "--list"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert "p0089.1" in done.stdout


def test_installed_program_records(installed: Path, tmp_path: Path) -> None:
    """The recorder finds its library where the wheel put it, and python finds the recorder."""
    trace = tmp_path / "true.mpt"
    command = [sys.executable, "-S", "-m", "millpond", "record", "-o", str(trace), "--", "perl", "-e", "print 1"]
    done = subprocess.run(
        command, cwd=tmp_path, env=user_environment(installed), capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "1"), done.stderr
    assert trace.stat().st_size > 0


def test_installed_package_finds_its_own_programs(installed: Path) -> None:
    environment = user_environment(installed)
    code = "from millpond.system import native; print(native.find('millpond-record'))"
    command = [sys.executable, "-S", "-c", code]
    found = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert Path(found.stdout.strip()) == installed / "millpond/_native/bin/millpond-record"


def test_only_a_synthesized_malloc_has_its_sources_in_the_wheel(installed: Path) -> None:
    """`synthesize --preload` compiles them. Other sources, tests and build products must not be in the wheel."""
    (wheel,) = installed.parent.glob("millpond-*.whl")
    files = [name for name in zipfile.ZipFile(wheel).namelist() if not name.endswith("/")]
    assert [name for name in files if not re.match(r"millpond/|millpond-[0-9.]+\.dist-info/", name)] == []
    carried = {name.removeprefix(SOURCES) for name in files if name.startswith(SOURCES)}
    assert [name for name in files if name.endswith(SUFFIXES) and name.removeprefix(SOURCES) not in carried] == []
    headers_and_preload = {name for name in carried if name.startswith(("include/millpond/", "preload/"))}
    assert carried - headers_and_preload == CLASSIC_SOURCES
    assert [name for name in carried if not name.endswith((".hpp", ".cpp")) or not (ROOT / name).is_file()] == []


@pytest.mark.parametrize("words", [[], ["--arena"]], ids=["plain", "with an arena"])
def test_installed_package_builds_a_synthesized_malloc(installed: Path, tmp_path: Path, words: list[str]) -> None:
    (tmp_path / "sites.c").write_text(SITES)
    subprocess.run(["cc", "-O1", "sites.c", "-o", "sites"], cwd=tmp_path, check=True)
    synthesize = ["synthesize", "sites.mpt", *words, "-o", "own.hpp", "--preload", "own.so"]
    for verb in (["record", "-o", "sites.mpt", "--", "./sites"], synthesize):
        done = subprocess.run(
            [sys.executable, "-S", "-m", "millpond", *verb], cwd=tmp_path, env=user_environment(installed),
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
    assert ("struct short_lived" in (tmp_path / "own.hpp").read_text()) == bool(words), "it takes sources of its own"
    environment = {**os.environ, "LD_PRELOAD": str(tmp_path / "own.so"), "MILLPOND_STATS": "1"}
    under = subprocess.run(["./sites"], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    assert under.stdout == "2000000\n" and "millpond synthesized: " in under.stderr
