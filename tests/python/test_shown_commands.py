# SPDX-License-Identifier: BSL-1.0
"""Runs the blocks of commands in pages that are marked `<!-- run -->`, as a reader would: in order, in one folder.

The folder has `program`, `old` and `new`: examples/request_server, the latter after its change.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import doc_pages
import pytest
import repository
from conftest import ROOT

from millpond_docs import page_text

MARK = "run"
PROGRAMS = {"program": "request_server", "old": "request_server", "new": "request_server_changed"}
BUILT = ROOT / "build/release/bin"
MARKED = {
    path: blocks
    for path in (*doc_pages.pages(), *doc_pages.FRONT)
    if (blocks := [one for one in page_text.code_blocks(repository.text(path)) if one.mark == MARK])
}


@pytest.mark.more
@pytest.mark.parametrize("path", MARKED, ids=str)
def test_marked_commands_run(path: Path, tmp_path: Path) -> None:
    for name, program in PROGRAMS.items():
        (tmp_path / name).symlink_to(BUILT / program)
    environment = {**os.environ, "PATH": f"{ROOT / '.venv/bin'}:{os.environ['PATH']}"}
    for block in MARKED[path]:
        script = block.text.replace(".venv/bin/", "").replace("$ ", "")
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True,
            check=False,
        )  # fmt: skip
        assert done.returncode == 0, f"{path}:{block.line}: {done.stdout[-1000:]}{done.stderr[-2000:]}"
