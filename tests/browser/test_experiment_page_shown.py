# SPDX-License-Identifier: BSL-1.0
"""Opens the page of published experiments in a browser: no errors, no requests, fits the screen, readable."""

from __future__ import annotations

from collections.abc import Iterator
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


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    with Chromium(tmp_path_factory.mktemp("chromium")) as opened:
        yield opened


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page of all suite experiments, in which one strategy fails."""
    folder = tmp_path_factory.mktemp("bench")
    with pytest.MonkeyPatch.context() as patch:
        FakeP0089(bad_alloc=["monotonic:type:destroy"]).replace_programs(patch, folder)
        names = [spec.name for spec in OF_SUITES]
        words = [*names, "--scale=quick", "--rounds=1", f"-o{folder}/out.json", f"-o{folder}/out.html"]
        assert main(["run", *words]) == 0
    return folder / "out.html"


@pytest.mark.parametrize(("width", "height", "scheme"), SCREENS)
def test_page_is_silent_offline_and_styled(browser: Chromium, page: Path, width: int, height: int, scheme: str) -> None:
    browser.open(page, width, height, scheme=scheme)
    browser.evaluate("document.querySelectorAll('details').forEach((fold) => fold.open = true)")
    assert browser.complaints() == []
    assert browser.requests() == [page.resolve().as_uri()]
    painted = "getComputedStyle(document.querySelector('td.h8')).backgroundColor"
    assert browser.evaluate(painted) != "rgba(0, 0, 0, 0)"
    filled = "getComputedStyle(document.querySelector('svg polygon')).fill"
    assert browser.evaluate(filled) != "rgb(0, 0, 0)"


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
