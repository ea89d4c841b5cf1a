# SPDX-License-Identifier: BSL-1.0
"""Layouts: the addresses that another allocator would give to the objects of a recorded program, and that allocator's
own accesses.

    recording ──millpond-layout──▶ script of calls ──millpond-references --play, on the other allocator──▶ played
    recording, played ──millpond-simulate --played──▶ misses of the program on the other allocator

The program itself does not run again. It is started, so that everything has its usual address, and in the place of its
main its allocator calls are repeated. If its file is gone or changed, a program of ours repeats them; then libraries
and variables have other addresses.
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
_DAMAGED = "--damaged"  # accepted by all programs that read a recording


@dataclass(frozen=True)
class Layout:
    """An allocator for which a recorded program is simulated. `library`: None for the C library's own malloc.

    `pools`: options of millpond-layout that give objects pools of their own; empty for none. They lie in `library`.
    """

    name: str
    library: Path | None = None
    pools: tuple[str, ...] = ()


def layout_of(word: str) -> Layout:
    """The layout that a user names: glibc, a malloc of this machine, one of ours, a library or a plan by its path, or
    "per-subsystem".

    Failure (2) for an unknown name, (3) for a path without a file.
    """
    if word == PER_SUBSYSTEM:
        return Layout(word, native.libraries(PLAYER) / _POOLS, ("--per-subsystem",))
    if word.endswith(".json"):
        return Layout(Path(word).name, native.libraries(PLAYER) / _POOLS, ("--plan", word))
    if "/" in word or word.endswith(".so"):
        library = Path(word)
        if not library.is_file():
            raise Failure(Status.INPUT, f"there is no file {word}: a layout is a name or the path of a malloc library")
        return Layout(word, library.absolute())
    found, missing = find_mallocs(benchmark=True)
    known = {malloc.name: malloc.path for malloc in found}
    if word in known:
        return Layout(word, known[word])
    if word in missing:
        raise Failure(Status.ENVIRONMENT, f"{word} is not installed: apt install {missing[word]}")
    ours = native.libraries(PLAYER) / _OURS.format(word)
    if ours.is_file():
        return Layout(word, ours)
    names = ", ".join(sorted({PER_SUBSYSTEM, *known, *missing, *our_layouts()}))
    raise Failure(Status.USAGE, f"unknown layout {word}; choose one of {names}")


def our_layouts() -> list[str]:
    """The names of our own malloc libraries that are built."""
    before, after = _OURS.split("{}")
    libraries = (path.name for path in native.libraries(PLAYER).glob(_OURS.format("*")))
    tools = {"record", "trial", "litter", "probes", "layout_pools"}  # not mallocs
    return sorted({name.removeprefix(before).removesuffix(after) for name in libraries} - tools)


@dataclass(frozen=True)
class Script:
    """The allocator calls of a recorded program, ready to be played in `host`; `folder` holds it and the played
    recordings.
    """

    path: Path
    host: str
    folder: Path

    def play(self, layout: Layout) -> Path:
        """Makes the calls on the layout's allocator under the capturing tool. Returns the recording."""
        say(f"repeating the allocator calls on {layout.name}")
        played = self.folder / f"{layout.name.replace('/', '_')}.played"
        preload = ["--preload", str(layout.library)] if layout.library is not None else []
        native.require(CAPTURE, ["-o", str(played), *preload, "--play", str(self.path), "--", self.host])
        return played


def write_script(recording: Path, folder: Path, pools: Sequence[str] = ()) -> Script:
    """Writes the script. Failure (3) if the recording cannot be read, has no references or is damaged (unless `pools`
    has `--damaged`), or if the plan is of another program.
    """
    path = folder / "calls.script"
    said = json.loads(native.answer(LAYOUT, ["--calls", str(recording), *pools, "-o", str(path)]))
    host = said["executable"]
    if not said["executable_is_same"]:
        say(f"{host} is not the file that was recorded: libraries and variables will have other addresses")
        host = str(native.find(PLAYER))
    return Script(path, host, folder)


class LayoutSimulator:
    """Simulates a recording as it was recorded, and on other allocators. Not thread-safe.

    `options`: of millpond-simulate. `folder`: for the scripts, which layouts with the same pools share. A layout costs
    a run of the player and a pass over the recording; its played recording is removed at once.
    """

    def __init__(self, recording: Path, options: Sequence[str], folder: Path) -> None:
        self._recording = recording
        self._options = list(options)
        self._folder = folder
        self._scripts: dict[tuple[str, ...], Script] = {}

    def recorded(self) -> Simulation:
        """The simulation of the recording itself."""
        say("simulating the recording")
        return simulate_recording(self._recording, self._options, self._folder)

    def on(self, layout: Layout) -> Simulation:
        """The simulation of the program on the layout's allocator. Failure: as `write_script`, or of the player."""
        played = self._script(layout.pools).play(layout)
        say(f"simulating {layout.name}")
        found = simulate_recording(self._recording, [*self._options, "--played", str(played)], self._folder)
        played.unlink()
        return found

    def _script(self, pools: tuple[str, ...]) -> Script:
        if pools not in self._scripts:
            place = self._folder / f"script_{len(self._scripts)}"
            place.mkdir()
            accepted = [word for word in self._options if word == _DAMAGED]
            self._scripts[pools] = write_script(self._recording, place, [*pools, *accepted])
        return self._scripts[pools]


def simulate_layouts(
    recording: Path, layouts: Sequence[Layout], options: Sequence[str], folder: Path
) -> list[tuple[str, Simulation]]:
    """The simulation of the recording itself, then of each layout, by a `LayoutSimulator`."""
    simulator = LayoutSimulator(recording, options, folder)
    return [(RECORDED, simulator.recorded()), *((layout.name, simulator.on(layout)) for layout in layouts)]


def simulate_recording(recording: Path, options: Sequence[str], folder: Path) -> Simulation:
    """The result of millpond-simulate for a recording; `options` are its own."""
    out = folder / "simulation.json"
    sys.stderr.write(native.require(SIMULATE, [*options, "--json", str(out), "--", str(recording)]))
    return Simulation.read(out)
