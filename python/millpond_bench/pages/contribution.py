# SPDX-License-Identifier: BSL-1.0
"""Results that leave their machine ("millpond.contribution/1"), and those that came from other people.

    KeptResults ──packed──▶ FILE.contribution.json ──▶ another person ──read_all──▶ Contributions ──▶ merged
                  │                                                     │
                  names of host, user and folders removed               refused by name: damaged, foreign, too large

A contribution is one JSON file: a contributor can read what leaves the machine, and a receiver unpacks nothing. It has
each part's machine, toolchain, malloc, digests of its programs, and verdicts with figures; no rounds. Equal results
make equal bytes.

The digest tells contributions apart and shows damage. It does not prove who made a contribution, or that its figures
are true. So all texts of a contribution are shown as text, and nothing in it names a file.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeVar

from msgspec.structs import replace

from millpond.system.errors import Failure, Status
from millpond.system.input_file import open_regular, parse_json, why_unreadable
from millpond.system.json_seal import digest
from millpond.system.private_names import PrivateNames
from millpond.system.wording import plural
from millpond_bench.experiments.bench_document import BenchRecord, JudgedClaim, JudgedOnDocuments
from millpond_bench.pages.kept_results import KeptPart, KeptResults, json_text, merged

Judged = TypeVar("Judged", JudgedClaim, JudgedOnDocuments)
SCHEMA: Literal["millpond.contribution/1"] = "millpond.contribution/1"
ENDING = ".contribution.json"
DIGEST = "digest"
# A contribution of everything that there is takes 0.7 MB.
BYTES_AT_MOST = 16 << 20
_FAMILY = "millpond.contribution/"
_ASK = "ask its contributor for the file again"
_WRITE = f"`millpond report STORE -o FILE{ENDING}` writes a contribution"
_ARCHIVES = {
    b"PK": "a zip archive", b"\x1f\x8b": "a gzip file", b"BZh": "a bzip2 file", b"\xfd7zXZ": "an xz file",
    b"\x28\xb5\x2f\xfd": "a zstd file", b"7z\xbc\xaf": "a 7z archive",
}  # fmt: skip
_TAR_MARK_AT, _TAR_MARK = 257, b"ustar"
# Characters that change what a reader sees around them: controls, line breaks, directions of writing.
_UNSEEN = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]*")
_DOCUMENT = re.compile(r"[A-Za-z0-9][A-Za-z0-9_]*")
# Shown in Markdown as they are: a line of words, and a command between backquotes.
_PLAIN = re.compile(r"[\w .,;:?!()'–/-]*")
_COMMAND = re.compile(r"[^`]*")
_TIME = re.compile(r"[0-9T:.+Z-]*")


class Contribution(BenchRecord, frozen=True, kw_only=True):
    """The results of one contributor, a paper each. `digest`: SHA-256 of all the rest."""

    schema: Literal["millpond.contribution/1"] = SCHEMA
    results: tuple[KeptResults, ...]
    digest: str


@dataclass(frozen=True)
class Contributions:
    """Several contributions together. `digests`: each contribution once. `repeated`: files that repeat another one.

    `results`: merged. `left_out`: a line for each part that a later or larger one of the same place replaces.
    """

    digests: tuple[str, ...]
    repeated: tuple[str, ...]
    results: tuple[KeptResults, ...]
    left_out: tuple[str, ...]


def packed(results: Iterable[KeptResults], names: PrivateNames) -> str:
    """The text of a contribution with these results, without the names of the machine and its user. O(results).

    Failure (status 3) if a reader would refuse them.
    """
    own = merged(replace(one, parts=tuple(_anonymous(part, names) for part in one.parts)) for one in results)
    data = {"schema": SCHEMA, "results": [one.to_json() for one in own]}
    try:
        _require_plain(data)
        _require_names(own)
    except ValueError as error:
        raise Failure(Status.INPUT, f"these results cannot be packed: {error}") from error
    return json_text({**data, DIGEST: digest(data)})


def _anonymous(part: KeptPart, names: PrivateNames) -> KeptPart:
    """The part without private names. Statements and titles are the package's own words, and stay."""
    clean = names.removed_from
    return replace(
        part, machine=clean(part.machine), compiler=clean(part.compiler), command=clean(part.command),
        digests={clean(name): value for name, value in part.digests.items()},
        claims=tuple(
            replace(_anonymous_claim(claim, names),
                    on_documents=claim.on_documents and _anonymous_claim(claim.on_documents, names))
            for claim in part.claims
        ),
    )  # fmt: skip


def _anonymous_claim(claim: Judged, names: PrivateNames) -> Judged:
    def clean(text: str | None) -> str | None:
        return text and names.removed_from(text)

    return replace(claim, worst=clean(claim.worst), note=clean(claim.note), missing=clean(claim.missing), evidence=())


def read_all(paths: Sequence[Path]) -> Contributions:
    """Reads contributions and merges them; their order does not matter. Effects: none, whatever they hold.

    Failure (status 3), which names each file that is refused, with the reason and a remedy. O(bytes).
    """
    found: dict[str, Contribution] = {}
    first: dict[str, Path] = {}
    repeated, refused = [], []
    for path in paths:
        try:
            one = read(path)
        except ValueError as error:
            refused.append(f"{path}: {error}")
            continue
        if one.digest in found:
            repeated.append(f"{path} is the same contribution as {first[one.digest]}")
        found.setdefault(one.digest, one)
        first.setdefault(one.digest, path)
    if refused:
        what = plural(len(refused), "contribution")
        raise Failure(Status.INPUT, f"{what} refused, and nothing written: {'; '.join(refused)}")
    digests = sorted(found)
    results = [one for each in digests for one in found[each].results]
    return _together(digests, repeated, results)


def _together(digests: Sequence[str], repeated: Sequence[str], results: Sequence[KeptResults]) -> Contributions:
    kept = merged(results)
    lines = {line for one in results for line in map(_left_out, one.parts)}
    lines -= {line for one in kept for line in map(_left_out, one.parts)}
    return Contributions(tuple(digests), tuple(repeated), tuple(kept), tuple(sorted(lines)))


def _left_out(part: KeptPart) -> str:
    return (
        f"{part.experiment}, {part.scale} scale, measured {part.measured[:19]}, on {part.machine}; {part.toolchain}, "
        f"{part.malloc}: a later or larger run of the same place is shown"
    )


def read(path: Path) -> Contribution:
    """Reads one contribution. ValueError, a half-sentence with the reason and a remedy, for any other file."""
    try:
        with open_regular(path) as file:
            content = file.read(BYTES_AT_MOST + 1)
    except FileNotFoundError:
        raise ValueError(f"there is no such file; {_WRITE}") from None
    except OSError as error:
        raise ValueError(f"it cannot be read, because {why_unreadable(error)}") from error
    _require_form(content)
    try:
        data = parse_json(content)
    except ValueError as error:
        if content.lstrip()[:1] == b"{" and not content.rstrip().endswith(b"}"):
            raise ValueError(f"it is truncated; {_ASK}") from error
        raise ValueError(f"it is no JSON ({error}); {_WRITE}") from error
    _require_version(data)
    rest = {name: value for name, value in data.items() if name != DIGEST}
    if data.get(DIGEST) != digest(rest):
        raise ValueError(f"its digest does not hold, so it was changed or damaged since it was written; {_ASK}")
    try:
        _require_plain(data)
        found = Contribution.from_json(data)
        _require_names(found.results)
    except ValueError as error:
        raise ValueError(f"it does not have the form {SCHEMA}, because {error}; {_ASK}") from error
    return found


def _require_form(content: bytes) -> None:
    if not content:
        raise ValueError(f"it is empty; {_ASK}")
    if len(content) > BYTES_AT_MOST:
        raise ValueError(f"it has more than {BYTES_AT_MOST >> 20} MiB, which no contribution needs; leave it out")
    kind = next((name for begin, name in _ARCHIVES.items() if content.startswith(begin)), "")
    if content[_TAR_MARK_AT : _TAR_MARK_AT + len(_TAR_MARK)] == _TAR_MARK:
        kind = "a tar archive"
    if kind:
        raise ValueError(f"it is {kind}, and archives are not unpacked: a contribution is one JSON file; {_WRITE}")


def _require_version(data: object) -> None:
    schema = data.get("schema") if isinstance(data, dict) else None
    if schema == SCHEMA:
        return
    version = schema.removeprefix(_FAMILY) if isinstance(schema, str) and schema.startswith(_FAMILY) else ""
    if version.isdecimal():
        raise ValueError(f"it is of version {int(version)}, and this millpond reads version 1: update millpond-bench")
    raise ValueError(f"it is not a contribution; {_WRITE}")


def _require_plain(data: object) -> None:
    """ValueError for a text, anywhere in the data, that has characters which are not seen."""
    left = [data]
    while left:
        value = left.pop()
        if isinstance(value, dict):
            left += [*value, *value.values()]
        elif isinstance(value, list):
            left += value
        elif isinstance(value, str) and (found := _UNSEEN.search(value)):
            raise ValueError(f"a text has the character U+{ord(found[0]):04X}")


def _require_names(results: Iterable[KeptResults]) -> None:
    """ValueError for a name that could leave a folder or be more than a name where it is shown."""
    for one in results:
        _require(_DOCUMENT, "document", one.document)
        for part in one.parts:
            for what in ("experiment", "scale", "toolchain", "malloc"):
                _require(_NAME, what, getattr(part, what))
            _require(_COMMAND, "command", part.command)
            _require(_TIME, "time", part.measured)
            for claim in part.claims:
                _require(_PLAIN, "section", claim.section)
                _require(_PLAIN, "verdict", claim.verdict)
                _require(_PLAIN, "verdict", claim.on_documents.verdict if claim.on_documents else "")


def _require(form: re.Pattern[str], what: str, text: str) -> None:
    if not form.fullmatch(text):
        raise ValueError(f"{text[:40]!r} is not a {what}")
