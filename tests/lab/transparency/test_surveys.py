# SPDX-License-Identifier: BSL-1.0
"""A survey lists each module of a process once, with the build-id of its file."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from harness import PROGRAMS, TRIAL

COMMANDS = {
    "gaps": [str(PROGRAMS / "gaps")],
    "make": ["make", "-f", "Makefile"],
    "node": ["node", "-e", "1"],
    "shell": ["./script"],
}


def build_id(path: str) -> str:
    notes = subprocess.run(["readelf", "-n", path], capture_output=True, check=True).stdout.decode()
    match = re.search(r"Build ID: ([0-9a-f]+)", notes)
    return match[1] if match else ""


def survey(command: list[str], folder: Path) -> list[dict[str, Any]]:
    (folder / "Makefile").write_text("all: one two\none two:\n\tls > $@\n")
    (folder / "script").write_text("#!/bin/sh\nfor i in 1 2; do ls; done\n")
    (folder / "script").chmod(0o755)
    subprocess.run([TRIAL, "--survey", "modules", "--", *command], cwd=folder, check=True, capture_output=True)
    processes: list[dict[str, Any]] = json.loads((folder / "modules").read_text())["processes"]
    return processes


@pytest.mark.parametrize("name", COMMANDS)
def test_every_module_is_listed_once_with_its_build_id(name: str, tmp_path: Path) -> None:
    command = COMMANDS[name]
    if name != "shell" and shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is not here")
    processes = survey(command, tmp_path)
    assert processes
    for process in processes:
        paths = [module["path"] for module in process["modules"]]
        assert sorted(paths) == sorted(set(paths))
        assert process["program"]["path"] in paths
        for module in [process["program"], *process["modules"]]:
            assert module["build_id"] == build_id(module["path"]), module["path"]
