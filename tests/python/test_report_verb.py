# SPDX-License-Identifier: BSL-1.0
"""`millpond report`: chooses runs and a form, and reports damaged or empty stores."""

from __future__ import annotations

import html
import json
import re
import subprocess
from pathlib import Path

import pytest
import sample_store
from conftest import FakeLab

from millpond.advice.advice_data import Advice
from millpond.advice.inputs import read_inputs
from millpond.advice.merged import merge
from millpond.commands.report import Format, format_of
from millpond.store.store import Store


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with one run; tests must not change it."""
    place = tmp_path_factory.mktemp("store")
    sample_store.advise(place)
    return place


@pytest.mark.lengthy
def test_the_latest_run_of_each_workload_is_reported_by_default(
    lab: FakeLab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = sample_store.advise(tmp_path / "s", seed=1)["run"]
    new = sample_store.advise(tmp_path / "s", seed=2)["run"]
    sample_store.advise(tmp_path / "s", ("/bin/other",))
    path = tmp_path / "s" / "advice" / f"{old}.json.gz"
    assert path.exists()
    done = lab.run("report", str(tmp_path / "s"), "-o", "all.json")
    assert done.status == 0, done.stderr
    found = json.loads((lab.work / "all.json").read_text())["cases"]
    latest = max(old, new)  # both may have begun within one second
    assert len(found) == 2 and {c["run"] for c in found} >= {latest}
    assert lab.run("report", str(tmp_path / "s"), "--run", old, "--json=one.json").status == 0
    (one,) = json.loads((lab.work / "one.json").read_text())["cases"]
    assert one["run"] == old and one["advice"]["seed"] == 1
    assert lab.run("report", "--store", str(tmp_path / "s"), "--run", "no-such-run").status == 3


@pytest.mark.lengthy
def test_runs_kept_by_advise_are_reported_and_exported(lab: FakeLab) -> None:
    names = ("book", "index")
    cpu = {"bare": 1.0, "empty": 1.0, "shared": 0.8, "shared_huge": 0.8, "looked_up": 0.8}
    lab.configure(events=1000, subsystems=[{"name": n} for n in names], cpu=cpu, gains={"book": 0.5})
    done = lab.run("advise", "--budget=3", "--json=advice.json", "--", "prog", "a b")
    assert done.status == 0, done.stderr
    advice = json.loads((lab.work / "advice.json").read_text())
    for name in (
        "r.html",
        "r.md",
        "r.txt",
        "r.json",
        "r.csv",
        "r.pb.gz",
        "r.folded",
        "r.speedscope.json",
        "r.chrome.json",
    ):
        done = lab.run("report", "-o", name)
        assert (done.status, done.stderr) == (0, ""), name
    assert html.escape(advice["verdict"]) in (lab.work / "r.html").read_text()
    assert "main;book::make 1000" in (lab.work / "r.folded").read_text()


def test_a_program_without_heap_events_has_a_page_too(lab: FakeLab) -> None:
    lab.configure(events=0)
    assert lab.run("advise", "--budget=2", "--", "prog").status == 0
    done = lab.run("report", "-o", "page.html")
    assert done.status == 0, done.stderr
    page = (lab.work / "page.html").read_text()
    assert "Nothing to advise: the program has no heap events." in page and "Nothing was tried" in page


@pytest.mark.lengthy
def test_an_advice_on_several_inputs_comes_before_those_on_each(lab: FakeLab, tmp_path: Path) -> None:
    store = tmp_path / "s"
    advices = [sample_store.advise(store, ("prog", name)) for name in ("a", "b c")]
    inputs = [(1, ["a"]), (2, ["b c"])]
    merged = merge(("prog", "{}"), inputs, [Advice.from_json(one) for one in advices]).to_json()
    Store(store).write_document("inputs", advices[-1]["run"], merged)
    for name in ("r.html", "r.json", "r.md", "r.txt"):
        assert lab.run("report", str(store), "-o", name).status == 0
    found = json.loads((lab.work / "r.json").read_text())["cases"]
    verdicts = [c["advice"]["verdict"] for c in found]
    assert len(found) == 3 and merged["verdict"] in verdicts
    page = (lab.work / "r.html").read_text()
    assert page.count("<article") == 3 and "Intervals cover all inputs" in page
    command = re.findall(r"^(printf [^<\n]*)", page, re.MULTILINE)[0]
    subprocess.run(["sh", "-c", html.unescape(command)], cwd=lab.work, check=True)
    assert [i.arguments for i in read_inputs(lab.work / "inputs.txt")] == [("a",), ("b c",)]
    assert "<code>'b c'</code>" in (lab.work / "r.md").read_text()
    assert re.search(r"'b c'.*Give ", " ".join((lab.work / "r.txt").read_text().split()))


@pytest.mark.lengthy
def test_the_rest_of_a_damaged_store_is_reported_with_status_3(lab: FakeLab, tmp_path: Path) -> None:
    store = tmp_path / "s"
    advice = sample_store.advise(store)
    (store / "advice" / "20200101T000000-00000000.json.gz").write_bytes(b"not gzip")
    path = next((store / "characterisation").iterdir())
    path.write_bytes(path.read_bytes()[:-9])
    done = lab.run("report", str(store), "-o", "page.html")
    assert done.status == 3
    assert "20200101T000000" in done.stderr and path.name in done.stderr
    page = (lab.work / "page.html").read_text()
    assert html.escape(advice["verdict"]) in page and page.count("Not read: ") == 2


def test_a_missing_or_empty_store_is_reported(lab: FakeLab, tmp_path: Path) -> None:
    done = lab.run("report", str(tmp_path / "nothing"))
    assert done.status == 3 and "there is no store" in done.stderr
    (tmp_path / "empty").mkdir()
    done = lab.run("report", str(tmp_path / "empty"))
    assert done.status == 3 and "no advice" in done.stderr
    done = lab.run("report", str(tmp_path / "empty"), "-o", str(tmp_path / "no" / "folder.html"))
    assert done.status == 4


@pytest.mark.lengthy
def test_the_terminal_gets_text(lab: FakeLab, folder: Path) -> None:
    done = lab.run("report", str(folder))
    assert done.status == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "Would a local allocator make orders faster or smaller?" and len(lines) <= 40
    assert "Yes: local pools pay, for shop::book and shop::index." in lines
    assert "Other contenders" not in done.stdout
    assert "Other contenders" in lab.run("report", str(folder), "--verbose").stdout


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("a.html", Format.HTML), ("a.speedscope.json", Format.SPEEDSCOPE), ("a.chrome.json", Format.CHROME),
        ("a.json", Format.JSON), ("a.md", Format.MARKDOWN), ("a.pb.gz", Format.PPROF), ("a.folded", Format.COLLAPSED),
        ("a.csv", Format.CSV), ("a.txt", Format.TEXT), ("/dev/null", Format.TEXT),
    ],
)  # fmt: skip
def test_the_format_follows_from_the_name(name: str, form: Format) -> None:
    assert format_of(Path(name), None) is form


@pytest.mark.lengthy
def test_an_unknown_name_is_a_usage_error(lab: FakeLab, folder: Path) -> None:
    done = lab.run("report", str(folder), "-o", "page.pdf")
    assert done.status == 2 and "--format" in done.stderr
    done = lab.run("report", str(folder), "--json", "-o", "page.html")
    assert done.status == 2 and "give only one" in done.stderr
    done = lab.run("report", str(folder), "--json")
    assert done.status == 0 and json.loads(done.stdout)["schema"] == "millpond.report/1"
