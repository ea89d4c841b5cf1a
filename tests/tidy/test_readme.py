# SPDX-License-Identifier: BSL-1.0
"""The README's library example is compiled and run, and prints what the README shows."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import repository

README = Path("README.md")


def fenced(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", repository.text(README), re.MULTILINE | re.DOTALL)


def test_readme_example_prints_the_shown_output(tmp_path: Path) -> None:
    """The first C++ block is a whole program; the block of plain text that follows `It prints` is its output."""
    program = next(block for block in fenced("cpp") if "int main" in block)
    shown = re.search(r"It prints.*?\n```text\n(.*?)^```$", repository.text(README), re.MULTILINE | re.DOTALL)
    assert shown, "README.md shows no output after `It prints`"
    source = tmp_path / "readme.cpp"
    source.write_text(program, encoding="utf-8")
    flags = ["-std=c++20", "-O2", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror", "-Iinclude"]
    binary = tmp_path / "readme"
    subprocess.run(["g++", *flags, str(source), "-o", str(binary)], cwd=repository.ROOT, check=True)
    output = subprocess.run([binary], check=True, capture_output=True, text=True).stdout
    assert output == shown[1]


def test_readme_names_targets_that_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):", repository.text(Path("Makefile")), re.MULTILINE))
    named = set(re.findall(r"(?:^|`)make ([a-z-]+)", repository.text(README), re.MULTILINE))
    assert named <= targets, named - targets
