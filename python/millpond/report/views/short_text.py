# SPDX-License-Identifier: BSL-1.0
"""Fits names, paths, sentences and commands into a number of columns. No name is broken inside a word.

shop::cache<std::map<int, shop::item>>::insert   ──▶ shop::cache<…>::insert ──▶ …::insert
/home/me/shop/build/bin/orders                   ──▶ build/bin/orders (in the working folder) ──▶ …/bin/orders
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from pathlib import Path

from rich.cells import cell_len

CUT = "…"
_INNERMOST = re.compile(r"<(?!…>)(?:[^<>]|<…>)+>")
_SPACE = re.compile(r"\s+")
# A number stays with its unit.
_WORD = re.compile(r"\S*\d (?:%|[kMGT]?B|[mµn]?s|[kMG])(?!\w)\S*|\S+")


def short_path(path: str, width: int, folder: Path | None = None) -> str:
    """Returns a path relative to `folder` (the working folder) if it lies in it; a longer one without its first
    folders.
    """
    base = str(folder or Path.cwd())
    text = path.removeprefix(f"{base.rstrip('/')}/") if base != "/" else path
    if cell_len(text) <= width:
        return text
    parts = text.split("/")
    for first in range(1, len(parts)):
        rest = f"{CUT}/{'/'.join(parts[first:])}"
        if cell_len(rest) <= width:
            return rest
    return _ending(parts[-1], width)


def short_name(text: str, width: int) -> str:
    """Returns a name without the arguments of its templates, then without its first qualifiers, as it must be short."""
    text = _SPACE.sub(" ", text)
    while cell_len(text) > width and (inner := _INNERMOST.search(text)):
        text = f"{text[: inner.start()]}<{CUT}>{text[inner.end() :]}"
    if cell_len(text) <= width:
        return text
    for sign in ("::", "/"):
        parts = text.split(sign)
        for first in range(1, len(parts)):
            rest = f"{CUT}{sign}{sign.join(parts[first:])}"
            if cell_len(rest) <= width:
                return rest
    return _ending(text, width)


def _ending(text: str, width: int) -> str:
    """Returns the end of a text that has no place to part it."""
    kept = text
    while kept and cell_len(kept) > width - 1:
        kept = kept[max(1, (cell_len(kept) - width) // 2) :]
    return f"{CUT}{kept}"


def short_word(text: str, width: int) -> str:
    """Returns a word of a sentence, shortened as the path or the name that it seems to be."""
    if cell_len(text) <= width:
        return text
    before, equals, after = text.partition("=/")
    if equals and len(before) < width // 2:
        return f"{before}={short_path(f'/{after}', width - len(before) - 1)}"
    return short_path(text, width) if text.startswith("/") else short_name(text, width)


def words_of(text: str) -> list[str]:
    """Returns the words of a text; a number and its unit are one."""
    return _WORD.findall(text)


def wrapped(text: str, width: int, most: int | None = None) -> list[str]:
    """Returns a sentence in lines of `width` columns, broken between words; `most`: ends the last one with `…`."""
    lines: list[str] = []
    for word in words_of(text):
        fitting = short_word(word, width)
        if lines and cell_len(lines[-1]) + 1 + cell_len(fitting) <= width:
            lines[-1] += f" {fitting}"
        else:
            lines.append(fitting)
    if most is None or len(lines) <= most:
        return lines
    words = lines[most - 1].split(" ")
    while len(words) > 1 and cell_len(" ".join(words)) + 2 > width:
        words.pop()
    return [*lines[: most - 1], f"{' '.join(words)} {CUT}" if cell_len(" ".join(words)) + 2 <= width else CUT]


def one_line(text: str, width: int) -> str:
    """Returns as many words of a text as fit into one line."""
    return next(iter(wrapped(text, width, 1)), "")


def command_lines(words: Sequence[str], program: Sequence[str], width: int, most: int = 3) -> list[str]:
    """Returns a command for a shell, with `\\` at the end of a line that goes on. A program that needs more than
    `most` lines is named by PROGRAM ARGS.
    """
    for argv in (list(map(shlex.quote, program)), ["PROGRAM", "ARGS..."]):
        lines: list[str] = []
        for word in [*words, *argv]:
            if lines and cell_len(lines[-1]) + 1 + cell_len(word) <= width - 2:
                lines[-1] += f" {word}"
            else:
                lines.append(f"  {word}" if lines else word)
        if len(lines) <= most and all(cell_len(line) <= width - 2 for line in lines):
            break
    else:
        lines = [short_word(line, width - 2) if cell_len(line) > width - 2 else line for line in lines[:most]]
    return [f"{line} \\" for line in lines[:-1]] + lines[-1:]
