# SPDX-License-Identifier: BSL-1.0
"""Figures that a text quotes from kept results: marked in the text, written by a tool, checked by a test.

    sets load <!-- result unique_chars u.loads -->0.6 (0.59 – 0.61)<!-- end --> times as often

The marker names the paper and the statement. Of several parts the first counts, in the order of the paper's page.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from millpond_bench.pages.kept_results import KeptResults
from millpond_bench.pages.results_page import figure_text

_QUOTED = re.compile(r"(<!-- result (\S+) (\S+) -->)(.*?)(<!-- end -->)", re.DOTALL)


def quoted(text: str, results: Iterable[KeptResults]) -> str:
    """The text with current figures between its markers. ValueError for a statement without a figure.

    O(text + statements).
    """
    known: dict[tuple[str, str], str] = {}
    for one in results:
        for part in one.parts:
            for claim in part.claims:
                if claim.ours is not None:
                    known.setdefault((one.document, claim.id), figure_text(claim.ours))

    def of_today(match: re.Match[str]) -> str:
        before, document, statement, after = (match[n] for n in (1, 2, 3, 5))
        figure = known.get((document, statement))
        if figure is None:
            raise ValueError(f"no figure of {statement} is among the kept results of {document}")
        return before + figure + after

    return _QUOTED.sub(of_today, text)
