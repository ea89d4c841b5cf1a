# SPDX-License-Identifier: BSL-1.0
"""Bench pages and the terminal at quick scale: figures without verdicts; labels, units and numbers for a reader."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from fakes.fake_p0089_suite import FakeP0089

from millpond.system.errors import Status
from millpond_bench.bench_cli import main
from millpond_bench.claims.claims import VERDICTS
from millpond_bench.experiments.experiment import PublishedSpec
from millpond_bench.suites.every_experiment import OF_SUITES, PUBLISHED
from millpond_bench.tables import legend
from millpond_bench.tables.quantities import quantity_of

_FEW = ("p0089.2", "p0089.3", "suballocator.2", "reserve_commit.1", "reserve_commit.3", "unique_chars")


class Page(HTMLParser):
    """The cells of the tables of figures, and the first cells of the legends."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.headings: list[str] = []
        self.cells: list[str] = []
        self.labels: list[str] = []
        self.corners: list[str] = []
        self.rows: list[str] = []
        self._table, self._row, self._place, self._at = "", 0, 0, ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "table":
            self._table, self._row = dict(attrs).get("class") or "", 0
        elif tag == "tr":
            self._row, self._place = self._row + 1, 0
        elif tag in ("th", "td"):
            self._place += 1
            self._list(tag).append("")
            self._at = tag
        elif tag == "small" and self._at:
            self._list(self._at)[-1] += "|"

    def handle_endtag(self, tag: str) -> None:
        if tag in ("th", "td"):
            self._at = ""

    def handle_data(self, data: str) -> None:
        if self._at:
            self._list(self._at)[-1] += data

    def _list(self, tag: str) -> list[str]:
        if "labels" in self._table:
            return self.labels if tag == "td" and self._place == 1 else self.corners
        if self._table != "figures":
            return self.corners
        if tag == "td":
            return self.cells
        if self._place == 1:
            return self.corners if self._row == 1 else self.rows
        return self.headings


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("quick")
    with pytest.MonkeyPatch.context() as patch:
        FakeP0089().replace_programs(patch, folder)
        words = ["--scale=quick", f"-o{folder}/out.json", f"-o{folder}/out.html"]
        assert main(["run", *_FEW, *words]) == Status.OK
    return folder / "out.html"


def test_quick_scale_has_no_verdicts(quick: Path) -> None:
    text = quick.read_text(encoding="utf-8")
    body = text[text.index("<main>") : text.index("</main>")]
    assert "Quick scale shows figures, without verdicts" in body
    assert "--scale standard" in body, "the command that gives verdicts"
    assert not re.search(r'class="l verdict-|statements? hold|<th[^>]*>verdict', body)
    assert not re.search(rf"<td[^>]*>({'|'.join(VERDICTS)})<", body)
    assert '<td data-label="here"' in body, "statements have their figures"


def test_quick_scale_prints_no_verdicts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    FakeP0089().replace_programs(monkeypatch, tmp_path)
    assert main(["run", "suballocator.2", "--scale=quick", f"-o{tmp_path}/o.json"]) == Status.OK
    out = capsys.readouterr().out
    assert out.startswith("Quick scale shows figures, without verdicts")
    assert " hold" not in out and "undecided" not in out


def test_every_label_of_a_table_is_in_the_legend(quick: Path) -> None:
    page = Page(quick.read_text(encoding="utf-8"))
    known = set(page.labels)
    names = {alias or name for spec in OF_SUITES if spec.name in _FEW
             for name in spec.data.measured_strategies for alias in (spec.data.alias(name),)}  # fmt: skip
    shown = {heading.partition("|")[0] for heading in page.headings} | set(page.rows)
    assert shown & names, "tables have labels"
    assert shown & names <= known


def test_every_heading_has_a_unit(quick: Path) -> None:
    page = Page(quick.read_text(encoding="utf-8"))
    assert page.headings
    assert [heading for heading in page.headings if not heading.partition("|")[2].strip()] == []


def test_no_cell_is_longer_than_12_digits(quick: Path) -> None:
    page = Page(quick.read_text(encoding="utf-8"))
    assert page.cells
    assert [cell for cell in page.cells if re.search(r"\d{7}", cell) or sum(c.isdigit() for c in cell) > 12] == []


@pytest.mark.parametrize("spec", PUBLISHED, ids=lambda spec: spec.name)
def test_the_legend_has_words_for_every_experiment(spec: PublishedSpec) -> None:
    parts = [part for of in (spec.data.parts, spec.data.counted) for parts in of.values() for part in parts]
    names = [
        *spec.data.measured_strategies, *spec.data.extra_strategies, *spec.data.aliases.values(),
        *(name for part in parts for name in part.strategies),
    ]  # fmt: skip
    rows = legend.labels(spec, names)
    assert all(row.allocator and row.code and row.sentence for row in rows)
    every = replace(spec, data=replace(spec.data, axes=(*spec.data.axes, *spec.data.free)))  # as --set makes them
    assert all(row.meaning and row.unit for row in legend.axes(every))
    assert legend.question(spec.name).asks.endswith("?")


def test_quantities_have_one_unit_where_values_lie_close_together() -> None:
    near, far = quantity_of("bytes", [1_073_749_501, 2.1e9]), quantity_of("bytes", [4096, 1_073_749_501])
    assert (near.unit, near.text(1_073_749_501)) == ("GB", "1.07")
    assert (far.unit, far.text(4096), far.text(1_073_749_501)) == ("bytes", "4.10 kB", "1.07 GB")
    assert quantity_of("ns", [3.2e6]).unit == "ms"
    assert quantity_of("seconds for 2^27 leaves", [1.2]).unit == "s for 2^27 leaves"
