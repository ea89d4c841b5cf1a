# SPDX-License-Identifier: BSL-1.0
"""millpond-simulate as a user runs it: its document, table, files and refusals."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from millpond.rounds.simulation_data import Simulation

ROOT = Path(__file__).resolve().parents[3]
PROGRAM = Path(os.environ.get("MILLPOND_BIN") or ROOT / "build" / "release" / "bin").absolute() / "millpond-simulate"

# Two lines that meet in a direct-mapped cache of 64 bytes, an access to both, a modification, and a flush.
LACKEY = "I  1000,4\n L 0,8\nI  1004,4\n S 40,8\n L 3c,8\n M 0,4\n"
DIN = "2 1000\n0 0 8\n2 1004\n1 40 8\n0 3c 8\n0 0 4\n1 0 4\n4 0\n0 0 8\n"


def run(*arguments: str, text: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run([PROGRAM, *arguments], input=text, capture_output=True, text=True, check=False, timeout=120)


def document(*arguments: str, text: str) -> dict[str, Any]:
    done = run("--json", "-", *arguments, "-", text=text)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def metric(of: dict[str, Any], name: str, **place: object) -> int:
    rows = [row for row in of["metrics"] if row["metric"] == name and place.items() <= row.items()]
    assert len(rows) == 1, rows
    value: int = rows[0]["value"]
    return value


def test_document_has_input_rules_and_counts_with_units() -> None:
    found = document("-s", "direct:line=64,size=64/128", "--penalty", "10,25", text=LACKEY)
    assert found["schema"] == "millpond.simulation/1"
    assert found["input"] == {
        "path": "-",
        "format": "lackey",
        "instructions": 2,
        "references": 4,
        "loads": 2,
        "stores": 1,
        "modifications": 1,
    }
    assert found["rules"]["straddling_access"] == "once"
    (bank,) = found["simulators"]
    assert metric(bank, "misses", cache_bytes=64, ways=1) == 4
    assert metric(bank, "misses", cache_bytes=128) == 2
    assert all(row["unit"] == "references" for row in bank["metrics"])
    assert "level_times" not in found
    times = {row["miss_penalty_cycles"]: row["value"] for row in bank["time"] if row["cache_bytes"] == 64}
    assert times == {10: 2 + 4 * 10, 25: 2 + 4 * 25}


def test_penalties_are_swept_without_being_asked() -> None:
    found = document("-s", "direct:size=64", text=LACKEY)
    times = {row["miss_penalty_cycles"]: row["value"] for row in found["simulators"][0]["time"]}
    assert times == {penalty: 2 + 4 * penalty for penalty in (10, 25, 50, 100, 200)}
    assert "P = 10 25 50 100 200 cycles" in run("-s", "direct:size=64", "-", text=LACKEY).stdout


def doctor(place: Path, **changed: object) -> str:
    """Writes a `millpond doctor` document with the fields that the time model needs; returns its path."""
    sets = [{"set_bytes": 4096 << i, "median": 1.0 if i < 4 else 5.0 if i < 9 else 80.0, "n": 11} for i in range(15)]
    whole = {
        "schema": "millpond.doctor/1",
        "machine": "a mill",
        "costs": {"cycle": {"n": 11, "median": 0.25}},
        "latencies": sets,
        "caches": [{"level": 1, "bytes": 32768, "ways": 8, "line_bytes": 64},
                   {"level": 2, "bytes": 1 << 20, "ways": 16, "line_bytes": 64}],
        "translation_buffers": [],
    }  # fmt: skip
    place.write_text(json.dumps({**whole, **changed}))
    return str(place)


def test_time_with_all_levels_has_a_machines_latencies(tmp_path: Path) -> None:
    found = document("--latencies", doctor(tmp_path / "doctor.json"), "--cpi", "2", text=LACKEY)
    assert found["simulators"][-1]["description"] == "levels:line=64,size=32768/1048576,ways=8/16"
    (time,) = found["level_times"]
    parts = {part["part"]: (part["count"], part["ns_each"]) for part in time["parts"]}
    # Four references to two lines, which are neighbours: each is in memory once, and in the first level afterwards.
    assert parts == {
        "instructions": (2, 0.5), "level 1": (2, 1), "level 2": (0, 5), "memory": (1, 80), "memory, foreseen": (1, 5)
    }  # fmt: skip
    assert time["value"] == pytest.approx((2 * 0.5 + 2 * 1 + 80 + 5) * 1e-9)
    assert time["cycles"] == pytest.approx(88 / 0.25)
    assert "a mill" in time["latencies"]
    typed = Simulation.from_json(found)
    assert typed.level_times[0].parts[0].part == "instructions"
    assert typed.simulators[-1].metrics[-1].cache_bytes == 1 << 20
    assert "nothing overlaps" in time["assumptions"][0]


def test_named_levels_take_the_place_of_the_machines(tmp_path: Path) -> None:
    named = "levels:line=64,size=64/128,ways=1/2"
    found = document("--latencies", doctor(tmp_path / "doctor.json", caches=[]), "-s", named, text=LACKEY)
    assert [time["simulator"] for time in found["level_times"]] == [named]


def test_latencies_can_be_measured_here() -> None:
    found = document("--latencies", "measure", "-s", "levels:line=64,size=1K,ways=2", text=LACKEY)
    (time,) = found["level_times"]
    assert time["latencies"] == "measured here, now"
    assert time["value"] > 0


@pytest.mark.parametrize(
    ("changed", "status", "words"),
    [
        ({"latencies": []}, 3, "has no latencies; `millpond doctor -o FILE.json` writes what is needed"),
        ({"latencies": [], "why_no_probe": "millpond-probe is missing"}, 3, "(millpond-probe is missing)"),
        ({"caches": [7]}, 3, "does not have the form of doctor's latencies"),
        ({"costs": {}}, 3, "does not give the length of a cycle"),
        ({"caches": []}, 2, "names no caches; describe them: --simulate levels:"),
    ],
)
def test_documents_without_latencies_are_refused(
    tmp_path: Path, changed: dict[str, object], status: int, words: str
) -> None:
    done = run("--latencies", doctor(tmp_path / "doctor.json", **changed), "-", text=LACKEY)
    assert done.returncode == status, done
    assert done.stderr.count("\n") == 1
    assert words in done.stderr


def test_rules_are_options() -> None:
    found = document("-s", "direct:size=64", "--straddle", "twice", "--modify", "twice", text=LACKEY)
    (bank,) = found["simulators"]
    assert metric(bank, "references") == 6
    assert metric(bank, "misses") == 5
    flushed = document("-s", "distances:line=64", "--flush-instructions", "1", text=LACKEY)
    assert metric(flushed["simulators"][0], "flushed") == 1


def test_din_with_flushes_counts_as_its_lackey_twin() -> None:
    found = document("-s", "direct:size=128", "-s", "distances:line=64", text=DIN)
    bank, distances = found["simulators"]
    assert metric(bank, "misses") == 3
    assert metric(distances, "cold") == 2
    assert metric(distances, "flushed") == 1
    assert distances["curve"] == [[0, 1], [1, 2]]


def test_usual_simulators_are_five_and_56_caches_and_all_pages() -> None:
    found = document(text=LACKEY)
    bank, family, pages = found["simulators"]
    assert sum(row["metric"] == "misses" for row in bank["metrics"]) == 5
    assert sum(row["metric"] == "misses" for row in family["metrics"]) == 56
    assert metric(pages, "distinct") == 1


def test_written_din_gives_the_same_misses(tmp_path: Path) -> None:
    din = tmp_path / "references.din"
    options = ("-s", "lru:line=32,sets=1-4,ways=4", "--modify", "twice")
    first = document(*options, "--write-din", str(din), text=LACKEY)
    second = document(*options, text=din.read_text())
    # A written din file has no instructions, and so no times.
    assert "time" in first["simulators"][0]
    assert "time" not in second["simulators"][0]
    assert [each["metrics"] for each in first["simulators"]] == [each["metrics"] for each in second["simulators"]]


@pytest.mark.parametrize("instructions", ["portable", "avx2", "avx512"])
def test_every_instruction_set_gives_the_same_document(instructions: str) -> None:
    text = "".join(f"0 {i * 7919 % 50000:x} 8\n" for i in range(5000))
    assert document("--instruction-set", instructions, text=text) == document(text=text)


def test_table_names_caches_and_shares() -> None:
    done = run("-s", "direct:size=1K", "-s", "distances:line=4K", "-s", "attributed:size=1K,ways=2", "-", text=LACKEY)
    assert done.returncode == 0
    assert "direct:size=1K" in done.stdout
    assert "50.0000 %" in done.stdout
    assert "of program" in done.stdout


def test_measure_reports_each_simulator_and_all_together() -> None:
    done = run("--measure", "--measure-references", "5000", "--measure-rounds", "1", "--json", "-")
    speeds = json.loads(done.stdout)
    assert speeds["references"] == 5000
    assert [row["simulator"] for row in speeds["speeds"]][-1] == "all together"
    assert all(row["value"] > 0 for row in speeds["speeds"])


@pytest.mark.parametrize(
    ("arguments", "text", "status", "words"),
    [
        ((), "", 2, "name the references"),
        (("-",), "what is this?", 3, 'line 1: not a din line, LABEL ADDRESS [BYTES]: "what is this?"'),
        (("nowhere.din",), "", 3, "nowhere.din"),
        (("-s", "direct:size=3", "-"), "", 2, '"direct:size=3": a size is no multiple of the line'),
        (("--format", "trace", "-"), "", 2, "--format"),
        (("--json", "/nowhere/there", "-"), "", 4, "/nowhere"),
        (("--latencies", "/nowhere/there", "-"), "", 3, "/nowhere"),
        (("--latencies", "/proc/version", "-"), "", 3, "is not a JSON document"),
        (("--write-din", "/nowhere/there", "-"), "", 4, "/nowhere"),
    ],
)
def test_refusals_are_one_sentence(arguments: tuple[str, ...], text: str, status: int, words: str) -> None:
    done = run(*arguments, text=text)
    assert done.returncode == status, done
    assert done.stderr.startswith("millpond: ")
    assert done.stderr.count("\n") == 1
    assert words in done.stderr
