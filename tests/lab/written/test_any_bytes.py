# SPDX-License-Identifier: BSL-1.0
"""Programs, arguments and folders of any bytes go through the verbs; documents lead back to the bytes."""

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
    """Runs a verb; no verb may end in a traceback."""
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
    """A folder and a program in it, of random bytes."""
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
    """What a document's text stands for."""
    return b"".join(
        bytes([ord(c) - 0x10FF00]) if 0x10FF80 <= ord(c) <= 0x10FFFF else c.encode() for c in text
    )  # fmt: skip


@pytest.mark.parametrize("locale", LOCALES, ids=["utf-8", "ascii"])
def test_names_of_any_bytes_go_through_verbs(program: tuple[bytes, bytes], locale: dict[str, str], seed: int) -> None:
    folder, name = program
    arguments = [b"".join(random.Random(seed + 1).choices(PIECES, k=3)), b"", b"-x"]
    trace = b"t\xe9 -o.mpt"
    assert millpond(folder, locale, "record", "-o", trace, "--", name, *arguments).returncode == 0
    done = millpond(folder, locale, "characterise", "--json", trace)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout.decode("utf-8"))
    assert [bytes_of(word) for word in document["process"]["argv"]] == [name, *arguments]
    assert bytes_of(document["process"]["executable"]).endswith(name[2:])
    assert millpond(folder, locale, "characterise", "--plan-out", b"pl\xe9ns", trace).returncode == 0
    [plan, *_] = sorted(Path(os.fsdecode(folder + b"/pl\xe9ns")).iterdir())
    done = millpond(folder, locale, "run", "--plan", os.fsencode(plan), "--", name, *arguments)
    assert done.returncode == 0, done.stderr
    done = millpond(folder, locale, "replay", "--rounds", "1", trace)
    assert done.returncode in (0, 2), done.stderr
    done = millpond(folder, locale, "litter", "--", name, *arguments)
    assert done.returncode == 0, done.stderr
    done = millpond(folder, locale, "advise", "--budget", "4", b"--json=adv\xe9.json", "--", name, *arguments)
    assert done.returncode == 0, done.stderr
    advice = json.loads(Path(os.fsdecode(folder + b"/adv\xe9.json")).read_bytes().decode("utf-8"))
    assert [bytes_of(word) for word in advice["program"]["argv"]] == [name, *arguments]
    for chosen in ("text", "markdown", "html", "json"):
        done = millpond(folder, locale, "report", "--format", chosen)
        assert done.returncode == 0, done.stderr
        done.stdout.decode("utf-8")
