# SPDX-License-Identifier: BSL-1.0
"""The phases of a characterisation, in the words of the report."""

from __future__ import annotations

import msgspec

from millpond.report import page
from millpond.report.views.model import Bullets, Table, Words
from millpond.report.views.phase_view import arena_candidates, phase_section
from millpond.report.views.run_view import PAGE, characterisation_section
from millpond.rounds.characterisation import Characterisation, Phase, Phases, PhaseShare


def share(name: str, objects: int, ended_within: int, bytes_: int) -> PhaseShare:
    return PhaseShare(name, objects, bytes_, bytes_ // 2, ended_within, 0, objects - ended_within, bytes_)


def phase(name: str, *shares: PhaseShare) -> Phase:
    return Phase(name, 1, 1, 100, 50, 1000, 0.5, 0, 10, 500, shares)


MARKED = Phases(
    "marks",
    (
        phase("", share("start", 10, 10, 1000)),
        phase("load\x1b[31m", share("parser", 40, 40, 700), share("index", 10, 9, 300)),
        phase("serve", share("request", 5, 5, 10), share("reply", 99, 99, 990)),
    ),
)


def test_an_arena_is_named_where_all_objects_end_within() -> None:
    named = [words.split(":")[0] for words in arena_candidates(MARKED)]
    assert named == ["reply in serve", "parser in load\ufffd[31m"], (
        "request is too small, index outlives, start has no phase"
    )


def test_a_trace_of_one_phase_has_no_section() -> None:
    assert phase_section(None) is None
    assert msgspec.convert({}, Characterisation).phases is None, "older documents have none"


def test_the_page_has_the_phases_without_their_control_characters() -> None:
    html = page.render_fitting([characterisation_section(Characterisation(phases=MARKED), PAGE)], "Memory use")
    assert "load\ufffd[31m" in html and "\x1b" not in html
    assert all(f"{name} in" in html for name in ("reply", "parser"))


def test_the_section_shows_each_phase_and_its_method() -> None:
    section = phase_section(MARKED)
    assert section is not None
    shown, candidates = section.parts
    assert isinstance(shown, Table) and isinstance(candidates, Bullets)
    assert [row[0].text for row in shown.rows] == ["(no phase)", "load\ufffd[31m", "serve"]
    found = phase_section(Phases("change points", MARKED.phases))
    assert found is not None
    assert isinstance(found.parts[0], Table) and found.parts[0].rows[1][0].text == "phase 2"
    assert isinstance(found.parts[-1], Words) and "marks no phases" in found.parts[-1].text
