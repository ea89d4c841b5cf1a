# SPDX-License-Identifier: BSL-1.0
"""All forms of the report agree with the store, escape names of programs, and name damaged files."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
import shlex
import statistics
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
import sample_store
from markdown_it import MarkdownIt
from msgspec.structs import replace
from sample_store import NAMES, PROGRAM, ROUNDS

from millpond.advice.advice_data import Advice, AnalysedProgram, Effect, Option, Replay
from millpond.commands.report import Format, document
from millpond.report import cases as report_cases
from millpond.report import page as report_page
from millpond.report.cases import Case
from millpond.report.views.case_words import EFFECT_WORDS
from millpond.rounds.characterisation import NamelessModule, TraceSummary
from millpond.store.store import Store
from millpond.system.arguments import split

HOSTILE = "</style><script>alert(1)</script><img src=x onerror='a'>\"`|*_&amp;{{7*7}}"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with one run; tests must not change it."""
    place = tmp_path_factory.mktemp("store")
    sample_store.advise(place)
    return place


@pytest.fixture(scope="module")
def cases(folder: Path) -> list[Case]:
    return report_cases.load(Store(folder), None)[0]


class Page(HTMLParser):
    """A parsed page: its elements, attributes and text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.words: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in ("meta", "br", "wbr", "rect", "circle", "line", "path"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in ("rect", "circle", "line", "path"):
            return
        assert self.open and self.open[-1] == tag, f"</{tag}> closes {self.open[-3:]}"
        self.open.pop()

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def page_of(cases: list[Case]) -> tuple[str, Page]:
    text = report_page.render(cases)
    page = Page(text)
    assert page.open == []
    return text, page


def test_the_page_works_offline_within_its_content_policy(cases: list[Case]) -> None:
    text, page = page_of(cases)
    assert len(text.encode()) < 3_000_000
    assert not [a for _, a in page.elements if {"src", "style", "onclick"} & a.keys()]
    links = [str(a["href"]) for tag, a in page.elements if tag == "a"]
    assert links and all(link.startswith(("#", "data:application/json")) for link in links)
    policy = next(str(a["content"]) for tag, a in page.elements if a.get("http-equiv") == "Content-Security-Policy")
    for kind in ("style", "script"):
        content = text.partition(f"<{kind}>")[2].partition(f"</{kind}>")[0]
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy
        assert text.count(f"<{kind}") == 1
    assert "default-src 'none'" in policy and "unsafe" not in policy
    assert "prefers-color-scheme: dark" in text and "@media print" in text


def test_links_of_the_page_resolve_and_anchors_are_unique(cases: list[Case]) -> None:
    _, page = page_of(cases)
    anchors = [str(a["id"]) for _, a in page.elements if "id" in a]
    assert len(anchors) == len(set(anchors))
    assert {str(a["href"])[1:] for tag, a in page.elements if tag == "a" and str(a["href"])[0] == "#"} <= set(anchors)


def test_the_verdict_comes_first_then_the_table_then_the_evidence(cases: list[Case]) -> None:
    text, _ = page_of(cases)
    verdict = html.escape(cases[0].advice.verdict)
    order = [text.index(words) for words in (verdict, "<tbody>", "Parts of the gain", "Each subsystem")]
    assert order == sorted(order)
    assert all(text.count(html.escape(name)) > 1 for name in NAMES)


def rounds_of(text: str) -> list[dict[str, Any]]:
    """Returns the rows of every specification of intervals in a page."""
    found = [json.loads(one) for one in re.findall(r"<template>(.*?)</template>", text)]
    return [row for figure in found if figure["figure"] == "intervals" for row in figure["rows"]]


def test_every_measured_round_is_a_dot(cases: list[Case]) -> None:
    text, _ = page_of(cases)
    words = [words for row in rounds_of(text) for _, words in row["dots"]]
    dots = re.findall(r"(choosing|judging), round (\d+): ", "\n".join(words))
    effects, tried, choosing = 4, 2, 3  # figures of judged effects; subsystems judged; subsystems that were screened
    assert dots.count(("judging", "1")) == effects + tried
    assert dots.count(("judging", str(ROUNDS))) == effects + tried
    assert sum(stage == "choosing" for stage, _ in dots) == 7 * choosing
    first_screen = re.findall(r"<title>judging, round (\d+): ", text)
    assert first_screen.count("1") == 2, "CPU and peak memory of the one contender that is chosen"


def test_the_dots_are_the_ratios_that_the_summary_summarises(cases: list[Case]) -> None:
    """Includes the net effect, which leaves out the costs of a trial, in CPU and in peak memory."""
    for name in ("placement", "net", "total"):
        effect = cases[0].advice.every_effect[name]
        for metric, figure in (("cpu_seconds", effect), ("peak_bytes", effect.peak)):
            assert figure is not None
            ratios = [r.value for r in cases[0].rounds.ratios(figure.of_ or "", figure.against or "", metric)]
            assert len(ratios) == figure.n
            assert statistics.median(ratios) == pytest.approx(figure.median)


def test_the_dots_of_a_page_lie_around_its_headline(cases: list[Case]) -> None:
    """The medians of the drawn dots (by their titles) equal the figures of each strip."""
    text, _ = page_of(cases)
    drawn = [statistics.median(100 * (value - 1) for value, _ in row["dots"]) for row in rounds_of(text)]
    for strip in re.findall(r"<svg.*?</svg>", text, re.DOTALL):
        dots = re.findall(r"<title>judging, round \d+: ([-+][\d.]+) %", strip)
        drawn += [statistics.median(map(float, dots))] if dots else []
    for name, effect in cases[0].advice.every_effect.items():
        if effect.median is not None and name in EFFECT_WORDS:
            assert any(abs(100 * (effect.median - 1) - found) < 0.11 for found in drawn), effect


@pytest.mark.lengthy
def test_names_of_programs_stay_text_in_page_and_markdown(tmp_path: Path) -> None:
    sample_store.advise(tmp_path, rename={"printer": HOSTILE, "main": HOSTILE, "shop::book": f"{HOSTILE}2"})
    found, _ = report_cases.load(Store(tmp_path), None)
    text, page = page_of(found)
    assert [tag for tag, _ in page.elements].count("script") == 1
    assert not [tag for tag, _ in page.elements if tag in ("img", "b2")]
    assert HOSTILE in "".join(page.words) and "49" not in re.findall(r"\{\{(\d+)", text)


@pytest.mark.lengthy
def test_names_of_programs_stay_text_in_markdown(tmp_path: Path) -> None:
    """A third-party reader renders the Markdown and lets HTML through, as a forge does."""
    mention = "@someone #12 **bold** [a](b) ```"
    sample_store.advise(tmp_path, rename={"printer": HOSTILE, "main": HOSTILE, "shop::book": mention})
    rendered = (
        MarkdownIt("commonmark", {"html": True})
        .enable("table")
        .render(document(Format.MARKDOWN, report_cases.load(Store(tmp_path), None)[0]))
    )
    page = Page(rendered)
    elements = {tag for tag, _ in page.elements}
    assert elements <= {
        "h3", "p", "br", "table", "thead", "tbody", "tr", "th", "td", "code", "details", "summary", "ul", "li", "pre",
        "strong",
    }  # fmt: skip
    text = html.unescape(re.sub(r"<[^>]*>", "", rendered)).replace("\u2060", "")
    assert HOSTILE in text and mention in text
    outside = re.sub(r"<pre>.*?</pre>", "", rendered, flags=re.DOTALL)
    assert "@someone" not in outside and "#12" not in outside
    assert [tag for tag, _ in page.elements].count("table") == 4, "subsystems, effects, contenders, replay"


def test_text_json_and_markdown_tell_the_same_as_the_page(cases: list[Case]) -> None:
    advice = cases[0].advice
    for form in (Format.TEXT, Format.MARKDOWN):
        said = " ".join(re.sub(r"\\(.)", r"\1", document(form, cases)).split())
        assert advice.verdict in said
        assert "7.0 % of the events are from functions without symbols" in said
        for verb in ("record", "characterise", "trial", "replay", "advise"):
            assert f"millpond {verb} " in said
    data = json.loads(document(Format.JSON, cases))
    assert data["schema"] == "millpond.report/1"
    (case,) = data["cases"]
    assert case["advice"]["verdict"] == advice.verdict
    assert [s["name"] for s in case["advice"]["subsystems"]][:2] == ["shop::book", "shop::index"]
    assert all("diffusion" in s and "best" in s for s in case["advice"]["subsystems"])
    assert len(case["rounds"]["placement"]) == ROUNDS


@pytest.mark.lengthy
def test_replay_is_shown_with_the_trial_or_its_absence_explained(cases: list[Case]) -> None:
    advice = replace(cases[0].advice, replay=Replay(why_null="no time"))
    for form in (Format.HTML, Format.TEXT, Format.MARKDOWN):
        said = " ".join(re.sub(r"\\(.)", r"\1", document(form, cases)).split())
        assert "predicted, monotonic instead of a multipool" in said and "Its error is unknown" in said
        said = re.sub(r"\\(.)", r"\1", document(form, [Case(advice)]))
        assert "not replayed: no time" in said and "monotonic instead" not in said
        assert "not replayed" in document(form, [Case(replace(advice, replay=None))])


def test_modules_without_symbols_are_named_by_their_files(cases: list[Case]) -> None:
    from millpond.report.views.case_words import not_measured

    characterised = cases[0].characterisation
    assert characterised is not None
    nameless = (NamelessModule("/usr/lib/libx.so.1", "it has no symbols"),)
    trace = replace(characterised.trace, modules_without_names=nameless)
    case = Case(cases[0].advice, replace(characterised, trace=trace))
    assert "modules without symbols: libx.so.1" in not_measured(case)


def test_commands_can_be_pasted_into_a_shell_and_the_plan_is_the_plan(cases: list[Case]) -> None:
    text, page = page_of(cases)
    commands = [html.unescape(c) for c in re.findall(r"^(millpond [^<\n]*)", text, re.MULTILINE)]
    assert [shlex.split(c)[1] for c in commands] == [
        "advise", "record", "characterise", "trial", "replay", "compare",
    ]  # fmt: skip
    for command in commands:
        program = split(shlex.split(command)[1:]).program
        assert program in (PROGRAM, None)
    plan = cases[0].advice.plan
    assert plan is not None
    link = next(a for _, a in page.elements if "download" in a)
    assert json.loads(base64.b64decode(str(link["href"]).partition("base64,")[2])) == plan.to_json()
    assert link["download"] == "orders.plan.json"


@pytest.mark.lengthy
def test_hidden_rows_are_counted_and_summed(folder: Path, tmp_path: Path) -> None:
    case = report_cases.load(Store(folder), None)[0][0]
    last = case.advice.subsystems[-1]
    rows = (replace(last, name=f"n{i}", bytes=1000, events=10) for i in range(5000))
    advice = replace(case.advice, subsystems=(*case.advice.subsystems, *rows))
    text = report_page.render([Case(advice)])
    assert text.count('<td class="name">') < 100
    hidden = 5000 + len(NAMES) - 40
    assert f"and {hidden} smaller ones: {hidden / 1000:.2f} MB, {hidden / 100:.1f} k events" in text
    assert len(text.encode()) < 3_000_000
    assert "keeps no characterisation of this run" in text


@pytest.mark.lengthy
def test_a_page_of_many_runs_stays_below_its_limit(cases: list[Case], monkeypatch: pytest.MonkeyPatch) -> None:
    one = len(report_page.render(cases).encode())
    monkeypatch.setattr(report_page, "BUDGET_BYTES", 4 * one)
    text = report_page.render(cases * 60)
    assert len(text.encode()) <= 4 * one
    shown = text.count("<article")
    assert 3 < shown < 60
    assert f"{60 - shown} older workloads do not fit" in text
    assert text.count("<li>orders ") + text.count('<li><a href="#case-') == 60, "each has its line at the top at least"


def answers(**changes: Any) -> Advice:
    """Returns an advice without any finding, with the given changes."""
    noise = Effect(verdict="not settled")
    nothing = Advice(
        verdict="", effects={"faster_malloc": noise, "huge_pages": noise, "placement": noise}, sums={"net": noise},
        rounds=11, program=AnalysedProgram(argv=("p",)), trace=TraceSummary(), subsystems=(), notes=(),
    )  # fmt: skip
    return replace(nothing, **changes)


def test_the_answer_follows_the_evidence() -> None:
    from millpond.report.views.case_words import answer

    assert answer(answers())[0] == "nothing"
    assert answer(answers(choice=Option(kind="undecided")))[0] == "unknown", "not decided is not nothing"
    assert answer(answers(rounds=0))[0] == answer(answers(rounds=3))[0] == "unknown"
    malloc = Option(kind="malloc", command="LD_PRELOAD=libfast.so")
    assert answer(answers(choice=malloc)) == (
        "other",
        "Not a local allocator: another malloc helps, LD_PRELOAD=libfast.so.",
    )
