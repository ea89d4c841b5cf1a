# SPDX-License-Identifier: BSL-1.0
"""Every reader refuses FIFOs, devices and other special files in one sentence, without waiting."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from reading_harness import Run

from tiers import mostly_more

NATIVE = {
    "trace info": ("millpond-trace", "info", "FILE"),
    "trace dump": ("millpond-trace", "dump", "FILE"),
    "trace index": ("millpond-trace", "index", "FILE"),
    "characterise": ("millpond-characterise", "FILE"),
    "summary": ("millpond-characterise", "--summary", "FILE", "FILE"),
    "sizes": ("millpond-characterise", "--sizes", "FILE"),
    "prepare": ("millpond-replay", "--prepare", "FILE", "-o", "script"),
    "play": ("millpond-replay", "--play", "FILE", "--strategy", "recorded", "--result", "result"),
    "litter": ("millpond-litter", "--trace", "FILE", "--", "/bin/true"),
    "check-plan": ("millpond-trial", "--check-plan", "FILE"),
    "compile": ("millpond-trial", "--compile", "FILE", "--modules", "FILE", "-o", "routes"),
    "routes": ("millpond-trial", "--round", "plan", "--routes", "FILE", "--result", "result", "--", "/bin/true"),
}
VERBS = {
    "characterise": ("trace", "show", "FILE"),
    "replay": ("trace", "replay", "FILE"),
    "synthesize": ("synthesize", "FILE"),
    "synthesize on": ("synthesize", "TRACE", "--on", "FILE"),
    "replay a plan": ("trace", "replay", "TRACE", "--plan", "FILE"),
    "litter": ("try", "--litter", "--set", "blocks=FILE", "--", "/bin/true"),
    "trial": ("try", "--plan", "FILE", "--", "/bin/true"),
    "inputs": ("advise", "--inputs", "FILE", "--", "/bin/true", "{}"),
    "report": ("report", "FILE"),
    "compare": ("compare", "FILE", "FILE"),
}
KINDS = ("fifo", "folder", "socket", "link to a fifo", "link to itself", "missing")
# A folder may be a store; an empty one has nothing to report.
STORES = ("report", "compare")


@pytest.fixture
def special(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Path]:
    """The path of a special file of the given kind."""
    path = tmp_path / "special"
    listening = socket.socket(socket.AF_UNIX)
    if request.param == "fifo":
        os.mkfifo(path)
    elif request.param == "folder":
        path.mkdir()
    elif request.param == "socket":
        listening.bind(str(path))
    elif request.param == "link to a fifo":
        os.mkfifo(tmp_path / "fifo")
        path.symlink_to("fifo")
    elif request.param == "link to itself":
        path.symlink_to("special")
    yield path
    listening.close()


@pytest.mark.parametrize("special", KINDS, indirect=True)
@pytest.mark.parametrize("what", NATIVE)
def test_native_programs_refuse_it(native: Run, special: Path, what: str) -> None:
    native(*(str(special) if word == "FILE" else word for word in NATIVE[what])).assert_refused(3)


@pytest.mark.parametrize("special", KINDS, indirect=True)
@pytest.mark.parametrize("verb", mostly_more(VERBS, "compare"))
def test_verbs_refuse_it(millpond: Run, special: Path, verb: str, trace: Path) -> None:
    words = {"FILE": str(special), "TRACE": str(trace)}
    millpond(*(words.get(word, word) for word in VERBS[verb])).assert_refused(3)


def test_devices_are_not_read(native: Run, millpond: Run) -> None:
    for words in NATIVE.values():
        native(*("/dev/zero" if word == "FILE" else word for word in words)).assert_refused(3)
    for words in (VERBS["characterise"], VERBS["replay"], VERBS["trial"], VERBS["inputs"]):
        millpond(*("/dev/zero" if word == "FILE" else word for word in words)).assert_refused(3)


def test_names_that_begin_with_a_dash_are_files(tmp_path: Path, native: Run, millpond: Run, trace: Path) -> None:
    trace.rename(tmp_path / "-x.mpt")
    assert millpond("trace", "show", "-o", "o.json", "-o", "-plans/", "--", "-x.mpt").status == 0
    (plan, *_) = sorted((tmp_path / "-plans").iterdir())
    plan.rename(tmp_path / "-p.plan.json")
    replayed = millpond(
        "trace", "replay", "--rounds=1", "--strategy=multipool", "--plan", "-p.plan.json", "--", "-x.mpt"
    )
    assert replayed.status == 0, replayed
    assert millpond("try", "--rounds=1", "--plan", "-p.plan.json", "--", "/bin/ls", "/").status == 0
    assert millpond("try", "--litter", "--set=blocks=-x.mpt", "--", "/bin/true").status == 0
    for words in (
        ("millpond-trace", "info", "--", "-x.mpt"),
        ("millpond-trace", "dump", "--", "-x.mpt"),
        ("millpond-trace", "index", "--", "-x.mpt"),
        ("millpond-trace", "list", "--", "-x.mpt"),
        ("millpond-characterise", "--", "-x.mpt"),
        ("millpond-characterise", "--summary", "--", "-x.mpt", "-x.mpt"),
        ("millpond-replay", "--prepare=-x.mpt", "-o", "script"),
        ("millpond-trial", "--check-plan=-p.plan.json"),
    ):
        done = native(*words)
        assert done.status == 0, (words, done)


@pytest.mark.more
def test_folders_that_begin_with_a_dash_are_stores(tmp_path: Path, millpond: Run) -> None:
    advised = millpond("advise", "--budget=0", "--store=-s", "--", "/bin/ls", "/")
    assert advised.status == 0, advised
    assert (tmp_path / "-s" / "advice").is_dir()
    assert millpond("report", "--", "-s").status == 0
    assert millpond("compare", "--", "-s", "-s").status == 0


def test_results_may_go_to_a_device(native: Run, trace: Path) -> None:
    device = Path("/dev/null")
    for words in (
        ("millpond-trial", "--round", "bare", "--result", str(device), "--", "/bin/true"),
        ("millpond-trial", "--survey", str(device), "--", "/bin/true"),
        ("millpond-replay", "--prepare", str(trace), "-o", str(device), "--json", str(device)),
        ("millpond-characterise", "--json", str(device), str(trace)),
    ):
        assert native(*words).status == 0
        assert device.is_char_device(), words
    native("millpond-replay", "--prepare", "missing.mpt", "-o", str(device)).assert_refused(3)
    assert device.is_char_device()
