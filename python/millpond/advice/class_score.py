# SPDX-License-Identifier: BSL-1.0
"""Measures the cost of an allocator with given classes for a trace: instructions, by callgrind, and simulated misses.

TRACE ─ millpond-replay --prepare ─▶ script ─ --play, on a malloc of these classes ─▶ under callgrind: own instructions
                                                                                   ─▶ captured: misses of one cache

Counts the instructions in the malloc's library: every path of its requests, including the cutting of pages and the
general allocator's searches. Counts the misses of the whole replay, and those inside the allocator's calls. A replay
writes each line of a block once and reads its script, the same for every set of classes. It has only one call site, so
an arena for call sites is left out.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from millpond.advice.allocator_header import build_library, minimal_header
from millpond.advice.synthesis import ClassScore
from millpond.system import callgrind, native
from millpond.system.environment import user_environment
from millpond.system.errors import Failure, Status
from millpond.system.progress import say
from millpond.system.temporary import temporary_folder

REPLAY = "millpond-replay"
CAPTURE, SIMULATE = "millpond-references", "millpond-simulate"
# The cache whose misses are counted: a usual first level.
CACHE, CACHE_NAME = "attributed:line=64,size=32K,ways=8", "32 KiB, 8 ways"
_MISSES = ("cold", "capacity", "conflict")


def score(traces: Sequence[Path], sources: Mapping[str, tuple[int, ...]]) -> list[dict[str, ClassScore]]:
    """Returns the score of each set of classes on each trace. Failure (4) without valgrind or a compiler."""
    callgrind.find_valgrind()
    with temporary_folder() as folder:
        libraries = {}
        for number, (source, classes) in enumerate(sources.items()):
            libraries[source] = folder / f"libscored_{number}.so"
            build_library(minimal_header(classes, "scored_heap"), "scored_heap", libraries[source])
        captures = _can_capture(folder)
        found = []
        for number, trace in enumerate(traces):
            script = folder / f"script_{number}"
            summary = folder / f"script_{number}.json"
            # The user accepted damaged traces when the tables were read.
            options = ["--damaged", "-o", str(script), "--json", str(summary)]
            native.require(REPLAY, ["--prepare", str(trace), *options])
            found.append({name: _score(script, library, folder, captures) for name, library in libraries.items()})
            script.unlink()
        return found


def _can_capture(folder: Path) -> bool:
    """Returns whether references can be captured here; prints the reason if not."""
    command = [str(native.find(CAPTURE)), "--instructions", "1", "-o", str(folder / "tried.mpt"), "--", "true"]
    done = native.capture(command, user_environment())
    if done.status != 0:
        say(f"--with score cannot count misses: {done.said.strip().removeprefix('millpond: ')}")
    return done.status == 0


def _score(script: Path, library: Path, folder: Path, captures: bool) -> ClassScore:
    instructions = _instructions(script, library, folder)
    return ClassScore(instructions, *(_misses(script, library, folder) if captures else (None, None)))


def _play(script: Path, library: Path, folder: Path, *options: str) -> list[str]:
    """Runs the script, which starts itself again with the library."""
    return [
        str(native.find(REPLAY)), "--play", str(script), "--strategy=recorded", *options, "--malloc", str(library),
        "--result", str(folder / "result.json"),
    ]  # fmt: skip


def _instructions(script: Path, library: Path, folder: Path) -> int:
    profile = folder / "profile.callgrind"
    profile.unlink(missing_ok=True)
    options = [f"--callgrind-out-file={profile}", "--trace-children=yes"]
    done = native.capture(
        [callgrind.find_valgrind(), "-q", "--tool=callgrind", *options,
         *_play(script, library, folder, "--touch=none")], user_environment()
    )  # fmt: skip
    found = callgrind.instructions_by_file(profile).get(str(library), 0) if profile.is_file() else 0
    if done.status != 0 or found == 0:
        raise Failure(Status.ENVIRONMENT, f"--with score: the replay under callgrind ended with {done.status}: "
                      f"{done.said.strip()[-300:] or 'it did not run on the malloc'}")  # fmt: skip
    return found


def _misses(script: Path, library: Path, folder: Path) -> tuple[int, int]:
    """Returns the misses of the whole replay, and those of the allocator's own accesses."""
    trace = folder / "captured.mpt"
    for old in folder.glob(f"{trace.name}*"):
        old.unlink()
    done = native.capture(
        [str(native.find(CAPTURE)), "--simulate", CACHE, "-o", str(trace), "--", *_play(script, library, folder)],
        user_environment(),
    )
    # The process starts itself again, and that second image has a trace of its own.
    played = list(folder.glob(f"{trace.name}.*"))
    if done.status != 0 or len(played) != 1:
        raise Failure(Status.ENVIRONMENT, f"--with score: the captured replay ended with {done.status}: "
                      f"{done.said.strip()[-300:] or 'it did not start itself again'}")  # fmt: skip
    told = json.loads(native.answer(SIMULATE, ["--json", "-", str(played[0])]))
    rows = [row for row in told["simulators"][0]["metrics"] if row["metric"] in _MISSES and "subject" not in row]
    own = sum(row["value"] for row in rows if row["origin"] == "allocator")
    return sum(row["value"] for row in rows), own
