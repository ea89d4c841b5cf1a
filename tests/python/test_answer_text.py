# SPDX-License-Identifier: BSL-1.0
"""The answer fits a terminal: 40 lines of 80 columns, whatever the program, and no name is broken inside a word."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

import pytest
import sample_store
from msgspec.structs import replace
from rich.cells import cell_len

from millpond.advice.advice_data import Alternative, Change, Code, Option, SourceChange
from millpond.report import cases as report_cases
from millpond.report import terminal
from millpond.report.answer_text import ResultFiles, TextBlock
from millpond.report.cases import Case
from millpond.report.text_table import table_lines
from millpond.report.views import choice_view
from millpond.report.views.model import TableCell, name, table
from millpond.report.views.short_text import command_lines, short_name, short_path, wrapped
from millpond.store.store import Store

LONG = "std::_Hashtable<unsigned int, std::pair<unsigned int const, shop::customer_index::visit>, std::allocator<int>>"
DEEP = "/srv/user/" + "a_long_folder_name/" * 12
WIDTH = 80


@pytest.fixture(scope="module")
def case(tmp_path_factory: pytest.TempPathFactory) -> Case:
    place = tmp_path_factory.mktemp("store")
    sample_store.advise(place)
    return report_cases.load(Store(place), None)[0][0]


@pytest.fixture(scope="module")
def large(case: Case) -> Case:
    """5 000 subsystems with long names, a program with long paths and arguments, many changes, mallocs and notes."""
    advice = case.advice
    last, first = advice.subsystems[-1], advice.subsystems[0]
    places = tuple(
        SourceChange(file=f"{DEEP}book_{i}.cpp", line=i, before=f"{LONG} b_{i};", after=f"pooled<{LONG}> b_{i};",
                     what="member")
        for i in range(1, 60)
    )  # fmt: skip
    code = Code(owner="o", namespace="n", first_bytes_reason="f", size_classes_reason="s", changes=places)
    rows = [replace(last, name=f"{LONG}::add_{i}", bytes=1000, events=10) for i in range(5000)]
    rows = [replace(first, name=f"{LONG}::first", code=code), *advice.subsystems[1:], *rows]
    figures = {"n": 12, "low": 0.0, "high": 1.01, "level": 0.95, "method": "m", "verdict": "not settled"}
    change = Change.from_json({**figures, "median": 0.9, "saved": {**figures, "median": 0.1}})
    malloc = Option(kind="malloc", name="jemalloc", what=f"LD_PRELOAD={DEEP}libjemalloc.so.2",
                    command=f"LD_PRELOAD={DEEP}libjemalloc.so.2", cpu=change, peak=change)  # fmt: skip
    plan = Option(kind="plan", name="together", what=f"pools for {LONG}, {LONG} and 3 more", cpu=change, peak=change)
    assert advice.choices is not None
    choices = replace(advice.choices, fastest=plan, leanest=malloc, without_source_change=malloc, source_change=plan)
    others = tuple(Alternative(kind="malloc", name=f"malloc {i}", judged=True, cpu=change) for i in range(30))
    argv = (f"{DEEP}bin/{'very_' * 9}long", *(f"--{LONG}={DEEP}{i}" for i in range(40)))
    program = replace(advice.program, argv=argv, signal=11)
    notes = tuple(f"a note on {LONG} in {DEEP}, the {i}th of many that are long" for i in range(20))
    return replace_case(case, replace(
        advice, subsystems=tuple(rows), choices=choices, alternatives=others, program=program, notes=notes,
    ))  # fmt: skip


def replace_case(case: Case, advice: Any) -> Case:
    return Case(advice, case.characterisation, case.names, case.observations)


def printed(cases: list[Case], places: ResultFiles | None = None, width: int = WIDTH) -> list[str]:
    file = io.StringIO()
    out = terminal.console(file)
    out.width = width
    terminal.print_answer(cases, out, places or ResultFiles())
    return file.getvalue().splitlines()


def test_the_answer_of_a_stored_advice_is_on_one_screen(case: Case) -> None:
    lines = printed([case], ResultFiles(page="report.html", plan="results/orders.plan.json", json="out.json"))
    said = " ".join(" ".join(lines).split())
    assert len(lines) <= 40 and max(map(cell_len, lines)) <= WIDTH
    assert lines[0] == "Would a local allocator make orders faster or smaller?"
    assert "Yes: local pools pay, for shop::book and shop::index." in said
    for label in ("fastest", "leanest", "without touching the source", "in the source", "what we would do"):
        assert label in said
    assert "page: report.html" in lines and "plan: results/orders.plan.json" in lines and "JSON: out.json" in lines
    assert "next: millpond run --plan results/orders.plan.json /opt/shop/bin/orders" in said
    assert "What is not settled" in lines


@pytest.mark.parametrize("width", [80, 120, 60])
def test_the_largest_advice_takes_40_lines(large: Case, width: int) -> None:
    lines = printed([large], ResultFiles(page=f"{DEEP}r.html", plan=f"{DEEP}p.json", json=f"{DEEP}j.json"), width)
    said = " ".join(" ".join(lines).split())
    assert len(lines) <= 40
    assert max(map(cell_len, lines)) <= width, [line for line in lines if cell_len(line) > width]
    for words in ("faster or smaller?", "Yes: ", "fastest", "jemalloc", "what we would do", "What to change",
                  "book_1.cpp:1", "What is not settled", "page:", "plan:", "JSON:", "next:"):  # fmt: skip
        assert words in said, words


def test_items_that_do_not_fit_are_left_out_whole() -> None:
    block = TextBlock((("Title", "bold"), ("  - one", ""), ("    goes on", ""), ("  - two", "")), 1)
    assert [line for line, _ in block.cut(4)] == ["Title", "  - one", "    goes on", "  - two"]
    assert [line for line, _ in block.cut(3)] == ["Title", "  3 more lines: in the page and with --verbose"]


def test_no_name_is_broken_inside_a_word(large: Case) -> None:
    """Every printed word stands in the sources as a word, or has a mark where something was left out."""
    whole = set(re.findall(r"\S+", f"{large.advice} {LONG} {DEEP}".replace("'", " ").replace("/", " ")))
    known = " ".join(whole)
    for word in re.findall(r"[\w:]{12,}", " ".join(line for line in printed([large]) if "…" not in line)):
        assert word in known or word.isalpha(), word


def test_several_workloads_share_the_40_lines(case: Case, large: Case) -> None:
    for others in (1, 3, 200):
        lines = printed([large, *[case] * others])
        assert len(lines) <= 40
        assert "Yes: " in " ".join(lines)
        assert any(f"{others} other workload" in line for line in lines)
    assert any("older ones" in line for line in printed([case] * 200))


def test_the_tables_follow_with_verbose(case: Case) -> None:
    file = io.StringIO()
    terminal.print_cases([case], terminal.console(file))
    said = file.getvalue()
    for words in ("Parts of the gain", "Other contenders", "Subsystems that matter", "What was not measured"):
        assert words in said
    assert said.index("V, variation") < said.index("Parts of the gain"), "letters are explained where they first stand"


def test_page_and_terminal_have_the_same_figures(case: Case) -> None:
    """Both take them from one function."""
    from millpond.report import page

    shown, html = " ".join(" ".join(printed([case])).split()), page.render([case])
    gains = [gain for row in choice_view.choice_rows(case) for gain in row.gains]
    assert gains
    for gain in gains:
        assert gain.ratio in shown and gain.amount in shown
        assert gain.ratio in html and gain.amount in html


def test_malloc_libraries_have_names_and_their_path_once(large: Case) -> None:
    said = "\n".join(printed([large]))
    assert "leanest, without touching the source: jemalloc" in said
    assert said.count("LD_PRELOAD") <= 2, "with the choice, and in the command to run next"


def test_names_lose_their_template_arguments_first() -> None:
    assert short_name("shop::book", 20) == "shop::book"
    assert short_name("shop::cache<std::map<int, shop::item>>::insert", 30) == "shop::cache<…>::insert"
    assert short_name("shop::cache<int>::insert", 12) == "…::insert"
    assert short_name("abcdefghijklmnop", 8) == "…jklmnop"
    assert short_path("/srv/me/shop/bin/orders", 30, Path("/srv/me/shop")) == "bin/orders"
    assert short_path("/srv/me/shop/bin/orders", 15, Path("/opt")) == "…/bin/orders"


def test_sentences_break_between_words_and_keep_units() -> None:
    assert wrapped("saves 15.5 ms of 82.6 ms", 13) == ["saves 15.5 ms", "of 82.6 ms"]
    assert wrapped("one two three four", 9, 1) == ["one two …"]
    assert wrapped("", 10) == []


def test_commands_continue_with_a_backslash() -> None:
    lines = command_lines(["millpond", "run", "--"], ["/bin/true", "a b", "c" * 30], 40)
    assert lines == ["millpond run -- /bin/true 'a b' \\", f"  {'c' * 30}"]
    assert command_lines(["millpond", "run", "--"], ["x" * 99], 40) == ["millpond run -- PROGRAM ARGS..."]


def test_empty_columns_are_left_out() -> None:
    found = table(("name", ">a", ">b"), [("x", "–", "1"), ("y", "", "2")])
    assert [(column.title, column.right) for column in found.columns] == [("name", False), ("b", True)]
    assert [[cell.text for cell in row] for row in found.rows] == [["x", "1"], ["y", "2"]]


@pytest.mark.parametrize("width", [30, 50, 80, 140])
def test_tables_fit_every_width(width: int) -> None:
    rows = [
        (name(LONG), "some words that wrap", TableCell("-12.3 %", "-14.0 % to -10.0 %"), str(10**i)) for i in range(5)
    ]
    lines = [line for line, _ in table_lines(table(("subsystem", "advice", ">CPU", ">events"), rows), width)]
    assert max(map(cell_len, lines)) <= width
