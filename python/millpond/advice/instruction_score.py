# SPDX-License-Identifier: BSL-1.0
"""Instructions that an allocator with given classes takes for a trace's requests: exact, by callgrind.

TRACE ─ millpond-replay --prepare ─▶ script ─ --play, under callgrind, on a malloc of these classes ─▶ own instructions

Counted is what lies in the malloc's library: every path that its requests take, with the cutting of pages and the
general allocator's searches. A replay has one call site, so an arena for call sites stays out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from millpond.advice.allocator_header import build_library, minimal_header
from millpond.system import callgrind, native
from millpond.system.environment import user_environment
from millpond.system.errors import Failure, Status
from millpond.system.temporary import temporary_folder

REPLAY = "millpond-replay"


def score(traces: Sequence[Path], sources: Mapping[str, tuple[int, ...]]) -> list[dict[str, int]]:
    """For each trace the instructions of each source of classes. Failure (4) without valgrind or a compiler."""
    callgrind.find_valgrind()
    with temporary_folder() as folder:
        libraries = {}
        for number, (source, classes) in enumerate(sources.items()):
            libraries[source] = folder / f"libscored_{number}.so"
            build_library(minimal_header(classes, "scored_heap"), "scored_heap", libraries[source])
        found = []
        for number, trace in enumerate(traces):
            script = folder / f"script_{number}"
            summary = folder / f"script_{number}.json"
            native.require(REPLAY, ["--prepare", str(trace), "-o", str(script), "--json", str(summary)])
            found.append({source: _instructions(script, library, folder) for source, library in libraries.items()})
            script.unlink()
        return found


def _instructions(script: Path, library: Path, folder: Path) -> int:
    """A played script starts itself again with the library, which callgrind follows."""
    profile = folder / "profile.callgrind"
    profile.unlink(missing_ok=True)
    options = [f"--callgrind-out-file={profile}", "--trace-children=yes"]
    done = native.capture([
        callgrind.find_valgrind(), "-q", "--tool=callgrind", *options, str(native.find(REPLAY)), "--play", str(script),
        "--strategy=recorded", "--touch=none", "--malloc", str(library), "--result", str(folder / "result.json"),
    ], user_environment())  # fmt: skip
    found = callgrind.instructions_by_file(profile).get(str(library), 0) if profile.is_file() else 0
    if done.status != 0 or found == 0:
        raise Failure(Status.ENVIRONMENT, f"--score: the replay under callgrind ended with {done.status}: "
                      f"{done.said.strip()[-300:] or 'it did not run on the malloc'}")  # fmt: skip
    return found
