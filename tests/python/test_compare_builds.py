# SPDX-License-Identifier: BSL-1.0
"""Two builds of a program are measured, compared with the advice's prediction, kept, and reported."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import sample_store
from conftest import FakeLab
from msgspec.structs import replace

from millpond.advice.advice_data import Advice
from millpond.advice.prediction_outcome import Builds, Line, PredictedMetric, PredictionOutcome, prediction_of
from millpond.store.store import Store
from millpond.system.build_id import build_id_of

Make = Callable[..., str]

SUMMARY = {"n": "int", "median": "float", "low": "float", "high": "float", "level": "float", "verdict": "str"}
# Every field of the document, with the type of its value; lists by their first element.
FORM = {
    "schema": "str", "run": "str", "machine": "str", "version": "str", "time_utc": "str", "seed": "int",
    "before": {"argv": ["str"], "build_id": "NoneType"},
    "after": {"argv": ["str"], "build_id": "NoneType"},
    "rounds": "int",
    "output": {"same": "bool", "words": "str"},
    "prediction": {
        "run": "str", "kind": "str", "words": "str",
        "effects": {"cpu_seconds": SUMMARY, "peak_bytes": SUMMARY},
    },
    "why_no_prediction": "NoneType",
    "evidence": ["str"],
    "came_out": [{"metric": "str", "intervals_meet": "bool", "sentence": "str"}],
}  # fmt: skip


def form_of(data: Any) -> Any:
    if isinstance(data, dict):
        return {key: form_of(value) for key, value in data.items()}
    if isinstance(data, list):
        return [form_of(value) for value in data[:1]]
    return type(data).__name__


@pytest.fixture
def program(lab: FakeLab) -> Make:
    """Writes a small program that prints its arguments; returns its command."""

    def make(name: str, text: str = 'echo "$@"') -> str:
        path = lab.work / name
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
        return f"./{name}"

    lab.configure(run=True, builds={"new": 0.7})
    return make


def compared(lab: FakeLab, status: int, *words: str) -> dict[str, Any]:
    done = lab.run("compare", "--store", "kept", "-o", "out.json", *words)
    assert done.status == status, done.stderr
    return dict(json.loads((lab.work / "out.json").read_text()))


@pytest.mark.lengthy
def test_a_prediction_is_shown_next_to_its_outcome(lab: FakeLab, program: Make) -> None:
    old, new = program("old"), program("new")
    advice = sample_store.advise(lab.work / "kept", (old, "3", "a b"))
    found = compared(lab, 0, "--after", new, "--", old, "3", "a b")
    measured = found.pop("measured")
    assert set(measured) == {"cpu_seconds", "wall_seconds", "peak_bytes", "page_faults"}
    assert form_of(found) == FORM
    assert found["schema"] == "millpond.builds/1" and found["rounds"] == 11
    assert found["after"]["argv"] == [new, "3", "a b"], "the changed build gets the same arguments"
    assert found["output"]["same"] is True
    assert measured["cpu_seconds"]["verdict"] == "better"
    assert measured["cpu_seconds"]["median"] == pytest.approx(0.7, abs=0.05)
    assert found["prediction"]["run"] == advice["run"]
    assert found["prediction"]["effects"]["cpu_seconds"]["median"] == advice["sums"]["net"]["median"]
    for line in found["came_out"]:
        predicted, came = found["prediction"]["effects"][line["metric"]], measured[line["metric"]]
        meet = predicted["low"] <= came["high"] and came["low"] <= predicted["high"]
        assert line["intervals_meet"] is meet


def test_a_source_change_is_compared_with_its_prediction(tmp_path: Path) -> None:
    """Two builds cannot differ by a preloaded malloc, so only the source change counts here."""
    told = sample_store.advise(tmp_path, ("./old",))
    by_malloc = told["choice"] | {"kind": "malloc", "name": "fast"}
    advice = Advice.from_json(told | {"choice": by_malloc})
    net = advice.sums["net"].known
    changed = prediction_of(advice)
    assert advice.choices and advice.choices.source_change and net and changed
    assert (changed.kind, changed.effects["cpu_seconds"].median) == ("plan", net.median)
    none_in_source = replace(advice, choices=replace(advice.choices, source_change=None))
    by_itself = prediction_of(none_in_source)
    assert by_itself and (by_itself.kind, by_itself.words) == ("malloc", "fast as the program's malloc")


@pytest.mark.more
def test_the_outcome_is_kept_and_every_report_shows_it(lab: FakeLab, program: Make) -> None:
    old, new = program("old"), program("new")
    run = sample_store.advise(lab.work / "kept", (old,))["run"]
    assert "outcome" in lab.run("report", "kept", "-o", "json:-").stdout, "null before anybody has looked"
    found = compared(lab, 0, "--after", new, "--", old)
    assert Store(lab.work / "kept").load(run).documents["outcomes"] == found
    rounds = Store(lab.work / "kept").query(
        "select distinct experiment from observations where run = ?", [found["run"]]
    )
    assert rounds == [{"experiment": "builds"}]
    report = json.loads(lab.run("report", "kept", "-o", "json:-").stdout)
    assert [case["outcome"] for case in report["cases"]] == [found], "rounds of builds are no case of their own"
    sentence = found["came_out"][0]["sentence"]
    assert sentence in " ".join(lab.run("report", "kept", "-o", "text:-").stdout.split())
    for form in ("html", "markdown"):
        assert PredictionOutcome.of(Builds.from_json(found)).lines[0].predicted_text.split(" ")[0] in (
            lab.run("report", "kept", "-o", f"{form}:-").stdout
        )
        assert "came out" in lab.run("report", "kept", "-o", f"{form}:-").stdout


@pytest.mark.lengthy
def test_without_an_advice_the_command_for_one_is_shown(lab: FakeLab, program: Make) -> None:
    old, new = program("old"), program("new")
    sample_store.advise(lab.work / "kept", (old, "of other arguments"))
    found = compared(lab, 0, "--after", new, "--", old, "it's")
    assert found["prediction"] is None
    assert f"""millpond advise --store kept -- {old} 'it'"'"'s'""" in found["why_no_prediction"]
    assert all(line["intervals_meet"] is None for line in found["came_out"])
    assert Store(lab.work / "kept").load(found["run"]).documents["outcomes"] == found
    said = lab.run("compare", "--store", "kept", "--after", new, "--", old, "it's").stdout
    assert "no prediction" in said
    assert not re.search(r"^%", said, re.MULTILINE), "a figure keeps its unit at the end of a line"


@pytest.mark.lengthy
def test_a_command_line_of_its_own_can_be_given(lab: FakeLab, program: Make) -> None:
    old, new = program("old"), program("new", "echo same; :")
    assert compared(lab, 0, "--after", f"{new} 'x y' z", "--", old, "same")["after"]["argv"] == [new, "x y", "z"]


@pytest.mark.lengthy
@pytest.mark.parametrize(
    ("text", "same"), [("echo other", False), ("echo $$", False), ('echo "$@"', True), ("echo more; echo", False)]
)
def test_different_output_is_reported(lab: FakeLab, program: Make, text: str, same: bool) -> None:
    old, new = program("old"), program("new", text)
    assert compared(lab, 0, "--after", new, "--", old, "1")["output"]["same"] is same


@pytest.mark.lengthy
def test_varying_output_is_not_compared(lab: FakeLab, program: Make) -> None:
    old, new = program("old", "echo $$"), program("new", "echo $$")
    assert compared(lab, 0, "--after", new, "--", old)["output"]["same"] is None


def test_builds_that_end_otherwise_are_not_compared(lab: FakeLab, program: Make) -> None:
    old, new = program("old"), program("new", "exit 3")
    done = lab.run("compare", "--store", "kept", "--after", new, "--", old)
    assert done.status == 3 and "./old exits with 0, but ./new exits with 3" in done.stderr
    assert not list((lab.work / "kept").glob("*/*.*")), "nothing half-written"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--", "./old"], "`millpond compare --after NEW PROGRAM ARGS...` compares two builds"),
        (["--after", "./new"], "no program is given"),
        (["--after", "", "--", "./old"], "--after is empty"),
        (["--after", "'./new", "--", "./old"], "not a command line"),
        (["--after", "./nowhere", "--", "./old"], "no program './nowhere'"),
        (["--after", "./new", "--", "./nowhere"], "no program './nowhere'"),
        (["--after", "./new", "--rounds", "10", "--", "./old"], "rounds"),
        (["--after", "./new", "--fail-if", "cpu_seconds > +5%", "--", "./old"], "are for two runs"),
        (["./nowhere", "--after", "./new", "--", "./old"], "no program './nowhere'"),
        (["a", "b", "c"], "3 sides given"),
        ([], "0 sides given"),
    ],
)
def test_a_wrong_call_is_refused(lab: FakeLab, program: Make, words: list[str], says: str) -> None:
    program("old"), program("new")
    done = lab.run("compare", "--store", "kept", *words)
    assert done.status == 2 and says in done.stderr


@pytest.mark.lengthy
@pytest.mark.parametrize("content", [{"schema": "x"}, {"schema": "millpond.builds/1", "measured": 3}, {}])
def test_a_strange_outcome_is_named_and_left_out(lab: FakeLab, program: Make, content: dict[str, Any]) -> None:
    run = sample_store.advise(lab.work / "kept", (program("old"),))["run"]
    Store(lab.work / "kept").write_document("outcomes", run, content)
    done = lab.run("report", "kept", "-o", "text:-")
    assert done.status == 3 and f"outcomes/{run}.json.gz" in done.stderr
    assert "came out" not in done.stdout and "shop::book" in done.stdout


@pytest.mark.lengthy
def test_an_advice_on_another_build_is_not_used_as_a_prediction(lab: FakeLab) -> None:
    """The sample's advice was on a build whose build-id differs from this interpreter's."""
    assert build_id_of(Path("/bin/sh").resolve()) != sample_store.BUILD
    if not build_id_of(Path("/bin/sh").resolve()):
        pytest.skip("this shell has no build-id")
    lab.configure(run=True)
    sample_store.advise(lab.work / "kept", ("/bin/sh", "-c", "echo"))
    assert compared(lab, 0, "--after", "/bin/sh", "--", "/bin/sh", "-c", "echo")["prediction"] is None


def test_a_file_without_a_build_id_has_none(tmp_path: Path) -> None:
    assert build_id_of(tmp_path / "missing") == build_id_of(tmp_path) == ""
    for content in (b"", b"#!/bin/sh\n" * 20, b"\x7fELF\x02\x01" + b"\xff" * 90):
        (tmp_path / "file").write_bytes(content)
        assert build_id_of(tmp_path / "file") == ""
    assert all(c in "0123456789abcdef" for c in build_id_of(Path(sys.executable).resolve()))


def test_touching_intervals_overlap() -> None:
    def summary(low: float, high: float) -> PredictedMetric:
        return PredictedMetric(11, (low + high) / 2, low, high, 0.98, "better")

    assert Line("cpu_seconds", summary(0.7, 0.8), summary(0.8, 0.9)).meets
    worse = Line("cpu_seconds", summary(0.7, 0.8), summary(0.81, 0.9))
    assert not worse.meets and "worse than predicted" in worse.sentence
    assert "better than predicted" in Line("peak_bytes", summary(0.7, 0.8), summary(0.5, 0.6)).sentence
    assert Line("peak_bytes", None, summary(0.5, 0.6)).meets is None
