# SPDX-License-Identifier: BSL-1.0
"""Users can include and name what public_names.toml lists, and nothing else is reachable by accident.

A name is reachable if the compiler accepts `using millpond::NAME`. The test tries every word in the headers, so it
needs no parser of C++.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
import repository

INCLUDE = Path("include/millpond")
WORD = re.compile(r"\b[a-z_]\w*")
DETAIL = re.compile(r"\bdetail(?:::|/)")
COMPILE = ("g++", "-std=c++20", "-Iinclude", "-fsyntax-only", "-w", "-fmax-errors=0", "-x", "c++", "-")


def reachable(names: set[str], *flags: str, head: str = "#include <millpond/millpond.hpp>") -> set[str]:
    """Returns the names that a program finds in namespace millpond after `head`, one line each."""
    tried = sorted(names)
    lines = [head, '#line 1 "tried"', *(f"namespace probe {{ using millpond::{name}; }}" for name in tried)]
    done = subprocess.run(
        [*COMPILE, *flags],
        cwd=repository.ROOT,
        input="\n".join(lines) + "\n",
        capture_output=True,
        text=True,
        check=False,
    )
    elsewhere = [line for line in done.stderr.splitlines() if " error: " in line and not line.startswith("tried:")]
    assert not elsewhere, elsewhere[:5]
    refused = {int(number) for number in re.findall(r"^tried:(\d+):", done.stderr, re.MULTILINE)}
    return {name for number, name in enumerate(tried, 1) if number not in refused}


def words_of_headers() -> set[str]:
    words = {word for path in repository.library_headers() for word in WORD.findall(repository.text(path))}
    return words | {f"{room}::{word}" for room in ("os", "classic", "advise") for word in words}


def listed() -> set[str]:
    return {name for names in repository.public_names().values() for name in names}


@pytest.mark.parametrize("mode", ["", "-DMILLPOND_CHECKED", "-DMILLPOND_HARDENED"])
def test_umbrella_gives_the_listed_names_and_no_others(mode: str) -> None:
    assert reachable(words_of_headers(), *filter(None, [mode])) == listed()


def test_a_name_outside_of_detail_is_noticed() -> None:
    """Tests the test itself: a class and a function leak, a class in detail does not."""
    head = (
        "#include <millpond/millpond.hpp>\n"
        "namespace millpond::inline MILLPOND_ABI { struct leaked; void leak(); }\n"
        "namespace millpond::inline MILLPOND_ABI::detail { struct hidden; }"
    )
    words = {"leaked", "leak", "hidden", "multipool", "class", "operator"}
    assert reachable(words, head=head) == {"leaked", "leak", "multipool"}


def test_the_module_exports_the_public_names() -> None:
    text = repository.text(Path("src/module/millpond.cppm"))
    exported = re.findall(r"^using millpond::([a-z_0-9:]+);$", text, re.MULTILINE)
    assert sorted(exported) == sorted(listed())


def test_list_has_every_public_header() -> None:
    headers = {path.relative_to(INCLUDE) for path in repository.library_headers()}
    public = {path.as_posix() for path in headers if len(path.parts) == 2}
    assert set(repository.public_names()) == public


def test_readme_names_every_public_header() -> None:
    readme = repository.text(INCLUDE / "README.md")
    missing = [name for name in repository.public_names() if f"`{Path(name).stem}`" not in readme]
    assert not missing, missing


def test_programs_of_users_name_no_internals() -> None:
    """Examples, the consumer and the headers' own examples are models for users."""
    texts = {
        path: repository.text(path)
        for path in repository.cxx_files()
        if path.parts[0] == "examples" or path.parts[:2] == ("tests", "consumer")
    }
    for name in repository.public_names():
        example = re.search(r"// Example:\n(?://     .*\n|//\n)+", repository.text(INCLUDE / name))
        texts[INCLUDE / name] = example[0] if example else ""
    wrong = [str(path) for path, text in texts.items() if DETAIL.search(text)]
    assert not wrong, wrong
