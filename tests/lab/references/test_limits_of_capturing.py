# SPDX-License-Identifier: BSL-1.0
"""Programs that cannot be captured give one sentence with a remedy, and partial traces are marked."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tiers import mostly_more

ROOT = Path(__file__).resolve().parents[3]
BIN = Path(os.environ.get("MILLPOND_BIN") or ROOT / "build" / "release" / "bin").absolute()
PROGRAMS = BIN.parent / "tests" / "bin"
PROGRAM, WINDOWS = PROGRAMS / "unusual_program", PROGRAMS / "window_program"
CAPTURE = BIN / "millpond-references"
Result = subprocess.CompletedProcess[str]
RAW = re.compile(r"^(==|--)[0-9]+(==|--)|^valgrind:", re.MULTILINE)


def run(trace: Path, *words: str | Path, options: tuple[str, ...] = (), **variables: str) -> Result:
    done = subprocess.run(
        [CAPTURE, "-o", trace, *options, "--", *words], env={**os.environ, **variables}, capture_output=True, text=True,
        check=False, timeout=240, cwd=trace.parent,
    )  # fmt: skip
    if done.returncode == 4 and "install the package valgrind" in done.stderr:
        pytest.skip(done.stderr.strip())
    assert not RAW.search(done.stderr), done.stderr
    return done


def said(done: Result) -> list[str]:
    lines = done.stderr.splitlines()
    assert all(line.startswith("millpond: ") for line in lines), done.stderr
    return lines


def stopped(trace: Path) -> int:
    done = subprocess.run([BIN / "millpond-trace", "info", trace], capture_output=True, text=True, check=True)
    found = re.search(r"stopped_early=(\d+)", done.stdout)
    assert found, done.stdout
    return int(found[1])


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    return tmp_path / "a.mpt"


@pytest.mark.parametrize(
    "how", mostly_more(["plain", "file_size", "descriptors", "again", "stack", "close"], "plain", "descriptors")
)
def test_a_program_with_limits_ends_as_bare(trace: Path, how: str) -> None:
    bare = subprocess.run([PROGRAM, how], check=False, timeout=60)
    done = run(trace, PROGRAM, how)
    assert (done.returncode, said(done)) == (bare.returncode, [])
    assert stopped(trace) == 0


def test_the_trace_after_an_exec_of_itself_names_the_program(trace: Path) -> None:
    assert run(trace, PROGRAM, "again").returncode == 0
    (after,) = [path for path in trace.parent.iterdir() if path != trace]
    info = subprocess.run([BIN / "millpond-trace", "dump", after], capture_output=True, text=True, check=False)
    assert str(PROGRAM.resolve()) in info.stdout


@pytest.mark.more
def test_700_threads_are_captured(trace: Path) -> None:
    done = run(trace, PROGRAM, "threads", "700")
    assert (done.returncode, said(done)) == (0, [])


def test_an_unknown_instruction_names_place_and_flag(trace: Path) -> None:
    done = run(trace, PROGRAM, "instruction")
    (line,) = said(done)
    assert done.returncode == 4
    assert "AVX-512" in line and "in unknown_instruction" in line and "without -mavx512f" in line and "partial" in line
    assert stopped(trace) != 0


@pytest.mark.parametrize(("how", "word"), [("seccomp", "sandbox"), ("shared", "CLONE_VM")])
def test_programs_that_cannot_be_captured_get_a_remedy(trace: Path, how: str, word: str) -> None:
    done = run(trace, PROGRAM, how)
    (line,) = said(done)
    assert word in line and "partial" in line and done.returncode == 4
    assert stopped(trace) != 0


def test_a_program_without_a_file_runs_without_a_capture(trace: Path) -> None:
    done = run(trace, PROGRAM, "nameless")
    (line,) = said(done)
    assert done.returncode == 0 and "without a capture" in line and "no name" in line


def test_a_set_user_id_program_is_refused(trace: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copy(PROGRAM, copy)
    copy.chmod(0o4755)
    done = run(trace, copy)
    assert done.returncode == 4 and "capture a copy" in done.stderr and not trace.exists()


def test_a_32_bit_program_is_refused_with_its_cure(trace: Path, tmp_path: Path) -> None:
    image = bytearray(PROGRAM.read_bytes())
    image[4], image[18] = 1, 3  # ELFCLASS32, EM_386
    old = tmp_path / "old"
    old.write_bytes(image[:52])
    old.chmod(0o755)
    done = run(trace, old)
    assert done.returncode == 4 and "-m64" in done.stderr


BOOK = """
#include <vector>
namespace shop {
struct book {
    std::vector<long*> pages;
    __attribute__((noinline)) void add(int i) { pages.push_back(new long(i)); }
};
}
int main() {
    shop::book b;
    for (int i = 0; i < 50; ++i) b.add(i);
    for (long* page : b.pages) delete page;
}
"""


def with_debug_information(folder: Path, compiler: str, options: str) -> Path:
    """Builds a program with a compiler of this machine; `options` may have its sections compressed by zstd."""
    names = {"g++": ["g++"], "clang++": ["clang++", "clang++-19", "clang++-18", "clang++-16", "clang++-14"]}[compiler]
    found = next((path for name in names if (path := shutil.which(name))), None)
    if found is None:
        pytest.skip(f"{compiler} is not on this machine")
    (folder / "book.cpp").write_text(BOOK)
    program = folder / "book"
    words = [word for word in options.split() if word != "zstd"]
    command = [found, "-O1", *words, "book.cpp", "-o", program]
    done = subprocess.run(command, cwd=folder, capture_output=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"{found} cannot build with {options}")
    if "zstd" in options.split():
        done = subprocess.run(["objcopy", "--compress-debug-sections=zstd", program], capture_output=True, check=False)
        if done.returncode != 0:
            pytest.skip("objcopy knows no zstd")
    return program


@pytest.mark.parametrize(
    ("compiler", "options"),
    mostly_more(
        [("g++", "-g -gsplit-dwarf"), ("g++", "-gdwarf-5 -gdwarf64"), ("g++", "-gdwarf-4 -gdwarf64"),
         ("g++", "-gdwarf-3"), ("g++", "-gdwarf-5 -fdebug-types-section"), ("g++", "-g zstd"), ("g++", "-g -gz"),
         ("clang++", "-g"), ("clang++", "-g -gsplit-dwarf"), ("clang++", "-gdwarf-5 -gdwarf64"),
         ("clang++", "-g -fdebug-types-section")],
        "g++ -g -gsplit-dwarf", "g++ -g zstd", "clang++ -g"),
)  # fmt: skip
def test_any_debug_information_is_captured(trace: Path, tmp_path: Path, compiler: str, options: str) -> None:
    program = with_debug_information(tmp_path, compiler, options)
    done = run(trace, program, options=("--window", "_ZN4shop4book3addEi"))
    assert (done.returncode, said(done)) == (0, [])
    done = run(trace, program)
    assert (done.returncode, said(done)) == (0, [])
    shown = subprocess.run([BIN / "millpond-characterise", trace], capture_output=True, check=True).stdout
    assert "shop::book" in [subsystem["name"] for subsystem in json.loads(shown)["subsystems"]]


def test_damaged_debug_information_is_reported_with_a_remedy(trace: Path, tmp_path: Path) -> None:
    program = with_debug_information(tmp_path, "g++", "-gdwarf-4")
    section, damaged = tmp_path / "section", tmp_path / "damaged"
    if subprocess.run(["objcopy", "--dump-section", f".debug_info={section}", program], check=False).returncode != 0:
        pytest.skip("objcopy cannot take out a section")
    content = section.read_bytes()
    section.write_bytes(content[:6] + b"\xff" * 4 + content[10:])  # where the abbreviations lie
    subprocess.run(["objcopy", "--update-section", f".debug_info={section}", program, damaged], check=True)
    done = run(trace, damaged)
    (line,) = said(done)
    assert done.returncode == 4 and not trace.exists()
    assert f"debug information of {damaged}" in line and "strip -g" in line and "nothing was captured" in line


@pytest.mark.parametrize(
    ("window", "word"),
    [("wroking", "near are working"), ("folded", "was inlined everywhere")],
)
def test_a_window_without_a_function_is_refused_before(trace: Path, window: str, word: str) -> None:
    done = run(trace, WINDOWS, options=("--window", window))
    assert word in done.stderr and done.returncode == 3 and not trace.exists()


@pytest.mark.parametrize(("how", "window"), [("plain", "never_called"), ("plain", "cosh")])
def test_a_window_that_never_opens_is_reported(trace: Path, how: str, window: str) -> None:
    done = run(trace, PROGRAM, how, options=("--window", window))
    (line,) = said(done)
    assert done.returncode == 3 and window in line and "nothing was captured in it" in line


def test_a_window_opens_in_the_program(trace: Path) -> None:
    done = run(trace, PROGRAM, options=("--window", "working"))
    assert (done.returncode, said(done)) == (0, [])


@pytest.mark.parametrize("folder", ["missing", "unwritable"])
def test_no_temporary_folder_is_needed(trace: Path, tmp_path: Path, folder: str) -> None:
    place = tmp_path / folder
    if folder == "unwritable":
        place.mkdir(mode=0o500)
    done = run(trace, PROGRAM, TMPDIR=str(place))
    assert (done.returncode, said(done)) == (0, [])


def test_a_killed_program_leaves_a_partial_trace(trace: Path) -> None:
    with subprocess.Popen(
        [CAPTURE, "-o", trace, "--", PROGRAM, "wait"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as capture:
        assert capture.stdout and capture.stderr
        if capture.stdout.readline() != "here\n":
            pytest.skip(capture.stderr.read())
        children = Path(f"/proc/{capture.pid}/task/{capture.pid}/children").read_text().split()
        for child in map(int, children):
            name = Path(f"/proc/{child}/cmdline").read_bytes()
            if b"--tool=millpond" in name:
                os.kill(child, signal.SIGKILL)
        line = capture.stderr.read()
    assert capture.returncode == -signal.SIGKILL
    assert "is partial" in line and stopped(trace) != 0


def test_a_full_disk_names_the_trace_and_how_to_go_on(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    if os.geteuid() != 0 or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=100k", "tmpfs", disk], check=False,
                                           capture_output=True).returncode != 0:  # fmt: skip
        pytest.skip("only root can mount a small disk")
    try:
        file = disk / "full.mpt"
        done = run(file, PROGRAM)
        said(done)
        assert done.returncode == 4 and f"'millpond trace record --finish {file}'" in done.stderr and not file.exists()
        subprocess.run(["mount", "-o", "remount,size=20m", disk], check=True)
        done = subprocess.run([CAPTURE, "--finish", file], capture_output=True, text=True, check=False)
        assert done.returncode == 0 and "is partial" in done.stderr and stopped(file) != 0
    finally:
        for _ in range(20):
            if subprocess.run(["umount", disk], check=False, capture_output=True).returncode == 0:
                break
            time.sleep(0.2)
