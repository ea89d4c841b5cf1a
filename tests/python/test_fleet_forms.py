# SPDX-License-Identifier: BSL-1.0
"""The forms of a merged characterisation: the answer, the page, Markdown and the document."""

from __future__ import annotations

import io
import json
import random
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest
from msgspec.structs import replace
from test_fleet import equal_uses, fleet_of, rows_of, subsystem, trace_use

from millpond.report import json_schemas, markdown, page, terminal
from millpond.report.views.fleet_view import ANSWER, MARKDOWN, PAGE, fleet_section
from millpond.rounds.characterisation import Damage
from millpond.rounds.fleet_data import Fleet, read_fleet
from millpond.rounds.fleet_use import UnusableTrace
from millpond.system.errors import Failure, Status
from millpond.system.json_seal import sealed
from tiers import scaled


def large_fleet(dice: random.Random) -> Fleet:
    """Returns a fleet with many builds, subsystems, outliers, damaged and unusable traces."""
    names = [f"space_{i}::a_class_with_a_long_name<std::vector<int>>::method" for i in range(dice.randint(1, 60))]
    uses = [
        trace_use(i, dice, build=f"{dice.randint(1, 6):040d}", subsystems=[subsystem(n, dice) for n in names],
                  damages=dice.choice(((), (Damage(12, "a block is cut off"),))))
        for i in range(dice.randint(1, 80))
    ]  # fmt: skip
    rows = rows_of(uses)
    return rows.fleet([UnusableTrace(f"{i}.mpt", f"{i}.mpt is not a trace") for i in range(dice.randint(0, 40))])


@pytest.mark.lengthy
def test_the_answer_fits_into_forty_lines_of_any_width(seed: int) -> None:
    dice = random.Random(seed)
    for _ in range(scaled(8, 2)):
        fleet = large_fleet(dice)
        for width in (60, 80, 160):
            file = io.StringIO()
            out = terminal.Console(file=file, width=width, highlight=False)
            terminal.print_fitting((fleet_section(fleet, detail) for detail in ANSWER), out)
            lines = file.getvalue().splitlines()
            assert len(lines) <= 40 and max(map(len, lines)) <= width
            assert f"{fleet.process_count} process" in lines[0]
            assert fleet.builds[0].subsystems[0].name[-6:] in file.getvalue()


def test_page_and_markdown_name_what_the_fleet_has() -> None:
    uses = equal_uses(20)
    uses[7] = replace(uses[7], subsystems=(replace(uses[7].subsystems[0], peak_live_bytes=10**6),))
    fleet = rows_of(uses).fleet([UnusableTrace("x.mpt", "x.mpt is <not> a trace")])
    text = page.render_fitting((fleet_section(fleet, detail) for detail in PAGE), "Many processes")
    for part in ("traces/7.mpt", "book", "x.mpt is &lt;not&gt; a trace", "build-id ab12", "upper quartile", "<figure"):
        assert part in text
    assert "http" not in text.split("</style>")[1].split("<script>")[0]
    marked = markdown.render_section(fleet_section(fleet, MARKDOWN))
    assert "traces/7" in marked and "<code>book</code>" in marked and "&lt;not&gt;" in marked


@pytest.mark.lengthy
def test_a_page_of_a_large_fleet_is_small_enough() -> None:
    dice = random.Random(2)
    names = [f"space_{i}::{'a_class_with_a_long_name' * 40}" for i in range(120)]
    use = trace_use(0, dice, subsystems=[subsystem(n, dice) for n in names])
    builds = [replace(use, process=replace(use.process, build_id=str(i))) for i in range(12)]
    fleet = fleet_of(builds)
    most_detailed = page.render_fitting([fleet_section(fleet, PAGE[0])], "Many")
    fitting = page.render_fitting((fleet_section(fleet, detail) for detail in PAGE), "Many")
    assert len(fitting.encode()) <= page.BUDGET_BYTES < len(most_detailed.encode())


def test_the_document_follows_its_schema_and_is_read_back(seed: int, tmp_path: Path) -> None:
    fleet = large_fleet(random.Random(seed))
    document = fleet.to_json()
    jsonschema.validate(document, json_schemas.schema("millpond.fleet.1"), cls=jsonschema.Draft202012Validator)
    path = tmp_path / "fleet.json"
    path.write_text(json.dumps(sealed(document)))
    assert read_fleet(path) == fleet


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda text: text.replace('"ab12"', '"ab13"', 1), "checksum does not hold"),
        (lambda text: text[:-5], "is not a fleet"),
        (lambda text: '{"schema": "millpond.doctor/1"}', "is not a fleet"),
        (lambda text: text.replace("millpond.fleet/1", "millpond.fleet/9").replace("checksum", "other"), "fleet/9"),
    ],
)
def test_a_damaged_or_foreign_document_is_refused(change: Callable[[str], str], why: str, tmp_path: Path) -> None:
    path = tmp_path / "fleet.json"
    path.write_text(change(json.dumps(sealed(fleet_of(equal_uses(2)).to_json()))))
    with pytest.raises(Failure, match=why) as raised:
        read_fleet(path)
    assert raised.value.status == Status.INPUT and str(path) in raised.value.message
