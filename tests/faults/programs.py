# SPDX-License-Identifier: BSL-1.0
"""Splits the test programs of the library and of preload/: each source becomes a program with its target's command.

A fault then needs one or two small programs compiled instead of the whole suite. The commands are those of a configured
build; the library's headers and preload/ come from the copy in which a fault was planted.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import tempfile
import threading
from dataclasses import dataclass
from pathlib import Path

from faults import PRELOAD, ROOT

TIMEOUT_S = 60
MEMORY_BYTES = 8 << 30

# Targets without GoogleTest run as a whole, with these arguments.
WHOLE = {
    "library_misuse_checked": ["--check", "checked"],
    "library_misuse_asan": ["--check", "asan"],
    "library_misuse_release": ["--check", "release"],
    "library_misuse_hardened": ["--check", "release"],
    "library_no_exceptions": [],
    "library_static_life": [],
    "library_freestanding": [],
}


# Targets that use preload/.
OF_PRELOAD = {"lab_malloc"}

# The headers that nearly every test includes; they are precompiled.
COMMON = """gtest/gtest.h algorithm array atomic cstdio cstring deque forward_list functional limits list map
memory memory_resource mutex new optional queue random set stack stdexcept string thread tuple unordered_map
unordered_set utility variant vector"""


class BuildError(Exception):
    """A program cannot be built; the text is the compiler's output."""


def run_compiler(command: list[str], directory: str) -> None:
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise BuildError(done.stderr)


@dataclass(frozen=True)
class Unit:
    """One source of a target with its compiler command."""

    directory: str
    command: tuple[str, ...]  # without the output
    source: Path

    @property
    def flags(self) -> tuple[str, ...]:
        """The command without the source: the same for all units that may share a precompiled header."""
        return tuple(word for word in self.command if word not in ("-c", str(self.source)))

    def compile(self, headers: Path, output: Path, *more: str) -> None:
        """Writes the object. `headers`: the folder that replaces include/, with preload/ in it. Raises BuildError."""
        ours = str(ROOT / "include")
        command = [word.replace(ours, str(headers)) for word in self.command]
        if self.source.parent == ROOT / PRELOAD and headers != ROOT / "include":
            command = [
                str(headers / PRELOAD / self.source.name) if word == str(self.source) else word for word in command
            ]
        run_compiler([command[0], f"-I{headers}", *command[1:], "-w", *more, "-o", str(output)], self.directory)

    def includes(self) -> frozenset[str]:
        """Returns the files in this source that a fault may change, itself included, by the names that faults use."""
        command = [*self.flags, str(self.source), "-MM"]
        said = subprocess.run(command, cwd=self.directory, capture_output=True, text=True, check=True)
        found = re.findall(r"include/millpond/(\S+)|/(preload/\S+)", said.stdout)
        return frozenset(os.path.normpath(library or preload) for library, preload in found)


class SharedObjects:
    """Objects and headers without the fault, compiled once for all programs with the same flags. Thread-safe."""

    def __init__(self, folder: Path, headers: Path) -> None:
        self._folder = folder
        self._headers_as_they_are = headers
        self._lock = threading.Lock()
        self._objects: dict[tuple[str, ...], Path] = {}
        self._headers: dict[tuple[str, ...], Path] = {}
        self._includes: dict[Path, frozenset[str]] = {}

    def object_of(self, unit: Unit, headers: Path, output: Path) -> Path:
        """Returns the object of a preload/ source, compiled to `output` if it sees a change. Raises BuildError."""
        with self._lock:
            if unit.source not in self._includes:
                self._includes[unit.source] = unit.includes()
            includes = self._includes[unit.source]
        for name in includes:
            place = name if name.startswith("preload/") else f"millpond/{name}"
            if (headers / place).read_bytes() != (self._headers_as_they_are / place).read_bytes():
                unit.compile(headers, output)
                return output
        return self.unchanged(unit)

    def unchanged(self, unit: Unit) -> Path:
        """Returns the object of a source that does not see the fault."""
        with self._lock:
            if unit.command not in self._objects:
                output = self._folder / f"unchanged{len(self._objects)}.o"
                unit.compile(ROOT / "include", output)
                self._objects[unit.command] = output
            return self._objects[unit.command]

    def precompiled(self, unit: Unit) -> tuple[str, ...]:
        """Returns the options that include the common headers, precompiled with the unit's flags."""
        with self._lock:
            if unit.flags not in self._headers:
                folder = self._folder / f"common{len(self._headers)}"
                folder.mkdir()
                header = folder / "common.hpp"
                header.write_text("".join(f"#include <{name}>\n" for name in COMMON.split()), encoding="utf-8")
                command = [*unit.flags, "-w", "-x", "c++-header", str(header), "-o", f"{header}.gch"]
                run_compiler(command, unit.directory)
                self._headers[unit.flags] = header
            return ("-include", str(self._headers[unit.flags]))


@dataclass(frozen=True)
class Program:
    name: str
    units: tuple[Unit, ...]  # see the fault
    main: Unit | None  # GoogleTest's main; does not see the fault
    library: tuple[Unit, ...]  # the library's sources; do not see the fault
    sources: tuple[Unit, ...]  # sources of preload/; may see the fault
    arguments: tuple[str, ...]

    @property
    def is_sanitized(self) -> bool:
        return any(word.startswith("-fsanitize") for word in self.units[0].command)

    def build(self, headers: Path, folder: Path, shared: SharedObjects) -> Path:
        """Returns the executable. Raises BuildError."""
        objects = []
        for number, unit in enumerate(self.units):
            objects.append(str(folder / f"{number}.o"))
            unit.compile(headers, Path(objects[-1]), *(shared.precompiled(unit) if self.main else ()))
        for number, unit in enumerate(self.sources):
            objects.append(str(shared.object_of(unit, headers, folder / f"source{number}.o")))
        others = (*self.library, *([self.main] if self.main else []))
        objects += [str(shared.unchanged(unit)) for unit in others]
        executable = folder / "program"
        sanitizer = [word for word in self.units[0].command if word.startswith("-fsanitize")]
        command = [self.units[0].command[0], *sanitizer, *objects, "-lgtest", "-lrapidcheck", "-pthread"]
        run_compiler([*command, "-o", str(executable)], str(folder))
        return executable

    def run(self, executable: Path, seed: int) -> tuple[int, str]:
        """Returns the status (negative: ended by that signal, such as a timeout's) and the output."""
        limits = ["prlimit", "--core=0"]
        if not self.is_sanitized:  # a sanitizer reserves all memory and touches little of it
            # A limit on writable memory: arrays reserve more addresses than that.
            limits.append(f"--data={MEMORY_BYTES}")
        command = [*limits, str(executable), *self.arguments]
        if self.main is not None:
            command += [f"--seed={seed}", "--gtest_brief=1"]
        environment = {**os.environ, "ASAN_OPTIONS": "detect_leaks=1:symbolize=0"}
        with tempfile.TemporaryFile() as output:
            started = subprocess.Popen(command, stdout=output, stderr=output, env=environment, start_new_session=True)
            try:
                status = started.wait(TIMEOUT_S)
            except subprocess.TimeoutExpired:
                status = -signal.SIGALRM
            finally:
                kill_group(started.pid)
            output.seek(0)
            return status, output.read().decode(errors="replace")


def kill_group(leader: int) -> None:
    """Ends the processes that the program started as `leader` has left running."""
    try:
        os.killpg(leader, signal.SIGKILL)
    except ProcessLookupError:
        return


def without_precompiled(words: list[str]) -> list[str]:
    """Returns a command without the build's own precompiled header, which would replace ours."""
    result: list[str] = []
    for word in words:
        if word.endswith("cmake_pch.hxx"):
            result.pop()  # -include
        elif word not in ("-Winvalid-pch", "-fpch-preprocess"):
            result.append(word)
    return result


def read(build: Path) -> dict[str, Program]:
    """Returns the programs of a configured build by name: target/source for GoogleTest's, target for others."""
    targets: dict[str, list[Unit]] = {}
    for entry in json.loads((build / "compile_commands.json").read_text(encoding="utf-8")):
        words = without_precompiled(shlex.split(entry["command"]))
        at = words.index("-o")
        target = words[at + 1].split("CMakeFiles/")[1].split(".dir/")[0]
        unit = Unit(entry["directory"], tuple(words[:at] + words[at + 2 :]), Path(entry["file"]))
        if unit.source.name.startswith("cmake_pch"):
            continue
        targets.setdefault(target, []).append(unit)
    (main,) = targets["millpond_test_support"]
    library = tuple(targets["millpond"])
    programs: dict[str, Program] = {}
    for target, units in targets.items():
        if target in WHOLE:
            programs[target] = Program(target, tuple(units), None, library, (), tuple(WHOLE[target]))
        elif target in OF_PRELOAD or (target.startswith("library_") and "lab" not in units[0].source.parts):
            own_main = next((unit for unit in units if unit.source.name == "main.cpp"), main)
            for unit in units:
                is_test = unit.source.stem.endswith("_test") or "gtest" in unit.source.read_text(encoding="utf-8")
                if unit is not own_main and is_test:
                    name = f"{target}/{unit.source.stem}"
                    sources = tuple(targets["millpond_preload"]) if target in OF_PRELOAD else ()
                    programs[name] = Program(name, (unit,), own_main, library, sources, ())
    return programs
