# SPDX-License-Identifier: BSL-1.0
"""A file that is not a whole contribution is refused by name with a remedy, and nothing is written."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sample_results import claim, contribution, part

from millpond.cli import main
from millpond.system.errors import Failure, Status
from millpond.system.json_seal import digest
from millpond_bench.pages.contribution import BYTES_AT_MOST, SCHEMA, read_all

pytestmark = pytest.mark.more  # tests the bench of published experiments, not the product


@pytest.fixture(autouse=True)
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def rewritten(path: Path, **changes: Any) -> Path:
    """Changes members of a contribution, and makes its digest hold again."""
    data = {**json.loads(path.read_text(encoding="utf-8")), **changes}
    del data["digest"]
    path.write_text(json.dumps({**data, "digest": digest(data)}), encoding="utf-8")
    return path


def zip_bomb(content: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("../../escaped.json", content)
        archive.writestr("zeros", bytes(50 << 20))
    return file.getvalue()


def tar_that_escapes(content: bytes) -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as archive:
        entry = tarfile.TarInfo("../../escaped.json")
        entry.size = len(content)
        archive.addfile(entry, io.BytesIO(content))
    return file.getvalue()


REFUSED: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "one byte changed": (lambda good: good.replace(b'"median":1.75', b'"median":1.85'), "its digest does not hold"),
    "no digest": (lambda good: good.replace(b'"digest":', b'"digits":'), "its digest does not hold"),
    "cut": (lambda good: good[: len(good) // 2], "it is truncated"),
    "cut at the end": (lambda good: good.rstrip()[:-1], "it is truncated"),
    "empty": (lambda good: b"", "it is empty"),
    "a later version": (lambda good: good.replace(b"contribution/1", b"contribution/2"), "of version 2"),
    "other JSON": (lambda good: b'{"schema":"millpond.results/1"}', "it is not a contribution"),
    "a list": (lambda good: b"[]", "it is not a contribution"),
    "no JSON": (lambda good: b"hello", "it is no JSON"),
    "deep": (lambda good: b"[" * 100000 + b"]" * 100000, "nests deeper"),
    "too large": (lambda good: b" " * (BYTES_AT_MOST + 1), "it has more than 16 MiB"),
    "a zip bomb": (zip_bomb, "it is a zip archive, and archives are not unpacked"),
    "a tar archive": (tar_that_escapes, "it is a tar archive"),
    "a gzip bomb": (lambda good: gzip.compress(bytes(50 << 20)), "it is a gzip file"),
}  # fmt: skip


@pytest.mark.parametrize(("make", "reason"), REFUSED.values(), ids=REFUSED)
def test_what_is_no_whole_contribution_is_refused(
    make: Callable[[bytes], bytes], reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good = contribution("good", part())
    bad = Path("bad.contribution.json")
    bad.write_bytes(make(good.read_bytes()))
    before = sorted(tmp_path.rglob("*"))
    words = ["report", str(good), str(bad), "-o", "x.html", "-o", "x.json", "-o", "results:kept"]
    assert main(words) == Status.INPUT
    said = capsys.readouterr().err
    assert f"{bad}: {reason}" in said or (f"{bad}: " in said and reason in said)
    assert "1 contribution refused, and nothing written" in said and str(good) not in said
    assert sorted(tmp_path.rglob("*")) == before and not (tmp_path.parent / "escaped.json").exists()


HOSTILE: dict[str, Callable[[dict[str, Any]], Any]] = {
    "a document that leaves the folder": lambda one: one.update(document="../../escaped"),
    "a document that is a path": lambda one: one.update(document="/etc/passwd"),
    "an experiment with markup": lambda one: one["parts"][0].update(experiment="d.1](x)"),
    "a command with a backquote": lambda one: one["parts"][0].update(command="`rm`"),
    "a terminal escape": lambda one: one["parts"][0]["claims"][0].update(statement="\x1b[2J"),
    "a turned direction": lambda one: one["parts"][0].update(machine="m\u202e"),
    "a section with a link": lambda one: one["parts"][0]["claims"][0].update(section="[1](http://x)"),
    "a figure that is a text": lambda one: one["parts"][0]["claims"][0]["ours"].update(median="1"),
    "no parts": lambda one: one.pop("parts"),
}


@pytest.mark.parametrize("change", HOSTILE.values(), ids=HOSTILE)
def test_contents_that_do_not_fit_the_form_are_refused(change: Callable[[dict[str, Any]], Any], tmp_path: Path) -> None:
    path = contribution("bad", part())
    found = json.loads(path.read_text(encoding="utf-8"))["results"]
    change(found[0])
    rewritten(path, results=found)
    with pytest.raises(Failure, match=rf"bad\.contribution\.json: it does not have the form {SCHEMA}") as refused:
        read_all([path])
    assert refused.value.status == Status.INPUT
    assert main(["report", str(path), "-o", "results:kept"]) == Status.INPUT
    assert sorted(tmp_path.iterdir()) == [tmp_path / path]


def test_markup_in_a_contribution_stays_text() -> None:
    hostile = claim(statement="<script>alert(1)</script> | `x` [y](http://z)", id="<b>|x")
    path = str(contribution("a", part(machine="<img src=x>", claims=(hostile,))))
    assert main(["report", path, "-o", "x.html", "-o", "x.md", "-o", "results:kept"]) == Status.OK
    pages = [Path("x.html"), Path("x.md"), *Path("kept").glob("*.md")]
    for page in pages:
        text = page.read_text(encoding="utf-8")
        assert "<script>alert" not in text and "<img" not in text and "<b>" not in text, page
        assert page.suffix == ".html" or "[y](http://z)" not in text


def test_all_refused_files_are_named_with_a_remedy(capsys: pytest.CaptureFixture[str]) -> None:
    Path("folder.contribution.json").mkdir()
    Path("a.contribution.json").write_text("{", encoding="utf-8")
    words = ["report", "a.contribution.json", "folder.contribution.json", "none.contribution.json"]
    assert main(words) == Status.INPUT
    said = capsys.readouterr().err
    assert (
        "3 contributions refused" in said and "it is a folder, not a file" in said and "there is no such file" in said
    )
    assert "ask its contributor for the file again" in said and "`millpond report STORE -o FILE" in said
