# SPDX-License-Identifier: BSL-1.0
"""The page of published experiments: works offline, escapes texts, is readable; shows published numbers and ours."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from fakes.fake_p0089_suite import FakeP0089

from millpond.cli import main
from millpond.system.errors import Status
from millpond_bench.claims.claims import heading
from millpond_bench.suites.every_experiment import PUBLISHED as EXPERIMENTS
from millpond_bench.suites.p0089_strategies import ALIASES, DOCUMENTS_LOCKED
from millpond_bench.tables.page_tables import Entry, page_table

pytestmark = pytest.mark.more  # tests the bench of published experiments, not the product

Use = Callable[..., FakeP0089]
HOSTILE = "</style><script>alert(1)</script><img src='http://127.0.0.1:9/x' onerror='alert(2)'>"


class Page(HTMLParser):
    """A parsed page: elements with their attributes, and the texts of cells."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.cells: list[tuple[str, str]] = []
        self._in: str | None = None
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag == "td":
            self._in = dict(attrs).get("title") or ""

    def handle_data(self, data: str) -> None:
        if self._in is not None:
            self.cells.append((self._in, data))

    def handle_endtag(self, tag: str) -> None:
        if tag == "td":
            self._in = None


def page(*words: str) -> tuple[str, Page]:
    assert main(["bench", "--json=out.json", "--report=out.html", "--scale=quick", "--rounds=2", *words]) == Status.OK
    text = Path("out.html").read_text(encoding="utf-8")
    return text, Page(text)


def figures(text: str) -> list[dict[str, Any]]:
    """Returns the specifications of the figures on a page."""
    return [json.loads(data) for data in re.findall(r"<template>(.*?)</template>", text)]


@pytest.mark.more
def test_the_page_needs_no_network_and_runs_no_foreign_code(p0089: Use) -> None:
    p0089()
    text, found = page("p0089")
    assert (
        "http:" not in text
        and "https:" not in text
        and "//" not in re.sub(r"<script>.*?</script>", "", text, flags=re.S)
    )
    policy = next(str(a["content"]) for _, a in found.elements if a.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none'") and "unsafe" not in policy
    for tag, attributes in found.elements:
        assert not {"src", "style", "onclick", "onerror"} & attributes.keys()
        assert tag not in ("img", "link", "iframe", "object")
        assert str(attributes.get("href") or "#").startswith("#")
    assert len(text.encode()) < 3_000_000


@pytest.mark.lengthy
def test_output_of_programs_is_escaped(p0089: Use, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = p0089()
    listed = fake.listed()
    monkeypatch.setattr(fake, "listed", lambda _program: {**listed, "compiler": HOSTILE})
    text, found = page("p0089.4", "--cells=contention/log2_n=15/*/threads=1/*")
    assert HOSTILE not in text and "&lt;script&gt;alert" in text
    assert [tag for tag, _ in found.elements].count("script") == 1


@pytest.mark.lengthy
def test_published_and_own_numbers_stand_next_to_one_another(p0089: Use) -> None:
    p0089()
    text, found = page("p0089.1", "--cells=structures/ds=2/log2_size=8/*")
    published = [words for title, words in found.cells if title == "seconds"]
    assert "12.8" in published and len(published) == 11 * 14
    assert len([words for title, words in found.cells if "2 rounds" in title]) > 5
    (figure,) = figures(text)
    names = {one["name"] for one in figure["series"]}
    assert {name.rpartition(", ")[2] for name in names} == {"published", "here"}


@pytest.mark.lengthy
def test_shares_use_the_papers_format_and_failures_are_named(p0089: Use) -> None:
    p0089(bad_alloc=[ALIASES["AS3"]])
    text, found = page("p0089.3", "--cells=utilization/log2_t=30/log2_a=15/*")
    assert any(title == "percent_of_AS1" and words == "440" for title, words in found.cells)
    assert any(words == "bad alloc" and title == "ran out of memory" for title, words in found.cells)
    assert any(words == "0.063" for _, words in found.cells)
    drawn = {one["group"] for figure in figures(text) for one in figure["series"]}
    assert drawn and not any(name.startswith("AS1 ") for name in drawn), "the baseline has no share of itself"
    assert "cannot be tested here" not in text and "not measured" in text


@pytest.mark.more
def test_a_statement_has_its_verdict_and_the_papers_objections(p0089: Use) -> None:
    p0089()
    text, _ = page("p0089.1", "--cells=structures/ds=2/*", "--rounds=6")
    assert 'class="l verdict-holds"' in text
    assert "The document itself: in the table it is 2 to 6 % slower" in text
    assert "missing: a POWER7 machine" in text


@pytest.mark.more
def test_multipool_statements_are_judged_on_both_families(p0089: Use) -> None:
    p0089(factor=dict.fromkeys(DOCUMENTS_LOCKED.values(), 9.0))
    text, _ = page("p0089.1", "--cells=structures/ds=2/*", "--rounds=6")
    assert "<th>on the document's allocators</th>" in text and "<th>on ours</th>" in text
    assert "On the paper&#39;s allocators " in text and "On ours " in text
    (row,) = [line for line in text.splitlines() if 'id="1.ds2.multipool"' in line]
    assert row.index("verdict-fails") < row.index("verdict-holds")
    (once,) = [line for line in text.splitlines() if 'id="1.ds4.virtual.global"' in line]
    assert once.count('colspan="2"') == 2
    text, _ = page("p0089.anomalies", "--cells=structures/ds=1/log2_size=8/*")
    assert "on the document's allocators" not in text and 'colspan="' not in text


@pytest.mark.more
def test_our_candidate_causes_are_not_attributed_to_the_paper(p0089: Use) -> None:
    p0089()
    text, _ = page("p0089.anomalies", "--cells=structures/ds=1/log2_size=8/*")
    assert "<h3>What may be the cause</h3>" in text and "What the document states" not in text
    text, _ = page("p0089.1", "--cells=structures/ds=1/log2_size=8/*")
    assert "<h3>What the document states</h3>" in text


@pytest.mark.more
def test_pages_without_published_figures_do_not_mention_them(p0089: Use) -> None:
    p0089()
    text, _ = page("unique_chars")
    assert "There are no published figures" in text and "No published figures: the talk" in text
    assert "Each table as published" not in text and "here / published" not in text
    text, _ = page("p0089.1", "--cells=structures/ds=1/log2_size=8/*")
    assert "Each table as published" in text and "here / published" in text


@pytest.mark.lengthy
def test_a_long_name_stands_on_end_above_its_column(p0089: Use) -> None:
    p0089()
    _, found = page("unique_chars")
    headings = [a for tag, a in found.elements if tag == "th" and a.get("title")]
    assert {a.get("class") for a in headings if a["title"] == "set:monotonic:type:destroy"} == {"long"}
    assert {a.get("class") for a in headings if a["title"] == "bitset"} == {None}, "it goes by its number"


@pytest.mark.parametrize("name", dict.fromkeys(e.claims for e in EXPERIMENTS))
def test_statements_name_their_author(name: str) -> None:
    assert heading(name)


def test_a_table_leaves_out_columns_that_are_empty_everywhere() -> None:
    rows = [("2^6", [None, Entry("1"), None]), ("2^7", [Entry(""), None, Entry("fail", "why")])]
    table = page_table("c", "size", [("AS1", ""), ("AS2", ""), ("AS3", "")], rows)
    assert [name for name, _ in table.headings] == ["AS2", "AS3"]
    assert [[entry.text for entry in entries] for _, entries in table.rows] == [["1", ""], ["", "fail"]]
    assert not table.empty and page_table("c", "size", [("AS1", "")], [("2^6", [None])]).empty


@pytest.mark.more
def test_benchmark_ii_is_drawn_as_a_surface_and_benchmark_i_is_not(p0089: Use) -> None:
    p0089()
    text, _ = page("p0089.2", "--scale=standard", "--cells=locality/log2_g=21/*")
    surfaces = [figure for figure in figures(text) if figure["figure"] == "heat"]
    assert len(surfaces) >= 4 and "before the next one" in text
    published, here = surfaces[:2]
    assert published["title"].endswith("published") and here["title"].endswith("here")
    assert (published["low"], published["high"]) == (here["low"], here["high"]), "both have one scale"
    text, _ = page("p0089.1", "--cells=structures/ds=1/*")
    assert {figure["figure"] for figure in figures(text)} == {"curves"}


@pytest.mark.lengthy
def test_gains_of_local_allocators_are_the_papers_third_table(p0089: Use) -> None:
    p0089()
    _, found = page("p0089.2", "--scale=standard", "--cells=locality/log2_g=21/log2_s=18/*")
    gains = [words for title, words in found.cells if title == "ratio"][-22 * 9 :]
    assert "11.9" in gains, "18.0 without, 1.51 with: the document prints 11.9"
