# SPDX-License-Identifier: BSL-1.0
"""Advice names only changes that help, and says *do nothing* if no change is better beyond the noise."""

from __future__ import annotations

import dataclasses
import json
import platform
import re
from pathlib import Path
from typing import Any

import pytest
from conftest import FakeLab
from msgspec.structs import asdict, replace

from millpond.advice.judged_program import JudgedProgram
from millpond.advice.preparing import tried_here
from millpond.advice.recorded_program import RecordedProgram
from millpond.advice.screened_program import ScreenedProgram
from millpond.advice.verdict import decide
from millpond.advice.verdict_text import sentence
from millpond.cells.plan_file import PlanInstance, PlanRoute, PlanScope
from millpond.cells.plans import ARENA, Plan
from millpond.rounds.characterisation import Characterisation, RecordedTrace
from millpond.rounds.mallocs import Malloc
from millpond.rounds.recording import Process, Recording
from millpond.statistics.order_statistics import Comparison, Summary
from millpond.store.observations import FIELDS
from millpond.store.store import Store

CPU = {"bare": 0.010, "looked_up": 0.0103}
MALLOCS = {"fast": [0.95, 1.01], "slow": [1.2, 1.0], "usual": [1.0, 1.0]}
SUMMARY = Characterisation(trace=RecordedTrace(events=1))
SUBSYSTEMS: list[dict[str, Any]] = [
    {"name": "book", "bytes": 5000},
    {"name": "prices", "bytes": 4000, "legal": True},
    {"name": "printer", "bytes": 3000, "legal": True},
]


def advise(lab: FakeLab, *options: str, program: tuple[str, ...] = ("true",)) -> dict[str, Any]:
    done = lab.run("advise", "--budget=30", "-o", "advice.json", *options, "--", *program)
    assert done.status == 0, done.stderr
    result = json.loads((lab.work / "advice.json").read_text())
    assert result["schema"] == "millpond.advice/1"
    return dict(result)


def rows(advice: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {r["name"]: r for r in advice["subsystems"]}


@pytest.fixture
def helped(lab: FakeLab) -> dict[str, Any]:
    lab.configure(events=1000, subsystems=SUBSYSTEMS, cpu=CPU, gains={"book": 0.85, "prices": 0.9}, mallocs=MALLOCS)
    return advise(lab)


def test_only_pools_that_help_are_advised(helped: dict[str, Any]) -> None:
    found = rows(helped)
    assert {n: r["best"] for n, r in found.items()} == {
        "book": "multipool",
        "prices": "multipool",
        "printer": "nothing",
    }
    assert "book" in helped["verdict"] and "prices" in helped["verdict"] and "printer" not in helped["verdict"]
    assert found["book"]["saves_cpu_seconds"]["verdict"] == "better"
    assert found["book"]["saves_cpu_seconds"]["low"] > 0
    assert found["printer"]["saves_cpu_seconds"]["verdict"] not in ("better", "worse")
    assert {p for r in helped["plan"]["routes"] for p in r["subsystems"]} == {"book", "prices"}


def test_the_figures_are_against_the_program_as_it_is(helped: dict[str, Any]) -> None:
    effects, sums = helped["effects"], helped["sums"]
    assert set(effects) == {"faster_malloc", "huge_pages", "placement"}
    assert effects["faster_malloc"]["median"] == pytest.approx(0.95, rel=0.01)
    assert effects["faster_malloc"]["of"] == "malloc:fast"
    assert effects["huge_pages"]["n"] == 0
    assert effects["placement"]["median"] == pytest.approx(0.85 * 0.9, rel=0.01), "one pool for both gains nothing"
    assert sums["net"]["median"] == pytest.approx(1 - 1.03 * (1 - 0.85 * 0.9), rel=0.01)
    for effect in (effects["faster_malloc"], effects["placement"], sums["net"]):
        assert {"n", "median", "low", "high", "level", "method", "verdict"} <= set(effect)
        assert effect["n"] >= 11


def test_every_answer_has_time_memory_and_the_alternatives(helped: dict[str, Any]) -> None:
    assert helped["choice"]["kind"] == "plan" and helped["choice"]["for"] == "CPU"
    assert helped["choice"]["cpu"]["verdict"] == "better" and helped["choice"]["peak"]["n"] >= 11
    assert "CPU -2" in helped["verdict"] and "peak memory" in helped["verdict"]
    choices = helped["choices"]
    assert choices["prefer"] == "balanced" and choices["without_source_change"]["name"] == "fast"
    assert choices["fastest"]["kind"] == choices["source_change"]["kind"] == "plan" and choices["leanest"] is None
    assert choices["without_source_change"]["cpu"]["median"] == pytest.approx(0.95, rel=0.01)
    assert "Not tried, because no trial can: an arena that is winked out" in helped["verdict"]
    kinds = [(a["kind"], a["name"], a["judged"]) for a in helped["alternatives"]]
    assert ("malloc", "fast", True) in kinds and ("malloc", "slow", False) in kinds
    assert ("malloc", "absent", False) in kinds and ("not tried", "an arena that is winked out", False) in kinds
    assert all(a["why_null"] or a["cpu"] for a in helped["alternatives"])


@pytest.mark.lengthy
def test_a_better_malloc_is_advised_with_its_command(lab: FakeLab) -> None:
    lab.configure(
        events=1000, subsystems=SUBSYSTEMS, cpu=CPU, gains={"book": 0.95}, mallocs={**MALLOCS, "best": [0.7, 1.03]}
    )
    found = advise(lab)
    assert found["choice"]["kind"] == "malloc"
    assert re.match(r"LD_PRELOAD=/lib/libbest.so: CPU -(29|30)\.\d %.*peak memory \+3", found["verdict"])


@pytest.mark.lengthy
def test_a_source_change_is_written_even_if_a_malloc_is_better(lab: FakeLab) -> None:
    """Authors of a library cannot preload a malloc for its users."""
    lab.configure(
        events=1000, subsystems=SUBSYSTEMS, cpu=CPU, gains={"book": 0.85}, mallocs={**MALLOCS, "best": [0.7, 1.0]}
    )
    found = advise(lab, "--write=change")
    assert found["choice"]["kind"] == "malloc"
    assert found["choices"]["source_change"]["what"] == "a pool for book"
    assert found["choices"]["source_change"]["cpu"]["verdict"] == "better"
    assert rows(found)["book"]["best"] == "multipool" and rows(found)["book"]["code"]
    assert {p for r in found["plan"]["routes"] for p in r["subsystems"]} == {"book"}
    assert {f.name for f in (lab.work / "change").iterdir()} == {
        "millpond_advice.hpp", "millpond_advice.md", "millpond_advice_test.cpp",
    }  # fmt: skip
    note = (lab.work / "change/millpond_advice.md").read_text()
    assert "LD_PRELOAD=/lib/libbest.so" in note and "## `book`" in note
    assert (lab.work / "true.plan.json").is_file()


@pytest.mark.lengthy
def test_the_leaner_of_two_equally_fast_mallocs_is_advised(lab: FakeLab) -> None:
    lab.configure(
        events=1000, subsystems=SUBSYSTEMS[:1], cpu=CPU, mallocs={"large": [0.70, 1.99], "lean": [0.715, 1.02]}
    )
    found = advise(lab)
    assert (found["choice"]["kind"], found["choice"]["name"]) == ("malloc", "lean")
    assert found["choices"]["fastest"]["name"] == "large", "the other can be chosen, too"


@pytest.mark.lengthy
def test_a_plan_that_only_equals_a_malloc_is_not_worth_it(lab: FakeLab) -> None:
    lab.configure(events=1000, subsystems=SUBSYSTEMS[:1], cpu=CPU, gains={"book": 0.8}, mallocs={"best": [0.794, 1.0]})
    assert advise(lab)["choice"]["kind"] == "malloc"


@pytest.mark.lengthy
def test_a_plan_has_to_beat_the_fastest_malloc_not_the_leaner_one(lab: FakeLab) -> None:
    mallocs = {"fast": [0.80, 1.04], "lean": [0.825, 0.97]}
    lab.configure(events=1000, subsystems=SUBSYSTEMS[:1], cpu=CPU, gains={"book": 0.803}, mallocs=mallocs)
    found = advise(lab)
    assert (found["choice"]["kind"], found["choice"]["name"]) == ("malloc", "lean")


def test_candidates_that_need_x86_are_left_out_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    common = Plan("a", "p", "", (PlanRoute(("a",), "a", "multipool"),))
    own = (PlanInstance("p", "0x1", "rdi"),)
    each = Plan("b", "p", "", (PlanRoute(("b",), "b", "multipool", instances=own),))
    recorded = RecordedProgram(("true",), Recording(0, 0, 1.0, ()), Process(1, Path("t"), SUMMARY))
    of_thread = Plan("c", "p", "", (PlanRoute(("c",), "c", ARENA, scope=PlanScope(thread=True)),))
    of_call = Plan("d", "p", "", (PlanRoute(("d",), "d", ARENA, scope=PlanScope(function="f")),))
    recorded = dataclasses.replace(recorded, candidates=(common, each, of_thread, of_call))
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    assert tried_here(recorded) == recorded
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    left = tried_here(recorded)
    assert left.candidates == (common, of_thread)
    assert left.notes[-1].startswith("2 candidates with arenas")


def test_an_uncertain_gain_is_neither_advised_nor_denied() -> None:
    """The interval excludes *no change*, but many were compared: neither "do nothing" nor an advice."""
    ratio = Summary(11, 0.913, 0.883, 0.983, 0.98, "order statistics", "not settled")
    names = {"metric": "cpu_seconds", "of": "malloc:quick", "against": "bare"}
    unsettled = Comparison(**asdict(ratio), **names, saved=ratio, p=0.03, p_adjusted=0.2)
    inside = replace(unsettled, median=0.98, high=1.1)
    recorded = RecordedProgram(("true",), Recording(0, 0, 1.0, ()), Process(1, Path("t"), SUMMARY))
    mallocs = {n: Malloc(n, Path(f"/lib/lib{n}.so")) for n in ("quick", "usual")}
    judged = {"quick": {"cpu_seconds": unsettled}, "usual": {"cpu_seconds": inside}}
    screened = ScreenedProgram(recorded, mallocs=mallocs)
    verdict = decide(JudgedProgram(screened, rounds=31, judged_mallocs=judged))
    assert verdict.advised.kind == "undecided"
    said = sentence(verdict, [])
    assert said.startswith("Not settled; a larger --budget may settle it: LD_PRELOAD=/lib/libquick.so: CPU -8.7 %")
    assert "libusual.so: CPU -2.0 %" in said and "Do nothing" not in said
    del judged["quick"]
    verdict = decide(JudgedProgram(screened, rounds=31, judged_mallocs=judged))
    assert verdict.advised.kind == "nothing"


@pytest.mark.lengthy
def test_a_pool_that_saves_only_memory_is_advised(lab: FakeLab) -> None:
    lab.configure(events=1000, subsystems=SUBSYSTEMS[:1], cpu=CPU, peaks={"book": 0.6}, mallocs={"usual": [1.0, 1.0]})
    found = advise(lab)
    assert found["choice"]["kind"] == "plan" and found["choice"]["for"] == "memory"
    assert found["verdict"].startswith("To save memory: Give book a pool of its own") and "-40" in found["verdict"]


@pytest.mark.lengthy
def test_a_hundredth_of_the_memory_is_not_worth_a_pool(lab: FakeLab) -> None:
    lab.configure(events=1000, subsystems=SUBSYSTEMS[:1], cpu=CPU, peaks={"book": 0.986}, mallocs={"usual": [1.0, 1.0]})
    found = advise(lab)
    assert found["choice"]["kind"] == "nothing" and "peak memory -1.4" in found["verdict"]
    assert "beyond the noise by enough to change a source" in found["verdict"]


@pytest.mark.lengthy
def test_a_distorted_trial_says_so(lab: FakeLab) -> None:
    lab.configure(
        events=1000, subsystems=SUBSYSTEMS[:1], cpu={"bare": 0.010, "looked_up": 0.06}, gains={"book": 0.95},
        mallocs=MALLOCS,
    )  # fmt: skip
    distorted = "distorted: looking up every call stack takes 6.0 times the CPU of the bare program"
    assert distorted in advise(lab)["verdict"]


@pytest.mark.parametrize(
    ("options", "place"),
    [(("-o", "advice.json",), "true.plan.json"), (("-o", "made.json", "-o", "pages/a.html"), "pages/true.plan.json"),
     ((), "results/true.plan.json")],
)  # fmt: skip
def test_a_better_plan_is_saved_and_the_last_line_runs_it(lab: FakeLab, options: tuple[str, ...], place: str) -> None:
    lab.configure(events=1000, subsystems=SUBSYSTEMS, cpu=CPU, gains={"book": 0.7}, mallocs=MALLOCS)
    (lab.work / "pages").mkdir()
    done = lab.run("advise", "--budget=30", *options, "--", "true", "a b")
    assert done.status == 0, done.stderr
    assert done.stderr.splitlines()[-1].endswith(f"millpond run --plan {place} true 'a b'")
    plan = json.loads((lab.work / place).read_text())
    assert plan["schema"] == "millpond.plan/1" and plan["checksum"].startswith("crc32:")
    assert lab.run("report").stderr.count("store") == 0, "the store has nothing that is not its own"
    assert (lab.work / "results/true.html").is_file() == (not options), "without -o there is a page, too"


def test_no_plan_is_saved_if_none_is_better(lab: FakeLab) -> None:
    lab.configure(events=1000, subsystems=SUBSYSTEMS, cpu=CPU, gains={"book": 1.2}, mallocs=MALLOCS)
    advise(lab)
    assert not list(lab.work.rglob("*.plan.json"))


def test_the_noise_of_the_bare_rounds_is_reported(helped: dict[str, Any]) -> None:
    cpu = helped["noise"]["cpu_seconds"]
    assert cpu["n"] == helped["rounds"]
    assert cpu["median"] == pytest.approx(0.010, rel=0.01)
    assert 0.001 < cpu["spread"] < 0.02  # normal, 0.3 %: the quartiles are 1.35 deviations apart


def test_the_verdict_rests_on_fresh_rounds_kept_in_the_store(lab: FakeLab, helped: dict[str, Any]) -> None:
    stored = {r["id"]: r for r in Store(lab.work / "results/store").query("select * from observations")}
    assert set(next(iter(stored.values()))) == set(FIELDS)
    for name in ("book", "prices"):
        behind = [stored[i] for i in rows(helped)[name]["evidence"]]
        measured = [r for r in behind if r["round"] > 0]
        assert {r["stage"] for r in measured} == {"judging"}
        assert {r["metric"] for r in measured} == {"cpu_seconds", "peak_bytes"}
        assert {r["kind"] for r in behind} >= {"measured", "counted", "estimated"}
    for effect in (helped["effects"]["faster_malloc"], helped["effects"]["placement"], helped["sums"]["net"]):
        assert effect["evidence"]
        assert set(effect["evidence"]) <= set(stored)


def test_advice_characterisation_and_contexts_are_kept_under_the_run(lab: FakeLab, helped: dict[str, Any]) -> None:
    store = Store(lab.work / "results/store")
    contents = store.load(store.find_run("latest").run)
    assert contents.run == helped["run"]
    assert contents.documents["advice"] == helped
    characterisation, contexts = contents.characterisation, contents.call_tree
    assert characterisation is not None and contexts is not None
    assert [s["name"] for s in characterisation["subsystems"]] == [s["name"] for s in SUBSYSTEMS]
    assert contexts.schema == "millpond.contexts/1"
    assert list(contexts.subsystems) == [s["name"] for s in SUBSYSTEMS]
    store.finish()


def test_a_program_without_heap_events_is_kept_too(lab: FakeLab) -> None:
    found = advise(lab)
    store = Store(lab.work / "results/store")
    assert [(r.run, r.workload) for r in store.runs()] == [(found["run"], "true")]
    assert store.load(found["run"]).documents["advice"] == found


@pytest.mark.lengthy
def test_another_seed_measures_again(lab: FakeLab) -> None:
    lab.configure(events=1000, subsystems=SUBSYSTEMS[:1], cpu=CPU, gains={"book": 0.8})
    advise(lab)
    calls = len(lab.calls())
    assert advise(lab, "--seed=2")["rounds"] > 0
    assert len(lab.calls()) > 2 * calls - 10


@pytest.mark.lengthy
def test_rounds_of_choosing_and_judging_never_mix(lab: FakeLab, helped: dict[str, Any]) -> None:
    sql = "select stage, contender from observations where metric = 'cpu_seconds' and contender_kind = 'plan'"
    names: dict[str, set[str]] = {}
    for r in Store(lab.work / "results/store").query(sql):
        names.setdefault(r["stage"], set()).add(r["contender"])
    assert "together" in names["judging"]
    assert "together" not in names["choosing"]


@pytest.mark.lengthy
@pytest.mark.parametrize("noise", [0.0, 0.003, 0.05])
def test_nothing_is_advised_where_nothing_helps(lab: FakeLab, noise: float) -> None:
    same = dict.fromkeys(CPU, 0.01)
    lab.configure(events=1000, subsystems=SUBSYSTEMS, cpu=same, noise=noise)
    found = advise(lab)
    assert found["verdict"].startswith("Do nothing")
    assert found["plan"] is None
    assert {r["best"] for r in found["subsystems"]} == {"nothing"}


@pytest.mark.lengthy
def test_pools_that_help_only_separately_are_not_combined(lab: FakeLab) -> None:
    lab.configure(events=1000, subsystems=SUBSYSTEMS, cpu=CPU, gains={"book": 0.85, "prices": 0.9}, together=1.3)
    found = advise(lab)
    assert rows(found)["book"]["best"] == "multipool"
    assert {s for r in found["plan"]["routes"] for s in r["subsystems"]} == {"book"}
    assert found["sums"]["net"]["median"] == pytest.approx(1 - 1.03 * 0.15, rel=0.01)
    assert "Give book a pool of its own" in found["verdict"]


@pytest.mark.lengthy
def test_a_pool_that_separates_related_objects_is_called_worse(lab: FakeLab) -> None:
    lab.configure(events=1000, subsystems=SUBSYSTEMS, cpu=CPU, gains={"book": 1.17, "prices": 0.8})
    found = rows(advise(lab))
    assert found["book"]["best"] == "nothing"
    assert "costs time" in found["book"]["reason"]
    assert found["prices"]["best"] == "multipool"


def test_an_illegal_scope_is_never_advised_and_its_witnesses_are_kept(helped: dict[str, Any]) -> None:
    book, prices = rows(helped)["book"], rows(helped)["prices"]
    assert [s["legal"] for s in book["legality"]] == [False, False]
    assert book["legality"][0]["witnesses"]
    assert "illegal" in book["reason"] and "only a pool that lives as long as the process" in book["reason"]
    assert "would be legal" not in book["reason"]
    assert "would be legal" in prices["reason"]


@pytest.mark.lengthy
def test_without_candidates_the_mallocs_are_still_judged(lab: FakeLab) -> None:
    lab.configure(events=1000, subsystems=[], cpu=CPU, mallocs=MALLOCS)
    found = advise(lab)
    assert found["effects"]["faster_malloc"]["verdict"] == "better"
    assert found["effects"]["placement"]["n"] == 0
    assert found["choice"]["kind"] == "malloc"


def test_a_program_without_heap_events_has_nothing_to_advise(lab: FakeLab) -> None:
    found = advise(lab)
    assert found["verdict"] == "Nothing to advise: the program has no heap events."
    assert not lab.calls()


@pytest.mark.lengthy
def test_a_crash_is_reported_and_its_trace_still_analysed(lab: FakeLab) -> None:
    lab.configure(events=1000, subsystems=SUBSYSTEMS, cpu=CPU, signal=11)
    found = advise(lab)
    assert found["program"]["signal"] == 11
    assert "SIGSEGV" in found["verdict"]
    assert rows(found)["book"]["events"] == 100
    assert "SIGSEGV" in rows(found)["book"]["reason"]


@pytest.mark.lengthy
def test_a_program_that_exits_with_an_error_is_still_tried(lab: FakeLab) -> None:
    lab.configure(events=1000, subsystems=SUBSYSTEMS[:1], cpu=CPU, gains={"book": 0.8}, exit=3)
    found = advise(lab)
    assert found["program"]["exit"] == 3
    assert rows(found)["book"]["best"] == "multipool"


@pytest.mark.lengthy
def test_a_plan_under_which_the_program_dies_is_not_advised(lab: FakeLab) -> None:
    lab.configure(events=1000, subsystems=SUBSYSTEMS, cpu=CPU, gains={"book": 0.5}, killed=["plan"], mallocs=MALLOCS)
    found = advise(lab)
    assert found["plan"] is None
    assert {r["best"] for r in found["subsystems"]} == {"nothing"}
    assert any("SIGABRT" in note for note in found["notes"])


@pytest.mark.lengthy
def test_the_largest_process_is_analysed_unless_another_is_chosen(lab: FakeLab) -> None:
    lab.configure(events=1000, subsystems=SUBSYSTEMS[:1], cpu=CPU, processes=3)
    found = advise(lab)
    assert [p["number"] for p in found["program"]["processes"]] == [1, 2, 3]
    assert found["program"]["analysed"] == 2
    assert advise(lab, "--process=3")["program"]["analysed"] == 3
    wrong = lab.run("advise", "--process=4", "--", "true")
    assert wrong.status == 2
    assert "3 process" in wrong.stderr


def test_a_budget_that_is_too_small_is_reported(lab: FakeLab) -> None:
    lab.configure(events=1000, subsystems=SUBSYSTEMS, cpu=CPU)
    found = advise(lab, "--budget=0")
    assert "budget" in found["verdict"]
    assert found["verdict"].startswith("No verdict")


@pytest.mark.lengthy
def test_every_round_gets_the_same_input_even_from_a_pipe(lab: FakeLab) -> None:
    lab.configure(events=1000, subsystems=SUBSYSTEMS[:1], cpu=CPU, run=True)
    count = lab.work / "counts"
    text = b"line\n" * 50_000
    program = ("sh", "-c", f"wc -c >> {count}")
    done = lab.run_apart("advise", "--budget=3", "-o", "a.json", "--", *program, stdin=text)
    assert done.status == 0, done.stderr
    assert set(count.read_text().split()) == {str(len(text))}


@pytest.mark.lengthy
def test_no_temporary_file_is_left(lab: FakeLab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "tmp"
    place.mkdir()
    monkeypatch.setenv("TMPDIR", str(place))
    lab.configure(events=1000, subsystems=SUBSYSTEMS[:1], cpu=CPU)
    assert lab.run_apart("advise", "--budget=2", "--", "true").status == 0
    lab.configure(fails={"record": [5, "no such program"]})
    assert lab.run_apart("advise", "--budget=2", "--store=other", "--", "true").status == 5
    assert not list(place.iterdir())


@pytest.mark.lengthy
def test_the_page_escapes_names_of_programs_and_subsystems(lab: FakeLab) -> None:
    lab.configure(events=1000, subsystems=[{"name": "<script>alert(1)</script>"}], cpu=CPU)
    done = lab.run("advise", "--budget=3", "-o", "page.html", "--", "a<b>program")
    assert done.status == 0, done.stderr
    page = (lab.work / "page.html").read_text()
    body = page.partition("<body>")[2].rpartition("<script>")[0]  # the script has a library with names of standards
    assert page.count("<script") == 1 and "<script>alert" not in page and body and "://" not in body
    assert "a&lt;b&gt;program" in page and "&lt;script&gt;alert(1)" in page
    assert "prefers-color-scheme: dark" in page and 'name="viewport"' in page
