# SPDX-License-Identifier: BSL-1.0
"""A command line is understood, or one line tells what to type instead."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT, FakeLab
from hypothesis import given
from hypothesis import strategies as st

from millpond.system.errors import Failure
from millpond.verbs import table
from millpond.verbs.parser import parse
from millpond.verbs.requests import AdviseRequest
from millpond.verbs.values import Output

OWN = st.sampled_from(["--json", "--budget=3", "-ox.html", "--continue", "--with=references"])
ANY = st.text(alphabet="-ab=/", max_size=6) | st.sampled_from(["--json", "--help", "-o", "--", "--html", "advise"])


@given(st.lists(OWN, max_size=4), st.sampled_from(["./program", "ls", "-"]), st.lists(ANY, max_size=5), st.booleans())
def test_words_after_the_programs_name_are_its_own(
    own: list[str], name: str, words: list[str], has_dashes: bool
) -> None:
    request, notes = parse(table.ADVISE, [*own, *(["--"] if has_dashes else []), name, *words])
    assert request.program == (name, *words)
    assert notes == []


@pytest.mark.parametrize("words", [["./program"], ["--budget=3", "./program"], ["advise", "./program"], ["--", "ls"]])
def test_a_program_alone_is_advised_on(words: list[str], lab: FakeLab, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[AdviseRequest] = []
    from millpond.commands import advise

    monkeypatch.setattr(advise, "advise", asked.append)
    assert lab.run(*words, "--help", "-o", "--json").status == 0
    (request,) = asked
    assert request.program[1:] == ("--help", "-o", "--json")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([], "Type: millpond ./program"),
        (["advize"], "did you mean `millpond advise`?"),
        (["reprot"], "did you mean `millpond report`?"),
        (["trace", "recrod"], "did you mean `millpond trace record`?"),
        (["trace"], "trace record"),
        (["trace", "--damaged", "show", "x"], "options follow the verb: write millpond trace VERB --damaged"),
        (["true"], "did you mean `millpond advise true`?"),
        (["trace", "record"], "millpond trace record [-o FILE] PROGRAM"),
        (["trace", "record", "-o"], "-o needs a value: -o FILE"),
        (["trace", "record", "-o", "--", "true"], "-o needs a value: -o FILE"),
        (["trace", "record", "-o", "--with", "owners", "true"], "-o needs a value: -o FILE"),
        (["advise", "--bugdet", "3", "true"], "did you mean --budget?"),
        (["trace", "record", "--max-byte", "3", "true"], "did you mean --max-trace?"),
        (["doctor", "--bogus"], "unknown option --bogus: the options are -o, --json, --store, --seed"),
        (["advise", "--with", "referenses", "true"], "did you mean references?"),
        (["synthesize", "x", "--set", "granul=8"], "did you mean granule?"),
        (["synthesize", "x", "--set", "granule"], "write granule=VALUE"),
        (["advise", "-o", "page.pdf", "true"], "json:page.pdf"),
        (["doctor", "x"], "unexpected argument 'x'"),
        (["doctor", "--store"], "--store needs a value"),
        (["advise", "--continue=3", "true"], "--continue takes no value"),
        (["completion", "tcsh"], "not one of bash, zsh, fish"),
    ],
)
def test_a_wrong_line_tells_what_to_type(lab: FakeLab, words: list[str], says: str) -> None:
    done = lab.run(*words)
    assert done.status == 2
    assert says in done.stderr and done.stdout == ""


@pytest.mark.parametrize(
    ("words", "new", "note"),
    [
        ("--html page.html x", ("-o", "page.html", "x"), "--html is an old word: write -o page.html"),
        ("--html=page x", ("-o", "html:page", "x"), "write -o html:page"),
        ("--json=out.json x", ("-o", "out.json", "x"), "--json is an old word: write -o out.json"),
        ("--references x", ("--with", "references", "x"), "write --with references"),
    ],
)
def test_old_options_are_accepted_with_a_note(words: str, new: tuple[str, ...], note: str) -> None:
    old_request, notes = parse(table.ADVISE, words.split())
    assert (old_request, parse(table.ADVISE, new)[1]) == (parse(table.ADVISE, new)[0], [])
    assert len(notes) == 1 and note in notes[0]


@pytest.mark.parametrize(
    ("words", "new"),
    [
        ("trace record --from 9 --instructions 5 x", "--window instructions=9: --window instructions=:5 x"),
        ("trace record --max-bytes 500MB --check-contexts x", "--max-trace 500MB --with contexts x"),
        ("trace record --scopes list --mode 640 x", "--scope @list --set mode=640 x"),
        ("trace show --plan-out plans --observed o.mpt x.mpt", "-o plans/ x.mpt o.mpt"),
        ("trace replay --pace --list x.mpt", "--order paced --dry-run x.mpt"),
        ("trace simulate --write-din a --straddle twice --cpi 2 x", "-o din:a --with straddles --set cpi=2 x"),
        ("trace simulate --straddle once --modify once x", "x"),
        ("synthesize --preload m.so --granule 16 --arena x", "-o m.so --set granule=16 --with arena x"),
        ("try --litter --trace t --fraction 0.2 x", "--litter --set blocks=t --set fraction=0.2 x"),
        ("run --plan p --export l.so", "--plan p -o l.so"),
    ],
)
def test_old_words_make_the_same_request(words: str, new: str) -> None:
    verb, rest = table.find(words.split()) or (table.ADVISE, [])
    old_request, notes = parse(verb, rest)
    new_request, none = parse(verb, new.split())
    assert notes and not none
    if "plans" not in words:
        assert old_request == new_request
    else:
        assert (old_request.observed, old_request.out[0].form) == (Path("o.mpt"), "plans")


@pytest.mark.parametrize("verb", table.OLD_VERBS)
def test_old_verbs_are_accepted_with_a_note(lab: FakeLab, verb: str) -> None:
    done = lab.run(verb, "--help")
    assert done.status == 0 and f"millpond: {verb} is an old word: write millpond" in done.stderr
    assert f"usage: millpond {table.OLD_VERBS[verb][0]}" in done.stdout


def test_the_old_verb_bench_runs_millpond_bench(lab: FakeLab) -> None:
    done = lab.run("bench", "--help")
    assert done.status == 0 and "write millpond-bench run" in done.stderr
    assert "usage: millpond-bench run" in done.stdout


def test_json_goes_to_standard_output_in_two_spellings() -> None:
    for words in (["--json"], ["-o", "-"], ["-o", "json:-"]):
        assert parse(table.ADVISE, [*words, "x"])[0].out == (Output("-", "json"),)


def test_files_of_several_forms_may_be_named() -> None:
    request, _ = parse(table.ADVISE, ["-o", "a.html", "-o", "b.json", "-oc.md", "-o=d.txt", "x"])
    assert [one.form for one in request.out] == ["html", "json", "markdown", "text"]


def test_unknown_endings_are_refused_before_the_program_runs() -> None:
    with pytest.raises(Failure, match="not one of"):
        parse(table.ADVISE, ["-o", "a.pdf", "x"])


def run_python(code: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": str(ROOT / "python")},
    ).stdout


@pytest.mark.lengthy
@pytest.mark.parametrize("words", [["--version"], ["--help"], ["advise", "--help"], ["trace", "record", "--help"]])
def test_help_and_version_import_no_library(words: list[str]) -> None:
    """They answer at once."""
    slow = {"rich", "numpy", "scipy", "duckdb", "pyarrow", "jinja2", "msgspec", "millpond_bench", "importlib.metadata"}
    code = f"import sys; from millpond.cli import main; main({words!r}); print('loaded', *sys.modules)"
    loaded = set(run_python(code).splitlines()[-1].split()[1:])
    assert not loaded & slow


@pytest.mark.lengthy
def test_the_hint_after_an_interruption_is_a_command_that_works(lab: FakeLab, tmp_path: Path) -> None:
    from millpond.cells.cell import Cell, Control, Outcome, Program
    from millpond.store.observations import Journal
    from millpond.store.round_log import RoundLog, logged
    from millpond.store.store import Store
    from millpond.system import interruption

    store = Store(lab.work / "s")
    store.prepare()
    interruption.watch_signals()
    with pytest.raises(KeyboardInterrupt), logged(store, Journal("trial", ["prog"], seed=1)) as log:
        assert isinstance(log, RoundLog)
        log.keep(
            Outcome(Cell(Program(("prog",)), Control("bare")), "trial", 1, {"cpu_seconds": 1.0}, "2026-01-01T00:00:00Z")
        )
        raise KeyboardInterrupt
    line = interruption.line_of(signal.SIGINT)
    command = line.split("`")[1].split()
    assert command[0] == "millpond"
    assert lab.run(*command[1:]).status == 0
    assert "cpu_seconds" in (lab.work / "rounds.csv").read_text()
