# SPDX-License-Identifier: BSL-1.0
"""Opens the page of published experiments in a browser: no errors, no requests, fits the screen, readable."""

from __future__ import annotations

from pathlib import Path

import pytest
from devtools import FAINT, Chromium, find_chromium
from fakes.fake_p0089_suite import FakeP0089

from millpond_bench.bench_cli import main
from millpond_bench.suites.every_experiment import OF_SUITES

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_chromium() is None, reason="chromium is missing; apt-get install chromium"),
]

SCREENS = [(1280, 800, "light"), (1280, 800, "dark"), (400, 800, "light"), (400, 800, "dark")]


def bench_page(folder: Path, *words: str) -> Path:
    with pytest.MonkeyPatch.context() as patch:
        FakeP0089(bad_alloc=["monotonic:type:destroy"]).replace_programs(patch, folder)
        more = ["--scale=quick", "--rounds=1", f"-o{folder}/out.json", f"-o{folder}/out.html"]
        assert main(["run", *words, *more]) == 0
    return folder / "out.html"


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page of all suite experiments, in which one strategy fails."""
    return bench_page(tmp_path_factory.mktemp("bench"), *[spec.name for spec in OF_SUITES])


@pytest.fixture(scope="module")
def short_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page of some experiments, because the checker takes minutes for all tables."""
    return bench_page(tmp_path_factory.mktemp("short"), "p0089.2", "p0089.dials", "reserve_commit.3")


@pytest.mark.parametrize(("width", "height", "scheme"), SCREENS)
def test_page_is_silent_offline_and_accessible(
    browser: Chromium, page: Path, width: int, height: int, scheme: str
) -> None:
    browser.open(page, width, height, scheme=scheme)
    browser.evaluate("document.querySelectorAll('details').forEach((fold) => fold.open = true)")
    assert browser.complaints() == []
    assert browser.requests() == [page.resolve().as_uri()]


@pytest.mark.parametrize(("width", "height", "scheme"), SCREENS)
def test_a_page_of_figures_and_statements_is_accessible(
    browser: Chromium, short_page: Path, width: int, height: int, scheme: str
) -> None:
    browser.open(short_page, width, height, scheme=scheme)
    browser.evaluate("document.querySelectorAll('details').forEach((fold) => fold.open = true)")
    assert browser.findings() == []


@pytest.mark.parametrize(("width", "height", "scheme"), SCREENS)
def test_pages_fit_the_screen_and_all_text_is_readable(
    browser: Chromium, page: Path, width: int, height: int, scheme: str
) -> None:
    browser.open(page, width, height, scheme=scheme)
    browser.evaluate("document.querySelectorAll('details').forEach((fold) => fold.open = true)")
    assert browser.evaluate("document.documentElement.scrollWidth") <= width
    assert browser.evaluate(FAINT) == []


def test_tables_show_all_their_columns_where_there_is_room(browser: Chromium, page: Path) -> None:
    browser.open(page, 1280, 800)
    cut = "[...document.querySelectorAll('.chart')].filter((c) => c.scrollWidth > c.clientWidth)"
    assert browser.evaluate(f"{cut}.map((c) => c.closest('article').id)") == []


def test_every_figure_is_drawn_when_it_comes_near(browser: Chromium, page: Path) -> None:
    browser.open(page, 1280, 800)
    kinds = browser.evaluate(
        "[...new Set([...document.querySelectorAll('figure.figure')].map((f) => f.dataset.figure))]"
    )
    assert set(kinds) == {"curves", "heat"}
    for kind in kinds:
        aim = f"[...document.querySelectorAll('figure[data-figure={kind}]')].at(-1)"
        browser.evaluate(f"{aim}.scrollIntoView(); new Promise((done) => setTimeout(done, 500))")
        assert browser.evaluate(f"{aim}.querySelectorAll('canvas').length") == 1
    assert browser.complaints() == []
