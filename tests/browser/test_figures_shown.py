# SPDX-License-Identifier: BSL-1.0
"""Opens figures of every kind in a browser: drawn, accessible, operated by keys, searched, printed, with no script."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import every_figure
import pytest
from devtools import FAINT, Chromium, find_chromium

from millpond.report.figures import offline_page
from millpond.report.figures.figure_html import html_of

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_chromium() is None, reason="chromium is missing; apt-get install chromium"),
]

SCREENS = [(1280, 800, "light"), (1280, 800, "dark"), (400, 800, "light"), (400, 800, "dark")]
# Brings every figure near the window, so that it is drawn.
LOOK_AT_ALL = """(async () => {
  for (const figure of document.querySelectorAll("figure.figure")) {
    figure.scrollIntoView();
    for (let i = 0; i < 100 && !figure.querySelector("canvas"); ++i) await new Promise((done) => setTimeout(done, 20));
  }
  scrollTo(0, 0);
})()"""


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("figures") / "page.html"
    path.write_text(every_figure.page(every_figure.figures()), encoding="utf-8")
    return path


def look(browser: Chromium, page: Path, *screen: Any) -> None:
    width, height, scheme = screen or SCREENS[0]
    browser.open(page, width, height, scheme=scheme)
    browser.evaluate(LOOK_AT_ALL)


def stage(kind: str) -> str:
    return f"document.querySelector('figure[data-figure={kind}] .stage')"


def tip(browser: Chromium, kind: str) -> str:
    text = f"document.querySelector('figure[data-figure={kind}] .tip')"
    return str(browser.evaluate(f"{text}.hidden ? '' : {text}.textContent")).replace("\u00a0", " ")


def press(browser: Chromium, kind: str, *keys: str) -> str:
    """Presses keys in a figure; returns the exact values that it shows then."""
    browser.evaluate(f"{stage(kind)}.focus()")
    for key in keys:
        text = {"text": "\r"} if key == "Enter" else {}
        browser.send("Input.dispatchKeyEvent", type="keyDown", key=key, **text)
    return tip(browser, kind)


def view(browser: Chromium, kind: str) -> Any:
    return json.loads(browser.evaluate(f"JSON.stringify({stage(kind)}.chart.state.view)"))


@pytest.mark.parametrize("screen", SCREENS)
def test_every_figure_is_drawn_and_accessible(browser: Chromium, page: Path, screen: tuple[int, int, str]) -> None:
    look(browser, page, *screen)
    browser.evaluate("document.querySelectorAll('details').forEach((fold) => fold.open = true)")
    assert browser.complaints() == []
    assert browser.requests() == [page.resolve().as_uri()]
    assert browser.evaluate("document.documentElement.scrollWidth") <= screen[0]
    assert browser.evaluate(FAINT) == []
    assert browser.findings() == []
    blank = "[...document.querySelectorAll('canvas')].filter((c) => !c.width || !c.height).length"
    assert browser.evaluate(blank) == 0
    assert browser.evaluate("document.querySelectorAll('canvas').length") == 1 + 1 + 1 + 1 + 1 + 3 + 1 + 1


def test_keys_go_from_value_to_value_in_every_kind(browser: Chromium, page: Path) -> None:
    look(browser, page)
    assert press(browser, "curves", "ArrowRight", "ArrowRight").startswith(
        "direct-mapped\n2 KiB (2 048 B): 500 misses of"
    )
    assert press(browser, "heat", "ArrowRight", "ArrowRight") == "2^7, 2^1\nns 0.1664"
    assert press(browser, "heat", "ArrowDown") == "2^6, 2^1\nns 0.2033"
    assert press(browser, "intervals", "ArrowDown", "ArrowDown").startswith("the best malloc\nmedian -3 % (")
    assert press(browser, "icicle", "ArrowDown").startswith("main\nbytes ")
    assert "shop::index<" in press(browser, "icicle", "ArrowDown")


def test_keys_zoom_and_show_everything_again(browser: Chromium, page: Path) -> None:
    look(browser, page)
    for kind in ("curves", "heat", "intervals", "icicle"):
        whole = view(browser, kind)
        press(browser, kind, "+", "+")
        zoomed = view(browser, kind)
        assert zoomed["x"][1] - zoomed["x"][0] == pytest.approx((whole["x"][1] - whole["x"][0]) / 4)
        press(browser, kind, "0")
        assert view(browser, kind) == whole
        press(browser, kind, "+", "-", "-", "-")
        assert view(browser, kind) == whole, "nothing is farther out than everything"


def test_an_icicle_is_searched_enlarged_and_shows_other_measures(browser: Chromium, page: Path) -> None:
    look(browser, page)
    figure = "document.querySelector('figure[data-figure=icicle]')"
    field = f"{figure}.querySelector('input')"
    browser.evaluate(f"{field}.value = 'INDEX<7,'; {field}.dispatchEvent(new Event('input'))")
    found = str(browser.evaluate(f"{figure}.querySelector('.found').textContent"))
    assert re.fullmatch(r"[1-9]\d* found, [\d.]+ % of bytes", found)
    browser.evaluate(f"{figure}.querySelector('button[data-measure=\"1\"]').click()")
    assert browser.evaluate(f"{figure}.querySelector('.found').textContent").endswith("of events")
    assert press(browser, "icicle", "ArrowDown").startswith("main\nevents ")
    whole = view(browser, "icicle")
    press(browser, "icicle", "ArrowDown", "Enter")
    assert view(browser, "icicle")["x"] != whole["x"]
    press(browser, "icicle", "Escape")
    assert view(browser, "icicle") == whole


def test_the_colours_follow_the_scheme(browser: Chromium, page: Path) -> None:
    look(browser, page)
    ink = f"{stage('curves')}.chart.theme.ink"
    light = browser.evaluate(ink)
    browser.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark"}])
    browser.evaluate("new Promise((done) => setTimeout(done, 200))")
    assert browser.evaluate(ink) != light


def test_a_print_has_every_figure_in_light_colours(browser: Chromium, page: Path) -> None:
    browser.open(page, 1280, 800, scheme="dark")
    drawn = "document.querySelectorAll('canvas').length"
    assert browser.evaluate(drawn) < 8
    noted = "if (event.matches) printed = document.querySelector('.stage').chart.theme.ink"
    browser.evaluate(f"var printed = ''; matchMedia('print').addEventListener('change', (event) => {{ {noted} }}); 0")
    assert len(browser.send("Page.printToPDF", paperWidth=8.27, paperHeight=11.7)["data"]) > 100_000
    assert browser.evaluate(drawn) == 10
    light = "#1c2329"
    assert browser.evaluate("printed") == light, "on paper the dark scheme has the light colours"
    assert browser.evaluate("document.querySelector('.stage').chart.theme.ink") != light
    assert browser.complaints() == []


def test_without_scripts_a_figure_is_its_caption_and_its_values(browser: Chromium, tmp_path: Path) -> None:
    basis = offline_page.load("report.js", "report.css")
    path = tmp_path / "bare.html"
    figures = html_of(every_figure.curves())
    path.write_text(every_figure.PAGE.format(policy=basis.policy, style=basis.style, script="", figures=figures))
    browser.open(path, 1280, 800)
    assert browser.evaluate("document.querySelectorAll('canvas, .stage').length") == 0
    browser.evaluate("document.querySelector('details.values').open = true")
    assert browser.evaluate("document.querySelectorAll('details.values[open] tr').length") == 11
    assert browser.evaluate(FAINT) == []
    assert browser.findings() == []


def test_of_thousands_of_figures_only_the_near_ones_are_drawn(browser: Chromium, tmp_path: Path) -> None:
    basis = offline_page.load("report.js", "report.css")
    one = html_of(every_figure.curves(), table=False)
    text = every_figure.PAGE.format(policy=basis.policy, style=basis.style, script=basis.script, figures=one * 5000)
    path = tmp_path / "many.html"
    path.write_text(text, encoding="utf-8")
    browser.open(path, 1280, 800)
    browser.evaluate("new Promise((done) => setTimeout(done, 500))")
    assert 0 < browser.evaluate("document.querySelectorAll('canvas').length") < 20
