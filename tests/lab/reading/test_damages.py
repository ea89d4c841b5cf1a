# SPDX-License-Identifier: BSL-1.0
"""Damaged files: every program gives the result of the whole file, or reports the damage.

A damage is a flipped bit, zeros, a cut, added bytes, swapped blocks and more (`damaged`). An outcome is right if it
equals that of the whole file, or if one sentence on standard error reports the damage.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from reading_harness import BIN, Done, Run, call

NORMAL, LONG = 200, 2000
BLOCK_MAGIC = struct.pack("<I", 0x184D2A5D)


@dataclass(frozen=True)
class Reader:
    """A command line that reads FILE, and may write OUT. `sealed`: any damage is refused."""

    name: str
    words: tuple[str, ...]
    sealed: bool = False


HEAP_READERS = (
    Reader("millpond-characterise", ("--json", "OUT", "FILE")),
    Reader("millpond-characterise", ("--summary", "FILE")),
    Reader("millpond-characterise", ("--sizes", "FILE")),
    Reader("millpond-replay", ("--prepare", "FILE", "-o", "OUT")),
    Reader("millpond-trace", ("info", "FILE")),
)
REFERENCE_READERS = (
    Reader("millpond-simulate", ("--simulate", "direct:line=32,size=16K", "--json", "OUT", "FILE")),
    Reader("millpond-references", ("--summary", "FILE")),
    Reader("millpond-layout", ("--calls", "FILE", "-o", "OUT")),
    Reader("millpond-characterise", ("--json", "OUT", "FILE")),
)
SCRIPT_READERS = (
    Reader("millpond-replay", ("--play", "FILE", "--strategy", "recorded", "--result", "OUT"), sealed=True),
)


def flipped(chance: random.Random, data: bytearray) -> None:
    data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)


def zeroed(chance: random.Random, data: bytearray) -> None:
    first = chance.randrange(len(data))
    past = min(len(data), first + chance.choice((1, 8, 64, 4096)))
    data[first:past] = bytes(past - first)


def overwritten(chance: random.Random, data: bytearray) -> None:
    first = chance.randrange(len(data))
    past = min(len(data), first + chance.choice((1, 4, 100)))
    data[first:past] = chance.randbytes(past - first)


def cut(chance: random.Random, data: bytearray) -> None:
    del data[chance.choice((chance.randrange(len(data)), max(0, len(data) - chance.randrange(1, 200)))) :]


def cut_between_blocks(chance: random.Random, data: bytearray) -> None:
    del data[chance.choice(blocks_of(data)) :]


def appended(chance: random.Random, data: bytearray) -> None:
    data += chance.choice((b"\0", b"\n", chance.randbytes(64), bytes(data[: chance.randrange(1, len(data))])))


def removed(chance: random.Random, data: bytearray) -> None:
    first = chance.randrange(len(data))
    del data[first : first + chance.choice((1, 16, 64, 1000))]


def swapped(chance: random.Random, data: bytearray) -> None:
    places = [*blocks_of(data), len(data)]
    if len(places) > 3:
        at = chance.randrange(len(places) - 2)
        a, b, c = places[at : at + 3]
        data[a:c] = data[b:c] + data[a:b]


def doubled(chance: random.Random, data: bytearray) -> None:
    places = [*blocks_of(data), len(data)]
    at = chance.randrange(len(places) - 1)
    data[places[at] : places[at]] = data[places[at] : places[at + 1]]


def left_out(chance: random.Random, data: bytearray) -> None:
    places = [*blocks_of(data), len(data)]
    at = chance.randrange(len(places) - 1)
    del data[places[at] : places[at + 1]]


def emptied(_: random.Random, data: bytearray) -> None:
    data.clear()


def blocks_of(data: bytearray) -> list[int]:
    """Returns the starts of blocks: those of a trace, or every 4096 bytes."""
    places, at = [], data.find(BLOCK_MAGIC)
    while at >= 0:
        places.append(at)
        at = data.find(BLOCK_MAGIC, at + 1)
    return places or list(range(0, len(data), 4096))


DAMAGES: tuple[Callable[[random.Random, bytearray], None], ...] = (
    flipped, flipped, flipped, zeroed, overwritten, cut, cut_between_blocks, appended, removed, swapped, doubled,
    left_out, emptied,
)  # fmt: skip


@dataclass
class Outcome:
    """The status, output, written files and messages of a command."""

    status: int
    result: tuple[str, bytes | None]
    said: str


def read_by(reader: Reader, file: Path) -> Outcome:
    out = file.parent / "out"
    out.unlink(missing_ok=True)
    words = [{"FILE": file.name, "OUT": out.name}.get(word, word) for word in reader.words]
    done: Done = call([str(BIN / reader.name), *words], file.parent)
    written = out.read_bytes() if out.is_file() else None
    return Outcome(done.status, (done.stdout, None if reader.sealed else written), done.stderr)


def flaw(reader: Reader, whole: Outcome, found: Outcome, unchanged: bool) -> str:
    """Describes what is wrong with an outcome; empty if it is right."""
    if found.status < 0 or "terminate called" in found.said or "Traceback" in found.said:
        return f"ended with {found.status}"
    is_same = found.status == whole.status and found.result == whole.result
    if is_same and (unchanged or not reader.sealed):
        return ""
    if found.status not in (3, 4):
        return f"silent: status {found.status}"
    lines = found.said.splitlines()
    if not lines or not all(line.startswith("millpond: ") for line in lines):
        return f"status {found.status} without a sentence"
    return ""


def survive(file: Path, readers: tuple[Reader, ...], times: int, seed: int) -> None:
    """Damages the file the given number of times; the readers take turns."""
    whole = file.read_bytes()
    before = {reader: read_by(reader, file) for reader in readers}
    for reader, outcome in before.items():
        assert outcome.status == 0, (reader, outcome)
    flaws = []
    for number in range(times):
        chance = random.Random(f"{seed} {number}")
        damage = DAMAGES[number % len(DAMAGES)]
        data = bytearray(whole)
        damage(chance, data)
        file.write_bytes(data)
        reader = readers[number // len(DAMAGES) % len(readers)]
        found = read_by(reader, file)
        if wrong := flaw(reader, before[reader], found, unchanged=bytes(data) == whole):
            flaws.append(f"--seed {seed}, damage {number} ({damage.__name__}), {reader.name} {reader.words}: {wrong}")
    assert not flaws, "\n".join(flaws)


@pytest.fixture
def recording(tmp_path: Path, native: Run) -> Path:
    """A small recording with references; skips the test if they cannot be captured."""
    path = tmp_path / "references.mpt"
    done = native("millpond-references", "-o", str(path), "--instructions", "300000", "--", "/bin/true")
    if done.status == 4:
        pytest.skip(f"references cannot be captured here: {done.stderr.strip()}")
    assert done.status == 0, done.stderr
    return path


@pytest.fixture
def script(trace: Path, native: Run) -> Path:
    """The script of a replay."""
    path = trace.parent / "script"
    assert native("millpond-replay", "--prepare", str(trace), "-o", str(path)).status == 0
    return path


LENGTHS = [pytest.param(1, id="short"), pytest.param(LONG // NORMAL, id="long", marks=pytest.mark.slow)]


@pytest.mark.parametrize("length", LENGTHS)
def test_damaged_heap_traces_are_never_silent(trace: Path, seed: int, length: int) -> None:
    survive(trace, HEAP_READERS, 80 * length, seed)


@pytest.mark.parametrize("length", LENGTHS)
def test_damaged_recordings_of_references_are_never_silent(recording: Path, seed: int, length: int) -> None:
    survive(recording, REFERENCE_READERS, 90 * length, seed)


@pytest.mark.parametrize("length", LENGTHS)
def test_damaged_scripts_are_refused(script: Path, seed: int, length: int) -> None:
    survive(script, SCRIPT_READERS, 30 * length, seed)


@pytest.fixture
def damaged(recording: Path) -> Path:
    """A recording with one bit flipped in its middle."""
    data = bytearray(recording.read_bytes())
    data[len(data) // 2] ^= 64
    path = recording.with_name("damaged.mpt")
    path.write_bytes(data)
    return path


def test_every_verb_refuses_a_damaged_recording_and_can_go_on(damaged: Path, millpond: Run, native: Run) -> None:
    place = damaged.parent
    verbs = {
        "simulate": ("trace", "simulate", "FILE"),
        "page": ("trace", "simulate", "-o", str(place / "page.html"), "FILE"),
        "document": ("trace", "simulate", "-o", str(place / "told.json"), "FILE"),
        "characterise": ("trace", "show", "FILE"),
    }
    for name, words in verbs.items():
        given = [str(damaged) if word == "FILE" else word for word in words]
        refused = millpond(*given)
        refused.assert_refused(3)
        assert "damaged at offset" in refused.stderr, name
        assert "--damaged" in refused.stderr, name
        accepted = millpond(*given[:2], "--damaged", *given[2:])
        assert accepted.status == 0, accepted
        assert "damaged" in accepted.stderr or "damage" in accepted.stdout, (name, accepted)
    assert "damaged in" in (place / "page.html").read_text()
    told = native("millpond-characterise", "--damaged", str(damaged))
    assert '"offset"' in told.stdout


def test_changed_documents_and_half_characters_are_refused(recording: Path, millpond: Run) -> None:
    place = recording.parent
    document = place / "told.json"
    assert millpond("trace", "simulate", "-o", str(document), str(recording)).status == 0
    page = ("trace", "simulate", "-o", str(place / "page.html"))
    assert millpond(*page, str(document)).status == 0
    text = document.read_text()
    changed = place / "changed.json"
    changed.write_text(text.replace('"references": ', '"references": 9', 1))
    millpond(*page, str(changed)).assert_refused(3)
    assert millpond(*page, "--damaged", str(changed)).status == 0
    changed.write_text(text.replace('"path": "', '"path": "\\ud800', 1))
    millpond(*page, str(changed)).assert_refused(3)
    unsealed = place / "unsealed.json"
    unsealed.write_text(text.replace('"description": "', '"description": "\\udfff', 1).replace('"checksum"', '"other"'))
    done = millpond(*page, str(unsealed))
    assert done.status in (0, 3), done
    assert "Traceback" not in done.stderr
