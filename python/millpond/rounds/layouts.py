# SPDX-License-Identifier: BSL-1.0
"""Layouts: where another allocator would put the objects of a recorded program, and what it would access itself.

recording ──millpond-layout──▶ script of calls ──millpond-references --play, on the other allocator──▶ played
recording, played ──millpond-simulate --played──▶ misses of the program on the other allocator

The program itself does not run again: it is started, so that everything lies where it will, and in the place of its
main its calls to the allocator are made once more. Where its file is gone or another, they are made in a program of
ours, and libraries and variables lie somewhere else.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from millpond.rounds.mallocs import find_mallocs
from millpond.rounds.simulation_data import Simulation
from millpond.system import native
from millpond.system.errors import Failure, Status
from millpond.system.progress import say

LAYOUT, PLAYER, CAPTURE, SIMULATE = "millpond-layout", "millpond-player", "millpond-references", "millpond-simulate"
RECORDED, PER_SUBSYSTEM = "recorded", "per-subsystem"
_POOLS = "libmillpond-layout_pools.so"
_OURS = "libmillpond-{}.so"
_DAMAGED = "--damaged"  # accepted by all that read a recording


@dataclass(frozen=True)
class Layout:
    """An allocator on which a recorded program is thought to run. `library`: None for the C library's own malloc.

    `pools`: which objects get pools of their own, as options of millpond-layout; empty for none. They lie in `library`.
    """

    name: str
    library: Path | None = None
    pools: tuple[str, ...] = ()


def layout_of(word: str) -> Layout:
    """The layout that a user names: glibc, a malloc of this machine, one of ours, a library or a plan by its path, or
    "per-subsystem".

    Failure (2) for a name that nothing has, (3) for a path without a file.
    """
    if word == PER_SUBSYSTEM:
        return Layout(word, native.libraries(PLAYER) / _POOLS, ("--per-subsystem",))
    if word.endswith(".json"):
        return Layout(Path(word).name, native.libraries(PLAYER) / _POOLS, ("--plan", word))
    if "/" in word or word.endswith(".so"):
        library = Path(word)
        if not library.is_file():
            raise Failure(Status.INPUT, f"{word} is no file: a layout is a name or the path of a malloc library")
        return Layout(word, library.absolute())
    found, missing = find_mallocs(benchmark=True)
    known = {malloc.name: malloc.path for malloc in found}
    if word in known:
        return Layout(word, known[word])
    if word in missing:
        raise Failure(Status.ENVIRONMENT, f"{word} is not on this machine: apt install {missing[word]}")
    ours = native.libraries(PLAYER) / _OURS.format(word)
    if ours.is_file():
        return Layout(word, ours)
    names = ", ".join(sorted({PER_SUBSYSTEM, *known, *missing, *our_layouts()}))
    raise Failure(Status.USAGE, f"unknown layout {word}; there are: {names}")


def our_layouts() -> list[str]:
    """The names of our own malloc libraries, as far as they are built."""
    before, after = _OURS.split("{}")
    libraries = (path.name for path in native.libraries(PLAYER).glob(_OURS.format("*")))
    tools = {"record", "trial", "litter", "probes", "layout_pools"}  # which are no mallocs
    return sorted({name.removeprefix(before).removesuffix(after) for name in libraries} - tools)


@dataclass(frozen=True)
class Script:
    """The calls of a recorded program, ready to be played in `host`; `folder` holds it and what is played from it."""

    path: Path
    host: str
    folder: Path

    def play(self, layout: Layout) -> Path:
        """Makes the calls on the layout's allocator under the capturing tool. Returns what was recorded of it."""
        say(f"playing the calls on {layout.name}")
        played = self.folder / f"{layout.name.replace('/', '_')}.played"
        preload = ["--preload", str(layout.library)] if layout.library is not None else []
        native.require(CAPTURE, ["-o", str(played), *preload, "--play", str(self.path), "--", self.host])
        return played


def write_script(recording: Path, folder: Path, pools: Sequence[str] = ()) -> Script:
    """Failure (3) where the recording cannot be read, has no references or is damaged (unless `pools` has `--damaged`),
    or the plan is of another program.
    """
    path = folder / "calls.script"
    said = json.loads(native.answer(LAYOUT, ["--calls", str(recording), *pools, "-o", str(path)]))
    host = said["executable"]
    if not said["executable_is_same"]:
        say(f"{host} is not the file that was recorded: libraries and variables will lie elsewhere than in the program")
        host = str(native.find(PLAYER))
    return Script(path, host, folder)


def simulate_layouts(
    recording: Path, layouts: Sequence[Layout], options: Sequence[str], folder: Path
) -> list[tuple[str, Simulation]]:
    """The recording as it is, then on each layout. `options`: of millpond-simulate.

    One more layout costs a run of the player and a pass over the recording; what is played is removed at once.
    """
    say("simulating what was recorded")
    found = [(RECORDED, simulate_recording(recording, options, folder))]
    scripts: dict[tuple[str, ...], Script] = {}
    for layout in layouts:
        if layout.pools not in scripts:
            place = folder / f"script_{len(scripts)}"
            place.mkdir()
            accepted = [word for word in options if word == _DAMAGED]
            scripts[layout.pools] = write_script(recording, place, [*layout.pools, *accepted])
        played = scripts[layout.pools].play(layout)
        say(f"simulating {layout.name}")
        found.append((layout.name, simulate_recording(recording, [*options, "--played", str(played)], folder)))
        played.unlink()
    return found


def simulate_recording(recording: Path, options: Sequence[str], folder: Path) -> Simulation:
    """What millpond-simulate counts on a recording; `options` are its own."""
    out = folder / "simulation.json"
    sys.stderr.write(native.require(SIMULATE, [*options, "--json", str(out), "--", str(recording)]))
    return Simulation.read(out)
