# SPDX-License-Identifier: BSL-1.0
"""Holds the English of the repository to rules that a program can check (english.py).

`english_exceptions.toml` lists how many findings each file may still have. The list only shrinks: a file that has fewer
findings than it lists must lower its number.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

import english
import pytest
import repository

EXCEPTIONS = Path("tests/tidy/english_exceptions.toml")
# Places that a user meets first: these have no exceptions, and never get one.
CLEAN = (
    "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "docs/", "include/", "python/", "lab/", "preload/",
    "src/", "examples/", "scripts/",
)  # fmt: skip
AT_MOST_IN_TESTS = 100


def listed() -> dict[str, int]:
    counts: dict[str, int] = tomllib.loads(repository.text(EXCEPTIONS))
    return counts


def test_english_is_plain_but_for_listed_exceptions() -> None:
    allowed = listed()
    wrong = []
    for path in repository.files():
        found = english.findings(path)
        if len(found) > allowed.get(str(path), 0):
            wrong += [str(finding) for finding in found]
        elif len(found) < allowed.get(str(path), 0):
            wrong.append(f"{EXCEPTIONS}: {path} has {len(found)} findings: lower its number")
    wrong += [f"{EXCEPTIONS}: there is no {path}" for path in allowed if not (repository.ROOT / path).is_file()]
    assert not wrong, "\n".join(wrong)


def test_exceptions_are_left_in_documents_and_few_tests_only() -> None:
    allowed = listed()
    assert not [path for path in allowed if path.startswith(CLEAN)]
    assert sum(number for path, number in allowed.items() if path.startswith("tests/")) <= AT_MOST_IN_TESTS


@pytest.mark.parametrize(
    ("name", "text", "rule"),
    [
        ("a.py", '"""What is empty goes back."""\n', "begins with 'What'"),
        ("a.py", 'def f():\n    """Whether it has ended."""\n', "begins with 'Whether'"),
        ("a.py", "x = option(help='Of the trace, how much is read.')\n", "begins with 'Of'"),
        ("a.py", "x = f'nobody has {x}'\n", "'nobody', rather 'no thread, no caller'"),
        ("a.py", "class Asked:\n    pass\n", "a class is a thing"),
        ("a.py", f"def test_{'x' * 61}():\n    pass\n", "more than 60 letters"),
        ("a.hpp", "// How much is left.\nint left();\n", "begins with 'How'"),
        ("a.hpp", "int left();  // in bytes, for ever\n", "'for ever', rather 'permanently'"),
        ("a.hpp", "struct chosen_and_judged {\n};\n", "a class is a thing"),
        ("tests/a.cpp", f"TEST(pool, {'x' * 61}) {{\n}}\n", "more than 60 letters"),
        ("a.cpp", 'say("it begins anew");\n', "'anew', rather 'again'"),
        ("a.md", "word " * 41 + "\n", "a sentence of 41 words"),
        ("a.md", "A sentence of five words. " * 19 + "\n", "a paragraph of 95 words"),
        ("a.md", "x" * 101 + "\n", "wider than 100 columns"),
    ],
)
def test_each_rule_finds_what_breaks_it(name: str, text: str, rule: str) -> None:
    assert rule in {finding.rule for finding in english.READERS[Path(name).suffix](name, text)}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.py", '"""Returns empty pages.\n\nWhat is used stays."""\nx = None\ny = "nobodyish"\n'),
        ("a.py", "class RunRequest:\n    pass\n\n\nclass Recording:\n    pass\n"),
        ("a.hpp", "// Returns `anew`.\n//\n// What is used stays.\nint f();\n"),
        ("a.hpp", 'template <class T> struct checked {\n};\nconstexpr auto url = "http://x";\n'),
        ("a.md", "```\n" + "x" * 130 + "\n```\n| " + "x" * 130 + " |\n"),
    ],
)
def test_plain_english_passes(name: str, text: str) -> None:
    assert not list(english.READERS[Path(name).suffix](name, text))
