# SPDX-License-Identifier: BSL-1.0
"""Only plans that hold in all inputs are advised without a warning; plans that harm one input never are."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from conftest import FakeLab
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import asdict, replace

from millpond.advice import advise_program, inputs, merged
from millpond.advice.advice_data import NOTHING, Advice, AnalysedProgram, Effect, Estimate, Row
from millpond.advice.advise_options import Options
from millpond.advice.advise_program import advise
from millpond.advice.inputs import JudgedPlan, OneAfterTheOther
from millpond.cells.plan_file import PlanFile
from millpond.cells.plans import Plan
from millpond.rounds.characterisation import AliasCounts, TraceSummary
from millpond.statistics.order_statistics import Comparison, Summary
from millpond.store.store import Store
from millpond.system.errors import Failure, Status

PROGRAM = {"path": "/bin/fake", "build_id": "ab12"}
REST = {"subsystems": ["*"], "pool": "rest", "strategy": "synchronized(multipool)", "huge_pages": False}


def effect(verdict: str, median: float = 0.9) -> Effect:
    return Effect(
        n=11, median=median, low=median - 0.02, high=median + 0.02, level=0.98, method="order statistics",
        verdict=verdict,
    )  # fmt: skip


def summary(verdict: str, median: float = 0.9) -> Estimate:
    known = effect(verdict, median).known
    return Estimate.of(known)


EMPTY = Estimate()


def row(name: str, status: str, size: int = 1000) -> Row:
    holds = status == merged.HOLDS
    route = {"subsystems": [name], "pool": name, "strategy": "multipool", "huge_pages": False}
    cpu = {
        merged.HOLDS: summary("better"),
        merged.HURTS: summary("worse", 1.2),
        merged.CHANGES_NOTHING: summary("not settled", 1.0),
        merged.UNTRIED: EMPTY,
    }[status]
    plan = {"schema": "millpond.plan/1", "program": PROGRAM, "routes": [route, REST]}
    return Row(
        name=name, bytes=size, best="multipool" if holds else NOTHING, saves_cpu_seconds=cpu,
        saves_bytes=summary("not settled", 1.0) if cpu.n else EMPTY, reason=f"{name} {status}",
        plan=PlanFile.from_json(plan) if holds else None, evidence=(f"{name}:{status}",),
    )  # fmt: skip


def advice(*rows: Row, malloc: str = "not settled", notes: tuple[str, ...] = ()) -> Advice:
    return Advice(
        verdict="…", effects={"faster_malloc": effect(malloc), "huge_pages": Effect(), "placement": effect("better")},
        sums={"total": effect("better")}, rounds=11, notes=notes, run="r", subsystems=rows,
        program=AnalysedProgram(argv=("p",), exit=0, signal=0, analysed=1),
        trace=TraceSummary(
            events=10, bytes=100, lost=0, aliasing=AliasCounts(share=0.0), named_share=0.9, clean=True, contexts=3
        ),
    )  # fmt: skip


def together(*advices: Advice) -> dict[str, Any]:
    inputs_ = [(i, (f"in{i}",)) for i in range(1, len(advices) + 1)]
    return merged.merge(("p", "{}"), inputs_, advices).to_json()


def rows_of(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {r["name"]: r for r in document["subsystems"]}


def test_plans_that_hold_in_all_inputs_have_no_warning() -> None:
    found = together(advice(row("book", merged.HOLDS)), advice(row("book", merged.HOLDS)))
    book = rows_of(found)["book"]
    assert (book["best"], book["warning"]) == ("multipool", None)
    assert found["verdict"].startswith("In all 2 inputs: give book a pool of its own")
    assert [r["subsystems"] for r in found["plan"]["routes"]] == [["book"], ["*"]]
    assert found["schema"] == "millpond.advice/1"
    assert [i["arguments"] for i in found["inputs"]] == [["in1"], ["in2"]]


@pytest.mark.parametrize(
    ("other", "words"),
    [(merged.CHANGES_NOTHING, "changes nothing beyond the noise in input 2"), (merged.UNTRIED, "not tried in input 2")],
)
def test_plans_that_hold_in_some_inputs_have_a_warning(other: str, words: str) -> None:
    found = together(advice(row("book", merged.HOLDS)), advice(row("book", other)))
    book = rows_of(found)["book"]
    assert book["best"] == "multipool"
    assert "holds in input 1" in book["warning"] and words in book["warning"]
    assert found["plan"] is None
    assert found["verdict"].startswith("Do nothing: no advice holds in all 2 inputs.")
    assert "In some only: for book, a pool holds in input 1" in found["verdict"]


def test_subsystems_missing_from_an_input_have_a_warning() -> None:
    found = together(advice(row("book", merged.HOLDS)), advice(row("else", merged.CHANGES_NOTHING)))
    assert "does not occur in input 2" in rows_of(found)["book"]["warning"]


def test_plans_that_make_one_input_worse_are_not_advised() -> None:
    found = together(advice(row("book", merged.HOLDS)), advice(row("book", merged.HURTS)))
    book = rows_of(found)["book"]
    assert (book["best"], book["plan"]) == (NOTHING, None)
    assert "costs time or memory in input 2" in book["reason"]


def test_a_plan_has_only_routes_that_hold_in_all_inputs() -> None:
    one = advice(row("book", merged.HOLDS), row("prices", merged.HOLDS), row("printer", merged.HOLDS))
    two = advice(row("book", merged.HOLDS), row("prices", merged.CHANGES_NOTHING), row("printer", merged.HOLDS))
    routes = together(one, two)["plan"]["routes"]
    assert [r["subsystems"] for r in routes] == [["book"], ["printer"], ["*"]]


def test_an_effect_is_better_only_if_it_is_in_all_inputs() -> None:
    assert together(advice(malloc="better"), advice(malloc="better"))["effects"]["faster_malloc"]["verdict"] == "better"
    assert together(advice(malloc="better"), advice())["effects"]["faster_malloc"]["verdict"] not in ("better", "worse")
    mixed = together(advice(malloc="better"), advice(malloc="worse"))
    assert mixed["effects"]["faster_malloc"]["verdict"] not in ("better", "worse")
    assert "faster malloc" not in mixed["verdict"]
    assert together(advice(malloc="worse"), advice(malloc="worse"))["effects"]["faster_malloc"]["verdict"] == "worse"
    assert together(advice(), advice())["effects"]["huge_pages"]["n"] == 0


@given(st.lists(st.floats(0.5, 1.5), min_size=1, max_size=6))
@settings(max_examples=30)
def test_an_envelope_contains_every_interval(medians: list[float]) -> None:
    found = merged.envelope([summary("better", m) for m in medians])
    assert found.low == pytest.approx(min(medians) - 0.02)
    assert found.high == pytest.approx(max(medians) + 0.02)
    assert found.low <= found.median <= found.high
    assert found.n == 11 * len(medians)


def test_notes_that_all_inputs_share_are_said_once() -> None:
    found = together(advice(notes=("same", "mine")), advice(notes=("same",)))
    assert found["notes"] == ["same", "input 1: mine"]


def test_traces_are_added_up_and_the_worst_of_trust_is_kept() -> None:
    one, two = advice(), advice()
    two = replace(two, trace=replace(two.trace, named_share=0.4, clean=False, lost=3))
    trace = together(one, two)["trace"]
    assert (trace["events"], trace["lost"], trace["named_share"], trace["clean"]) == (20, 3, 0.4, False)


def test_lines_are_split_as_a_shell_does(tmp_path: Path) -> None:
    file = tmp_path / "inputs"
    file.write_text("one.txt\n\n  # a comment\n-n 3 'two words.txt'\n")
    found = inputs.read_inputs(file)
    assert [(i.line, i.arguments) for i in found] == [(1, ("one.txt",)), (4, ("-n", "3", "two words.txt"))]


@pytest.mark.parametrize(
    ("text", "says"),
    [("a\n'b\n", "line 2: no closing quotation"), ("# nothing\n", "has no inputs"), (None, "cannot read the inputs")],
)
def test_a_malformed_list_of_inputs_is_refused(tmp_path: Path, text: str | None, says: str) -> None:
    file = tmp_path / "inputs"
    if text is not None:
        file.write_text(text)
    with pytest.raises(Failure) as refused:
        inputs.read_inputs(file)
    assert refused.value.status == 3
    assert says in refused.value.message


def test_arguments_go_where_the_braces_are() -> None:
    two = inputs.Input(1, ("-n", "a b"))
    assert inputs.command_of(("p", "{}", "end"), two) == ("p", "-n", "a b", "end")
    assert inputs.command_of(("p", "--in={}"), inputs.Input(1, ("x",))) == ("p", "--in=x")
    with pytest.raises(Failure) as several:
        inputs.command_of(("p", "--in={}"), two)
    assert several.value.status == 3 and "line 1" in several.value.message
    with pytest.raises(Failure) as nowhere:
        inputs.command_of(("p",), two)
    assert nowhere.value.status == 2


def unasked(*_: object) -> Mapping[str, JudgedPlan]:
    raise AssertionError("there was nothing to judge again")


def test_later_inputs_share_the_remaining_budget(tmp_path: Path) -> None:
    file = tmp_path / "inputs"
    file.write_text("a\nb\nc\n")
    now, given_seconds = [0.0], []

    def adviser(command: tuple[str, ...], seconds: float) -> Advice:
        given_seconds.append((command, seconds))
        now[0] += 10.0  # less than its share: the others get the rest
        return advice()

    clock = lambda: now[0]  # noqa: E731
    one = OneAfterTheOther(adviser, unasked, clock)
    inputs.advise_on_inputs(("p", "{}"), file, 60.0 / inputs.FIRST_SHARE, one, clock)
    assert given_seconds == [(("p", "a"), 20.0), (("p", "b"), 25.0), (("p", "c"), 40.0)]


def comparison(verdict: str, median: float) -> Comparison:
    made = Summary(11, median, median - 0.01, median + 0.01, 0.98, "order statistics", verdict)
    names = {"metric": "cpu_seconds", "of": "plan", "against": "looked_up"}
    return Comparison(**asdict(made), **names, saved=made, p=0.001, p_adjusted=0.001)


@pytest.mark.parametrize(
    ("net", "best"),
    [("better", "multipool"), ("worse", NOTHING), ("not settled", NOTHING)],
)
def test_plans_of_one_input_are_judged_on_the_others(tmp_path: Path, net: str, best: str) -> None:
    file = tmp_path / "inputs"
    file.write_text("a\nb\nc\n")
    documents = {
        "a": advice(row("book", merged.HOLDS)),
        "b": advice(row("book", merged.UNTRIED)),
        "c": advice(row("book", merged.HOLDS)),
    }
    asked = []

    def judge(command: tuple[str, ...], plans: Mapping[str, Plan], seconds: float) -> Mapping[str, JudgedPlan]:
        asked.append((command[-1], [p.subsystems for p in plans.values()], seconds > 0))
        return {"book": JudgedPlan({"cpu_seconds": comparison(net, 0.9)}, 11, ["id"])}

    one = OneAfterTheOther(lambda command, _: documents[command[-1]], judge)
    found = inputs.advise_on_inputs(("p", "{}"), file, 60.0, one).to_json()
    assert asked == [("b", [("book",)], True)]
    book = rows_of(found)["book"]
    assert (book["best"] == "multipool") == (net != "worse"), "what hurts on one input is not advised"
    statuses = {"better": merged.HOLDS, "worse": merged.HURTS, "not settled": merged.CHANGES_NOTHING}
    assert [i["status"] for i in book["in_inputs"]][1] == statuses[net]
    if net != "worse":
        assert (book["warning"] is None) == (best == "multipool")
    assert "id" in book["evidence"]


def test_a_plan_not_judged_on_another_input_keeps_its_warning(tmp_path: Path) -> None:
    file = tmp_path / "inputs"
    file.write_text("a\nb\n")
    documents = {"a": advice(row("book", merged.HOLDS)), "b": advice(row("book", merged.UNTRIED))}

    def judge(*_: object) -> Mapping[str, JudgedPlan]:
        raise Failure(Status.USAGE, "no such subsystem")

    one = OneAfterTheOther(lambda command, _: documents[command[-1]], judge)
    found = inputs.advise_on_inputs(("p", "{}"), file, 60.0, one).to_json()
    assert rows_of(found)["book"]["warning"]
    assert any("no such subsystem" in note for note in found["notes"])


def test_a_failure_names_the_line_of_its_input(tmp_path: Path) -> None:
    file = tmp_path / "inputs"
    file.write_text("a\n\nb\n")

    def adviser(command: tuple[str, ...], _: float) -> Advice:
        if command[-1] == "b":
            raise Failure(Status.PROGRAM, "no such program")
        return advice()

    with pytest.raises(Failure, match="line 3: no such program") as failed:
        inputs.advise_on_inputs(("p", "{}"), file, 60.0, OneAfterTheOther(adviser, unasked))
    assert failed.value.status == 5


@pytest.mark.lengthy
def test_the_verb_advises_on_all_inputs(lab: FakeLab) -> None:
    subsystems = [{"name": "book", "bytes": 5000}, {"name": "prices", "bytes": 4000}]
    cpu = {"bare": 0.010, "empty": 0.0101, "shared": 0.0090, "shared_huge": 0.0090, "looked_up": 0.0103}
    lab.configure(events=1000, subsystems=subsystems, cpu=cpu, gains={"book": 0.85})
    (lab.work / "inputs").write_text("one\n# no\ntwo words\n")
    done = lab.run("advise", "--budget=40", "--inputs=inputs", "-o", "a.json", "--", "true", "{}")
    assert done.status == 0, done.stderr
    found = json.loads((lab.work / "a.json").read_text())
    assert [i["arguments"] for i in found["inputs"]] == [["one"], ["two", "words"]]
    assert len({i["run"] for i in found["inputs"]}) == 2
    book = rows_of(found)["book"]
    assert (book["best"], book["warning"]) == ("multipool", None)
    assert found["verdict"].startswith("In all 2 inputs: give book")
    assert "In all 2 inputs" in done.stdout and "two words" in done.stdout
    assert lab.run("advise", "--inputs=inputs", "--", "true").status == 2
    assert lab.run("advise", "--inputs=nowhere", "--", "true", "{}").status == 3


@pytest.mark.lengthy
def test_the_verb_judges_plans_that_one_input_left_open(lab: FakeLab, monkeypatch: pytest.MonkeyPatch) -> None:
    """No plan was tried on the second input, so the plan of the first is judged there with new rounds."""
    subsystems = [{"name": "book", "bytes": 5000}, {"name": "prices", "bytes": 4000}]
    cpu = {"bare": 0.010, "empty": 0.0101, "shared": 0.0090, "shared_huge": 0.0090, "looked_up": 0.0103}
    lab.configure(events=1000, subsystems=subsystems, cpu=cpu, gains={"book": 0.85})
    (lab.work / "inputs").write_text("one\ntwo\n")
    whole = advise

    def forgetful(program: tuple[str, ...], options: Options) -> Advice:
        found = whole(program, options)
        if program[-1] == "two":
            forgotten = {"best": NOTHING, "plan": None, "saves_cpu_seconds": EMPTY, "saves_bytes": EMPTY}
            return replace(found, subsystems=tuple(replace(r, **forgotten) for r in found.subsystems))
        return found

    monkeypatch.setattr(advise_program, "advise", forgetful)
    done = lab.run("advise", "--budget=40", "--inputs=inputs", "-o", "a.json", "--", "true", "{}")
    assert done.status == 0, done.stderr
    found = json.loads((lab.work / "a.json").read_text())
    book = rows_of(found)["book"]
    assert (book["best"], book["warning"]) == ("multipool", None)
    assert "judging 1 plan of other inputs on input 2" in done.stderr
    stored = {r["id"] for r in Store(lab.work / "results/store").query("select id from observations")}
    assert set(book["evidence"]) <= stored
