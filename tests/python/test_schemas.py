# SPDX-License-Identifier: BSL-1.0
"""Schemas match the types, documents match their schemas, and no field is lost between JSON and types."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import repository
import sample_store
from conftest import FakeLab
from hypothesis import given
from hypothesis import strategies as st

from millpond.advice.advice_data import Advice, Effect, Estimate
from millpond.cells.plan_file import PlanInstance, PlanRoute, PlanScope
from millpond.cells.plans import Plan, from_json
from millpond.doctor.examination_data import Examination
from millpond.report import json_schemas
from millpond.rounds.characterisation import Characterisation
from millpond.rounds.replay_data import ReplayResult
from millpond.rounds.trial_data import TrialResult
from millpond.store.store import Store
from millpond.system.errors import Failure
from millpond.system.json_seal import seal_flaw
from millpond.system.records import Record

GOLDEN = "tests/golden/document_fields.toml"


def validate(data: Any, name: str) -> None:
    jsonschema.validate(data, json_schemas.schema(name), cls=jsonschema.Draft202012Validator)


def fields_of(name: str) -> dict[str, str]:
    """The fields of each record of a document, in one line, in their order."""
    records = json_schemas.schema(name)["$defs"]
    return {title: " ".join(record["properties"]) for title, record in records.items() if "properties" in record}


def lost(before: Any, after: Any, place: str = "$") -> list[str]:
    """Returns the fields of JSON that the conversion to a record and back has lost."""
    if isinstance(before, dict) and isinstance(after, dict):
        found = [f"{place}.{key}" for key, value in before.items() if key not in after and value is not None]
        return found + [
            one for key in before.keys() & after.keys() for one in lost(before[key], after[key], f"{place}.{key}")
        ]
    if isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        return [one for i, pair in enumerate(zip(before, after, strict=True)) for one in lost(*pair, f"{place}[{i}]")]
    return [] if before == after else [place]


def test_documents_keep_the_names_of_their_fields() -> None:
    """Programs of others read these names. Written again by `python tests/python/test_schemas.py`."""
    golden = tomllib.loads(repository.text(Path(GOLDEN)))
    assert golden == {name: fields_of(name) for name in json_schemas.documents()}


def test_the_verb_prints_names_and_schemas(lab: FakeLab) -> None:
    names = lab.run("schema").stdout.split()
    assert names == list(json_schemas.documents()) and "millpond.bench.1" in names
    printed = json.loads(lab.run("schema", "millpond.plan/1").stdout)
    jsonschema.Draft202012Validator.check_schema(printed)
    assert printed["$defs"].keys() == json_schemas.schema("millpond.plan.1")["$defs"].keys()
    refused = lab.run("schema", "millpond.plan.9")
    assert refused.status == 2 and "millpond.plan.1" in refused.stderr


@pytest.mark.more
def test_documents_of_a_store_follow_their_schemas(tmp_path: Path) -> None:
    advice = sample_store.advise(tmp_path)
    kept = Store(tmp_path).load(advice["run"])
    validate(kept.documents["advice"], "millpond.advice.1")
    validate(kept.characterisation, "millpond.characterisation.1")
    validate(advice["plan"], "millpond.plan.1")


@pytest.mark.more
def test_documents_of_the_fakes_have_no_unknown_field(lab: FakeLab) -> None:
    lab.configure(events=1000, subsystems=[{"name": "book", "bytes": 5000}], cpu={"bare": 0.01}, gains={"book": 0.8})
    done = lab.run("advise", "--budget=5", "-o", "a.json", "--", "true")
    assert done.status == 0, done.stderr
    advice = json.loads((lab.work / "a.json").read_text())
    validate(advice, "millpond.advice.1")
    assert lost(advice, Advice.from_json(advice).to_json()) == []
    (lab.work / "t.mpt").write_text("0")
    assert lab.run("trace", "show", "-o", "c.json", "t.mpt").status == 0
    raw = json.loads((lab.work / "c.json").read_text())
    written = Characterisation.from_json(raw).to_json()
    validate(written, "millpond.characterisation.1")
    raw["subsystems"] = [{k: v for k, v in s.items() if k != "legal"} for s in raw["subsystems"]]  # the fake's own
    assert lost(raw, written) == []


@pytest.mark.lengthy
@pytest.mark.parametrize(
    ("name", "kind", "words"),
    [
        ("trial", TrialResult, ("try", "--plan=p.plan.json", "--rounds=2", "-o", "d.json", "--", "true")),
        ("replay", ReplayResult, ("trace", "replay", "t.mpt", "--strategy=monotonic", "--rounds=2", "-o", "d.json")),
        ("doctor", Examination, ("doctor", "-o", "d.json")),
    ],
)
def test_printed_documents_follow_their_schemas(
    lab: FakeLab, plan_file: Callable[..., Path], name: str, kind: type[Record], words: tuple[str, ...]
) -> None:
    plan_file("p", "book")
    (lab.work / "t.mpt").write_text("0")
    done = lab.run(*words)
    data = json.loads((lab.work / "d.json").read_text())
    assert data["schema"] == f"millpond.{name}/1", done.stderr
    validate(data, f"millpond.{name}.1")
    assert seal_flaw(data) == ""
    data.pop("checksum", None)
    assert kind.from_json(data).to_json() == data


def test_a_value_of_a_wrong_type_names_its_place() -> None:
    with pytest.raises(ValueError, match=r"Characterisation.*\$\.trace\.events"):
        Characterisation.from_json({"trace": {"events": "many"}})


def test_another_version_of_the_laboratory_is_named(lab: FakeLab, monkeypatch: pytest.MonkeyPatch) -> None:
    from millpond.rounds import recording

    path = lab.work / "characterisation.json"
    path.write_text('{"process": {"pid": "seven"}}')
    with pytest.raises(Failure, match=r"characterisation.json is of another version.*\$\.process\.pid"):
        recording.read_typed(Characterisation, path)


FIRST_DECODINGS = """
import sys, threading
from msgspec import defstruct
from millpond.system.records import Record, decode

sys.setswitchinterval(1e-6)
for number in range(60):
    kind, data = int, 7
    for depth in range(8):
        others = [(f"other_{i}", "int | None", None) for i in range(30)]
        kind = defstruct(f"Level{depth}", [("value", kind), *others], bases=(Record,), frozen=True)
        data = {"value": data}
    meeting = threading.Barrier(4)
    threads = [threading.Thread(target=lambda: (meeting.wait(), decode(kind, data))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
"""


@pytest.mark.lengthy
def test_threads_may_decode_a_type_for_the_first_time_at_once() -> None:
    """In a process of its own, because a race in msgspec would end it."""
    done = subprocess.run(
        [sys.executable, "-c", FIRST_DECODINGS], env={**os.environ, "PYTHONPATH": str(repository.ROOT / "python")},
        capture_output=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done


def test_unknown_fields_are_ignored_and_missing_ones_have_defaults() -> None:
    found = Effect.from_json({"n": 0, "of_a_later_version": [1]})
    assert found == Effect() and "of_a_later_version" not in found.to_json()


@pytest.mark.lengthy
@given(st.integers(0, 99), st.floats(0.1, 2), st.floats(0.1, 2))
def test_an_estimate_survives_its_json(n: int, low: float, high: float) -> None:
    found = Estimate(n=n, median=(low + high) / 2, low=low, high=high, level=0.95, method="m", verdict="better")
    assert Estimate.from_json(json.loads(json.dumps(found.to_json()))) == found


@pytest.mark.parametrize(
    "scope", [None, PlanScope("f", outermost=True, observed=False), PlanScope(thread=True), PlanScope(phase=True)]
)
def test_a_plan_survives_its_json(scope: PlanScope | None) -> None:
    keys = (PlanInstance("m", "a", "rdi"),)
    plan = Plan("x", "/bin/p", "ab", (PlanRoute(("s",), "s", "monotonic", True, scope, () if scope else keys),))
    data = json.loads(json.dumps(plan.to_json()))
    validate(data, "millpond.plan.1")
    assert from_json(data, "x") == plan


if __name__ == "__main__":
    lines = [
        "# Records of each JSON document and the names of their fields (tests/python/test_schemas.py writes this)."
    ]
    for document in json_schemas.documents():
        lines += [f'["{document}"]', *(f'{title} = "{fields}"' for title, fields in fields_of(document).items())]
    (repository.ROOT / GOLDEN).write_text("\n".join(lines) + "\n", encoding="utf-8")
