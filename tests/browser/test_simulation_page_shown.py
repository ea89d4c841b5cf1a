# SPDX-License-Identifier: BSL-1.0
"""Opens the page of simulations in a browser: exact values by pointer and keys, zoom, legends; no errors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import simulated
from devtools import FAINT, Chromium, find_chromium

from millpond.report.simulation_page import render
from millpond.rounds.simulation_data import Simulation

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_chromium() is None, reason="chromium is missing; apt-get install chromium"),
]

SCREENS = [(1280, 800, "light"), (1280, 800, "dark"), (400, 800, "light"), (400, 800, "dark")]
CHART = "document.querySelector('.stage').chart"
VIEW = f"JSON.stringify({CHART}.state.view)"
PIXELS = "new Uint32Array(document.querySelector('canvas').getContext('2d').getImageData(0, 0, 350, 300).data.buffer)"
TIP = "document.querySelector('.tip').hidden ? '' : document.querySelector('.tip').textContent"


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    first = Simulation.from_json({**simulated.document(), "level_times": [simulated.level_time()]})
    second = Simulation.from_json(simulated.document("other.mpt", 4000))
    path = tmp_path_factory.mktemp("simulation") / "page.html"
    path.write_text(render([("loop", first), ("other", second)]), encoding="utf-8")
    return path


@pytest.mark.parametrize(("width", "height", "scheme"), SCREENS)
def test_silent_offline_no_wider_than_the_screen_and_readable(
    browser: Chromium, page: Path, width: int, height: int, scheme: str
) -> None:
    browser.open(page, width, height, scheme=scheme)
    browser.evaluate("document.querySelectorAll('details').forEach((fold) => fold.open = true)")
    assert browser.complaints() == []
    assert browser.requests() == [page.resolve().as_uri()]
    assert browser.evaluate("document.documentElement.scrollWidth") <= width
    assert browser.evaluate(FAINT) == []
    assert browser.findings() == []
    painted = f"[...new Set({PIXELS})].length"
    assert browser.evaluate(painted) > 2, "curves are painted"


def mouse(browser: Chromium, kind: str, x: float, y: float, buttons: int = 0) -> None:
    pressed: dict[str, Any] = {"button": "left", "clickCount": 1} if kind != "mouseMoved" else {}
    browser.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, buttons=buttons, **pressed)


def dot(browser: Chromium) -> tuple[float, float]:
    """Returns the place in the window of the first point."""
    point = f"{CHART}.pixel(...{CHART}.kind.place({CHART}.kind.move(null, 0, 0, {CHART}.state)))"
    box = browser.evaluate("document.querySelector('.stage').getBoundingClientRect().toJSON()")
    x, y = browser.evaluate(f"[...{point}]")
    return box["x"] + x, box["y"] + y


def test_hovering_a_point_shows_its_exact_values(browser: Chromium, page: Path) -> None:
    browser.open(page, 1280, 800)
    mouse(browser, "mouseMoved", *dot(browser))
    said = browser.evaluate(TIP).replace("\u00a0", " ")
    assert said == "loop, direct-mapped\n8 KiB (8 192 B): 8 000 misses of 51 200 references, 15.6 %"
    mouse(browser, "mouseMoved", 5, 5)
    assert browser.evaluate(TIP) == ""


def test_arrow_keys_go_from_point_to_point(browser: Chromium, page: Path) -> None:
    browser.open(page, 1280, 800)
    browser.evaluate("document.querySelector('.stage').focus()")
    for key in ("ArrowRight", "ArrowRight"):
        browser.send("Input.dispatchKeyEvent", type="keyDown", key=key)
    assert "16 KiB" in browser.evaluate(TIP)
    browser.send("Input.dispatchKeyEvent", type="keyDown", key="ArrowDown")
    assert browser.evaluate(TIP).startswith("loop, 2 ways\n16 KiB")


def test_dragging_zooms_and_reset_shows_everything_again(browser: Chromium, page: Path) -> None:
    browser.open(page, 1280, 800)
    before = browser.evaluate(VIEW)
    x, y = dot(browser)
    mouse(browser, "mousePressed", x - 60, y - 40, 1)
    mouse(browser, "mouseMoved", x + 40, y + 40, 1)
    mouse(browser, "mouseReleased", x + 60, y + 60)
    zoomed = browser.evaluate(VIEW)
    assert zoomed != before
    moved = dot(browser)
    mouse(browser, "mouseMoved", *moved)
    assert "8 000" in browser.evaluate(TIP).replace("\u00a0", " "), "values stay exact in a zoom"
    browser.evaluate("document.querySelector('button[data-zoom=reset]').click()")
    assert browser.evaluate(VIEW) == before
    browser.evaluate("document.querySelector('button[data-zoom=in]').click()")
    assert browser.evaluate(VIEW) != before
    browser.evaluate("document.querySelector('button[data-zoom=out]').click()")
    browser.evaluate("document.querySelector('button[data-zoom=out]').click()")
    assert browser.evaluate(VIEW) == before, "nothing is farther out than everything"


def test_legends_hide_traces_and_organisations(browser: Chromium, page: Path) -> None:
    browser.open(page, 1280, 800)
    names = f"{CHART}.kind.series({CHART}.theme, {CHART}.state).length"
    assert browser.evaluate(names) == 6
    browser.evaluate("document.querySelector('figure button[data-key=gother]').click()")
    assert browser.evaluate(names) == 3, "the three curves of the other trace are left"
    browser.evaluate("document.querySelector('figure button[data-key=kdirect-mapped]').click()")
    assert browser.evaluate(names) == 2
    assert browser.evaluate("document.querySelectorAll('figure button[aria-pressed=false]').length") == 2
