# SPDX-License-Identifier: BSL-1.0
"""Finds English that a reader has to read twice, by rules that a program can check.

    .venv/bin/python tests/tidy/english.py [FILE…]     prints `file:line: rule: text`; without files, of all files

A finding is a place, a rule and the text. `test_english.py` holds the number of findings of each file against
`english_exceptions.toml`.
"""

from __future__ import annotations

import ast
import bisect
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import repository

# A description that begins with one of these has no subject: "What is empty goes back".
RIDDLES = frozenset(["What", "Who", "Whether", "Where", "How", "Of", "By", "As", "Those", "Its", "None", "Nothing"])
# Old or unusual words, each with usual ones in its place.
REPLACEMENTS = {
    "anew": "again",
    "nobody": "no thread, no caller",
    "somebody": "a caller",
    "is none": "does not exist",
    "but for": "except",
    "lest": "so that … not",
    "thereof": "of it",
    "alike": "the same way",
    "alone": "only",
    "beside": "next to, with",
    "for ever": "permanently",
    "as may be": "(leave it out)",
}
OLD_WORD = re.compile(rf"\b(?:{'|'.join(f'[{w[0].upper()}{w[0]}]{w[1:]}' for w in REPLACEMENTS)})\b")
LETTERS_OF_TEST_NAME = 60
MARKDOWN_COLUMNS = 100
WORDS_OF_SENTENCE = 40
WORDS_OF_PARAGRAPH = 90
# Endings of participles. A class is a thing: `RunRequest`, not `Asked`.
PARTICIPLE = re.compile(r"(?:[a-z]ed|[a-z]ing)$", re.IGNORECASE)
NOUNS = frozenset(
    [
        "embed",
        "feed",
        "seed",
        "speed",
        "need",
        "bed",
        "string",
        "ring",
        "thing",
        "spring",
        "timing",
        "recording",
        "setting",
        "reading",
    ]
)
NOUNS |= frozenset(
    [
        "warning",
        "padding",
        "binding",
        "listing",
        "ordering",
        "heading",
        "mapping",
        "encoding",
        "spacing",
        "hosing",
        "building",
    ]
)
# Classes of the library that change an allocator, named by what they make it, as those of the standard library.
NOUNS |= frozenset(["checked", "counted", "limited", "synchronized", "pooled", "uncounted"])

WORD = re.compile(r"[A-Za-zÀ-ÿ][\w'’-]*")
CODE = re.compile(r"`[^`\n]*`")


@dataclass(frozen=True, order=True)
class Finding:
    """A place whose English breaks a rule."""

    path: str
    line: int
    rule: str
    text: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.rule}: {self.text}"


@dataclass(frozen=True)
class Prose:
    """A comment, a docstring, or a literal. `is_description`: it says what something is, so its first word counts."""

    line: int
    text: str
    is_description: bool


# C++: comments in the first column of a line's text belong together while their lines follow one another.
CXX_TOKEN = re.compile(
    r"""(?P<comment>//[^\n]*)|(?P<block>/\*.*?\*/)|(?P<raw>R"(?P<d>[^(\s]*)\(.*?\)(?P=d)")"""
    r"""|(?P<string>"(?:\\.|[^"\\\n])*")|(?P<char>'(?:\\.|[^'\\\n])+')""",
    re.DOTALL,
)


def cxx_prose(text: str) -> Iterator[Prose]:
    """Comments and string literals. Lines of comments that follow one another are one piece."""
    lines = text.splitlines()
    starts = [0, *(found.end() for found in re.finditer("\n", text))]
    block: list[str] = []
    first = last = 0
    for token in CXX_TOKEN.finditer(text):
        line = bisect.bisect_right(starts, token.start())
        found = token[0]
        if token["comment"]:
            leads = lines[line - 1].lstrip().startswith("//")
            if leads and block and line == last + 1:
                block.append(found[2:].strip())
            else:
                yield from _joined(block, first)
                block, first = [found.lstrip("/").strip()], line
                if not leads:
                    yield Prose(line, block[0], is_description=False)
                    block = []
            last = line
        elif token["block"]:
            yield Prose(line, found[2:-2], is_description=True)
        elif token["string"] or token["raw"]:
            yield Prose(line, found.strip('"'), is_description=False)
    yield from _joined(block, first)


def _joined(block: list[str], first: int) -> Iterator[Prose]:
    paragraphs: list[list[tuple[int, str]]] = [[]]
    for number, text in enumerate(block, first):
        if text and not text.startswith("SPDX-License"):
            paragraphs[-1].append((number, text))
        elif paragraphs[-1]:
            paragraphs.append([])
    for position, paragraph in enumerate(p for p in paragraphs if p):
        yield Prose(paragraph[0][0], " ".join(text for _, text in paragraph), is_description=position == 0)


def python_prose(text: str) -> Iterator[Prose]:
    """Docstrings, comments, and string literals; help texts of options are descriptions."""
    tree = ast.parse(text)
    docstrings, helps = set(), set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)) and (
            node.body and isinstance(node.body[0], ast.Expr) and isinstance(node.body[0].value, ast.Constant)
        ):
            docstrings.add(node.body[0].value)
        if isinstance(node, ast.keyword) and node.arg == "help":
            helps.add(node.value)
    inside_f = {part for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            pieces = [p.value if isinstance(p, ast.Constant) else "0" for p in node.values]
            yield Prose(node.lineno, "".join(map(str, pieces)), node in helps)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in inside_f:
            yield Prose(node.lineno, node.value, node in docstrings or node in helps)
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("# "):
            yield Prose(number, line.lstrip()[2:], is_description=False)


def markdown_paragraphs(text: str) -> Iterator[tuple[int, list[str]]]:
    """Paragraphs and items of lists with the number of their first line; no code, no tables, no headings."""
    paragraph: list[str] = []
    first, in_code = 1, False
    for number, line in enumerate([*text.splitlines(), ""], 1):
        is_fence = line.lstrip().startswith(("```", "~~~"))
        is_item = re.match(r"\s*(?:[-*+]|\d+\.) ", line) is not None
        ends = is_fence or in_code or not line.strip() or is_item or line.lstrip().startswith(("|", "#", "<"))
        if ends and paragraph:
            yield first, paragraph
            paragraph = []
        if is_fence:
            in_code = not in_code
        elif not in_code and line.strip() and not line.lstrip().startswith(("|", "#", "<")):
            if not paragraph:
                first = number
            paragraph.append(line)


def without_code(text: str) -> str:
    """The text with a word in place of each piece of code and of each link's address."""
    return re.sub(r"\]\([^)]*\)", "]", CODE.sub("code", text))


def sentences(text: str) -> list[str]:
    return re.split(r"(?<=[.!?:;])\s+", without_code(text))


def _old_words(path: str, line: int, text: str) -> Iterator[Finding]:
    for word in OLD_WORD.findall(CODE.sub("", text)):
        yield Finding(path, line, f"'{word}', rather {REPLACEMENTS[word.lower()]!r}", " ".join(text.split())[:100])


def _in_prose(path: str, prose: Iterable[Prose]) -> Iterator[Finding]:
    for piece in prose:
        yield from _old_words(path, piece.line, piece.text)
        first = WORD.match(piece.text.lstrip())
        if piece.is_description and first and first[0] in RIDDLES:
            yield Finding(path, piece.line, f"begins with {first[0]!r}", " ".join(piece.text.split())[:100])


def _is_participle(name: str) -> bool:
    last = re.split(r"_|(?<=[a-z0-9])(?=[A-Z])", name)[-1].lower()
    return PARTICIPLE.search(last) is not None and last not in NOUNS


def _class_name(path: str, line: int, name: str) -> Iterator[Finding]:
    if _is_participle(name):
        yield Finding(path, line, "a class is a thing", name)


def _test_name(path: str, line: int, name: str) -> Iterator[Finding]:
    if len(name) > LETTERS_OF_TEST_NAME:
        yield Finding(path, line, f"more than {LETTERS_OF_TEST_NAME} letters", name)


CXX_CLASS = re.compile(
    r"^\s*(?:class|struct)\s+(?:alignas\([^)]*\)\s*)?(\w+)\s*(?:final\s*)?(?::[^:]|\{)", re.MULTILINE
)
CXX_TEST = re.compile(r"^(?:TYPED_)?TEST(?:_[FP])?\(\s*\w+,\s*(\w+)\s*\)", re.MULTILINE)


def in_cxx(path: str, text: str) -> Iterator[Finding]:
    yield from _in_prose(path, cxx_prose(text))
    is_test = path.startswith("tests/")
    for found in CXX_CLASS.finditer(text):
        if not is_test:
            yield from _class_name(path, text.count("\n", 0, found.start(1)) + 1, found[1])
    for found in CXX_TEST.finditer(text):
        yield from _test_name(path, text.count("\n", 0, found.start(1)) + 1, found[1])


def in_python(path: str, text: str) -> Iterator[Finding]:
    yield from _in_prose(path, python_prose(text))
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ClassDef):
            yield from _class_name(path, node.lineno, node.name)
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            yield from _test_name(path, node.lineno, node.name.removeprefix("test_"))


def in_markdown(path: str, text: str) -> Iterator[Finding]:
    for first, paragraph in markdown_paragraphs(text):
        for number, line in enumerate(paragraph, first):
            if len(line) > MARKDOWN_COLUMNS:
                yield Finding(path, number, f"wider than {MARKDOWN_COLUMNS} columns", line[:60])
            yield from _old_words(path, number, line)
        whole = " ".join(line.strip() for line in paragraph)
        many = len(WORD.findall(without_code(whole)))
        if many > WORDS_OF_PARAGRAPH:
            yield Finding(path, first, f"a paragraph of {many} words", whole[:60])
        for sentence in sentences(whole):
            if (many := len(WORD.findall(sentence))) > WORDS_OF_SENTENCE:
                yield Finding(path, first, f"a sentence of {many} words", sentence[:60])


def in_page(path: str, text: str) -> Iterator[Finding]:
    for number, line in enumerate(re.sub(r"<[^>\n]*>|\{[%{#].*?[%}#]\}", " ", text).splitlines(), 1):
        yield from _old_words(path, number, line)


READERS = {
    **dict.fromkeys(repository.CXX_SUFFIXES, in_cxx),
    ".py": in_python,
    ".md": in_markdown,
    ".html": in_page,
    ".j2": in_page,
}


def findings(path: Path) -> list[Finding]:
    """The findings of one file, in the order of its lines; none where it holds no prose that is checked."""
    reader = READERS.get(path.suffix)
    if reader is None or path.name in ("english.py", "test_english.py"):  # which hold the words
        return []
    return sorted(reader(path.as_posix(), repository.text(path)))


if __name__ == "__main__":
    chosen = [Path(name) for name in sys.argv[1:]] or repository.files()
    for path in chosen:
        for finding in findings(path):
            print(finding)
