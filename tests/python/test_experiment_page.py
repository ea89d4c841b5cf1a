# SPDX-License-Identifier: BSL-1.0
"""The page of published experiments: works offline, escapes texts, is readable; shows published numbers and ours."""

from __future__ import annotations

import re
from collections.abc import Callable
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path

import pytest
from fakes.fake_p0089_suite import FakeP0089
from hypothesis import given
from hypothesis import strategies as st

from millpond.system.errors import Status
from millpond_bench.bench_cli import main
from millpond_bench.claims.claims import heading
from millpond_bench.pages.surfaces import Axes, surface
from millpond_bench.suites.every_experiment import PUBLISHED as EXPERIMENTS
from millpond_bench.suites.p0089_strategies import ALIASES, DOCUMENTS_LOCKED
from millpond_bench.tables.heat_tables import STEPS, ColourScale, Heat, heat_table

pytestmark = pytest.mark.more  # tests the bench of published experiments, not the product

Use = Callable[..., FakeP0089]
HOSTILE = "</style><script>alert(1)</script><img src='http://127.0.0.1:9/x' onerror='alert(2)'>"
levels = st.floats(1e-6, 1e9)


class Page(HTMLParser):
    """A parsed page: elements with their attributes, and the texts of cells."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.cells: list[tuple[str, str, str]] = []
        self._in: tuple[str, str] | None = None
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag == "td":
            self._in = (dict(attrs).get("class") or "", dict(attrs).get("title") or "")

    def handle_data(self, data: str) -> None:
        if self._in:
            self.cells.append((*self._in, data))

    def handle_endtag(self, tag: str) -> None:
        if tag == "td":
            self._in = None


def page(*words: str) -> tuple[str, Page]:
    assert main(["run", "-o", "out.json", "-o", "out.html", "--scale=quick", "--rounds=2", *words]) == Status.OK
    text = Path("out.html").read_text(encoding="utf-8")
    return text, Page(text)


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
def test_published_and_own_numbers_share_one_colour_scale(p0089: Use) -> None:
    p0089()
    _, found = page("p0089.1", "--cells=structures/ds=2/log2_size=8/*")
    published = [(kind, words) for kind, title, words in found.cells if title == "seconds"]
    assert ("h0", "12.8") in published and len(published) == 11 * 14
    ours = {words: kind for kind, title, words in found.cells if "2 rounds" in title and kind.startswith("h")}
    assert len(ours) > 5
    for kind, words in published:
        assert ours.get(words, kind) == kind


@pytest.mark.lengthy
def test_shares_use_the_papers_format_and_failures_are_named(p0089: Use) -> None:
    p0089(bad_alloc=[ALIASES["AS3"]])
    text, found = page("p0089.3", "--cells=utilization/log2_t=30/log2_a=15/*")
    assert any(title == "percent_of_AS1" and words == "440" for _, title, words in found.cells)
    assert any(words == "bad alloc" and title == "ran out of memory" for _, title, words in found.cells)
    assert any(kind == "none" and words == "0.063" for kind, _, words in found.cells), "the baseline has no colour"
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
    assert "Published on the left" not in text and "here / published" not in text
    text, _ = page("p0089.1", "--cells=structures/ds=1/log2_size=8/*")
    assert "Published on the left" in text and "Colours of here / published" in text


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


@pytest.mark.lengthy
@given(st.lists(levels, min_size=1, max_size=20))
def test_colours_rise_with_the_figures_and_stay_on_the_scale(found: list[float]) -> None:
    scale = ColourScale.over(found)
    steps = [scale.step(level) for level in sorted(found)]
    assert steps == sorted(steps)
    assert steps[0] == 0 and all(0 <= step < STEPS for step in steps)
    if max(found) >= 2.0 * min(found):
        assert steps[-1] == STEPS - 1


def test_a_cell_without_a_figure_has_no_colour() -> None:
    table = heat_table(
        "c", "size", [("AS1", "")], [("2^6", [None]), ("2^7", [Heat(None, "fail")])], ColourScale(1.0, 4.0)
    )
    assert [cells for _, cells in table.rows] == [[("none", "", "")], [("none", "fail", "")]]


def luminance(colour: str) -> float:
    digits = colour if len(colour) == 6 else "".join(2 * d for d in colour)
    parts = [int(digits[n : n + 2], 16) / 255 for n in (0, 2, 4)]
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_the_colours_darken_all_the_way_and_their_numbers_can_be_read() -> None:
    style = (files("millpond.report") / "templates" / "experiment.css").read_text(encoding="utf-8")
    found = re.findall(r"\.h(\d) \{ background: #([0-9a-f]+); color: #([0-9a-f]+); \}", style)
    assert [int(n) for n, _, _ in found] == list(range(STEPS))
    grounds = [luminance(ground) for _, ground, _ in found]
    assert grounds == sorted(grounds, reverse=True)
    for _, ground, ink in found:
        light, dark = sorted((luminance(ground), luminance(ink)), reverse=True)
        assert (light + 0.05) / (dark + 0.05) >= 4.5


@pytest.mark.lengthy
@given(st.lists(st.lists(st.one_of(st.none(), levels), min_size=3, max_size=3), min_size=2, max_size=5))
def test_a_surface_has_a_tile_wherever_four_corners_are_known(grid: list[list[float | None]]) -> None:
    scale = ColourScale.over(level for row in grid for level in row)
    axes = Axes([f"<{n}>" for n in range(len(grid))], ["a", "b", "c"])
    drawn = str(surface(grid, axes, scale, "label"))
    whole = [
        (r, c) for r in range(len(grid) - 1) for c in range(2)
        if None not in (grid[r][c], grid[r][c + 1], grid[r + 1][c], grid[r + 1][c + 1])
    ]  # fmt: skip
    assert drawn.count("<polygon") == len(whole)
    assert bool(drawn) == bool(whole)
    assert "<0>" not in drawn
    for x, y in re.findall(r"(-?[\d.]+),(-?[\d.]+)", "".join(re.findall(r'points="[^"]*"', drawn))):
        assert 0.0 <= float(x) <= 640.0 and 0.0 <= float(y) <= 480.0


@pytest.mark.more
def test_benchmark_ii_is_drawn_as_a_surface_and_benchmark_i_is_not(p0089: Use) -> None:
    p0089()
    text, _ = page("p0089.2", "--scale=standard", "--cells=locality/log2_g=21/*")
    assert text.count("<svg") >= 4 and "before the next one" in text
    text, _ = page("p0089.1", "--cells=structures/ds=1/*")
    assert "<svg" not in text


@pytest.mark.lengthy
def test_gains_of_local_allocators_are_the_papers_third_table(p0089: Use) -> None:
    p0089()
    _, found = page("p0089.2", "--scale=standard", "--cells=locality/log2_g=21/log2_s=18/*")
    gains = [words for _, title, words in found.cells if title == "ratio"][-22 * 9 :]
    assert "11.9" in gains, "18.0 without, 1.51 with: the document prints 11.9"
