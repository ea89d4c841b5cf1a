# SPDX-License-Identifier: BSL-1.0
"""Recipes for CI hold commands that we understand, and packages have the version of the project."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import doc_pages
import pytest
import repository
import yaml

RECIPES = [path for path in repository.files() if path.parts[:2] == ("packaging", "ci")]


def scripts(part: Any) -> Iterator[str]:
    """The shell texts in a recipe: the values of `run`, `script` and `before_script`."""
    if isinstance(part, dict):
        for key, value in part.items():
            if key in ("run", "script", "before_script"):
                yield from [value] if isinstance(value, str) else value
            else:
                yield from scripts(value)
    elif isinstance(part, list):
        for one in part:
            yield from scripts(one)


def commands(path: Path) -> list[doc_pages.ShownCommand]:
    found = []
    for text in scripts(yaml.safe_load(repository.text(path))):
        for line in text.replace("\\\n", " ").splitlines():
            for words in doc_pages.simple_commands(line):
                if words[0] in ("millpond", "millpond-bench"):
                    found.append(doc_pages.ShownCommand(path, 0, tuple(words)))
    return found


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.stem)
def test_recipes_record_and_compare_by_our_options(path: Path) -> None:
    found = commands(path)
    assert [one.words[1] for one in found] == ["advise", "compare"]
    assert "--fail-if" in found[1].words
    assert [problem for one in found if (problem := one.problem())] == []


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.stem)
def test_recipes_keep_the_store_and_comment(path: Path) -> None:
    text = repository.text(path)
    assert re.search(r"advice\.md", text) and re.search(r"pr comment|/notes", text)
    assert re.search(r"upload-artifact|artifacts:", text)


def test_recipes_for_both_services_exist() -> None:
    assert {path.name for path in RECIPES} == {"github.yml", "gitlab.yml"}


def test_debian_packages_have_the_version_of_the_project() -> None:
    found = re.search(r"project\(millpond VERSION ([0-9.]+)", repository.text(Path("CMakeLists.txt")))
    first = re.match(r"millpond \(([0-9.]+)\) ", repository.text(Path("packaging/debian/changelog")))
    assert found and first and first[1] == found[1]


def test_debian_packages_are_built_with_what_setup_installs() -> None:
    control = repository.text(Path("packaging/debian/control"))
    (wanted,) = re.findall(r"^Build-Depends: (.*?)\n\n", control, re.MULTILINE | re.DOTALL)
    names = {re.match(r"[a-z0-9+.-]+", one.strip())[0] for one in wanted.split(",")} - {"debhelper-compat"}
    listed = [repository.text(Path(f"scripts/packages/{purpose}.txt")) for purpose in ("build", "release")]
    assert names <= set("\n".join(listed).splitlines())
