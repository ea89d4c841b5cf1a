# SPDX-License-Identifier: BSL-1.0
"""Texts that leave a machine name no host, user, folder or path, and keep everything else."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from millpond.system.private_names import PrivateNames

NAMES = PrivateNames(
    hosts=frozenset({"box7.mill.example", "box7"}), users=frozenset({"ann", "Ann Lee"}),
    folders=frozenset({"/people/ann", "/people/ann/my work"}),
)  # fmt: skip


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("no program in /people/ann/my work/build/x, see ~/notes", "no program in PATH, see PATH"),
        ("lib: '/usr/lib/libc.so.6' (/opt/x/)", "lib: 'PATH' (PATH)"),
        ("--store=/srv/customer/s --seed=1", "--store=PATH --seed=1"),
        ("-I/people/ann/include PATH=/bin:/sbin", "-IPATH PATH=PATH:PATH"),
        ("../customer/store and ./x", "PATH and PATH"),
        ("Linux 6.1.0-box7, of ANN on box7.mill.example", "Linux 6.1.0-HOST, of USER on HOST"),
        ("lost tcp://node3:8786, then 10.0.0.7:40001.", "lost HOST, then HOST."),
        ("by Ann Lee's machine", "by USER's machine"),
        ("two\nlines\tof  text", "two lines of text"),
    ],
)
def test_private_names_and_paths_are_replaced(text: str, expected: str) -> None:
    assert NAMES.removed_from(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "structures/ds=7/log2_size=6/multipool:type:destroy against structures/ds=7/new_delete", "and/or, 5 / 3, 1/2",
        "annual box77 scanning", "https://example.org/page", "g++ 12.2.0, libstdc++ 12", "…/libtcmalloc.so",
        "Linux 6.18.44-fc-v657, glibc 2.36",
    ],
)  # fmt: skip
def test_cells_addresses_and_other_words_are_kept(text: str) -> None:
    assert NAMES.removed_from(text) == text


def test_the_names_of_this_process_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "zebediah"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("USER", "quillon")
    monkeypatch.setattr(socket, "gethostname", lambda: "mossgate.example.org")
    monkeypatch.chdir(tmp_path)
    found = PrivateNames.of_this_process()
    assert {"mossgate.example.org", "mossgate"} <= found.hosts
    assert {"quillon", "zebediah"} <= found.users
    assert {str(home), str(tmp_path)} <= found.folders
    assert not {"", "root", "localhost"} & (found.hosts | found.users) and "/" not in found.folders


def test_a_working_folder_that_is_gone_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert PrivateNames.of_this_process().folders
