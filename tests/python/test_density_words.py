# SPDX-License-Identifier: BSL-1.0
"""The report gives D's source or the reason why it is unknown, and the window in which it is measured."""

from __future__ import annotations

from millpond.report.views.case_words import window_text
from millpond.report.views.subsystem_view import density_note, density_text
from millpond.rounds.characterisation import Characterisation, Dimension, SubsystemFacts, Window

COUNTED = Dimension(0.19, "counted", {}, method="references")
UNKNOWN = Dimension(None, "estimated", {"at_least": 0.01}, "CPU time does not tell it", "CPU time")


def test_a_known_density_has_its_method_and_an_unknown_one_its_reason() -> None:
    assert density_text(COUNTED) == "counted, from references"
    assert density_text(UNKNOWN) == "CPU time does not tell it"
    assert density_text(Dimension()) == "unknown"
    rows = [SubsystemFacts(name=name, dvluc={"D": d}) for name, d in (("a", COUNTED), ("b", UNKNOWN), ("c", UNKNOWN))]
    assert density_note(rows) == "D is from references. D is unknown for 2 of 3: CPU time does not tell it."
    assert density_note(rows[:1]) == "D is from references."
    assert density_note([SubsystemFacts(name="of an older store")]) == ""


def test_a_window_is_described_by_its_events_and_seconds() -> None:
    window = Window("events=10:20", 10, 20, 0.5, 2.0)
    assert Characterisation.from_json(Characterisation(window=window).to_json()).window == window
    assert "events=10:20: events 10 to 20, 500 ms to 2" in window_text(window)
