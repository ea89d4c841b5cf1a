# SPDX-License-Identifier: BSL-1.0
"""The doctor reports what is installed and what works; status 4 exactly if something needed is missing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import FakeLab
from msgspec.structs import replace

from millpond.cells.cell import Outcome
from millpond.doctor import diagnosis
from millpond.doctor.examination_data import Ability, Examination
from millpond.rounds import mallocs
from millpond.rounds.noise import noise_of, twins
from millpond.system import machine_facts


@pytest.fixture
def whole(lab: FakeLab) -> FakeLab:
    """A fake laboratory with all its preloaded libraries."""
    place = lab.bin.parent / "lib" / "millpond"
    place.mkdir(parents=True)
    for name in ("libmillpond-record.so", "libmillpond-sample.so", "libmillpond-trial.so"):
        (place / name).touch()
    return lab


def doctor(lab: FakeLab, status: int = 0) -> dict[str, Any]:
    done = lab.run("doctor", "-o", "doctor.json")
    assert done.status == status, done.stdout + done.stderr
    return dict(json.loads((lab.work / "doctor.json").read_text()))


def about(document: dict[str, Any], level: str) -> set[str]:
    return {f["about"] for f in document["findings"] if f["level"] == level}


def test_everything_is_in_the_document_and_in_sentences(whole: FakeLab) -> None:
    found = doctor(whole)
    assert found["schema"] == "millpond.doctor/1"
    assert found["ok"] is True
    assert {"facts", "costs", "counters", "installed", "works", "store", "noise"} <= set(found)
    assert [w["available"] for w in found["works"]] == [True, True, True]
    assert {m["metric"] for m in found["noise"]["metrics"]} == {"cpu_seconds", "wall_seconds", "peak_bytes"}
    assert {"noise", "page faults"} <= about(found, "note") | about(found, "warning")
    assert all(f["sentence"].endswith(".") for f in found["findings"])


def test_latencies_of_sets_are_kept_and_shown(whole: FakeLab) -> None:
    found = doctor(whole)["latencies"]
    assert [one["set_bytes"] for one in found] == [4096 << i for i in range(15)]
    assert [one["median"] for one in found] == [1.0 + i for i in range(15)]
    shown = " ".join(whole.run("doctor").stdout.replace("│", " ").split())
    assert "4 KiB 1 ns, 8 KiB 2 ns" in shown
    assert "32 MiB 14 ns, 64 MiB 15 ns" in shown


def test_caches_and_buffers_are_kept_and_shown(whole: FakeLab) -> None:
    found = doctor(whole)
    assert [one["bytes"] for one in found["caches"]] == [32768, 1 << 20]
    assert found["translation_buffers"] == [{"level": 1, "entries": 64, "ways": 4}]
    assert found["page_latencies"][0]["pages"] == 16
    shown = " ".join(whole.run("doctor").stdout.replace("│", " ").split())
    assert "32 KiB in 8 ways, 1 MiB in 16 ways, 64 pages" in shown


def test_a_document_of_an_older_doctor_is_read(whole: FakeLab) -> None:
    found = doctor(whole)
    for name in ("page_latencies", "caches", "translation_buffers"):
        del found[name]
    assert Examination.from_json(found).caches == ()


def test_the_reason_for_absent_counters_is_given(whole: FakeLab) -> None:
    said = " ".join(f["sentence"] for f in doctor(whole)["findings"])
    assert "instructions (offers no such counter)" in said


def test_a_missing_program_that_is_needed_gives_status_four(whole: FakeLab) -> None:
    (whole.bin / "millpond-characterise").unlink()
    found = doctor(whole, status=4)
    assert found["ok"] is False
    assert any("millpond-characterise" in f["sentence"] for f in found["findings"] if f["level"] == "missing")


def test_a_missing_library_gives_status_four(lab: FakeLab) -> None:
    assert "installed" in about(doctor(lab, status=4), "missing")


def test_a_library_that_is_never_loaded_gives_status_four(whole: FakeLab) -> None:
    whole.configure(no_preload=True)
    assert "preload" in about(doctor(whole, status=4), "missing")


def test_a_recorder_that_fails_gives_status_four_with_its_reason(whole: FakeLab) -> None:
    whole.configure(fails={"record": [4, "no space"]})
    found = doctor(whole, status=4)
    assert any("no space" in f["sentence"] for f in found["findings"] if f["level"] == "missing")


def test_without_the_probe_the_rest_is_still_examined(whole: FakeLab) -> None:
    (whole.bin / "millpond-probe").unlink()
    found = doctor(whole)
    assert {"costs", "noise", "installed"} <= about(found, "warning")


def test_a_store_that_cannot_be_written_is_missing(whole: FakeLab) -> None:
    found = Examination.from_json(doctor(whole))
    found = replace(found, store=replace(found.store, writable=False, why_not="Read-only file system"))
    assert [f.about for f in diagnosis.diagnose(found) if f.level == "missing"] == ["store"]


@pytest.mark.parametrize(
    ("fact", "value", "finding"),
    [
        ("cores", 1, "cores"),
        ("load", 99.0, "cores"),
        ("cpu_quota_cores", 0.5, "cores"),
        ("governor", "powersave", "clock"),
        ("overcommit", "never", "overcommit"),
        ("address_randomisation", "0", "addresses"),
        ("preloaded", "/lib/libother.so", "preload"),
    ],
)
def test_each_fact_that_hurts_results_is_a_warning(whole: FakeLab, fact: str, value: object, finding: str) -> None:
    document = Examination.from_json(doctor(whole))
    quiet = {"cores": 64, "load": 0.0, "cpu_quota_cores": None, "governor": None, "overcommit": "heuristic"}

    def warnings(**facts: Any) -> set[str]:
        given = quiet | {"address_randomisation": "2", "preloaded": None} | facts
        found = diagnosis.diagnose(replace(document, facts=replace(document.facts, **given)))
        return {f.about for f in found if f.level == "warning"}

    assert finding not in warnings()
    assert finding in warnings(**{fact: value})


FORBIDDEN = Ability("cycles", False, "forbidden by the kernel or by a filter of system calls: level 3")


@pytest.mark.parametrize(
    ("facts", "about", "words"),
    [
        ({"perf_event_paranoid": "3"}, "counters", "sysctl kernel.perf_event_paranoid=2"),
        ({"perf_event_paranoid": "2", "seccomp": "filter"}, "counters", "--security-opt seccomp=unconfined"),
        ({"seccomp": "filter"}, "system", "--security-opt seccomp=unconfined"),
        ({"ptrace_scope": "3"}, "ptrace", "yama's ptrace_scope is 3"),
        ({"debug_servers": None}, "debug files", "Set DEBUGINFOD_URLS"),
        ({"huge_pages": "never"}, "huge pages", "echo madvise | sudo tee"),
    ],
)
def test_what_the_system_forbids_has_a_cure(whole: FakeLab, facts: dict[str, Any], about: str, words: str) -> None:
    whole.configure(costs={"huge_page_fault": {"n": 0, "median": None, "why_null": "none"}})
    document = Examination.from_json(doctor(whole))
    works = (*(w for w in document.works if w.name != "ptrace"), Ability("ptrace", False, "not permitted"))
    free = {"perf_event_paranoid": "1", "seccomp": "none", "ptrace_scope": "0", "debug_servers": "a", "huge_pages": "x"}

    def sentences(**more: Any) -> str:
        facts = replace(document.facts, **free | more)
        told = replace(document, works=works, counters=(FORBIDDEN,), facts=facts)
        return " ".join(one.sentence for one in diagnosis.diagnose(told) if one.about == about)

    assert words not in sentences()
    assert words in sentences(**facts)


def test_a_counter_that_the_processor_lacks_has_no_cure(whole: FakeLab) -> None:
    document = Examination.from_json(doctor(whole))
    lacking = Ability("cycles", False, "this processor, or the hypervisor above it, offers no such counter")
    facts = replace(document.facts, perf_event_paranoid="3", seccomp="filter")
    told = diagnosis.diagnose(replace(document, counters=(lacking,), facts=facts))
    assert not any("To have them" in one.sentence for one in told if one.about == "counters")


def test_missing_mallocs_have_one_command(whole: FakeLab) -> None:
    document = Examination.from_json(doctor(whole))
    absent = {"jemalloc": "libjemalloc2", "tcmalloc": "libtcmalloc-minimal4", "other": "libjemalloc2"}
    told = replace(document, installed=replace(document.installed, mallocs=(), missing_mallocs=absent))
    [finding] = [one for one in diagnosis.diagnose(told) if one.about == "mallocs"]
    assert "`sudo apt-get install libjemalloc2 libtcmalloc-minimal4`" in finding.sentence


def test_huge_pages_that_are_not_given_are_explained(whole: FakeLab) -> None:
    whole.configure(costs={"huge_page_fault": {"n": 0, "median": None, "why_null": "the kernel took small pages"}})
    assert any("the kernel took small pages" in f["sentence"] for f in doctor(whole)["findings"])


def test_facts_that_the_kernel_does_not_give_are_null(tmp_path: Path) -> None:
    found = machine_facts.facts(tmp_path)
    assert found.clock_source is None and found.huge_pages is None and found.mappings_limit is None
    assert found.cores >= 1


def test_facts_are_read_as_the_kernel_writes_them(tmp_path: Path) -> None:
    for path, text in {
        "sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n",
        "proc/sys/vm/overcommit_memory": "2\n",
        "sys/fs/cgroup/cpu.max": "150000 100000\n",
        "sys/fs/cgroup/memory.max": "1000000\n",
        "proc/self/status": "Name:\tpython\nSeccomp:\t2\n",
        "proc/cpuinfo": "processor\t: 0\nflags\t\t: fpu hypervisor\n",
    }.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    found = machine_facts.facts(tmp_path)
    assert (found.huge_pages, found.overcommit, found.cpu_quota_cores) == ("madvise", "never", 1.5)
    assert (found.memory_limit_bytes, found.seccomp, found.virtual) == (1_000_000, "filter", True)


def test_mallocs_are_found_in_order_and_missing_ones_have_a_package(tmp_path: Path) -> None:
    (tmp_path / "libmimalloc.so.2.0").touch()
    found, missing = mallocs.find_mallocs([tmp_path])
    assert [m.name for m in found] == ["glibc", "mimalloc"]
    assert missing["jemalloc"] == "libjemalloc2"
    assert mallocs.preloaded(["a", "b"], found[1], {"X": "1"})[1:] == [
        "X=1", f"LD_PRELOAD={tmp_path / 'libmimalloc.so.2.0'}", "a", "b",
    ]  # fmt: skip
    assert mallocs.preloaded(["a"], found[0])[1:] == ["a"]


def test_noise_is_that_of_pairs_within_a_round() -> None:
    cells = twins(("p",))
    outcomes = [
        Outcome(cell, "noise", i, {"cpu_seconds": (1.0 + i) * factor}, "t")
        for i in range(1, 12)
        for cell, factor in zip(cells, (1.0, 1.01 if i % 2 else 0.99), strict=True)
    ]
    found = noise_of(outcomes, cells)
    assert [n.metric for n in found] == ["cpu_seconds"]
    assert found[0].floor == pytest.approx(0.01)
    assert found[0].spread > 0.5
