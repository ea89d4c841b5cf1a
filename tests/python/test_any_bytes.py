# SPDX-License-Identifier: BSL-1.0
"""Texts of any bytes: their three forms, in files and on the terminal."""

from __future__ import annotations

import io
import json
import os
import random
import sys
from pathlib import Path

import pytest

from millpond.report.markdown import code
from millpond.rounds.recording import ProcessRow
from millpond.system import output
from millpond.system.any_bytes import bytes_of, kept, kept_data, shown, system_form

ODD = b"latin\xe9"
PIECES = (b"a", b"\xe9", b"\xff", b"\xed\xa0\x80", "é".encode(), "💧".encode(), b"\n", b"\t", b" ", b"'", b'"', b"{}",
          b"%", b"[bold]", b"-", b"|", b"<b>", b"\\")  # fmt: skip


def names(seed: int, number: int) -> list[bytes]:
    """Yields random file names of any bytes."""
    dice = random.Random(seed)
    return [b"".join(dice.choices(PIECES, k=dice.randrange(1, 9))) for _ in range(number)]


@pytest.mark.lengthy
def test_kept_leads_back_to_the_same_bytes(seed: int) -> None:
    for name in names(seed, 2000):
        for text in (os.fsdecode(name), kept(os.fsdecode(name)), name.decode("ascii", "surrogateescape")):
            assert bytes_of(text) == name
            assert os.fsencode(system_form(text)) == name
            assert kept(kept(text)) == kept(text)
            assert kept(text).encode() and shown(text).encode()


def test_native_programs_keep_the_same_form() -> None:
    assert kept(os.fsdecode(ODD)) == "latin\U0010ffe9"
    assert shown(os.fsdecode(ODD)) == shown(kept(os.fsdecode(ODD))) == "latin�"
    assert kept("\ud800") == "�", "what no system gives"


@pytest.mark.lengthy
def test_documents_are_valid_utf8(seed: int, tmp_path: Path) -> None:
    for name in names(seed, 200):
        row = ProcessRow(1, argv=(os.fsdecode(name), "-x"))
        path = tmp_path / "row.json"
        output.write_json(row.to_json(), str(path))
        read = ProcessRow.from_json(json.loads(path.read_bytes().decode("utf-8")))
        assert read.argv is not None
        assert os.fsencode(system_form(read.argv[0])) == name


def test_data_keep_every_text() -> None:
    odd = os.fsdecode(ODD)
    assert kept_data({odd: [odd, 1, None]}) == {kept(odd): [kept(odd), 1, None]}


def test_text_files_show_replaced_bytes(tmp_path: Path) -> None:
    output.write_text(tmp_path / "page", f"of {os.fsdecode(ODD)}")
    assert (tmp_path / "page").read_text(encoding="utf-8") == "of latin�"


@pytest.mark.parametrize(("encoding", "expected"), [("utf-8", "– latin�"), ("ascii", "? latin?")])
def test_outputs_take_any_text(encoding: str, expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    raw = io.BytesIO()
    before = io.TextIOWrapper(raw, encoding=encoding)
    monkeypatch.setattr(sys, "stdout", before)
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    output.show_any_bytes()
    print(f"– {os.fsdecode(ODD)}", end="", flush=True)
    assert raw.getvalue().decode(encoding) == expected


def test_markdown_cells_stay_whole(seed: int) -> None:
    for name in names(seed, 500):
        cell = code(shown(os.fsdecode(name)))
        assert "\n" not in cell
        assert "<b>" not in cell
        assert "|" not in cell.replace("\\|", "")
