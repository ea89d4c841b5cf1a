# SPDX-License-Identifier: BSL-1.0
"""Documentation is short, its links lead to what they name, and its commands are understood."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import doc_pages
import pytest
import repository

from millpond.system.errors import Status
from millpond.verbs.verb_facts import STATUS_MEANINGS, VARIABLES
from millpond_docs import command_pages, header_pages, page_text, schema_pages, staging
from millpond_docs.header_declarations import declarations, public_headers

WORDS_OF_DOCS = 22_000
WORDS_OF_EXPLANATION = 1_200
WORDS_OF_ENTRY = 60
LINES_OF_SCREEN = 60
QUESTIONS = Path("docs/questions.md")
MARKDOWN = [path for path in repository.files() if path.suffix == ".md"]


def test_documents_are_short() -> None:
    """Counts as `wc -w` does, code and tables included: find docs -name '*.md' | grep -v results | xargs cat | wc -w"""
    count = {path: len(repository.text(path).split()) for path in doc_pages.pages()}
    assert sum(count.values()) <= WORDS_OF_DOCS, sorted(((n, str(path)) for path, n in count.items()), reverse=True)
    long = {str(path): n for path, n in count.items() if path.parent.name == "explanation" and n > WORDS_OF_EXPLANATION}
    assert not long, long


@pytest.mark.parametrize("path", MARKDOWN, ids=str)
def test_links_lead_to_headings_that_exist(path: Path) -> None:
    lost = []
    for link in page_text.links(repository.text(path)):
        if link.is_outward:
            continue
        place, _, anchor = link.target.partition("#")
        aim = Path(staging.resolved(path.as_posix(), link.target))
        if not (repository.ROOT / aim).exists():
            lost.append(f"{path}:{link.line}: there is no {place}")
        elif anchor and aim.suffix == ".md" and anchor not in page_text.anchors(repository.text(aim)):
            lost.append(f"{path}:{link.line}: {aim} has no heading #{anchor}")
    assert not lost, "\n".join(lost)


@pytest.mark.parametrize("path", [*doc_pages.pages(), *doc_pages.FRONT], ids=str)
def test_shown_commands_are_understood(path: Path) -> None:
    wrong = [
        f"{one.path}:{one.line}: {' '.join(one.words)}: {problem}"
        for one in doc_pages.commands(path)
        if (problem := one.problem())
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("```sh\nmillpond advise --bugdet 3 ./program\n```\n", "did you mean --budget?"),
        ("```sh\n.venv/bin/millpond trace recrod x\n```\n", "trace is no verb"),
        ("```sh\ntrue && millpond trace record --owners x\n```\n", "--owners is an old word"),
        ("```yaml\n    - run: millpond compare a b --fail-if\n```\n", "--fail-if needs a value"),
        ("```console\n$ FOO=1 millpond report \\\n    -o x.unknown\n```\n", "the ending of"),
    ],
)
def test_wrong_commands_are_found(text: str, problem: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repository, "text", lambda _: text)
    (found,) = doc_pages.commands(Path("a.md"))
    assert problem in found.problem()


def test_thirty_questions_have_their_answers_two_clicks_away() -> None:
    """The list is a page that the first page links to, so that each answer is two clicks away; each fits a screen."""
    first = page_text.links(repository.text(doc_pages.INDEX))
    assert QUESTIONS.as_posix() in {staging.resolved(doc_pages.INDEX.as_posix(), link.target) for link in first}
    questions = page_text.links(repository.text(QUESTIONS))
    assert len(questions) == 30
    assert len({one.label for one in questions}) == 30
    wrong = []
    for one in questions:
        aim, anchor = staging.resolved(QUESTIONS.as_posix(), one.target), one.target.partition("#")[2]
        answer = page_text.section(repository.text(Path(aim)), anchor)
        if not anchor or not 2 < len(answer) <= LINES_OF_SCREEN:
            wrong.append(f"{one.label}: {one.target} has {len(answer)} lines")
        if not one.label.endswith("?"):
            wrong.append(f"{one.label} is no question")
    assert not wrong, "\n".join(wrong)


def test_environment_page_lists_all_variables_and_statuses() -> None:
    text = repository.text(Path("docs/reference/environment.md"))
    assert set(re.findall(r"^\| `([A-Z_]+)` \|", text, re.MULTILINE)) == set(VARIABLES)
    shown = {int(n): meaning for n, meaning in re.findall(r"^\| (\d) \| ([^|]+?) \|", text, re.MULTILINE)}
    assert shown == {int(status): STATUS_MEANINGS[status] for status in Status}


def test_every_variable_of_users_is_read_somewhere() -> None:
    sources = "".join(
        repository.text(path) for path in repository.files() if path.parts[0] in ("python", "lab", "preload")
        and path.suffix in (".py", ".cpp", ".hpp") and path.name != "verb_facts.py"
    )  # fmt: skip
    by_python = {"TMPDIR"}  # the standard library reads it
    assert not [name for name in VARIABLES if f'"{name}' not in sources and name not in by_python]


def test_limits_page_quotes_what_is_said() -> None:
    """The column `what is said` has words that a program of ours prints."""
    sources = "".join(
        re.sub(r'"\s*\n\s*f?"', "", repository.text(path))
        for path in repository.files()
        if path.parts[0] in ("python", "lab") and path.suffix in (".py", ".cpp", ".hpp")
    )
    rows = re.findall(r"^\| [^|]+ \| `([^`|]+)` \|", repository.text(Path("docs/reference/limits.md")), re.MULTILINE)
    assert len(rows) >= 15
    assert not [said for said in rows if said not in sources]


def test_entries_of_the_changelog_are_short() -> None:
    text = repository.text(Path("CHANGELOG.md"))
    entries = re.split(r"^- ", text, flags=re.MULTILINE)[1:]
    long = [(doc_pages.words_of(one), one[:70]) for one in entries if doc_pages.words_of(one) > WORDS_OF_ENTRY]
    assert not long, "\n".join(f"{n} words: {entry}" for n, entry in sorted(long))


def test_pictures_have_a_text_and_a_maker() -> None:
    """A reader who sees no picture reads its text, and a script makes each picture again."""
    scripts = "".join(repository.text(path) for path in repository.scripts())
    shown = {
        staging.resolved(path.as_posix(), one.target)
        for path in MARKDOWN
        for one in page_text.links(repository.text(path))
        if one.is_image
        if len(one.label) > 20 or pytest.fail(f"{path}:{one.line}: describe the picture {one.target}")
    }
    kept = [path for path in repository.files() if path.parts[0] == "docs" and path.suffix in (".png", ".svg")]
    assert {path.as_posix() for path in kept} == shown
    assert not [str(path) for path in kept if f'"{path.stem.removeprefix("terminal_")}"' not in scripts]


def test_generated_pages_have_a_page_for_each_thing() -> None:
    root = repository.ROOT
    for folder, texts in (
        (command_pages.FOLDER, command_pages.pages()),
        (schema_pages.FOLDER, schema_pages.pages()),
    ):
        index = texts[f"{folder}/README.md"]
        assert all(f"({Path(place).name})" in index for place in texts if not place.endswith("README.md"))
    assert all(f"({header.removesuffix('.hpp')}.md)" in header_pages.index(root) for header in public_headers(root))


@pytest.mark.more
@pytest.mark.skipif(shutil.which("doxygen") is None, reason="doxygen is missing; scripts/setup docs installs it")
def test_every_public_name_has_its_declaration(tmp_path: Path) -> None:
    found = declarations(repository.ROOT, tmp_path)
    missing = {
        header: lacking
        for header, names in public_headers(repository.ROOT).items()
        if (lacking := set(names) - {one.name for one in found[header]})
    }
    assert not missing
    (pool,) = found["local/multipool.hpp"]
    absorb = next(one for one in pool.members if one.name == "absorb")
    assert absorb.code.endswith("void absorb(multipool& other) noexcept;")
    assert absorb.comment[0].startswith("Effects: takes over all blocks")


def test_pages_for_sphinx_have_links_of_its_folder() -> None:
    pages = {
        "docs/README.md": "# First\n\n[a](part/a.md#x), [code](../lab/trace)\n",
        "docs/part/a.md": "# A\n\n## X\n\nSee `millpond doctor`, [up](../README.md).\n",
        "docs/reference/cli/millpond-doctor.md": "# millpond doctor\n",
    }
    staged = staging.staged_files(repository.ROOT, staging.with_indexes(pages))
    assert "[a](part/a.md#x), code (`lab/trace`)" in staged["index.md"].decode()
    assert "[`millpond doctor`](../reference/cli/millpond-doctor.md), [up](../index.md)" in staged["part/a.md"].decode()
    assert "- [A](a.md)" in staged["part/index.md"].decode()
    assert re.search(r"\{toctree\}\n:hidden:\n\na\n", staged["part/index.md"].decode())


@pytest.mark.parametrize(
    ("heading", "anchor"),
    [
        ("Why `x-y` is _slow_?", "why-x-y-is-_slow_"),
        ("A [link](b.md), and more", "a-link-and-more"),
        ("D, V & C", "d-v--c"),
    ],
)
def test_anchors_are_those_of_git_hosts(heading: str, anchor: str) -> None:
    assert page_text.headings(f"# {heading}\n```\n# no heading\n```\n# {heading}\n") == [
        page_text.Heading(1, 1, heading, anchor), page_text.Heading(5, 1, heading, f"{anchor}-1"),
    ]  # fmt: skip
