# SPDX-License-Identifier: BSL-1.0
"""The modules whose missing symbols hide names: the sentence, the command, the table, and the places of debug files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from millpond.advice import missing_symbols as under_test
from millpond.advice.missing_symbols import hidden_in_all, missing_symbols
from millpond.report.views.model import Table, Words
from millpond.report.views.symbols_view import symbols_section
from millpond.rounds.characterisation import HiddenModule, Subsystem, TraceSummary
from millpond.system.debug_files import setting_words, use_debug_files
from millpond.system.errors import Failure, Status
from millpond.verbs import table
from millpond.verbs.parser import parse

BIG = HiddenModule(path="/usr/lib/libbig.so.2", build_id="aa11", events=500, share=0.5, bytes=9000, near_events=400)
OWN = HiddenModule(path="/srv/shop", build_id="bb22", events=100, share=0.1, bytes=100)
TINY = HiddenModule(path="/usr/lib/libtiny.so.1", events=1, share=0.0001, bytes=8)


@pytest.fixture(autouse=True)
def debian(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fakes a system whose packages are named after their files, without a server of debug information."""

    def package(path: str) -> str | None:
        return Path(path).name.partition(".")[0] if path.startswith("/usr/") else None

    monkeypatch.setattr(under_test, "package_of", package)
    monkeypatch.setattr(
        under_test, "symbols_command", lambda p: f"apt install {package(p)}-dbgsym" if package(p) else ""
    )
    for name in ("DEBUGINFOD_URLS", "MILLPOND_DEBUG_PATH", "MILLPOND_SYSROOT"):
        monkeypatch.setenv(name, "")  # so that it is restored
        monkeypatch.delenv(name)


def trace(*modules: HiddenModule, near: float = 0.4) -> TraceSummary:
    return TraceSummary(events=1000, near_share=near, modules_without_symbols=modules)


def test_one_command_covers_the_modules_that_matter() -> None:
    more = HiddenModule(path="/usr/lib/libmore.so", events=20, share=0.02)
    found = missing_symbols(trace(BIG, OWN, more, TINY))
    assert found and found.command == "apt install libbig-dbgsym libmore-dbgsym"
    assert found.share == pytest.approx(0.6201) and found.named_by_command == pytest.approx(0.52)
    assert [module.path for module in found.modules] == [m.path for m in (BIG, OWN, more, TINY)]
    assert found.command in found.sentence and "62.0 % of the events" in found.sentence
    assert "--debug-dir" in found.sentence  # for the rest
    assert found.sentence.count("\n") == 0 and found.sentence.endswith(".")


def test_own_files_get_a_remedy_without_a_package() -> None:
    found = missing_symbols(trace(OWN, near=0))
    assert found and not found.command and "--debug-dir" in found.sentence and "apt" not in found.sentence
    assert "closest" not in found.sentence


def test_servers_are_proposed_only_if_none_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    proposed = missing_symbols(trace(BIG))
    monkeypatch.setenv("DEBUGINFOD_URLS", "http://127.0.0.1")
    known = missing_symbols(trace(BIG))
    assert proposed and known
    assert "DEBUGINFOD_URLS" in proposed.sentence and "DEBUGINFOD_URLS" not in known.sentence


def test_another_build_gets_no_symbols_of_a_package() -> None:
    other = HiddenModule(path=BIG.path, events=5, share=0.5, why="the file is now another build than …: record again")
    found = missing_symbols(trace(other))
    assert found and not found.command and found.modules[0].package == "libbig"


@pytest.mark.parametrize("modules", [(), (TINY,)])
def test_named_traces_have_nothing_to_say(modules: tuple[HiddenModule, ...]) -> None:
    assert missing_symbols(trace(*modules)) is None


def test_several_traces_have_the_sums_of_their_modules() -> None:
    twice = hidden_in_all([trace(TINY, BIG), trace(BIG)])
    assert [(m.path, m.events, m.bytes, m.share) for m in twice] == [
        (BIG.path, 1000, 18000, 0.5), (TINY.path, 1, 8, 0.0001),
    ]  # fmt: skip


def test_the_table_has_a_row_for_each_module_that_matters() -> None:
    found = missing_symbols(trace(BIG, OWN, TINY))
    assert found
    section = symbols_section(found)
    assert section is not None
    words, shown = section.parts
    assert isinstance(words, Words) and words.text == found.sentence
    assert isinstance(shown, Table)
    assert [[cell.text for cell in row[:2]] for row in shown.rows] == [["libbig.so.2", "libbig"], ["shop", "–"]]
    assert "1 smaller module" in shown.caption


def test_labels_are_hints_and_names_stay() -> None:
    near = Subsystem(name="libbig.so.2!f7@aa11", near="parse")
    assert near.label == "near parse (libbig.so.2!f7@aa11)" and near.name == "libbig.so.2!f7@aa11"
    assert Subsystem(name="parse").label == "parse"


def test_folders_reach_the_native_programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MILLPOND_DEBUG_PATH", "/earlier")
    one, two = tmp_path / "one", tmp_path / "two"
    one.mkdir()
    two.mkdir()
    words = ["--debug-dir", str(one), f"--debug-dir={two}", "--sysroot", str(tmp_path), "true"]
    request, _ = parse(table.ADVISE, words)
    use_debug_files(request.debug_dir, request.sysroot)
    assert os.environ["MILLPOND_DEBUG_PATH"] == f"{one}:{two}:/earlier"
    assert os.environ["MILLPOND_SYSROOT"] == str(tmp_path)
    assert setting_words() == f"MILLPOND_DEBUG_PATH={one}:{two}:/earlier MILLPOND_SYSROOT={tmp_path} "


def test_missing_folders_are_a_usage_error(tmp_path: Path) -> None:
    colon = tmp_path / "a:b"
    colon.mkdir()
    for call in (
        lambda: use_debug_files([str(tmp_path / "nothing")], None),
        lambda: use_debug_files([], str(tmp_path / "nothing")),
        lambda: use_debug_files([str(colon)], None),
    ):
        with pytest.raises(Failure) as failure:
            call()
        assert failure.value.status == Status.USAGE and "--" in failure.value.message
    assert "MILLPOND_DEBUG_PATH" not in os.environ
