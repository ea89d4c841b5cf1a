# SPDX-License-Identifier: BSL-1.0
"""The form of texts: licence line, width, length, and words that belong elsewhere."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import lizard
import repository

SPDX = "SPDX-License-Identifier: BSL-1.0"
GPL_ROOM = Path("lab/references")  # a Valgrind tool, and so under Valgrind's licence
WIDTH = 120
LONGEST_FILE = 350
LONGEST_FUNCTION = 70
REASONS = Path("tests/tidy/long_files.toml")


def sources() -> list[Path]:
    return [*repository.cxx_files(), *repository.python_files(), *repository.scripts()]


def test_every_source_names_its_licence_first() -> None:
    wrong = []
    for path in sources():
        lines = repository.text(path).splitlines()[:2]
        if lines and lines[0].startswith("#!"):
            lines = lines[1:]
        if path.is_relative_to(GPL_ROOM):
            continue
        if not lines or SPDX not in lines[0]:
            wrong.append(str(path))
    assert not wrong, f"the first line must say {SPDX}: {wrong}"


def test_lines_are_at_most_120_wide() -> None:
    wrong = [
        f"{path}:{number}: {len(line)}"
        for path in sources()
        for number, line in enumerate(repository.text(path).splitlines(), 1)
        if len(line) > WIDTH
    ]
    assert not wrong, "\n".join(wrong)


LOCAL_NAME = re.compile(
    r"^(?:static )?(?:constexpr|constinit|const|thread_local) [^=({;]*?(\w+)(?:\[[^\]]*\])* ?[={]"
    r"|^(?:struct|class|enum class|enum) (\w+)",
    re.MULTILINE,
)


def test_local_constants_and_types_of_a_folder_have_own_names() -> None:
    """Presets compile several sources as one, each its own number of them: what one compiles another may not."""
    places: dict[tuple[Path, str], set[str]] = {}
    for path in repository.cxx_files():
        if path.suffix != ".cpp" or path.parts[0] not in ("lab", "preload") or path.parts[:2] == ("lab", "suites"):
            continue
        local = re.findall(r"^namespace \{$(.*?)^\}  // namespace$", repository.text(path), re.DOTALL | re.MULTILINE)
        for part in local:
            for found in LOCAL_NAME.finditer(part):
                places.setdefault((path.parent, found[1] or found[2]), set()).add(path.name)
    wrong = [f"{folder}: {name} in {sorted(files)}" for (folder, name), files in places.items() if len(files) > 1]
    assert not wrong, "\n".join(wrong)


def python_functions(path: Path) -> Iterator[tuple[str, int]]:
    for node in ast.walk(ast.parse(repository.text(path))):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.name, (node.end_lineno or 0) - node.lineno + 1


def cxx_functions(path: Path) -> Iterator[tuple[str, int]]:
    # Reading all sources takes seconds. A `}` in the first column ends a function, so few files can hold a long one.
    if not re.search(rf"(?:^(?!}}).*\n){{{LONGEST_FUNCTION}}}", repository.text(path), re.MULTILINE):
        return
    for function in lizard.analyze_file(str(repository.ROOT / path)).function_list:
        name = function.name.rsplit("::", 1)[-1]
        if name != "alignas":  # lizard takes `class alignas(64) pool {` to be a function
            yield name, function.end_line - function.start_line + 1


def test_long_files_and_functions_have_a_reason() -> None:
    long = {str(path): lines for path in sources() if (lines := repository.text(path).count("\n")) > LONGEST_FILE}
    for functions, paths in (
        (python_functions, repository.python_files()),
        (cxx_functions, repository.cxx_files()),
    ):
        for path in paths:
            long |= {f"{path}:{name}": lines for name, lines in functions(path) if lines > LONGEST_FUNCTION}
    reasons = tomllib.loads(repository.text(REASONS))
    wrong = [f"{name}: {long[name]} lines; split it, or give the reason in {REASONS}" for name in long.keys() - reasons]
    wrong += [f"{REASONS} lists {name}, which is not long" for name in reasons.keys() - long]
    assert not wrong, "\n".join(sorted(wrong))


# A tracker's numbers are meaningless to a reader of the code, and a path of one machine is wrong on every other.
# (Spelled in pieces, so that this file passes its own test.)
FOREIGN = {
    "the number of an entry in a tracker": re.compile(r"\b(?:issue|ticket|task) ?#?\d+\b", re.IGNORECASE),
    "an absolute path of one machine": re.compile(r"(?<![\w.])/(?:wor[k]|roo[t]|hom[e]/\w+|User[s])/"),
    "a package registry": re.compile(r"\b(?:pyp[i]\.org|pythonhoste[d]\.org|debia[n]\.org/debian)"),
}


def test_texts_name_no_tracker_and_no_machine() -> None:
    wrong = []
    for path in repository.files():
        if not repository.is_text(path):
            continue
        for number, line in enumerate(repository.text(path).splitlines(), 1):
            wrong += [f"{path}:{number}: {what}" for what, pattern in FOREIGN.items() if pattern.search(line)]
    assert not wrong, "\n".join(wrong)


def test_readme_is_at_most_120_lines() -> None:
    assert repository.text(Path("README.md")).count("\n") <= 120


def test_links_between_documents_lead_somewhere() -> None:
    link = re.compile(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)")
    lost = [
        f"{path}: {target}"
        for path in repository.files()
        if path.suffix == ".md"
        for target in link.findall(repository.text(path))
        if not (repository.ROOT / path.parent / target).exists()
    ]
    assert not lost, "\n".join(lost)


def test_version_has_one_number() -> None:
    found = re.search(r"project\(millpond VERSION ([0-9.]+)", repository.text(Path("CMakeLists.txt")))
    assert found, "CMakeLists.txt states no version"
    literal = re.search(r'__version__ = "([^"]+)"', repository.text(Path("python/millpond/__init__.py")))
    assert literal is None or literal[1] == found[1], "python/millpond/__init__.py states another version"
    changes = re.findall(r"^## \[([^]]+)\](.*)$", repository.text(Path("CHANGELOG.md")), re.MULTILINE)
    assert changes[0] == ("Unreleased", "")
    assert changes[1][0] == found[1], "CHANGELOG.md begins with another release"
    assert all(re.fullmatch(r" - \d{4}-\d\d-\d\d", date) for _, date in changes[1:])
