# SPDX-License-Identifier: BSL-1.0
"""`millpond advise --write DIR`: the header, the note and the test of an advice, all of them or none."""

from __future__ import annotations

import shlex
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

from millpond.advice.advice_data import Advice
from millpond.advice.code_header import HEADER, header
from millpond.advice.code_homes import homes
from millpond.advice.code_note import NOTE, note
from millpond.advice.code_test import TEST, test
from millpond.system.errors import Failure, Status, cannot_write
from millpond.system.wording import list_text


def prove_empty(folder: Path) -> None:
    """Failure (status 2) where the folder has anything in it: nothing of the user's is overwritten."""
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
    """The files by name: the note alone where the source is not to be changed."""
    program = shlex.join(advice.program.argv)
    chosen = homes(advice)
    written = {NOTE: note(advice, chosen)}
    if chosen:
        written |= {HEADER: header(chosen, program), TEST: test(chosen, program)}
    return written


def write(advice: Advice, folder: Path) -> str:
    """Writes the folder whole, and says in a sentence what is in it. Failure (status 2 or 4) where it cannot."""
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
    if HEADER not in files:
        return f"{folder}: {NOTE} alone, for the source is not to be changed"
    return f"{folder}: {list_text(sorted(files))}; {NOTE} says what to change where, and how to run the test"
