# SPDX-License-Identifier: BSL-1.0
"""Opens the documentation's site in a browser: offline, accessible, readable on any screen, and searchable."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from devtools import FAINT, Chromium, find_chromium

from millpond_docs.build_site import ROOT, SITE

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_chromium() is None, reason="chromium is missing; apt-get install chromium"),
    pytest.mark.skipif(
        importlib.util.find_spec("sphinx") is None or shutil.which("doxygen") is None,
        reason="the site's generator is missing; scripts/setup docs installs it",
    ),
]

SCREENS = [(1280, 800, "light"), (1280, 800, "dark"), (400, 800, "light"), (400, 800, "dark")]
# One page of each kind, and those with the widest tables and code.
PAGES = (
    "index", "questions", "search", "tutorial/first_advice", "how_to/choosing_an_allocator",
    "reference/cli/millpond-advise", "reference/library/index",
    "reference/library/local/multipool", "reference/schemas/millpond.plan.1", "reference/limits",
    "explanation/other_tools", "results/p0089", "project/changelog",
)  # fmt: skip


@pytest.fixture(scope="module")
def site() -> Iterator[Path]:
    """The site, built now: what has not changed since the last build is not built again."""
    done = subprocess.run(
        [sys.executable, "-m", "millpond_docs.build_site"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    yield SITE


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize(("width", "height", "scheme"), SCREENS)
def test_pages_are_offline_and_accessible(
    browser: Chromium, site: Path, page: str, width: int, height: int, scheme: str
) -> None:
    found = next(path for path in site.rglob("*.html") if path.relative_to(site).as_posix().lower() == f"{page}.html")
    browser.open(found, width, height, scheme=scheme)
    assert browser.complaints() == []
    assert not [url for url in browser.requests() if not url.startswith(("file:", "data:"))]
    assert browser.evaluate("document.documentElement.scrollWidth") <= width
    assert browser.evaluate(FAINT) == []
    assert browser.findings() == []


def test_search_finds_a_verb_without_a_network(browser: Chromium, site: Path) -> None:
    browser.open(site / "search.html", 1280, 800)
    browser.evaluate("Search.performSearch('synthesize')")
    shown = "[...document.querySelectorAll('#search-results li a')].map((one) => one.textContent)"
    found = "document.querySelector('#search-results li a')"
    browser.evaluate(
        f"new Promise((done) => {{ const look = () => {found} ? done(0) : setTimeout(look, 50); look(); }})"
    )
    assert "millpond synthesize" in browser.evaluate(shown)


def test_every_page_of_the_site_is_linked(site: Path) -> None:
    names = {path.relative_to(site).as_posix() for path in site.rglob("*.html")} - {"search.html"}
    linked = {"index.html"}
    for path in site.rglob("*.html"):
        text = path.read_text(encoding="utf-8")
        for target in {part.split('"')[0].split("#")[0] for part in text.split('href="')[1:]}:
            aim = (path.parent / target).resolve()
            if target and aim.is_relative_to(site.resolve()):
                linked.add(aim.relative_to(site.resolve()).as_posix())
    assert names <= linked, names - linked
