# SPDX-License-Identifier: BSL-1.0
"""The page of published experiments: works offline, escapes texts, is readable; shows published numbers and ours."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from fakes.fake_p0089_suite import FakeP0089

from millpond.rounds.mallocs import find_mallocs
from millpond.system.errors import Status
from millpond_bench.bench_cli import main
from millpond_bench.claims.claims import heading
from millpond_bench.suites import unique_chars
from millpond_bench.suites.every_experiment import PUBLISHED as EXPERIMENTS
from millpond_bench.suites.p0089_strategies import ALIASES, DOCUMENTS_LOCKED
from millpond_bench.tables.page_tables import Entry, page_table

pytestmark = pytest.mark.more  # tests the bench of published experiments, not the product

Use = Callable[..., FakeP0089]
JUDGED = ("--scale=standard", "--rounds=6")  # a run with verdicts
HOSTILE = "</style><script>alert(1)</script><img src='http://127.0.0.1:9/x' onerror='alert(2)'>"


@dataclass
class Table:
    """A table of figures on a page: its caption, the headings with their units, and its cells."""

    caption: str = ""
    headings: list[tuple[str, str]] = field(default_factory=list)
    cells: list[tuple[int, str, str]] = field(default_factory=list)  # the column, the title, the text

    def of_unit(self, unit: str) -> list[str]:
        """The texts in columns of a unit."""
        return [text for column, _, text in self.cells if self.headings[column][1] == unit]


class Page(HTMLParser):
    """A parsed page: elements with their attributes, and its tables of figures."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.tables: list[Table] = []
        self._open: list[str] = []
        self._column, self._title = 0, ""
        self.feed(text)

    @property
    def cells(self) -> list[tuple[str, str]]:
        """The titles and texts of all cells."""
        return [(title, text) for table in self.tables for _, title, text in table.cells]

    def under(self, caption: str) -> list[Table]:
        """The tables with a caption."""
        return [table for table in self.tables if table.caption == caption]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.elements.append((tag, found))
        if tag == "table":
            self._open = []
            if found.get("class") == "figures":
                self.tables.append(Table())
                self._open = ["table"]
        if self._open and tag in ("caption", "th", "td", "small"):
            self._open.append("heading" if found.get("scope") == "col" else tag)
        if self._open and tag == "tr":
            self._column = 0
        if self._open[-1:] == ["td"]:
            self._column, self._title = self._column + 1, found.get("title") or ""
        if self._open[-1:] == ["heading"]:
            self.tables[-1].headings.append(("", ""))

    def handle_data(self, data: str) -> None:
        match self._open[1:]:
            case ["caption"]:
                self.tables[-1].caption += data
            case ["heading", *inner]:
                name, unit = self.tables[-1].headings[-1]
                self.tables[-1].headings[-1] = (name, unit + data) if inner else (name + data, unit)
            case ["td"]:
                self.tables[-1].cells.append((self._column, self._title, data))

    def handle_endtag(self, tag: str) -> None:
        if tag == "table":
            self._open = []
        if len(self._open) > 1 and tag == self._open[-1].replace("heading", "th"):
            self._open.pop()


def page(*words: str) -> tuple[str, Page]:
    assert main(["run", "-o", "out.json", "-o", "out.html", "--scale=quick", "--rounds=2", *words]) == Status.OK
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
    (table,) = found.under("published")
    published = table.of_unit("s for 2^27 leaves")
    assert "12.8" in published and len(published) == len(table.cells) == 11 * 14
    (ours,) = found.under("here")
    assert {unit for _, unit in ours.headings[1:]} == {"s for 2^27 leaves"}, "both have one unit"
    assert {name for name, _ in table.headings} <= {name for name, _ in ours.headings}
    assert len([words for title, words in found.cells if "2 rounds" in title]) > 5
    (figure,) = figures(text)
    names = {one["name"] for one in figure["series"]}
    assert {name.rpartition(", ")[2] for name in names} == {"published", "here"}


@pytest.mark.lengthy
def test_shares_use_the_papers_format_and_failures_are_named(p0089: Use) -> None:
    p0089(bad_alloc=[ALIASES["AS3"]])
    text, found = page("p0089.3", *JUDGED, "--cells=utilization/log2_t=30/log2_a=15/*")
    assert any("440" in table.of_unit("% of AS1") for table in found.under("published"))
    assert any(words == "bad alloc" and title == "ran out of memory" for title, words in found.cells)
    published = [cell for table in found.under("published") for cell in table.cells]
    assert any(title == "0.063 seconds" and words == "63.0 ms" for _, title, words in published)
    series = [(figure, one) for figure in figures(text) for one in figure["series"]]
    drawn = {one["group"] for _, one in series if "group" in one}
    drawn |= {figure["x"]["names"][at] for figure, one in series if "group" not in one for at, _ in one["points"]}
    assert "AS7" in drawn and "AS1" not in drawn, "the baseline has no share of itself"
    assert "not measured" in text
    absent = {"jemalloc", "tcmalloc"} & find_mallocs()[1].keys()  # two statements are about these
    assert ("cannot be tested here" in text) == bool(absent)


@pytest.mark.more
def test_a_statement_has_its_verdict_and_the_papers_objections(p0089: Use) -> None:
    p0089()
    text, _ = page("p0089.1", *JUDGED, "--cells=structures/ds=2/*")
    assert 'class="l verdict-holds"' in text
    assert "The document itself: in the table it is 2 to 6 % slower" in text
    assert "missing: a POWER7 machine" in text


@pytest.mark.more
def test_multipool_statements_are_judged_on_both_families(p0089: Use) -> None:
    p0089(factor=dict.fromkeys(DOCUMENTS_LOCKED.values(), 9.0))
    text, _ = page("p0089.1", *JUDGED, "--cells=structures/ds=2/*")
    assert '<th scope="col">on the document\'s allocators<' in text and '<th scope="col">on ours<' in text
    assert "On the paper&#39;s allocators " in text and "On ours " in text
    (row,) = [line for line in text.splitlines() if 'id="1.ds2.multipool"' in line]
    assert row.index("verdict-fails") < row.index("verdict-holds")
    (once,) = [line for line in text.splitlines() if 'id="1.ds4.virtual.global"' in line]
    assert once.count('colspan="2"') == 2
    text, _ = page("p0089.anomalies", *JUDGED, "--cells=structures/ds=1/log2_size=8/*")
    assert 'class="l verdict-' in text
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
    assert "All figures are measured here" in text and "No published figures: the talk" in text
    assert "as published" not in text and "here / published" not in text
    text, _ = page("p0089.1", "--cells=structures/ds=1/log2_size=8/*")
    assert "dashed as published" in text and "here / published" in text
    assert "All figures are measured here" not in text


@pytest.mark.lengthy
def test_a_long_name_does_not_widen_its_column(p0089: Use) -> None:
    p0089()
    text, found = page("unique_chars")
    headings = {name for table in found.tables for name, _ in table.headings[1:]}
    assert "set:monotonic:type:destroy" in headings
    assert unique_chars.ALIASES.keys() & headings and not set(unique_chars.ALIASES.values()) & headings, "go by numbers"
    assert headings <= set(re.findall(r'<td class="l first"><b>([^<]*)</b></td>', text)), "the legend has them all"
    (rule,) = re.findall(r"table\.figures thead th \{(.*?)\}", text)
    assert {"white-space: normal", "overflow-wrap: anywhere", "max-width: 6.5rem"} <= set(rule.strip(" ;").split("; "))


@pytest.mark.parametrize("name", dict.fromkeys(e.claims for e in EXPERIMENTS))
def test_statements_name_their_author(name: str) -> None:
    assert heading(name)


def test_a_table_leaves_out_columns_that_are_empty_everywhere() -> None:
    rows = [("2^6", [None, Entry("1"), None]), ("2^7", [Entry(""), None, Entry("fail", "why")])]
    table = page_table("c", "size", [("AS1", ""), ("AS2", ""), ("AS3", "")], rows, ["s", "%", "ratio"])
    assert [name for name, _ in table.headings] == ["AS2", "AS3"]
    assert table.units == ["%", "ratio"], "a column keeps its unit"
    assert [[entry.text for entry in entries] for _, entries in table.rows] == [["1", ""], ["", "fail"]]
    assert not table.empty and page_table("c", "size", [("AS1", "")], [("2^6", [None])], ["s"]).empty


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
    gains = found.under("published")[-1].of_unit("ratio")
    assert len(gains) == 22 * 9
    assert "11.9" in gains, "18.0 without, 1.51 with: the document prints 11.9"
