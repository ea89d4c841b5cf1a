# SPDX-License-Identifier: BSL-1.0
"""Verbs accept programs, arguments and folders with names of any bytes, and documents preserve the bytes."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from compiling import BIN, ROOT

PIECES = (b"a", b"\xe9", b"\xff", "é".encode(), b"\n", b"\t", b" ", b"'", b'"', b"{}", b"%s", b"[bold]", b"--", b"|",
          b"<b>", b"\\", b"*", b"$x")  # fmt: skip
PROGRAM = b"""
#include <stdlib.h>
__attribute__((noinline)) void* make_one(int n) { void* volatile p = malloc(n); return p; }
int main(void) { for (int i = 0; i < 3000; i++) free(make_one(i % 40 + 1)); return 0; }
"""
LOCALES = ({}, {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": "ascii"})


def millpond(folder: bytes, locale: dict[str, str], *words: bytes | str) -> subprocess.CompletedProcess[bytes]:
    """Runs a verb; a traceback fails the test."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("LC_", "LANG"))} | locale
    environment |= {"PYTHONPATH": str(ROOT / "python"), "MILLPOND_BIN": str(BIN)}
    done = subprocess.run(
        [sys.executable, "-m", "millpond", *words], cwd=folder, env=environment, capture_output=True, check=False,
        timeout=120,
    )  # fmt: skip
    assert b"Traceback" not in done.stderr, (words, done.stderr[-2000:])
    return done


@pytest.fixture
def program(seed: int, tmp_path: Path) -> tuple[bytes, bytes]:
    """A folder and a program in it, both with names of random bytes."""
    if shutil.which("gcc") is None:
        pytest.skip("gcc is not on this machine")
    dice = random.Random(seed)
    folder = os.fsencode(tmp_path) + b"/" + b"".join(dice.choices(PIECES, k=4))
    name = b"".join(dice.choices(PIECES, k=4))
    Path(os.fsdecode(folder)).mkdir()
    source = os.fsencode(tmp_path) + b"/one.c"
    Path(os.fsdecode(source)).write_bytes(PROGRAM)
    subprocess.run(["gcc", "-O1", "-g", source, "-o", tmp_path / "built"], check=True)
    (tmp_path / "built").rename(os.fsdecode(folder + b"/" + name))
    return folder, b"./" + name


def bytes_of(text: str) -> bytes:
    """Returns the bytes that a document's text stands for."""
    return b"".join(
        bytes([ord(c) - 0x10FF00]) if 0x10FF80 <= ord(c) <= 0x10FFFF else c.encode() for c in text
    )  # fmt: skip


@pytest.mark.more
@pytest.mark.parametrize("locale", LOCALES, ids=["utf-8", "ascii"])
def test_names_of_any_bytes_go_through_verbs(program: tuple[bytes, bytes], locale: dict[str, str], seed: int) -> None:
    folder, name = program
    arguments = [b"".join(random.Random(seed + 1).choices(PIECES, k=3)), b"", b"-x"]
    trace = b"t\xe9 -o.mpt"
    assert millpond(folder, locale, "trace", "record", "-o", trace, "--", name, *arguments).returncode == 0
    done = millpond(folder, locale, "trace", "show", "--json", trace)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout.decode("utf-8"))
    assert [bytes_of(word) for word in document["process"]["argv"]] == [name, *arguments]
    assert bytes_of(document["process"]["executable"]).endswith(name[2:])
    assert millpond(folder, locale, "trace", "show", "-o", b"pl\xe9ns/", trace).returncode == 0
    [plan, *_] = sorted(Path(os.fsdecode(folder + b"/pl\xe9ns")).iterdir())
    done = millpond(folder, locale, "run", "--plan", os.fsencode(plan), "--", name, *arguments)
    assert done.returncode == 0, done.stderr
    done = millpond(folder, locale, "trace", "replay", "--rounds", "1", trace)
    assert done.returncode in (0, 2), done.stderr
    done = millpond(folder, locale, "try", "--litter", "--", name, *arguments)
    assert done.returncode == 0, done.stderr
    done = millpond(folder, locale, "advise", "--budget", "4", "-o", b"adv\xe9.json", "--", name, *arguments)
    assert done.returncode == 0, done.stderr
    advice = json.loads(Path(os.fsdecode(folder + b"/adv\xe9.json")).read_bytes().decode("utf-8"))
    assert [bytes_of(word) for word in advice["program"]["argv"]] == [name, *arguments]
    for chosen in ("text", "markdown", "html", "json"):
        done = millpond(folder, locale, "report", "-o", f"{chosen}:-")
        assert done.returncode == 0, done.stderr
        done.stdout.decode("utf-8")


@pytest.mark.more
@pytest.mark.parametrize("locale", LOCALES, ids=["utf-8", "ascii"])
def test_folders_of_any_bytes_go_through_reading_verbs(program: tuple[bytes, bytes], locale: dict[str, str]) -> None:
    folder, name = program
    word, trace, store = b"{} \xe9\n--x", b"t\xe9\n {}.mpt", b"st\xe9\n{}re"

    def done(*words: bytes | str, statuses: tuple[int, ...] = (0,)) -> bytes:
        ended = millpond(folder, locale, *words)
        assert ended.returncode in statuses, (words, ended.stderr)
        return ended.stdout

    done("trace", "record", "-o", trace, "--", name, word)
    done("trace", "show", "-o", b"p\xe9\n{}/", trace)
    [plan, *_] = sorted(Path(os.fsdecode(folder + b"/p\xe9\n{}")).iterdir())
    kept = (b"--store=" + store,)
    document = done("try", "--rounds", "1", "--json", *kept, "--plan", os.fsencode(plan), "--", name, word)
    assert bytes_of(json.loads(document)["program"]["argv"][-1]) == word
    done("synthesize", "-o", b"./made.hpp", trace)
    done("advise", "--budget", "4", *kept, "--", name, word)
    for chosen in ("csv", "pprof", "collapsed", "speedscope", "chrome", "html"):
        done("report", store, "-o", chosen.encode() + b":r\xe9\n{}." + chosen.encode())
    for relation in ("csv", "subsystems"):
        done("report", store, "-o", f"{relation}:-").decode("utf-8")
    done("compare", store, store)
    done("compare", "--after", b"./copy\xe9", *kept, "--", name, word, statuses=(2, 3, 5))
    shutil.copy(os.fsdecode(folder + b"/" + name), os.fsdecode(folder + b"/copy\xe9"))
    done("compare", "--after", b"./copy\xe9", *kept, "--", name, word)
    din = Path(os.fsdecode(folder + b"/d\xe9\n{}.din"))
    din.write_text("".join(f"{i % 3} {i * 72:x}\n" for i in range(3000)))
    done("trace", "simulate", "-o", b"m\xe9\n.json", b"d\xe9\n{}.din")
    done("trace", "simulate", "-o", b"m\xe9\n.html", b"m\xe9\n.json", b"d\xe9\n{}.din")
    done("doctor", *kept, statuses=(0, 4))
    for words in (("bench", word), ("simulate", word), ("synthesize", word), ("compare", word, word), ("report", word)):
        assert millpond(folder, locale, *words).returncode in (2, 3)
