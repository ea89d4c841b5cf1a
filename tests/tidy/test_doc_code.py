# SPDX-License-Identifier: BSL-1.0
"""Every C++ block of a page compiles: as a program, as declarations, as statements, or as a part of an example.

A block that ends in `…` lines shows parts of a file of examples/, in their order. Such a file is compiled by the build.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import doc_pages
import pytest
import repository

from millpond_docs import page_text
from millpond_docs.page_text import CodeBlock

FLAGS = ["-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Wno-unused", "-Werror", "-x", "c++"]
PRELUDE = "#include <bits/stdc++.h>\n#include <millpond/millpond.hpp>\n"  # gcc's header of all standard headers


@cache
def example_sources() -> dict[Path, str]:
    return {
        path: _flat(repository.text(path))
        for path in repository.cxx_files()
        if path.parts[0] == "examples" or path.parts[:2] == ("tests", "consumer")
    }


def _flat(code: str) -> str:
    return " ".join(code.split())


def is_part_of_an_example(block: CodeBlock) -> bool:
    """True if the pieces of the block between `…` stand in one file of examples/, in this order."""
    pieces = [_flat(piece) for piece in re.split(r"^\s*(?://\s*)?…\s*$", block.text, flags=re.MULTILINE)]
    pattern = re.compile(".*".join(re.escape(piece) for piece in pieces if piece), re.DOTALL)
    return any(pattern.search(text) for text in example_sources().values())


def forms(block: CodeBlock) -> Iterator[str]:
    """The sources that the block may be: with `main`, declarations, statements of a function."""
    includes = "".join(re.findall(r"^#.*\n", block.text, re.MULTILINE))
    code = re.sub(r"^#.*\n", "\n", block.text, flags=re.MULTILINE)
    yield f"{includes}namespace shown {{\n{code}}}\n" if "int main" not in code else block.text
    yield f"{includes}void shown() {{\n{code}}}\n"


def complaint(block: CodeBlock, prelude: Path) -> str:
    """The compiler's messages for the form that comes closest; empty if a form compiles."""
    said = ""
    for source in forms(block):
        command = ["g++", *FLAGS, "-I", "include", "-include", str(prelude), "-"]
        done = subprocess.run(
            command, input=source, cwd=repository.ROOT, capture_output=True, text=True, check=False
        )  # fmt: skip
        if done.returncode == 0:
            return ""
        said = min(filter(None, (said, done.stderr)), key=lambda text: text.count("error:"))
    return said


@pytest.fixture(scope="module")
def prelude(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A precompiled header of the library and the standard headers."""
    header = tmp_path_factory.mktemp("prelude") / "prelude.hpp"
    header.write_text(PRELUDE, encoding="utf-8")
    flags = [flag for flag in FLAGS if flag not in ("-fsyntax-only", "-x", "c++")]
    command = ["g++", *flags, "-x", "c++-header", "-I", "include", str(header), "-o", f"{header}.gch"]
    subprocess.run(command, cwd=repository.ROOT, check=True)
    return header


@pytest.mark.lengthy
def test_shown_code_compiles(prelude: Path) -> None:
    blocks = [
        (path, block)
        for path in (*doc_pages.pages(), *doc_pages.FRONT)
        for block in page_text.code_blocks(repository.text(path))
        if block.language in ("cpp", "c++") and not is_part_of_an_example(block)
    ]
    with ThreadPoolExecutor(int(os.environ.get("JOBS", os.cpu_count() or 1))) as pool:
        said = list(pool.map(lambda one: complaint(one[1], prelude), blocks))
    wrong = [f"{path}:{block.line}:\n{text[:1500]}" for (path, block), text in zip(blocks, said, strict=True) if text]
    assert not wrong, "\n".join(wrong)


@pytest.mark.lengthy
def test_wrong_code_is_found(prelude: Path) -> None:
    assert not complaint(CodeBlock(1, "cpp", "millpond::multipool<> pool;\npool.release();\n", ""), prelude)
    assert not complaint(CodeBlock(1, "cpp", "#include <bitset>\nstruct a { std::bitset<3> bits; };\n", ""), prelude)
    assert "polo" in complaint(CodeBlock(1, "cpp", "millpond::multipool<> pool;\npolo.release();\n", ""), prelude)


def test_parts_of_examples_are_recognised() -> None:
    text = repository.text(Path("examples/request_server/request_server.cpp")).splitlines()
    shown = "\n".join([*text[20:24], "…", *text[30:33]]) + "\n"
    assert is_part_of_an_example(CodeBlock(1, "cpp", shown, ""))
    assert not is_part_of_an_example(CodeBlock(1, "cpp", shown + "int other_code();\n", ""))
