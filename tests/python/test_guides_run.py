# SPDX-License-Identifier: BSL-1.0
"""Follows docs/tutorial and docs/how_to to the letter: runs their `sh` blocks in order, from an empty folder.

Blocks of Python whose first line names a file, as `# rounds.py`, are written to it. The tutorial is one run; each
how-to begins with its own folder, in which the tutorial's program is built.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
import repository

from millpond_docs import page_text

TUTORIAL = tuple(Path("docs/tutorial") / name for name in ("first_advice.md", "local_allocator.md", "ci_gate.md"))
HOW_TO = [path for path in repository.files() if path.parts[:2] == ("docs", "how_to")]
# The variables that the reader sets on the first page, and what the how-tos have ready.
READY = 'cp "$MILLPOND"/examples/tutorial/shop.cpp . && g++ -std=c++20 -O2 -g shop.cpp -o shop\n'


def script(path: Path) -> str:
    """Returns the commands of a page, with the files that it tells the reader to write."""
    steps: list[str] = []
    blocks = page_text.code_blocks(repository.text(path))
    for block in blocks:
        if block.language == "python" and (name := re.match(r"# (\w+\.py)\b", block.text)):
            steps.insert(0, f"cat > {name[1]} << 'END_OF_FILE'\n{block.text}END_OF_FILE\n")
        elif block.language == "sh" and "export MILLPOND" not in block.text:
            steps.append(block.text)
    return "".join(steps)


def follow(commands: str, folder: Path) -> str:
    root = repository.ROOT
    path = f"{root / '.venv/bin'}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-eo", "pipefail", "-c", commands], cwd=folder, capture_output=True, text=True, check=False,
        env={**os.environ, "PATH": path, "MILLPOND": str(root)},
    )  # fmt: skip
    assert done.returncode == 0, f"{done.stdout[-2000:]}\n{done.stderr[-3000:]}"
    return done.stdout


@pytest.mark.slow
def test_tutorial_leads_to_a_measured_allocator(tmp_path: Path) -> None:
    said = "".join(follow(script(page), tmp_path) for page in TUTORIAL)
    assert said.count("Output: both builds print the same.") == 4
    assert (tmp_path / "results" / "shop.html").is_file()
    assert "status 1" in said and (tmp_path / "change.json").is_file()


@pytest.mark.slow
@pytest.mark.parametrize("path", [path for path in HOW_TO if script(path)], ids=lambda path: path.stem)
def test_how_to_commands_run(path: Path, tmp_path: Path) -> None:
    text = script(path)
    advise = "millpond advise --budget 20 ./shop > advice.txt\n" if "rounds.py" in text else ""
    follow(READY + advise + text, tmp_path)
