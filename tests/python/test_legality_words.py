# SPDX-License-Identifier: BSL-1.0
"""The text about a scope: only observed scopes are called legal or get a tick."""

from __future__ import annotations

import pytest

from millpond.advice.row_reasons import legality_text
from millpond.report.views.subsystem_view import short_legality
from millpond.rounds.characterisation import ALIVE_AT_END, NOT_DECIDED, NOT_DISPROVED, OUTERMOST, ScopeLegality


def scope(legality: str, name: str = "parse") -> ScopeLegality:
    outliving = 7 if legality == "illegal" else 0
    legal = legality == "legal"
    return ScopeLegality(
        scope="function", name=name, legality=legality, legal=legal, outliving=outliving,
        alive_at_end=3 if legality == ALIVE_AT_END else 0, why_not_observed="the recording stopped",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("legality", "mark", "said"),
    [
        ("legal", "yes", "legal: function parse"),
        (OUTERMOST, "perhaps", "legal for the outermost call: function parse"),
        (NOT_DISPROVED, "perhaps", "not disproved, not observed: function parse"),
        (ALIVE_AT_END, "perhaps", "alive at the end (3 objects): function parse"),
        (NOT_DECIDED, "unknown", "not decided: the recording stopped"),
        ("illegal", "no", "illegal everywhere: ≥ 7 outlive function parse"),
    ],
)
def test_each_word_has_its_mark(legality: str, mark: str, said: str) -> None:
    scopes = [scope("illegal", "inner"), scope(legality)]
    assert short_legality(scopes[1:])[0] == mark
    assert legality_text(scopes[1:]) == said


def test_an_observed_scope_is_named_before_others() -> None:
    scopes = [scope(NOT_DISPROVED, "inner"), scope("legal", "outer")]
    assert short_legality(scopes) == ("yes", "outer")
    assert legality_text(scopes) == "legal: function outer"
