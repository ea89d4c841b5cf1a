# SPDX-License-Identifier: BSL-1.0
"""The pages of the documentation as the tidy tests see them, and the command lines that they show."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import repository

from millpond.system.errors import Failure
from millpond.verbs import table
from millpond.verbs.option import Verb
from millpond.verbs.parser import HelpRequest, parse
from millpond_bench import bench_verbs
from millpond_docs import page_text
from millpond_docs.page_text import CodeBlock

INDEX = Path("docs/README.md")
RESULTS = Path("docs/results")
SHELLS = ("sh", "bash", "console")
# A page outside docs/ that users read as one of its pages.
FRONT = (Path("README.md"), Path("SECURITY.md"), Path("CONTRIBUTING.md"), Path("include/millpond/README.md"))
_OPERATORS = frozenset([";", "&&", "||", "|", "&", "(", ")", ";;"])
# A command of a CI's file stands behind a key, or on a line of its own.
_IN_YAML = re.compile(r"\s*(?:- run: |run: |- )?(\S*millpond(?:-bench)? .*)")
_TABLES = {"millpond": table.VERBS, "millpond-bench": bench_verbs.VERBS}


def pages() -> list[Path]:
    """The pages below docs/ that are written by hand: without results, which the tool writes."""
    return [path for path in repository.files() if path.parts[0] == "docs" and path.suffix == ".md"
            and not path.is_relative_to(RESULTS)]  # fmt: skip


def words_of(text: str) -> int:
    """The number of words that are read: those of texts and tables, without blocks of code and addresses of links."""
    prose = "\n".join(line for _, line in page_text.prose_lines(text))
    return len(re.findall(r"\w[\w'’.-]*", re.sub(r"\]\([^)]*\)", "]", prose)))


@dataclass(frozen=True)
class ShownCommand:
    """A command line of ours in a page: its words, the first of which is the command."""

    path: Path
    line: int
    words: tuple[str, ...]

    def problem(self) -> str:
        """Says why the command line is wrong, by the parser that users meet; empty if it is right."""
        command, *words = self.words
        if any(re.fullmatch(r"\[?[A-Z]{2,}[\].]*|…|\.\.\.", word) for word in words[:2]):
            return ""  # `millpond VERB --help`
        verbs = _TABLES[command]
        if words in ([], ["--help"], ["--version"]):
            return ""
        found = table.find(words, verbs) or self._advise(words)
        if found is None:
            return f"{words[0]} is no verb"
        try:
            notes = parse(*found, command=command)[1]
        except HelpRequest:
            return ""
        except Failure as failure:
            return failure.message
        return "; ".join(notes)

    def _advise(self, words: list[str]) -> tuple[Verb, list[str]] | None:
        is_program = words[0].startswith("-") or "/" in words[0]
        return (table.ADVISE, words) if is_program and self.words[0] == "millpond" else None


def commands(path: Path) -> Iterator[ShownCommand]:
    """The command lines of ours in the blocks of a page."""
    for block in page_text.code_blocks(repository.text(path)):
        for number, line in _lines(block):
            for words in simple_commands(line):
                name = words[0].rpartition("/")[2]
                if name in _TABLES:
                    yield ShownCommand(path, block.line + number, (name, *words[1:]))


def _lines(block: CodeBlock) -> Iterator[tuple[int, str]]:
    """The lines of a block that hold a command. A backslash or an open quote continues a line; texts for a command's
    standard input (`<< END`) are left out.
    """
    if block.language == "yaml":
        found = (_IN_YAML.match(line) for line in block.text.splitlines())
        yield from ((number, one[1]) for number, one in enumerate(found, 1) if one)
        return
    begin, whole, end = 0, "", ""
    for number, line in enumerate(block.text.splitlines(), 1):
        if end:
            end = "" if line == end else end
            continue
        begin, whole = (begin, f"{whole}\n{line}") if whole else (number, line)
        if whole.endswith("\\") or not _is_closed(whole):
            whole = whole.removesuffix("\\")
            continue
        if here := re.search(r"<<\s*'?(\w+)'?$", whole):
            end = here[1]
        if block.language in SHELLS or (block.language == "text" and whole.startswith("$ ")):
            yield begin, whole.removeprefix("$ ")
        whole = ""


def _is_closed(line: str) -> bool:
    """True if no quote is open at the end."""
    try:
        shlex.split(line, comments=True)
    except ValueError:
        return False
    return True


def simple_commands(line: str) -> Iterator[list[str]]:
    """The simple commands of a line, without assignments and redirections before them."""
    lexer = shlex.shlex(line.replace("<(", " ( "), posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    words: list[str] = []
    for word in [*lexer, ";"]:
        if word in _OPERATORS:
            while words and re.fullmatch(r"\w+=.*", words[0]):
                words = words[1:]
            if words:
                yield words
            words = []
        else:
            words.append(word)
