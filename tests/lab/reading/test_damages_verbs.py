# SPDX-License-Identifier: BSL-1.0
"""Damages every kind of file that Millpond writes and reads, and runs every verb that reads it.

A verb refuses the file in a sentence that names it, or gives the result of the whole file. Verbs that measure print
other numbers each time, so only their reading is tested (`--list`, or that they continue).
"""

from __future__ import annotations

import json
import random
import re
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import forked_verbs
import pytest
from reading_harness import BIN, Done, call
from test_damages import DAMAGES, Outcome

PROGRAM = (str(BIN / "orders"), "--orders", "600")
# When a page was made.
A_TIME = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC")
Damage = Callable[[random.Random, bytearray], None]


def half_characters(chance: random.Random, data: bytearray) -> None:
    """Puts half of a UTF-16 pair into the middle of a text."""
    places = [i for i in range(len(data)) if data[i : i + 1] == b'"'] or [0]
    at = chance.choice(places) + 1
    data[at:at] = chance.choice((b"\\ud800", b"\xed\xa0\x80", b"\\udfff\\ud800"))


def other_number(chance: random.Random, data: bytearray) -> None:
    """Replaces one digit or letter by another, so that the text stays well-formed."""
    places = [i for i in range(len(data)) if chr(data[i]).isalnum()] or [0]
    at = chance.choice(places)
    if data:
        data[at] = ord(chance.choice("0123456789")) if chr(data[at]).isdigit() else ord(chance.choice("aeiou"))


ALL_DAMAGES: tuple[Damage, ...] = (*DAMAGES, half_characters, other_number, other_number)


@dataclass(frozen=True)
class Kind:
    """A file and the command lines that read it: FILE stands for it, OUT for their output.

    `measures`: command lines of which only the reading is tested. `folder`: the folder that FILE stands for if readers
    take the file's folder. `like` tells whether two contents are the same to a reader.
    """

    name: str
    file: Path
    lines: tuple[tuple[str, ...], ...]
    measures: tuple[tuple[str, ...], ...] = ()
    folder: Path | None = None
    damages: tuple[Damage, ...] = ALL_DAMAGES
    like: Callable[[bytes, bytes], bool] = field(default=bytes.__eq__)


def read_by(kind: Kind, words: tuple[str, ...], place: Path) -> Outcome:
    out = place / "out"
    if out.is_dir():
        shutil.rmtree(out)
    out.unlink(missing_ok=True)
    given = str(kind.folder or kind.file)
    done: Done = forked_verbs.millpond(place, *(word.replace("FILE", given).replace("OUT", str(out)) for word in words))
    written = A_TIME.sub("", out.read_bytes().decode("utf-8", "replace")).encode() if out.is_file() else None
    return Outcome(done.status, (A_TIME.sub("", done.stdout), written), done.stderr)


def flaw(kind: Kind, whole: Outcome, found: Outcome, same: bool, measured: bool) -> str:
    """Describes what is wrong with an outcome; empty if it is right."""
    if found.status < 0 or found.status == 99 or "terminate called" in found.said or "Traceback" in found.said:
        return f"ended with {found.status}: {found.said[-1500:]}"
    if found.status == whole.status and (same if measured else found.result == whole.result):
        return ""
    if found.status not in (2, 3, 4):
        return f"silent: status {found.status}: {found.said[-500:]}"
    ours = [line for line in found.said.splitlines() if line.startswith("millpond: ")]
    if not any(kind.file.name in line for line in ours):
        return f"status {found.status} without a sentence that names it: {found.said[-500:]}"
    return ""


def survive(kinds: list[Kind], place: Path, times: int, seed: int) -> None:
    """Damages files in turn, the given number of times in all; the readers of each take turns."""
    lines = [(kind, words) for kind in kinds for words in (*kind.lines, *kind.measures)]
    random.Random(seed).shuffle(lines)
    before = {(kind.name, words): read_by(kind, words, place) for kind, words in lines[:times]}
    for key, outcome in before.items():
        assert outcome.status == 0, (key, outcome.said)
    flaws = []
    for number in range(times):
        kind, words = lines[number % len(lines)]
        chance = random.Random(f"{seed} {number}")
        damage = kind.damages[number // len(lines) % len(kind.damages)]
        whole = kind.file.read_bytes()
        data = bytearray(whole)
        if chance.random() < 0.04:
            data[:] = chance.choice([other.file for other in kinds if other is not kind] or [kind.file]).read_bytes()
        else:
            damage(chance, data)
        kind.file.write_bytes(data)
        try:
            found = read_by(kind, words, place)
        finally:
            kind.file.write_bytes(whole)
        same = kind.like(bytes(data), whole)
        if wrong := flaw(kind, before[kind.name, words], found, same, words in kind.measures):
            flaws.append(f"--seed {seed}, damage {number} ({damage.__name__}), {kind.name}, {' '.join(words)}: {wrong}")
    assert not flaws, "\n".join(flaws)


def same_json(a: bytes, b: bytes) -> bool:
    """Returns whether two texts are equal except for the checksum and unknown members."""
    try:
        return _without_seal(json.loads(a)) == _without_seal(json.loads(b))
    except (ValueError, TypeError, AttributeError):
        return False


def _without_seal(data: dict[str, object]) -> dict[str, object]:
    return {name: value for name, value in data.items() if name in ("schema", "program", "libraries", "routes")}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a trace, plans, scopes, a store of an advised program, a page's document and latencies."""
    folder = tmp_path_factory.mktemp("whole")

    def run(*words: str) -> None:
        done = call([sys.executable, "-m", "millpond", *words], folder)
        assert done.status == 0, done

    run("trace", "record", "-o", "heap.mpt", "--", *PROGRAM)
    run("trace", "show", "-o", "/dev/null", "-o", "plans/", "-o", "scopes:scopes", "heap.mpt")
    run("advise", "--budget", "6", "-o", "/dev/null", "--store", "store", "--", *PROGRAM)
    (folder / "refs.din").write_text("".join(f"{i % 3} {i * 72 % 100_000:x}\n" for i in range(5000)))
    run("trace", "simulate", "-o", "misses.json", "refs.din")
    return folder


def heap_kinds(place: Path) -> list[Kind]:
    trace = Kind(
        "trace", place / "heap.mpt",
        (("trace", "show", "--json", "FILE"), ("trace", "show", "FILE"), ("synthesize", "-o", "header:OUT", "FILE")),
        (("trace", "replay", "--rounds", "1", "--strategy", "multipool", "FILE"),
         ("try", "--litter", "--set", "blocks=FILE", "--", "/bin/true")),
    )  # fmt: skip
    plan = Kind(
        "plan", place / "plans" / "all.plan.json",
        (("try", "--plan", "FILE", "--dry-run", "--", *PROGRAM), ("run", "--plan", "FILE", "--", *PROGRAM)),
        (("trace", "replay", "--dry-run", "--plan", "FILE", str(place / "heap.mpt")),), like=same_json,
    )  # fmt: skip
    scopes = Kind(
        "scopes", place / "scopes", (), (("trace", "record", "--scope", "@FILE", "-o", "OUT", "--", *PROGRAM),),
        like=lambda a, b: [line.split(b"\t")[0] for line in a.splitlines()[1:]]
        == [line.split(b"\t")[0] for line in b.splitlines()[1:]],
    )  # fmt: skip
    document = Kind("document", place / "misses.json", (("trace", "simulate", "-o", "html:OUT", "FILE"),))
    return [trace, plan, scopes, document]


def store_kinds(place: Path) -> list[Kind]:
    store = place / "store"
    lines = tuple(
        ("report", "FILE", "-o", f"{form}:-")
        for form in ("text", "json", "html", "markdown", "csv", "pprof", "collapsed", "speedscope", "chrome")
    )
    lines += (("report", "FILE", "-o", "subsystems:-"), ("compare", "--json", "FILE", "FILE"))
    files = [path for path in sorted(store.rglob("*")) if path.is_file() and not path.name.startswith(".")]
    return [Kind(path.parent.name, path, lines, folder=store) for path in files]


TIMES = [pytest.param(40, id="short", marks=pytest.mark.more), pytest.param(1000, id="long", marks=pytest.mark.slow)]


@pytest.mark.parametrize("times", TIMES)
def test_no_verb_hides_damage_of_traces_plans_and_documents(place: Path, seed: int, times: int) -> None:
    survive(heap_kinds(place), place, times, seed)


@pytest.mark.parametrize("times", TIMES)
def test_no_verb_hides_damage_of_a_store(place: Path, seed: int, times: int) -> None:
    survive(store_kinds(place), place, times if times > 40 else 15, seed)
