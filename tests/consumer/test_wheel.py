# SPDX-License-Identifier: BSL-1.0
"""`pip install .` brings the native programs along, beside the package, and they start from there."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = ["millpond-record", "millpond-characterise", "millpond-trial"]
LIBRARIES = ["libmillpond-record.so", "libmillpond-trial.so"]

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder into which a wheel of this tree was installed. The build's requirements come from .venv."""
    work = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    offline = ["--no-deps", "--no-build-isolation"]
    building = [*offline, f"--config-settings=build-dir={work / 'build'}", "--wheel-dir", str(work)]
    subprocess.run([*pip, "wheel", *building, str(ROOT)], check=True)
    (wheel,) = work.glob("millpond-*.whl")
    assert "py3-none-linux" in wheel.name, "the wheel holds programs of this machine, and no Python extension"
    subprocess.run([*pip, "install", "--no-deps", "--target", str(work / "site"), str(wheel)], check=True)
    return work / "site"


def user_environment(installed: Path) -> dict[str, str]:
    """What a user has who installed the wheel. With -S, python leaves out the editable install of this tree."""
    kept = {key: value for key, value in os.environ.items() if key != "MILLPOND_BIN"}
    return {**kept, "PYTHONPATH": f"{installed}{os.pathsep}{sysconfig.get_path('purelib')}"}


def test_wheel_holds_programs_and_libraries(installed: Path) -> None:
    native = installed / "millpond/_native"
    for program in PROGRAMS:
        assert os.access(native / "bin" / program, os.X_OK), program
    for library in LIBRARIES:
        assert (native / "lib/millpond" / library).is_file(), library
    # What `synthesize --preload` compiles; other headers a wheel does not need.
    for source in ("preload/locked_malloc.hpp", "lab/mallocs/classic_library.cpp", "include/millpond/classic.hpp"):
        assert (native / "lib/millpond/source" / source).is_file(), source
    assert {path.name for path in native.iterdir()} == {"bin", "lib"}


def test_wheel_holds_the_published_tables_and_statements(installed: Path) -> None:
    """`millpond bench` reads them from its package."""
    package = installed / "millpond/bench/suites"
    assert len(list((package / "paper").glob("p0089_benchmark*.csv"))) == 4
    for table in ("countertree_claims", "reserve_commit_dtrace"):
        assert (package / f"paper/{table}.csv").is_file()
    for document in ("p0089", "unique_chars", "suballocator", "reserve_commit"):
        assert (package / f"claims/{document}.toml").is_file()


def test_installed_program_records(installed: Path, tmp_path: Path) -> None:
    """The recorder finds its library from where the wheel put it, and python finds the recorder."""
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


def test_unpacked_wheel_contains_no_sources(installed: Path) -> None:
    (wheel,) = installed.parent.glob("millpond-*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert not [name for name in names if name.endswith((".cpp", ".hpp", ".h"))]
