# SPDX-License-Identifier: BSL-1.0
"""`advise --references` adds a captured run to every form of the report; without Valgrind, a sentence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import FakeLab
from msgspec.structs import replace

from millpond.advice.advice_data import Advice, CapturedReferences, Change, LayoutPrediction, PredictedLayouts
from millpond.advice.captured_references import counted, not_captured, of_run
from millpond.report import markdown, page, terminal
from millpond.report.cases import Case, load
from millpond.report.views.case_words import not_measured
from millpond.report.views.model import Section, Table
from millpond.report.views.reference_view import reference_section, sentences
from millpond.rounds.characterisation import Characterisation, Dimension
from millpond.rounds.reference_capture import CapturedRun
from millpond.store.store import Store

EXAMPLE = Path(__file__).parent / "data" / "characterisation_with_references.json"
HOSTILE = "</style><script>alert(1)</script>"


def captured() -> Characterisation:
    return Characterisation.from_json(json.loads(EXAMPLE.read_text(encoding="utf-8")))


def advice(references: CapturedReferences | None) -> Advice:
    return Advice.from_json({
        "verdict": "v", "effects": {}, "sums": {}, "rounds": 0, "program": {"argv": ["orders"]}, "trace": {},
        "subsystems": [], "notes": [], "references": references.to_json() if references else None,
    })  # fmt: skip


def tables(of: Advice, second: str, first: str = "") -> dict[str, dict[str, str]]:
    """Returns the table whose second column (and whose first one) is named so: for each row, cells by heading."""
    found = reference_section(of, figures=False)
    assert found is not None
    parts = [p for part in found.parts for p in (part.parts if isinstance(part, Section) else (part,))]
    for part in parts:
        if isinstance(part, Table) and part.columns[1].title == second and first in ("", part.columns[0].title):
            titles = [column.title for column in part.columns[1:]]
            return {row[0].text: dict(zip(titles, (c.text for c in row[1:]), strict=True)) for row in part.rows}
    raise AssertionError(f"no table with {second}")


@pytest.fixture
def example() -> Advice:
    return advice(of_run(CapturedRun(captured(), 12.0, 0.6, 3.0)))


def test_the_sentences_name_misses_spread_and_cost(example: Advice) -> None:
    said = sentences(example)
    assert said[0].startswith("7.31 k of 1.72 M references miss a simulated cache of 32 KiB in 8 ways")
    assert "71.8 % of the misses are on objects of order_book, whose lines are 25.0 % useful" in said[0]
    assert said[1] == (
        "order_book is spread most: its accessed bytes were on 800 lines at the same time; packed, they would need 220."
    )
    assert said[2].startswith(
        "The captured run took 12.0 s, 20 times the 600 ms of a plain one, and its analysis 3.00 s"
    )


def test_a_row_has_locality_with_its_parts(example: Advice) -> None:
    assert tables(example, "misses")["order_book"] == {
        "misses": "5.25 k", "of all misses": "71.8 %", "useful of a line": "16.0 of 64 B", "L": "0.25",
        "I": "400 k", "M (packed)": "800 (220)", "T": "1.50 k", "instructions": "22.5 %",
    }  # fmt: skip
    places = tables(example, "references")
    assert places["stacks"]["references"] == "900 k" and places["stacks"]["misses"] == "65"
    assert "other memory" not in places, "nothing is there"


def test_the_matrix_shows_subsystems_accessed_together(example: Advice) -> None:
    rows = {name: tuple(cells.values()) for name, cells in tables(example, "visits").items()}
    # 50 and 45 of 500 visits met a near object of the other; 350 of 400 one of their own.
    assert rows == {"1 order_book": ("400", "0.88", "0.19"), "2 prices": ("100", "0.19", "0.10")}
    case = Case(example)
    for text in (page.render([case]), markdown.render([case]), terminal.render([case])):
        assert "Subsystems with 0.50 and more are joined" in " ".join(text.split())


def test_predicted_layouts_are_shown_with_their_trials(example: Advice) -> None:
    assert example.references is not None
    one = LayoutPrediction(kind="plan", name="affinity", misses=9, misses_ratio=0.9, instructions_ratio=1.0)
    found = (replace(one, tried=Change(median=0.95)), replace(one, name="02", misses_ratio=1.1, dropped=True))
    predicted = PredictedLayouts(seconds_taken=1.0, cache="c", misses=10, layouts=found)
    shown = replace(example, references=replace(example.references, predicted=predicted))
    rows = {name: tuple(cells.values()) for name, cells in tables(shown, "misses", "predicted layout").items()}
    assert rows["plan affinity"] == ("-10.0 %", "-5.0 %"), "no time was predicted, so it has no column"
    assert rows["plan 02"] == ("+10.0 %", "not tried: nothing to gain")
    case = Case(shown)
    for text in (page.render([case]), markdown.render([case]), terminal.render([case])):
        assert "predicted layout" in text and "nothing to gain" in text


def test_all_forms_of_the_report_show_it(example: Advice) -> None:
    case = Case(example)
    html = page.render([case])
    assert "Where references miss" in html and "800 (220)" in html and "Addresses over time" in html
    assert "800 (220)" in markdown.render([case])
    shown = " ".join(terminal.render([case]).split())
    assert "Where references miss" in shown and "order_book" in shown and "20 times" in shown


def test_reports_without_references_do_not_mention_them() -> None:
    case = Case(advice(None))
    for text in (page.render([case]), markdown.render([case]), terminal.render([case])):
        assert "references miss" not in text and "captured run" not in text


def test_a_missing_capture_has_its_reason_in_all_forms() -> None:
    case = Case(advice(not_captured("install the package valgrind")))
    for text in (page.render([case]), markdown.render([case]), terminal.render([case])):
        assert "No references were captured: install the package valgrind." in text


def test_names_of_a_program_stay_text(example: Advice) -> None:
    assert example.references is not None
    first = replace(example.references.subsystems[0], name=HOSTILE)
    html = page.render([Case(replace(example, references=replace(example.references, subsystems=(first,))))])
    assert HOSTILE not in html


def test_counted_dimensions_take_the_place_of_estimates() -> None:
    run = captured()
    recorded = replace(run, subsystems=tuple(
        replace(s, references=None, dvluc={letter: Dimension(0.1, "estimated", {"operation_seconds": 0.02})
                                           for letter in "DVLUC"}) for s in run.subsystems
    ))  # fmt: skip
    first = counted(recorded, run).subsystems[0]
    assert (first.dimension("D").value, first.dimension("D").kind) == (0.225, "counted")
    assert (first.dimension("D").absolute or {})["operation_seconds"] == 0.02, "the share of CPU time needs it"
    assert first.dimension("L").value == 0.25
    assert first.dimension("V").kind == "estimated"
    assert first.references is not None


def test_an_advice_without_the_field_is_read_and_written_unchanged() -> None:
    data = advice(None).to_json()
    assert "references" not in data
    assert Advice.from_json(data).references is None


def prepared(lab: FakeLab, **more: Any) -> None:
    example = json.loads(EXAMPLE.read_text(encoding="utf-8"))
    names = [s["name"] for s in example["subsystems"]]
    subsystems = [{"name": name, "bytes": 1000 * (9 - i)} for i, name in enumerate(names[:2])]
    lab.configure(events=1000, subsystems=subsystems, cpu={"empty": 1.0}, references=example, **more)


@pytest.mark.lengthy
def test_a_run_is_captured_after_the_rounds_and_kept(lab: FakeLab) -> None:
    prepared(lab)
    done = lab.run("advise", "--references", "--budget=0", "--json=out.json", "--", "/bin/true")
    assert done.status == 0, done.stderr
    assert done.stderr.index("recording") < done.stderr.index("capturing references")
    found = Advice.from_json(json.loads((lab.work / "out.json").read_text()))
    assert found.references is not None and found.references.facts is not None
    assert found.references.capture_seconds is not None and found.references.plain_seconds
    assert found.references.subsystems[0].name == "order_book"
    row = next(row for row in found.subsystems if row.name == "order_book")
    assert row.dimension("L").value == 0.25 and row.dimension("D").kind == "counted"
    assert "Where references miss" in done.stdout
    (case,), _ = load(Store(lab.work / "results/store"), None)
    assert case.advice.references == found.references
    assert (
        not any("no data references were captured" in line for line in not_measured(case)) or len(names_of(found)) > 1
    )


def names_of(found: Advice) -> list[str]:
    return [row.name for row in found.subsystems if row.dimension("L").value is None]


def test_without_the_option_nothing_is_captured(lab: FakeLab) -> None:
    prepared(lab)
    done = lab.run("advise", "--budget=0", "--json=out.json", "--", "/bin/true")
    assert "capturing" not in done.stderr
    assert "references" not in json.loads((lab.work / "out.json").read_text())


def test_a_machine_without_valgrind_gets_its_advice_and_a_sentence(lab: FakeLab) -> None:
    why = "references are captured with Valgrind, which is not installed; install the package valgrind in version 3.19"
    prepared(lab, fails={"references": [4, why]})
    done = lab.run("advise", "--references", "--budget=0", "--json=out.json", "--", "/bin/true")
    assert done.status == 0, done.stderr
    found = Advice.from_json(json.loads((lab.work / "out.json").read_text()))
    assert found.references is not None and found.references.facts is None
    assert found.references.why_null == why
    assert "install the package valgrind" in " ".join(done.stdout.split())
