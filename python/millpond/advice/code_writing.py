# SPDX-License-Identifier: BSL-1.0
"""Implements `millpond advise --write DIR`: writes the header, the note and the test of an advice, or nothing at all.

The note is Markdown: the verdict, the changes in their places, and how to build and test them.
"""

from __future__ import annotations

import shlex
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from millpond.advice import choice_text
from millpond.advice.advice_data import Advice, Code
from millpond.advice.code_allocating import freeing_note
from millpond.advice.code_changes import CONTAINERS_AT_MOST, code_of_rows
from millpond.advice.code_header import HEADER, first_text, header
from millpond.advice.code_homes import FUNCTION, THREAD, AdvisedAllocator, C, foreign_rows, foreign_text, homes
from millpond.advice.code_needs import option_of
from millpond.advice.code_pool import C_HEADER, c_header
from millpond.advice.code_pool_test import C_TEST, c_test
from millpond.advice.code_test import TEST, test
from millpond.advice.container_text import container_text, place_text, without_members
from millpond.advice.fewer_blocks import words
from millpond.advice.verdict import MALLOC, UNDECIDED
from millpond.system.errors import Failure, Status, cannot_write
from millpond.system.wording import bytes_text, list_text

NOTE = "millpond_advice.md"
# Stands for the include folder if it is unknown; the reader replaces it.
INCLUDE_UNKNOWN = "MILLPOND/include"


def prove_empty(folder: Path) -> None:
    """Raises Failure (status 2) if the folder has anything in it, so that no user's file is overwritten."""
    try:
        if folder.is_dir() and not any(folder.iterdir()):
            return
        if not folder.exists() and not folder.is_symlink():
            return
    except OSError as error:
        raise cannot_write(folder, error) from error
    what = "is not empty" if folder.is_dir() else "is a file"
    raise Failure(Status.USAGE, f"--write: {folder} {what}, and nothing is overwritten: name a new folder")


def files_of(advice: Advice) -> dict[str, str]:
    """Returns the files by name; only the note if no change of the source is better than none."""
    program = shlex.join(advice.program.argv)
    chosen = homes(advice)
    written = {NOTE: note(advice, chosen)}
    cpp, c = [h for h in chosen if h.language != C], [h for h in chosen if h.language == C]
    if cpp:
        written |= {HEADER: header(cpp, program), TEST: test(cpp, program)}
    if c:
        written |= {C_HEADER: c_header(c, program), C_TEST: c_test(c, program)}
    return written


def write(advice: Advice, folder: Path) -> str:
    """Writes the whole folder, and returns a sentence about its contents. Failure (status 2 or 4) if it cannot be
    written.
    """
    prove_empty(folder)
    files = files_of(advice)
    aside: Path | None = None
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        aside = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
        aside.chmod(0o755)
        for name, text in files.items():
            (aside / name).write_text(text, encoding="utf-8", errors="replace")
        aside.rename(folder)  # an empty folder of that name is replaced
        aside = None
    except OSError as error:
        raise cannot_write(folder, error) from error
    finally:
        if aside is not None:
            with suppress(OSError):
                shutil.rmtree(aside)
    if len(files) == 1:
        undecided = advice.choice is not None and advice.choice.kind == UNDECIDED
        why = "there is no verdict yet on a change of the source"
        if not undecided:
            why = "no change of the source is better than none"
        if packages := foreign_text(advice):
            why = f"the source to change belongs to {packages}, which you do not build"
        return f"{folder}: only {NOTE}, because {why}"
    return f"{folder}: {list_text(sorted(files))}; {NOTE} lists the changes, and how to run the test"


def note(advice: Advice, chosen: Sequence[AdvisedAllocator]) -> str:
    """Returns the Markdown note: the verdict, the changes in their places, and how to build and test them."""
    parts = [f"# Advice for {_code(shlex.join(advice.program.argv))}", _plain(advice.verdict)]
    if said := choice_text.lines(advice):
        parts.append("\n".join(f"- {label}: {_plain(line)}" for label, line in said))
    choice = advice.choice
    if choice and choice.kind == MALLOC and choice.command:
        parts.append(f"Without a change of the source, run the program as:\n\n    {choice.command}")
    if chosen:
        code = code_of_rows(advice)
        parts += [_home(home, code[home.subsystems[0]]) for home in chosen] + [_build(advice, chosen)]
    if fewer := [one for row in advice.subsystems for one in row.fewer_blocks]:
        listed = "\n".join(f"- {_plain(words(one))}" for one in fewer)
        avoidable = "These blocks can be avoided; the time that this saves was not measured."
        parts.append(f"## Without an allocator\n\n{avoidable}\n\n{listed}")
    foreign = foreign_rows(advice)
    if foreign:
        parts.append(_of_others(foreign, advice))
    if not chosen and not foreign:
        undecided = "No header was written, because there is no verdict yet; the reason is above."
        nothing = "No change of the source is better than none beyond the noise, so no header was written."
        parts.append(undecided if choice and choice.kind == UNDECIDED else nothing)
    return "\n\n".join(parts) + "\n"


def _of_others(foreign: Mapping[str, str], advice: Advice) -> str:
    """Returns the part of the plan that concerns the source of packages, and what the user can do without it."""
    lines = [
        "## Not yours to change",
        "",
        "These subsystems are in packages of this system, so there is no code to paste. The maintainers of a "
        "package could give each a pool or an arena as the plan says; send them this note.",
        "",
        *[f"- {_code(name)}: {_plain(package)}" for name, package in foreign.items()],
        "",
        "Until then, run the program under the plan (advise's last line names its file) or on another malloc:",
        "",
        f"    millpond run --plan THE.plan.json -- {shlex.join(advice.program.argv)}",
    ]
    other = advice.choices.without_source_change if advice.choices else None
    if other and other.command:
        lines.append(f"    {other.command} {shlex.join(advice.program.argv)}")
    return "\n".join(lines)


def _plain(text: str) -> str:
    return " ".join(text.split()).replace("<", "\\<").replace("*", "\\*").replace("_", "\\_")


def _code(text: str) -> str:
    """Returns a program's text as Markdown code, whatever it contains."""
    plain = " ".join(text.split())
    marks = "``" if "`" in plain else "`"
    return f"{marks}{plain}{marks}" if marks == "`" else f"{marks} {plain} {marks}"


def _home(home: AdvisedAllocator, code: Code) -> str:
    lines = [
        f"## {', '.join(_code(s) for s in home.subsystems)}",
        f"- Owner: {_plain(home.owner)}.",
        f"- First bytes: {_plain(first_text(home))}.",
        f"- Size classes: {_plain(home.classes_reason)}.",
        *([f"- The build: {_plain(code.needs)}."] if code.needs else []),
        "",
        "Allocations:",
        "",
        *[f"- {bytes_text(c.bytes)}: {_code(container_text(c))}" for c in home.containers[:CONTAINERS_AT_MOST]],
        *[f"- {_plain(line)}" for line in without_members(home.containers[:CONTAINERS_AT_MOST])],
        *([] if home.containers else ["- no container is known: this advice was made without debug information"]),
        "",
        f'Changes, after `#include "{C_HEADER if home.language == C else HEADER}"`:',
        "",
    ]
    own_code = [change for change in code.changes if change.kind != "type"]
    if own_code and (said := freeing_note(home)):
        lines += [f"- {said[0].upper()}{said[1:]}."]
    for change in (*(c for c in code.changes if c.kind == "type"), *own_code):
        place = place_text(change, whole=True)
        lines.append(f"- {_code(place) + ': ' if place else ''}{change.what}")
        if change.before:
            lines += ["", "  ```diff", f"  -{change.before}", f"  +{change.after}", "  ```"]
        elif change.after:
            lines += ["", "  ```cpp", f"  {change.after}", "  ```"]
    if own_code:
        lines += [
            "",
            "A block of the pool must be freed by the pool, and any other block must not be: make all of these "
            "changes, or none.",
        ]
    if home.kind in (FUNCTION, THREAD) and home.language != C:
        lines += ["", "The containers must be made after the arena, and destroyed before it."]
    if home.language != C:
        lines += [
            "",
            "A container of the header has another type than the standard one. Where the two meet, write the new type "
            "there too (`auto` and templates need no change), or copy the elements. This changes the ABI of functions "
            "that other programs call.",
        ]
    return "\n".join(lines)


def _build(advice: Advice, chosen: Sequence[AdvisedAllocator]) -> str:
    again = shlex.join(advice.program.argv)
    parts = ["## Test it"]
    if cpp := [home for home in chosen if home.language != C]:
        shown, option = shlex.quote(include_folder()), option_of(cpp[0])
        parts.append(f"""\
    c++ {option} -DMILLPOND_CHECKED -I {shown} {TEST} -o millpond_advice_test -pthread
    ./millpond_advice_test

The test compares the header's containers with those of the standard library, in checked mode, which reports every
misuse of an allocator with its place. Build the changed program with `{option} -DMILLPOND_CHECKED -I {shown}` and run
it once in the same way, then without `-DMILLPOND_CHECKED`: its output must be what it was.""")
    if c := [home for home in chosen if home.language == C]:
        parts.append(f"""\
    cc {option_of(c[0])} -DMILLPOND_CHECKED {C_TEST} -o millpond_advice_c_test
    ./millpond_advice_c_test

The test runs random operations on the pools of {C_HEADER}, which needs no library and no C++. Build the changed
program with `-DMILLPOND_CHECKED` and run it once: it ends at a wrong free. Then build it without: its output must
be what it was.""")
    parts.append(f"""\
Then see whether there is more to gain:

    millpond advise -- {again}""")
    return "\n\n".join(parts)


def include_folder() -> str:
    """Returns the folder of the library's headers, in the source tree or the installation."""
    for folder in Path(__file__).resolve().parents[2:6]:
        if (folder / "include" / "millpond" / "millpond.hpp").is_file():
            return str(folder / "include")
    return INCLUDE_UNKNOWN
