# SPDX-License-Identifier: BSL-1.0
"""Writes a report in one of its forms: cases in, the text of a page, a terminal, Markdown or JSON out."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path

from millpond.advice.advice_data import Advice
from millpond.report.cases import Case, of_run
from millpond.store.store import Store
from millpond.system import output


class Format(StrEnum):
    """What a report can be written as."""

    HTML = "html"
    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"
    CSV = "csv"
    PPROF = "pprof"
    COLLAPSED = "collapsed"
    SPEEDSCOPE = "speedscope"
    CHROME = "chrome"


def document(chosen: Format, cases: Sequence[Case], damaged: Sequence[str] = (), missing: Sequence[str] = ()) -> str:
    """The report itself in one of its four forms. `damaged`, `missing`: what the store could not give."""
    from millpond.report import markdown, page, text

    if chosen is Format.HTML:
        return page.render(cases, damaged, missing)
    if chosen is Format.MARKDOWN:
        return markdown.render(cases, damaged, missing)
    if chosen is Format.JSON:
        return output.json_text({
            "schema": "millpond.report/1", "skipped": list(damaged), "missing": list(missing),
            "cases": [c.to_json() for c in cases],
        })  # fmt: skip
    return text.render(cases, damaged, missing)


def write_report(path: Path, advices: Sequence[Advice], store: Store | None = None) -> None:
    """Writes the page of these advices, with what `store` keeps of their runs. Failure (4) where that is impossible."""
    cases = [of_run(store, a.run, a) if store and a.run and not a.inputs else Case(a) for a in advices]
    output.write_text(path, document(Format.HTML, cases))
