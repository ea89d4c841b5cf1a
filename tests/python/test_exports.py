# SPDX-License-Identifier: BSL-1.0
"""Each export is read by a third-party program and agrees with the store."""

from __future__ import annotations

import csv
import gzip
import json
import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import sample_store
from conftest import FakeLab
from hypothesis import given
from hypothesis import strategies as st
from sample_store import NAMES

from millpond.report.exports import chrome, pprof
from millpond.report.exports.csv import rows_text
from millpond.rounds.characterisation import Characterisation
from millpond.store.call_tree import CallTree
from millpond.store.store import Store

# The part of pprof's public format that we write: names and numbers of fields.
PROFILE = """
syntax = "proto3";
package perftools.profiles;
message Profile {
  repeated ValueType sample_type = 1; repeated Sample sample = 2; repeated Location location = 4;
  repeated Function function = 5; repeated string string_table = 6; ValueType period_type = 11; int64 period = 12;
  repeated int64 comment = 13; int64 default_sample_type = 14;
}
message ValueType { int64 type = 1; int64 unit = 2; }
message Sample { repeated uint64 location_id = 1; repeated int64 value = 2; repeated Label label = 3; }
message Label { int64 key = 1; int64 str = 2; int64 num = 3; int64 num_unit = 4; }
message Location { uint64 id = 1; uint64 mapping_id = 2; uint64 address = 3; repeated Line line = 4; }
message Line { uint64 function_id = 1; int64 line = 2; }
message Function { uint64 id = 1; int64 name = 2; int64 system_name = 3; int64 filename = 4; int64 start_line = 5; }
"""

COUNT = {"type": "integer", "minimum": 0}
SPEEDSCOPE = {
    "type": "object",
    "required": ["$schema", "shared", "profiles"],
    "properties": {
        "$schema": {"const": "https://www.speedscope.app/file-format-schema.json"},
        "name": {"type": "string"},
        "exporter": {"type": "string"},
        "activeProfileIndex": COUNT,
        "shared": {
            "type": "object",
            "required": ["frames"],
            "additionalProperties": False,
            "properties": {"frames": {"type": "array", "items": {
                "type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}}}},
        },
        "profiles": {"type": "array", "minItems": 1, "items": {
            "type": "object",
            "required": ["type", "name", "unit", "startValue", "endValue", "samples", "weights"],
            "additionalProperties": False,
            "properties": {
                "type": {"const": "sampled"}, "name": {"type": "string"},
                "unit": {"enum": ["none", "nanoseconds", "microseconds", "milliseconds", "seconds", "bytes"]},
                "startValue": {"type": "number"}, "endValue": {"type": "number"},
                "samples": {"type": "array", "items": {"type": "array", "items": COUNT}},
                "weights": {"type": "array", "items": {"type": "number"}},
            },
        }},
    },
    "additionalProperties": False,
}  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("store")
    sample_store.advise(place)
    return place


@pytest.fixture
def export(lab: FakeLab, folder: Path) -> Any:
    """Writes a file by the command line and returns its path."""

    def write(name: str, *options: str) -> Path:
        done = lab.run("report", str(folder), "-o", name, *options)
        assert done.status == 0, done.stderr
        return lab.work / name

    return write


def weights() -> Counter[str]:
    """Returns the bytes of each stack, computed from the nodes in the store."""
    data = sample_store.contexts()
    found: Counter[str] = Counter()
    for parent, function, _, _, size, *_ in data["nodes"]:
        names, above = [data["functions"][function].replace(";", ":")], parent
        while above:
            names.append(data["functions"][data["nodes"][above - 1][1]].replace(";", ":"))
            above = data["nodes"][above - 1][0]
        if size:
            found[";".join(reversed(names))] += size
    return found


def test_collapsed_stacks_have_the_flame_graph_format(export: Any) -> None:
    lines = export("a.folded").read_text().splitlines()
    found: Counter[str] = Counter()
    for line in lines:
        match = re.fullmatch(r"((?:[^;]+;)*[^;]+) (\d+)", line)
        assert match, line
        found[match[1]] += int(match[2])
    assert found == weights()


@pytest.mark.parametrize(("weight", "total"), [("objects", 103), ("live_bytes", 632)])
def test_a_collapsed_stack_has_the_chosen_weight(export: Any, weight: str, total: int) -> None:
    lines = export(f"a.{weight}.folded").read_text().splitlines()
    assert sum(int(line.rpartition(" ")[2]) for line in lines) == total


def test_pprof_is_decoded_by_protoc_and_holds_every_stack(export: Any, tmp_path: Path) -> None:
    if not shutil.which("protoc"):
        pytest.skip("protoc is missing; apt-get install protobuf-compiler")
    raw = gzip.decompress(export("a.pb.gz").read_bytes())
    (tmp_path / "profile.proto").write_text(PROFILE)
    command = ["protoc", f"-I{tmp_path}", "--decode=perftools.profiles.Profile", "profile.proto"]
    said = subprocess.run(command, input=raw, capture_output=True, check=True).stdout.decode()
    assert not re.search(r"^\s*\d+[: ]", said, re.MULTILINE), "a field that the format does not have"
    data = sample_store.contexts()
    strings = [bytes(s, "utf-8").decode("unicode_escape") for s in re.findall(r'^string_table: "(.*)"$', said, re.M)]
    assert strings[0] == ""
    kinds = re.findall(r"sample_type \{\s*type: (\d+)\s*unit: (\d+)", said)
    expected = ["alloc_objects count", "alloc_space bytes", "inuse_objects count", "inuse_space bytes"]
    assert [f"{strings[int(a)]} {strings[int(b)]}" for a, b in kinds] == expected
    assert "".join(said.split()).count("sample{") == sum(1 for node in data["nodes"] if any(node[3:]))
    for sample in re.findall(r"^sample \{\n(.*?)^\}", said, re.MULTILINE | re.DOTALL):
        values = [int(v) for v in re.findall(r"^  value: (\d+)", sample, re.MULTILINE)]
        assert any(values == node[3:] for node in data["nodes"])
        locations = re.findall(r"^  location_id: (\d+)", sample, re.MULTILINE)
        assert locations[-1] == "1", "the outermost function comes last"
        subject = re.search(r"str: (\d+)", sample)
        assert subject and strings[int(subject[1])] in NAMES


@given(st.integers(min_value=0, max_value=2**63 - 1))
def test_varints_are_read_back_by_the_definition_of_the_format(value: int) -> None:
    encoded = pprof.varint(value)
    assert sum((byte & 0x7F) << 7 * i for i, byte in enumerate(encoded)) == value
    assert all(byte & 0x80 for byte in encoded[:-1]) and not encoded[-1] & 0x80


def test_equal_trees_give_equal_profiles() -> None:
    tree = CallTree.from_json(sample_store.contexts())
    assert pprof.profile(tree, "r") == pprof.profile(tree, "r")


@pytest.mark.lengthy
def test_speedscope_accepts_the_file(export: Any, tmp_path: Path) -> None:
    path = export("a.speedscope.json")
    data = json.loads(path.read_text())
    for profile in data["profiles"]:
        assert len(profile["samples"]) == len(profile["weights"])
        assert sum(profile["weights"]) == profile["endValue"]
        assert all(0 <= f < len(data["shared"]["frames"]) for stack in profile["samples"] for f in stack)
    assert data["profiles"][0]["endValue"] == sum(weights().values())
    checker = shutil.which("jsonschema", path="/usr/bin")
    if not checker:
        pytest.skip("jsonschema is missing; apt-get install python3-jsonschema")
    (tmp_path / "schema.json").write_text(json.dumps(SPEEDSCOPE))
    done = subprocess.run([checker, "-i", path, tmp_path / "schema.json"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_counters_are_trace_events_in_the_order_of_time(export: Any) -> None:
    data = json.loads(export("a.chrome.json").read_text())
    assert data["displayTimeUnit"] in ("ms", "ns")
    named, *counters = data["traceEvents"]
    assert (named["ph"], named["name"], set(named["args"])) == ("M", "process_name", {"name"})
    times = [e["ts"] for e in counters]
    assert times == sorted(times) and times[0] >= 0
    for event in counters:
        assert event["ph"] == "C" and isinstance(event["pid"], int)
        assert all(isinstance(v, int) and v >= 0 for v in event["args"].values())
    assert {e["name"] for e in counters} == {f"{n}: {w}" for n in NAMES for w in ("live bytes", "page bytes")}
    assert data["otherData"]["left_out"]["subsystems"] == 0
    assert chrome.trace_events(Characterisation())["traceEvents"][0]["ph"] == "M"


def test_counters_that_are_too_many_are_left_out_and_stated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chrome, "SUBSYSTEMS_AT_MOST", 1)
    found = chrome.trace_events(sample_store.characterisation())
    assert {e["name"].partition(": ")[0] for e in found["traceEvents"][1:]} == {NAMES[0]}
    assert found["otherData"]["left_out"]["subsystems"] == len(NAMES) - 1


@pytest.mark.lengthy
@pytest.mark.parametrize("relation", ["observations", "subsystems"])
def test_csv_is_read_by_duckdb_row_for_row(export: Any, folder: Path, relation: str) -> None:
    import duckdb

    path = export("a.csv" if relation == "observations" else "a.subsystems.csv")
    store = Store(folder)
    order = "id" if relation == "observations" else "position"
    kept = store.query(f"select * from {relation} order by {order}")
    with duckdb.connect() as connection:
        read = connection.execute(
            f"select * from read_csv('{path}', header = true, all_varchar = true) order by {order}"
        ).fetchall()
    assert len(read) == len(kept)
    names = list(kept[0])[: len(read[0])]
    assert [row[names.index("run")] for row in read] == [row["run"] for row in kept]
    if relation == "observations":
        with duckdb.connect() as connection:
            values = connection.execute(f"select value from read_csv('{path}', header = true) order by id").fetchall()
        assert [v for (v,) in values] == [row["value"] for row in kept]


def test_csv_keeps_any_text(seed: int) -> None:
    hostile = ['a,"b"', "two\r\nlines", "=1+1", "ü ☃", "", "'"]
    rows = [{"name": text, "n": i} for i, text in enumerate(hostile)]
    assert [r["name"] for r in csv.DictReader(rows_text(rows).splitlines(keepends=True))] == hostile


def test_a_run_without_stacks_says_so(lab: FakeLab, tmp_path: Path) -> None:
    sample_store.advise(tmp_path)
    shutil.rmtree(tmp_path / "contexts")
    done = lab.run("report", str(tmp_path), "-o", "a.folded")
    assert done.status == 3 and "no readable call stacks" in done.stderr and not (lab.work / "a.folded").exists()


@pytest.mark.lengthy
def test_a_tree_whose_child_precedes_its_parent_is_refused(lab: FakeLab, tmp_path: Path) -> None:
    sample_store.advise(tmp_path)
    data = sample_store.contexts()
    data["nodes"][0][0] = 2
    run = next((tmp_path / "contexts").iterdir()).stem
    Store(tmp_path).write_contexts(run, CallTree.from_json(data))
    done = lab.run("report", str(tmp_path), "-o", "a.folded")
    assert done.status == 3 and "damaged" in done.stderr
