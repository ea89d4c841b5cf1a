# SPDX-License-Identifier: BSL-1.0
"""One table makes the parser, the help, the completions and the man pages: each names every verb and every option."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import ROOT

from millpond.rounds.replay_rounds import ORDERS
from millpond.rounds.replay_rounds import STRATEGIES as REPLAYED
from millpond.rounds.schedule import VERDICT_ROUNDS as ROUNDS
from millpond.store.store import DEFAULT
from millpond.verbs import shared_options, table, trace_requests
from millpond.verbs.completions import SHELLS
from millpond.verbs.help_text import overview, verb_help
from millpond.verbs.man_pages import pages
from millpond.verbs.option import JSON, Verb, VerbOption
from millpond.verbs.parser import HelpRequest, parse
from millpond_bench import bench_verbs

WORDS_AT_MOST = 50
COMMON_AT_MOST = 6
TABLES = {"millpond": table.VERBS, "millpond-bench": bench_verbs.VERBS}
VERBS = [(command, verb) for command, verbs in TABLES.items() for verb in verbs]
each_verb = pytest.mark.parametrize(("command", "verb"), VERBS, ids=[f"{c} {v.name}" for c, v in VERBS])
each_command = pytest.mark.parametrize("command", TABLES)


def shown(verb: Verb) -> list[VerbOption]:
    return [one for one in verb.options if not one.is_hidden]


def test_a_user_meets_at_most_fifty_option_words() -> None:
    words = {one.word for verb in table.VERBS for one in shown(verb)} | {"--help", "--version"}
    assert len(words) <= WORDS_AT_MOST, sorted(words)


def test_settings_of_set_count_as_words_too_with_few_exceptions() -> None:
    """Settings are no hiding place: with their names, there are fewer words than the 90 of before."""
    words = {one.word for verb in table.VERBS for one in shown(verb)}
    settings = {
        name for verb in table.VERBS for one in shown(verb) if one.word == "--set" for name in one.choices or {}
    }
    assert len(words | settings) <= 63, sorted(settings)


@each_verb
def test_a_verb_shows_at_most_six_common_options(command: str, verb: Verb) -> None:
    common = [one.word for one in shown(verb) if not one.is_expert]
    assert len(common) <= COMMON_AT_MOST, common


def test_one_word_has_one_form() -> None:
    """A word takes a value in every verb or in none."""
    forms: dict[str, set[bool]] = {}
    for verb in table.VERBS:
        for one in shown(verb):
            forms.setdefault(one.word, set()).add(one.takes_next)
    assert not {word for word, found in forms.items() if len(found) > 1}


@each_verb
def test_help_names_every_option_and_shows_an_example(command: str, verb: Verb) -> None:
    text = verb_help(verb, command)
    assert text.startswith(f"usage: {command} {verb.name}")
    assert verb.examples and all(line in text for line, _ in verb.examples)
    assert all(one.form in text and one.help for one in shown(verb))
    assert all(name in text for one in shown(verb) for name in one.choices or {})
    assert max(map(len, text.splitlines())) <= 100


@each_verb
def test_every_example_is_accepted(command: str, verb: Verb) -> None:
    for line, _ in verb.examples:
        words = shlex.split(line.removeprefix("source <(").removesuffix(")"))
        found = table.find(words[1:], TABLES[words[0]]) if words[1] != "./program" else (table.ADVISE, words[1:])
        assert found is not None and found[0].words == verb.words
        assert parse(*found)[1] == [], "an example uses an old word"


@each_command
def test_the_overview_names_every_verb_advise_first(command: str) -> None:
    text = overview(TABLES[command], table.NOUNS, "purpose", command)
    at = [text.index(f"\n  {verb.name} ") for verb in TABLES[command]]
    assert at == sorted(at)
    assert TABLES["millpond"][0] is table.ADVISE


@each_command
@pytest.mark.parametrize("shell", SHELLS)
def test_completions_name_every_verb_and_option(command: str, shell: str) -> None:
    text = SHELLS[shell](TABLES[command], command)
    for verb in TABLES[command]:
        assert all(word in text for word in verb.words)
        for one in shown(verb):
            assert (f"-l {one.word[2:]}" if shell == "fish" and one.word[:2] == "--" else one.word[1:]) in text
    if shutil.which(shell):
        subprocess.run([shell, "-n"], input=text, text=True, check=True)


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["millpond", "adv"], {"advise"}), (["millpond", "trace", "re"], {"record", "replay"}),
        (["millpond", "advise", "--bu"], {"--budget"}), (["millpond", "trace", "record", "--with", "ow"], {"owners"}),
    ],
)  # fmt: skip
def test_bash_completes_verbs_options_and_choices(words: list[str], offered: set[str], tmp_path: Path) -> None:
    script = SHELLS["bash"](table.VERBS, "millpond")
    line = " ".join(map(shlex.quote, words))
    script += f"COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; _millpond; printf '%s\\n' \"${{COMPREPLY[@]}}\"\n"
    done = subprocess.run(["bash"], input=script, capture_output=True, text=True, check=True, cwd=tmp_path)
    assert set(done.stdout.split()) == offered


@each_command
def test_man_pages_name_every_verb_and_option(command: str) -> None:
    found = pages(TABLES[command], command, "purpose")
    assert all(
        "-".join([command, *verb.words]).replace("-", "\\-") in found[f"{command}.1"] for verb in TABLES[command]
    )
    for verb in TABLES[command]:
        text = found[f"{'-'.join([command, *verb.words])}.1"]
        assert all(f"\\fB{one.form}".replace("-", "\\-").replace("\\fB\\-", "\\fB\\-") in text for one in shown(verb))
        assert ".SH EXAMPLES" in text
        if shutil.which("groff"):
            done = subprocess.run(
                ["groff", "-man", "-Tutf8", "-ww", "-Kutf8"], input=text, capture_output=True, text=True, check=False
            )
            assert done.returncode == 0 and "warning" not in done.stderr, done.stderr


@each_verb
def test_every_old_word_leads_to_a_new_one(command: str, verb: Verb) -> None:
    known = {one.word for one in verb.options} | {""}
    for one in (*verb.old, *(one for one in verb.options if one is JSON)):
        assert one.word not in known or one is JSON
        assert one.instead is not None
        new, _ = one.instead("x")
        assert new in known or (new, verb.name) == ("SCOPES", "trace show"), one.word


def test_every_verb_has_its_function() -> None:
    from importlib import import_module

    for _, verb in VERBS:
        module, _, name = verb.function.partition(":")
        assert callable(getattr(import_module(module), name))


def test_copied_numbers_and_names_agree_with_their_rooms() -> None:
    assert (shared_options.STORE, shared_options.VERDICT_ROUNDS) == (DEFAULT, ROUNDS)
    assert trace_requests.STRATEGIES == REPLAYED and ORDERS == ("total", "dependency")


def test_documents_use_the_new_words_only() -> None:
    old = [*table.OLD_VERBS, table.OLD_BENCH]
    dated = [*(ROOT / "docs" / "results").glob("*.md")]  # commands as they were given
    for path in (ROOT / "README.md", ROOT / "Makefile", *({*(ROOT / "docs").rglob("*.md")} - {*dated})):
        text = path.read_text(encoding="utf-8")
        assert not [verb for verb in old if f"millpond {verb} " in text or f"millpond {verb}`" in text], path


def test_help_is_asked_before_anything_is_checked() -> None:
    with pytest.raises(HelpRequest):
        parse(table.ADVISE, ["--budget", "3", "--help", "--bogus"])
