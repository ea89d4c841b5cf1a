# SPDX-License-Identifier: BSL-1.0
"""Opens the report in a browser: no errors, no requests, the verdict on the first screen, readable on any screen."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
import sample_store
from devtools import FAINT, Chromium, find_chromium
from msgspec.structs import replace

from millpond.advice.advice_data import Advice
from millpond.advice.captured_references import of_run
from millpond.report import cases as report_cases
from millpond.report import page as report_page
from millpond.rounds.characterisation import Characterisation
from millpond.rounds.reference_capture import CapturedRun
from millpond.store.store import Store

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_chromium() is None, reason="chromium is missing; apt-get install chromium"),
]

SCREENS = [(1280, 800, "light"), (1280, 800, "dark"), (400, 800, "light"), (400, 800, "dark"), (800, 1100, "light")]
HOSTILE = "</style><script>alert(1)</script><img src='http://127.0.0.1:9/x' onerror='alert(2)'>"
LONG = "std::_Hashtable<unsigned_int,std::pair<unsigned_int_const,shop::customer_index::visit>,std::allocator>" * 3


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report of two workloads, one of which has long or hostile names."""
    folder = tmp_path_factory.mktemp("report")
    sample_store.advise(folder / "store", ("/opt/other", HOSTILE), rename={"printer": HOSTILE, "shop::index": LONG})
    sample_store.advise(folder / "store")
    path = folder / "report.html"
    cases = sorted(report_cases.load(Store(folder / "store"), None)[0], key=lambda case: case.name != "orders")
    path.write_text(report_page.render(cases), encoding="utf-8")
    return path


@pytest.mark.parametrize(("width", "height", "scheme"), SCREENS)
def test_page_is_silent_and_offline(browser: Chromium, page: Path, width: int, height: int, scheme: str) -> None:
    browser.open(page, width, height, scheme=scheme)
    for button in range(int(browser.evaluate("document.querySelectorAll('th button').length"))):
        browser.evaluate(f"document.querySelectorAll('th button')[{button}].click()")
    browser.evaluate("document.querySelectorAll('details').forEach((fold) => fold.open = true)")
    assert browser.complaints() == []
    assert browser.requests() == [page.resolve().as_uri()]
    assert not [e for e in browser.events if e.get("method") == "Page.javascriptDialogOpening"]
    assert browser.evaluate("document.scripts.length") == 1


@pytest.mark.parametrize(("width", "height", "scheme"), SCREENS)
def test_the_verdict_is_seen_without_scrolling(
    browser: Chromium, page: Path, width: int, height: int, scheme: str
) -> None:
    browser.open(page, width, height, scheme=scheme)
    for selector in (".answer", ".verdict", *([".case tbody tr:nth-child(2)"] if width > 1000 else [])):
        box: dict[str, Any] = browser.evaluate(f"document.querySelector('{selector}').getBoundingClientRect().toJSON()")
        assert box["top"] >= 0 and box["bottom"] <= height and box["right"] <= width, (selector, box)


@pytest.mark.parametrize(("width", "height", "scheme"), SCREENS)
def test_pages_fit_the_screen_and_all_text_is_readable(
    browser: Chromium, page: Path, width: int, height: int, scheme: str
) -> None:
    browser.open(page, width, height, scheme=scheme)
    browser.evaluate("document.querySelectorAll('details').forEach((fold) => fold.open = true)")
    assert browser.evaluate("document.documentElement.scrollWidth") <= width
    assert browser.evaluate(FAINT) == []
    small = (
        "[...document.querySelectorAll('p, td, li, pre')].filter(e => parseFloat(getComputedStyle(e).fontSize) < 11)"
    )
    assert browser.evaluate(f"{small}.length") == 0


@pytest.mark.parametrize(("width", "height", "scheme"), SCREENS)
def test_misses_of_references_are_readable(
    browser: Chromium, tmp_path: Path, width: int, height: int, scheme: str
) -> None:
    example = Path(__file__).resolve().parents[1] / "python" / "data" / "characterisation_with_references.json"
    captured = Characterisation.from_json(json.loads(example.read_text(encoding="utf-8")))
    advice = Advice.from_json(sample_store.advise(tmp_path / "store"))
    given = replace(advice, references=of_run(CapturedRun(captured, 12.0, 0.6, 3.0)))
    path = tmp_path / "captured.html"
    path.write_text(report_page.render([report_cases.Case(given)]), encoding="utf-8")
    browser.open(path, width, height, scheme=scheme)
    browser.evaluate("document.querySelectorAll('details').forEach((fold) => fold.open = true)")
    assert browser.complaints() == []
    assert browser.evaluate("document.documentElement.scrollWidth") <= width
    assert browser.evaluate(FAINT) == []
    data = "JSON.parse(document.querySelector('figure[data-figure=heat] template').content.textContent).cells"
    assert len({value for _, _, value, *_ in browser.evaluate(data)}) > 2, "misses show as strength"


def test_a_heading_sorts_and_sorts_back(browser: Chromium, page: Path) -> None:
    browser.open(page, 1280, 800)
    names = "[...document.querySelectorAll('.case')][0].querySelectorAll('tr.pays')[0].parentElement.rows"
    by_bytes = f"[...{names}].map(row => +row.cells[4].dataset.v)"
    click = "document.querySelector('tr.pays').closest('table').tHead.rows[0].cells[4].firstChild.click()"
    browser.evaluate(click)
    down = browser.evaluate(by_bytes)
    browser.evaluate(click)
    up = browser.evaluate(by_bytes)
    assert down == sorted(down, reverse=True) and up == sorted(down) and len(set(up)) > 2
    assert browser.evaluate("document.querySelectorAll('[aria-sort=ascending]').length") == 1


def test_a_name_leads_to_its_part_and_printing_unfolds_everything(browser: Chromium, page: Path) -> None:
    browser.open(page, 1280, 800)
    closed = "document.querySelectorAll('details:not([open])').length"
    before = browser.evaluate(closed)
    browser.evaluate("document.querySelectorAll('.case td.first a')[1].click()")
    browser.evaluate("new Promise((done) => setTimeout(done, 50))")
    aim = "document.getElementById(location.hash.slice(1))"
    assert browser.evaluate(f"{aim}.tagName == 'DETAILS' && {aim}.open && {aim}.getBoundingClientRect().top < 800")
    assert browser.evaluate(closed) == before - 2, "the subsystem's section, and the one around it"
    browser.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert browser.evaluate(closed) == 0
    browser.evaluate("dispatchEvent(new Event('afterprint'))")
    assert browser.evaluate(closed) == before - 2
    printed = browser.send("Page.printToPDF", paperWidth=8.27, paperHeight=11.7)
    assert len(printed["data"]) > 10_000


@pytest.mark.parametrize(("width", "most"), [(1280, 3500), (400, 7500)])
def test_a_page_of_two_cases_is_short_until_it_is_unfolded(
    browser: Chromium, page: Path, width: int, most: int
) -> None:
    browser.open(page, width, 800)
    assert browser.evaluate("document.querySelectorAll('.case').length") == 2
    assert browser.evaluate("document.documentElement.scrollHeight") <= most
    assert browser.evaluate("document.querySelectorAll('details[open]').length") == 0


def test_five_thousand_subsystems_open_at_once(browser: Chromium, tmp_path: Path) -> None:
    advice = Advice.from_json(sample_store.advise(tmp_path / "store"))
    last = advice.subsystems[-1]
    rows = (replace(last, name=f"{LONG}::n{i}", bytes=1000, events=10) for i in range(5000))
    path = tmp_path / "large.html"
    case = report_cases.case_of(Store(tmp_path / "store").load(advice.run or ""), advice)
    large = replace(advice, subsystems=(*advice.subsystems, *rows))
    path.write_text(report_page.render([dataclasses.replace(case, advice=large)]), encoding="utf-8")
    assert path.stat().st_size < 1_500_000
    browser.open(path, 1280, 800)
    assert browser.complaints() == []
    assert browser.evaluate("document.documentElement.scrollHeight") < 2200
    assert browser.evaluate("document.querySelectorAll('*').length") < 6000


def test_checks_notice_planted_flaws(browser: Chromium, tmp_path: Path) -> None:
    bad = tmp_path / "bad.html"
    bad.write_text(
        "<!doctype html><p style='color:#999;font-size:16px'>faint</p><img src='http://127.0.0.1:9/x.png'>"
        "<script>console.error('wrong')</script>"
    )
    browser.open(bad, 400, 800)
    assert len(browser.complaints()) >= 1 and len(browser.requests()) == 2
    assert len(browser.evaluate(FAINT)) == 1
