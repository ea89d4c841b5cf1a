# SPDX-License-Identifier: BSL-1.0
"""Writes the result of a synthesis: a header with the classes and their reasons, and a malloc library built from it.

my_allocator.hpp ─▶ my_allocator::scheme, my_allocator::heap<>
        └─▶ lab/mallocs/classic_library.cpp, preload/, src/os ──the compiler of this machine──▶ my_malloc.so
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
from collections.abc import Sequence
from pathlib import Path

from millpond.advice.code_header import one_line
from millpond.advice.site_choice import parts_of
from millpond.advice.synthesis import ClassUse, SourceUse, Synthesis
from millpond.system import native, output
from millpond.system.environment import user_environment
from millpond.system.errors import Failure, Status, cannot_write
from millpond.system.temporary import temporary_folder
from millpond.system.wording import bytes_text, plural

# The second line of every header. A later synthesis replaces only files that have it.
MARK = "// Made by `millpond synthesize`"
# A malloc's blocks must fit any type, so its classes are multiples of this.
MALLOC_GRANULE = 16
_COLUMNS = 120
_SOURCES = (
    "lab/mallocs/classic_library.cpp", "preload/deep_binding.cpp", "preload/environment.cpp",
    "preload/exit_statistics.cpp", "preload/fork_mark.cpp", "preload/frame_rule.cpp", "preload/next_new.cpp",
    "preload/real.cpp", "src/os/posix.cpp",
)  # fmt: skip
# The same options as in cmake/preload_library.cmake and lab/mallocs/CMakeLists.txt.
_OPTIONS = (
    "-std=c++20", "-O2", "-g", "-DNDEBUG", "-fPIC", "-shared", "-fvisibility=hidden", "-fvisibility-inlines-hidden",
    "-fno-stack-protector", "-fno-plt", "-ftls-model=initial-exec", "-fasynchronous-unwind-tables", "-fno-exceptions",
    "-fno-rtti", "-fno-threadsafe-statics", "-fomit-frame-pointer", "-U_FORTIFY_SOURCE", "-nodefaultlibs",
    "-Wl,--no-undefined", "-Wl,-z,now", "-Wl,--hash-style=gnu", "-Wl,-z,initfirst", "-Wl,-z,nodelete",
)  # fmt: skip
_SHIM = """\
#include "{header}"
#include "preload/heap_region.hpp"
namespace millpond::mallocs::heaps {{
template <class Counts>
using synthesized = ::{name}::heap<Counts, preload::heap_region>;
}}
"""
_PREDICTING_SHIM = """\
#define MILLPOND_PREDICTS 1
#include "{header}"
#include "lab/mallocs/site_prediction.hpp"
#include "preload/heap_region.hpp"
namespace millpond::mallocs::heaps {{
using prediction = site_prediction<::{name}::short_lived>;
template <class Counts>
using synthesized = ::{name}::heap<Counts, preload::heap_region, prediction>;
}}
"""


def name_of(path: Path) -> str:
    """Returns the namespace of a header: its file's name, with `_allocator` added if it is one word, which C++ may
    reserve. Failure (2) if the name is not an identifier.

    Failure (2) where the name is no identifier.
    """
    name = re.sub(r"\W", "_", path.stem, flags=re.ASCII)
    if "_" not in name:
        name += "_allocator"
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name) or "__" in name:
        raise Failure(
            Status.USAGE, f"the namespace gets the name of the file {path}, which is no C++ name: try my_allocator.hpp"
        )
    return name


def prove_replaceable(path: Path) -> None:
    """Raises Failure (2) if a file exists that no synthesis has written, so that no user's file is overwritten."""
    try:
        if not path.exists() or (path.is_file() and MARK.encode() in path.read_bytes()[:500]):
            return
    except OSError as error:
        raise cannot_write(path, error) from error
    raise Failure(
        Status.USAGE, f"-o: {path} exists and was not made by `millpond synthesize`; nothing is overwritten: "
        "name a new file",
    )  # fmt: skip


def header(found: Synthesis, name: str) -> str:
    """Returns the text of the header."""
    made = found.made_from
    lines = [
        "// SPDX-License-Identifier: BSL-1.0",
        f"{MARK} from {plural(len(made), 'trace')}: size classes for the requests of these runs:",
        *[_run(use.program, use.census.requests) for use in made],
        "//",
        "//   class  serves            requests   share    lost   most blocks",
        *[_class_line(use) for use in found.uses],
        "//",
        f"// lost: bytes of blocks that were not requested. Weight {found.weight:g}: {_weight_words(found.weight)}.",
        "// Other classes in comparison; peak: estimated bytes, added up over the traces:",
        "//",
        "//   classes                number    lost        peak",
        *[_source_line([use.sources[i] for use in made]) for i in range(len(made[0].sources))],
        "//",
        *_arena_lines(found),
        "// Larger requests go to gnu_gxx. Compile with C++20 and Millpond's include folder:",
        f"//     {name}::heap<> heap;",
        "//     void* block = heap.allocate(24, 8);",
        "//     heap.deallocate(block);",
        "#pragma once",
        *_declarations(found.classes, _sites(found), name),
    ]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def minimal_header(classes: Sequence[int], name: str) -> str:
    """Returns a header of these classes without comments."""
    return "\n".join(["#pragma once", *_declarations(classes, [], name)]) + "\n"


def _declarations(classes: Sequence[int], sites: Sequence[str], name: str) -> list[str]:
    return [
        "",
        *(["#include <array>", "#include <millpond/classic/predicted_site.hpp>"] if sites else []),
        "#include <millpond/classic/size_map.hpp>",
        "#include <millpond/core/class_map.hpp>",
        "",
        f"namespace {name} {{",
        "",
        *_scheme(classes),
        "",
        *sites,
        "template <class Counts = millpond::classic::uncounted, class Region = millpond::region,",
        "          class Prediction = millpond::classic::no_prediction>",
        "using heap =",
        "    millpond::classic::size_map<scheme, millpond::classic::pointer_words, Counts, Region, Prediction>;",
        "",
        f"}}  // namespace {name}",
    ]


def _run(program: str, requests: int) -> str:
    return f"//   {one_line(program)[:80].rstrip(chr(92) + ' ')} ({plural(requests, 'request')})"


def _class_line(use: ClassUse) -> str:
    if use.bytes is None:
        return f"//       –  {f'{use.first_bytes}…':<14}{use.requests:>12}{100 * use.share:>7.1f} %"
    serves = f"{use.first_bytes}…{use.bytes}"
    shares = f"{100 * use.share:>7.1f} %{100 * use.lost_share:>6.1f} %"
    return f"//   {use.bytes:>5}  {serves:<14}{use.requests:>12}{shares}{use.peak_blocks:>12}"


def _source_line(uses: Sequence[SourceUse]) -> str:
    lost = sum(use.lost_share for use in uses) / len(uses)
    peak = bytes_text(sum(use.peak_bytes for use in uses))
    return f"//   {uses[0].source:<22}{uses[0].classes:>7}{100 * lost:>6.1f} %{peak:>12}"


def _weight_words(weight: float) -> str:
    if weight == 1:
        return "these classes need the least memory at the peaks"
    return "internal fragmentation counts " + ("more" if weight > 1 else "less") + " than free blocks"


def _arena_lines(found: Synthesis) -> list[str]:
    """Returns comments on the arena: the predictions for short-lived blocks, and the results on other inputs."""
    if not found.has_arena:
        return []
    lines = [
        f"// As a malloc it gives {plural(len(found.sites), 'call site')} an arena of {found.arena_chunks} chunks of "
        f"4 KiB: their objects",
        f"// were freed before {found.short_bytes // 1024} KiB more were requested, {_exception(found.wrong_one_in)}.",
        "// One that lives longer keeps its chunk until it is freed. Shares: predicted, of all bytes; and of the",
        "// predicted ones those that lived longer:",
        "//",
    ]
    for use in found.traces:
        if use.arena:
            shares = f"{100 * use.arena.predicted_share:>5.1f} %{100 * use.arena.wrong_share:>8.3f} %"
            lines.append(f"//   {shares}   {one_line(use.program)[:70].rstrip(chr(92) + ' ')}"
                         f"{' (not made from it)' if use.held_out else ''}")  # fmt: skip
    return [*lines, "//"]


def _exception(wrong_one_in: int) -> str:
    return f"except at most 1 byte in {wrong_one_in} of each site" if wrong_one_in else "without an exception"


def _sites(found: Synthesis) -> list[str]:
    """Returns the predicted call sites as data; empty without any."""
    if not found.has_arena:
        return []
    modules = sorted({parts_of(frame)[0] for site in found.sites for frame in site.frames})  # type: ignore[index]
    lines = [
        "// The call sites of the arena: bytes, frames, and of each frame its module and offset.",
        "struct short_lived {",
        f"    static constexpr unsigned chunks = {found.arena_chunks};",
        f"    static constexpr std::array modules{{{', '.join(json.dumps(module) for module in modules)}}};",
        f"    static constexpr std::array<millpond::classic::predicted_site, {len(found.sites)}> sites{{{{",
    ]
    for site in found.sites:
        frames = (parts_of(frame) for frame in site.frames)
        pairs = ", ".join(f"{{{modules.index(part[0])}, {part[1]:#x}}}" for part in frames if part)
        wrong = f"  // {site.wrong_bytes} of {site.bytes} bytes lived longer" if site.wrong_bytes else ""
        lines.append(f"        {{{site.size}, {len(site.frames)}, {{{{{pairs}}}}}}},{wrong}")
    return [*lines, "    }};", "};", ""]


def _scheme(classes: Sequence[int]) -> list[str]:
    """Returns the declaration, broken into lines of at most 120 columns."""
    lines, line = [], "using scheme = millpond::class_map<"
    for number, size in enumerate(classes):
        word = f"{size}{'>;' if number + 1 == len(classes) else ','}"
        if len(line) + len(word) + 1 > _COLUMNS:
            lines.append(line)
            line = "   "
        line += word if line.endswith("<") else f" {word}"
    return [*lines, line]


def compiler() -> list[str]:
    """Returns the words of $CXX, or the first C++ compiler of this machine. Failure (4) without one."""
    chosen = shlex.split(os.environ.get("CXX", ""))
    for words in [chosen] if chosen else [["c++"], ["g++"], ["clang++"]]:
        if shutil.which(words[0]):
            return words
    what = f"$CXX names {chosen[0]}, which does not exist" if chosen else "there is no C++ compiler"
    raise Failure(Status.ENVIRONMENT, f"-o FILE.so: {what}; `apt-get install g++` installs one, or set CXX to yours")


def source_folder() -> Path:
    """Returns the folder of the malloc libraries' sources: in the repository of this file, or in the installation."""
    package = Path(__file__).resolve().parents[1]
    folders = [package / "_native" / "lib" / "millpond" / "source", package.parents[1]]
    for folder in folders:
        if all((folder / source).is_file() for source in _SOURCES):
            return folder
    looked = ", ".join(map(str, folders))
    raise Failure(Status.ENVIRONMENT, f"-o FILE.so: Millpond's sources are not in {looked}; reinstall Millpond")


def build_library(text: str, name: str, library: Path) -> None:
    """Compiles a header's allocator to a malloc for LD_PRELOAD. Failure (4) if it fails; then no library is left
    behind.
    """
    root, words = source_folder(), compiler()
    with temporary_folder() as folder:
        (folder / f"{name}.hpp").write_text(text, encoding="utf-8")
        shim, built = folder / "synthesized_heap.hpp", folder / "malloc.so"
        template = _PREDICTING_SHIM if "struct short_lived {" in text else _SHIM
        shim.write_text(template.format(header=f"{name}.hpp", name=name), encoding="utf-8")
        done = native.capture(
            [*words, *_OPTIONS, "-I", str(root), "-I", str(root / "include"), "-include", str(shim),
             "-DMILLPOND_HEAP=synthesized", *[str(root / source) for source in _SOURCES], "-o", str(built), "-lc",
             "-lgcc"],
            user_environment(),
        )  # fmt: skip
        if done.status != 0:
            first = next((line for line in done.said.splitlines() if "error" in line), done.said[:300])
            raise Failure(
                Status.ENVIRONMENT, f"-o FILE.so: {shlex.join(words)} could not build {library}: {first}; "
                "use gcc 12, clang 16 or later",
            )  # fmt: skip
        output.write_bytes(library, built.read_bytes())
