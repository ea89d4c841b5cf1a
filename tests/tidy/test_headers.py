# SPDX-License-Identifier: BSL-1.0
"""The library's headers: each compiles on its own without warnings of both compilers, and its umbrella includes it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import repository

FLAGS = [
    "-std=c++20",
    "-Wall",
    "-Wextra",
    "-Wpedantic",
    "-Wshadow",
    "-Werror",
    "-Iinclude",
    "-fsyntax-only",
    "-x",
    "c++",
]
MACROS_ALLOWED = 6
OS_HEADERS = ("faults.hpp", "file_pages.hpp", "numa_pages.hpp", "optional_calls.hpp", "pages.hpp", "thread_end.hpp")


def compile_alone(compiler: str, header: Path, *flags: str) -> str:
    """Returns the compiler's messages for a source that includes the header twice and uses its listed names."""
    name = header.relative_to("include").as_posix()
    source = f"#include <{name}>\n#include <{name}>\n"
    listed = repository.public_names().get(header.relative_to("include/millpond").as_posix(), [])
    source += "".join(f"using millpond::{public};\n" for public in listed)
    command = [compiler, *FLAGS, *flags, "-"]
    done = subprocess.run(command, cwd=repository.ROOT, input=source, capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else f"{header}:\n{done.stderr[:2000]}"


@pytest.mark.parametrize(
    ("compiler", "flags"),
    [
        pytest.param("g++", (), marks=pytest.mark.more),
        # Preloaded libraries and embedded users compile without exceptions and run-time types.
        ("g++", ("-fno-exceptions", "-fno-rtti")),
        pytest.param("clang++-19", (), marks=pytest.mark.slow),
    ],
)
def test_every_header_compiles_on_its_own(compiler: str, flags: tuple[str, ...]) -> None:
    if not shutil.which(compiler):
        pytest.skip(f"{compiler} is not installed")
    headers = repository.library_headers()
    assert headers, "include/ has no headers"
    if flags:  # only the umbrellas: code that depends on exceptions lies in few places
        headers = [header for header in headers if header.parent == Path("include/millpond")]
    with ThreadPoolExecutor(int(os.environ.get("JOBS", os.cpu_count() or 1))) as pool:
        said = [text for text in pool.map(lambda header: compile_alone(compiler, header, *flags), headers) if text]
    assert not said, "\n".join(said)


def test_umbrellas_have_every_public_header_and_no_other() -> None:
    """local.hpp includes the headers of local/ and none of its detail/; millpond.hpp includes every umbrella."""
    included = re.compile(r'#include "([^"]+)"')
    wrong = []
    for umbrella in [path for path in repository.library_headers() if path.parent == Path("include/millpond")]:
        if umbrella.stem == "millpond":
            wanted = {path.name for path in repository.library_headers() if path.parent == umbrella.parent} - {
                umbrella.name
            }
        else:
            wanted = {name for name in repository.public_names() if name.split("/")[0] == umbrella.stem}
        if set(included.findall(repository.text(umbrella))) != wanted:
            wrong.append(f"{umbrella} should include {sorted(wanted)}")
    assert not wrong, "\n".join(wrong)


def test_headers_include_one_another_by_relative_paths() -> None:
    """Relative paths work wherever the folder lies, and never reach headers of another version."""
    wrong = [str(path) for path in repository.library_headers() if "#include <millpond/" in repository.text(path)]
    assert not wrong, wrong


def test_every_header_opens_the_namespace_of_the_mode() -> None:
    """Otherwise names are the same in all modes, and translation units of different modes would link."""
    # These files are compiled once, for all modes.
    exempt = {Path("include/millpond/os") / name for name in OS_HEADERS}
    public = "namespace millpond::inline MILLPOND_ABI {"
    detail = "namespace millpond::inline MILLPOND_ABI::detail {"
    wrong = []
    for header in set(repository.library_headers()) - exempt:
        opened = re.findall(r"^namespace [^\n{]*\{", repository.text(header), re.MULTILINE)
        is_umbrella = header.parent == Path("include/millpond")
        room = header.parts[2] if header.parts[2] in ("classic", "advise") else ""
        own = public.replace(" {", f"::{room} {{") if room else public
        allowed = {detail} if header.parent.name == "detail" else {own, detail}
        if not set(opened) <= allowed or bool(opened) == is_umbrella:
            wrong.append(f"{header}: {opened}")
    assert not wrong, "\n".join(wrong)


def test_library_has_at_most_six_macros() -> None:
    define = re.compile(r"^\s*#\s*define\s+(\w+)", re.MULTILINE)
    macros = {name for header in repository.library_headers() for name in define.findall(repository.text(header))}
    foreign = sorted(name for name in macros if not name.startswith("MILLPOND_"))
    assert not foreign, f"macros of the library begin with MILLPOND_: {foreign}"
    assert len(macros) <= MACROS_ALLOWED, sorted(macros)


def test_library_makes_no_system_calls() -> None:
    """Headers of the operating system stay in src/os/; the library uses only the standard library."""
    system = re.compile(r"#\s*include\s+<(?:sys/|unistd|pthread|linux/|windows|fcntl|dlfcn|malloc\.h)")
    wrong = [str(header) for header in repository.library_headers() if system.search(repository.text(header))]
    assert not wrong, wrong


def test_every_header_states_its_purpose() -> None:
    wrong = []
    for header in [path for path in repository.cxx_files() if path.suffix == ".hpp"]:
        lines = repository.text(header).splitlines()
        if len(lines) < 2 or not re.match(r"// \S", lines[1]):
            wrong.append(str(header))
    assert not wrong, f"the second line must say what the header is for: {wrong}"
