# SPDX-License-Identifier: BSL-1.0
"""A characterisation with references: its record, and its text on the terminal."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from rich.console import Console

from millpond.report import terminal
from millpond.report.views.run_view import characterisation_section
from millpond.rounds.characterisation import Characterisation, ReferenceFacts

EXAMPLE = Path(__file__).parent / "data" / "characterisation_with_references.json"


@pytest.fixture
def example() -> Characterisation:
    return Characterisation.read(EXAMPLE)


def counted(data: Characterisation) -> ReferenceFacts:
    assert data.references is not None
    return data.references


def test_the_record_keeps_everything_that_the_file_has(example: Characterisation) -> None:
    kept = example.to_json()
    given = json.loads(EXAMPLE.read_text(encoding="utf-8"))
    assert kept["references"] == given["references"]
    assert [s["references"] for s in kept["subsystems"]] == [s["references"] for s in given["subsystems"]]


def test_the_example_adds_up(example: Characterisation) -> None:
    whole = counted(example)
    assert sum(place.references for place in whole.places) == whole.references
    assert sum(place.misses for place in whole.places) == whole.misses["program"] + whole.misses["allocator"]
    own = [s.references for s in example.subsystems if s.references]
    assert sum(each.misses for each in own) == whole.places[0].misses
    for each in own:
        assert each.locality == each.references / (each.references + each.lines * each.transitions)


def test_the_terminal_shows_and_explains_counted_locality(example: Characterisation) -> None:
    console = Console(record=True, width=200)
    terminal.print_section(characterisation_section(example), console)
    text = console.export_text()
    assert "L = I/(I + M·T)" in text
    assert "lines that the allocator evicted" in text


def test_without_references_the_terminal_does_not_mention_them() -> None:
    console = Console(record=True, width=200)
    terminal.print_section(characterisation_section(Characterisation()), console)
    assert "references" not in console.export_text()
    assert Characterisation().to_json()["references"] is None
