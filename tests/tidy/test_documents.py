# SPDX-License-Identifier: BSL-1.0
"""The documents stay short, and figures of our own keep their command and date."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import repository

WORDS_AT_MOST = {
    "docs/design.md": 1100,
    "docs/explanation/*.md": 1200,
    "docs/reference/benchmarks.md": 1200,
    "docs/reference/trace_format.md": 2200,
}
MONTHS = "January|February|March|April|May|June|July|August|September|October|November|December"
COMMAND = re.compile(r"`(?:make|millpond|millpond-bench) [^`]+`")


def pages(pattern: str) -> list[Path]:
    return [path.relative_to(repository.ROOT) for path in sorted(repository.ROOT.glob(pattern))]


def words(text: str) -> int:
    """The number of words, those of tables and code included; signs between them do not count."""
    return sum(any(letter.isalnum() for letter in word) for word in text.split())


@pytest.mark.parametrize("pattern", WORDS_AT_MOST)
def test_documents_keep_within_their_words(pattern: str) -> None:
    found = pages(pattern)
    assert found
    long = {str(path): count for path in found if (count := words(repository.text(path))) > WORDS_AT_MOST[pattern]}
    assert not long, f"at most {WORDS_AT_MOST[pattern]} words: {long}"


def test_measured_figures_name_their_command_and_date() -> None:
    for path in pages("docs/results/measured/*.md"):
        text = repository.text(path)
        assert COMMAND.search(text), path
        assert path.name == "README.md" or re.search(rf"\b(?:{MONTHS}) 20\d\d\b", text), path


def test_each_index_lists_the_pages_of_its_folder() -> None:
    for folder in ("docs/explanation", "docs/results/measured"):
        index = repository.text(Path(folder) / "README.md")
        lost = [
            path.name for path in pages(f"{folder}/*.md") if path.name != "README.md" and f"({path.name})" not in index
        ]
        assert not lost, f"{folder}/README.md lists no {lost}"
