# SPDX-License-Identifier: BSL-1.0
"""The changes of an advice: what to change at which place, in the program's own source if it is available.

Changes a line only if it is the line that was compiled; otherwise describes the change in words.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec.structs import replace

from millpond.advice.advice_data import Advice, Code, SourceChange
from millpond.advice.code_allocating import allocating_changes
from millpond.advice.code_bytes import replacements_of
from millpond.advice.code_freeing import Passing, freeing_changes, passing
from millpond.advice.code_header import ALIASES, container_of, first_text, is_in_slabs, is_pmr, wanted
from millpond.advice.code_homes import FUNCTION, INSTANCE, AdvisedAllocator, C, homes
from millpond.advice.code_needs import needs
from millpond.advice.code_returned import returned_text
from millpond.advice.code_source import lines_of
from millpond.advice.container_text import place_text
from millpond.rounds.characterisation import AllocationPlace, Container, Member
from millpond.system.wording import list_text

CONTAINERS_AT_MOST = 12
# The smallest share of an allocator's bytes that justifies changing a line.
_WORTH_A_CHANGE = 0.01
_OTHERS_MAX = 8
_HEAD_LINES = 8  # lines of a function before its body


def changes(home: AdvisedAllocator, all_passing: Passing) -> list[SourceChange]:
    """Returns the changes of an allocator: a declaration before and after, or instructions, each with its place."""
    found: list[SourceChange] = []
    if home.kind == FUNCTION and home.language != C:
        found.append(_scope(home))
    total = sum(container.bytes for container in home.containers)
    makes_blocks = False
    for container in home.containers[:CONTAINERS_AT_MOST]:
        if container.bytes < _WORTH_A_CHANGE * total:  # sorted: the rest is smaller still
            break
        if container.type is None and (home.kind != INSTANCE or home.language == C):
            found += allocating_changes(home, container)
            makes_blocks = True
            continue
        first = next(iter(container.places), AllocationPlace())
        certain, possible = _candidates(container)
        for member in certain:
            files = tuple(place.file for place in container.places)
            found += [one for one in _of_member(member, home, files) if one not in found]
        said = calls(home, container)
        if possible:
            what = f"one of these becomes a `{rewritten(possible[0].type, home)}`: "
            what += ", ".join(f"{m.name} ({place_text(m)})" for m in possible)
            found.append(SourceChange(file=first.file, line=first.line, what=what))
        if container.type and not container.members and not said:
            what = "wherever it is declared" + (f", used by {first.function}" if first.function else "")
            what += "; a function that returns or takes it changes its type and ABI too"
            before, after = f"{container.type} …;", f"{rewritten(container.type, home)} …;"
            found.append(SourceChange(file=first.file, line=first.line, before=before, after=after, what=what))
        found += [SourceChange(file=first.file, line=first.line, what=sentence) for sentence in said]
    if makes_blocks:
        found += freeing_changes(home, replacements_of(home), all_passing)
    return one_for_each_place(found)


def one_for_each_place(changes: Sequence[SourceChange]) -> list[SourceChange]:
    """Returns the changes with at most one for each line that makes, frees or resizes blocks: the first with code."""
    found: list[SourceChange] = []
    at: dict[tuple[str, int], int] = {}
    for change in changes:
        place = (change.file, change.line)
        known = at.get(place) if change.kind != "type" and change.file and change.line else None
        if known is None:
            if change.kind != "type" and change.file and change.line:
                at[place] = len(found)
            if change not in found:
                found.append(change)
        elif change.before and not found[known].before:
            found[known] = change
    return found


def _scope(home: AdvisedAllocator) -> SourceChange:
    """Returns the line that makes the arena of a function; in its place if the source is available."""
    statement, what = f"{home.space}::scope scope;", f"as the first line of {home.function}, whose calls own the arena"
    file, declared = home.function_place
    if (opening := opening_line(file, declared)) is not None:
        number, at, line = opening
        after = f"{line[: at + 1]} {statement}{line[at + 1 :]}".strip()
        return SourceChange(file=file, line=number, before=line.strip(), after=after, what=what)
    return SourceChange(file=file, line=declared, after=statement, what=what)


def _candidates(container: Container) -> tuple[list[Member], list[Member]]:
    """Returns the variables that a container is, and those of which it may be any."""
    members = [m for m in container.members if m.kind != "captured"]
    named = [m for m in members if m.named_in_call]
    if named or len(members) <= 1:
        return named or members, []
    return [], members


def _of_member(member: Member, home: AdvisedAllocator, files: Sequence[str] = ()) -> list[SourceChange]:
    """Returns the changed declaration of a variable, and the lines that name its iterators.

    A variable that is returned gets instructions instead: the change of its declaration would not compile by itself.
    """
    type_, name, kind = member.type, member.name.rsplit(".", 1)[-1], member.kind

    def in_words(what: str) -> list[SourceChange]:
        return [SourceChange(file=member.file, line=member.line, what=f"{kind} {name}: {what}")]

    before, number = f"{type_} {name};", member.line
    if is_pmr(type_):
        return in_words(f"pass `{home.space}::resource()` to its constructor")
    after = f"{rewritten(type_, home)} {name};"
    if after == before:
        return []
    returned = returned_text(member, rewritten(type_, home), files)
    if returned and kind == "local variable":
        return in_words(f"it becomes a `{rewritten(type_, home)}` if the function's result type may change. {returned}")
    if kind == "parameter":
        return in_words(f"the argument passed to it becomes a `{rewritten(type_, home)}`")
    if line := declaration_line(member):
        changed = changed_line(line, type_, home)
        if changed == line and (alias := alias_line(member)) is not None:
            number, line = alias
            changed = changed_line(line, type_, home)
        if changed == line:
            return in_words(f"its type becomes `{rewritten(type_, home)}` wherever it is named")
        before, after = line.strip(), changed.strip()
    must, may = other_lines(replace(member, line=number), home)
    if may:
        kind += f"; the same type is named in {_line_numbers(may)}: change it there too if it is used with {name}"
    if returned:
        kind += f". {returned}"
    lines = [(number, before, after, kind), *((other, old, new, f"a type of {name}") for other, old, new in must)]
    return [
        SourceChange(file=member.file, line=place, before=old, after=new, what=what) for place, old, new, what in lines
    ]


def _line_numbers(numbers: Sequence[int]) -> str:
    return f"line{'s' if len(numbers) > 1 else ''} {list_text([str(n) for n in numbers])}"


def code_of_rows(advice: Advice) -> dict[str, Code]:
    """Returns for each advised subsystem: the owner, the namespace of the header, and the changes."""
    found: dict[str, Code] = {}
    taken: dict[tuple[str, int], str] = {}  # one change of a template's declaration serves all of its instances
    all_homes = homes(advice)
    all_passing = passing([(home, replacements_of(home)) for home in all_homes])
    for home in all_homes:
        code = Code(
            owner=home.owner, namespace=home.space, language=home.language, needs=needs(home),
            first_bytes=None if is_in_slabs(home) else home.first_bytes or None,
            first_bytes_reason=first_text(home), size_classes=home.classes, size_classes_reason=home.classes_reason,
            changes=tuple(_unless_taken(change, home, taken) for change in changes(home, all_passing)),
        )  # fmt: skip
        found.update(dict.fromkeys(home.subsystems, code))
    return found


def _unless_taken(change: SourceChange, home: AdvisedAllocator, taken: dict[tuple[str, int], str]) -> SourceChange:
    """Returns the change, or a note that another allocator has changed the same line already."""
    place = (change.file, change.line)
    if not change.before or not change.file or taken.setdefault(place, home.space) == home.space:
        return change
    what = f"the same declaration as above: `{taken[place]}` serves this one too"
    if change.kind in ("free", "resize"):
        what = f"{change.what}. The change of this line above handles this pool, too"
    return replace(change, before="", after="", what=what)


def with_code(advice: Advice) -> Advice:
    """Returns the advice with the code of each row that has an advised allocator."""
    code = code_of_rows(advice)
    return replace(advice, subsystems=tuple(replace(row, code=code.get(row.name)) for row in advice.subsystems))


# Containers of the standard library that take no allocator, and the remedy for each.
WITHOUT_ALLOCATOR = {
    "function": "std::function takes no allocator: let it capture at most two pointers, or pass a reference to "
                "the callable (std::ref), which allocates nothing",
    "any": "std::any takes no allocator: use a std::variant of the types that it holds, which allocates nothing",
    "valarray": "std::valarray takes no allocator: use a vector of the written header",
    "promise": "pass std::allocator_arg and an allocator of the written header to the std::promise",
    "packaged_task": "std::packaged_task takes no allocator since C++17: use a std::promise",
    "thread": "std::thread takes no allocator: start fewer threads",
    "jthread": "std::jthread takes no allocator: start fewer threads",
    "regex": "std::regex takes no allocator: make it once and keep it",
    "filesystem::path": "std::filesystem::path takes no allocator",
    "fstream": "give the std::fstream a buffer of your own (rdbuf()->pubsetbuf)",
}  # fmt: skip


def rewritten(type_: str, home: AdvisedAllocator) -> str:
    """Returns a type with the header's container in place of the standard one; its elements keep their types."""
    name = container_of(type_)
    if is_pmr(type_) or name not in wanted(home) or name in ("shared_ptr", "unique_ptr"):
        return type_
    return f"{home.space}::{type_.removeprefix('std::')}"


def calls(home: AdvisedAllocator, container: Container) -> Sequence[str]:
    """Returns instructions for memory that no container's type decides, as sentences."""
    type_, space = container.type or "", home.space
    if home.kind == INSTANCE and (is_pmr(type_) or container_of(type_) in ("", "shared_ptr", "unique_ptr")):
        return [
            f"give each owner a member `{space}::pool_type pool;`, allocate its objects by `pool.allocate(bytes, "
            "alignment)`, and free them by `pool.deallocate(block, bytes, alignment)`"
        ]
    if is_pmr(type_):
        return [f"pass `{space}::resource()` to the container's constructor"]
    name = container_of(type_)
    if home.kind == INSTANCE and container.element_of:
        outer = container_of(container.element_of)
        element = f"{space}::{type_.removeprefix('std::')}"
        return [
            f"to let its elements use the container's pool, declare it as `std::{outer}<{element}, "
            f"{space}::scoped_allocator<{element}>>`"
        ]
    if name == "shared_ptr":
        return [f"call `{space}::make_shared<T>(…)` instead of `std::make_shared<T>(…)`"]
    if name == "unique_ptr":
        return [f"call `{space}::make_unique<T>(…)`, whose result is a `{space}::unique_ptr<T>`"]
    if name in WITHOUT_ALLOCATOR:
        return [WITHOUT_ALLOCATOR[name]]
    return []


def declaration_line(member: Member) -> str:
    """Returns the line that declares a variable if it still has the variable's name; otherwise empty."""
    lines, number = lines_of(member.file), member.line
    name = member.name.rsplit(".", 1)[-1]
    if not 0 < number <= len(lines) or not re.search(rf"\b{re.escape(name)}\b", lines[number - 1]):
        return ""
    return lines[number - 1].rstrip("\r")


def changed_line(line: str, type_: str, home: AdvisedAllocator) -> str:
    """Returns a line with the allocator's container in place of the standard one, with or without `std::`.

    Changes only the container itself: its elements keep their types, so that values still fit.
    """
    name = container_of(type_)
    if name not in ALIASES or name not in wanted(home) or is_pmr(type_):
        return line
    template = rf"(?<![\w:.>])(?:::)?(?:std::)?{re.escape(name)}\b(?=\s*<)"
    alias = rf"(?<![\w:])(?:::)?std::{re.escape(name)}\b(?!\s*<|::)"
    return re.sub(f"{template}|{alias}", f"{home.space}::{name}", line, count=1)


def opening_line(file: str, line: int) -> tuple[int, int, str] | None:
    """Finds where the body of the function declared there opens: the line's number, the brace's place, the line.

    Returns None if the source is not available, or if it may be another brace, such as one after a constructor's
    initialisers.
    """
    lines = lines_of(file)
    if not 0 < line <= len(lines):
        return None
    text = "\n".join(lines[line - 1 : line + _HEAD_LINES])
    found = re.search(r"\)\s*(?:const\b|noexcept\b|override\b|final\b|&|\s|->\s*[\w:<>, *&]+?)*\{", text)
    if found is None or ";" in text[: found.end()] or re.search(r"\)\s*:(?!:)", text[: found.end()]):
        return None
    before = text[: found.end() - 1]
    return line + before.count("\n"), len(before) - (before.rfind("\n") + 1), lines[line - 1 + before.count("\n")]


def alias_line(member: Member) -> tuple[int, str] | None:
    """Returns the line that declares the alias of a variable's type in the same file."""
    declared, type_ = declaration_line(member), member.type
    pattern = re.compile(rf"(?<![\w:.>])(?:std::)?{re.escape(container_of(type_))}\s*<")
    for number, line in enumerate(lines_of(member.file), 1):
        alias = re.search(r"\busing\s+(\w+)\s*=|\btypedef\b.*\b(\w+)\s*;", line)
        found = pattern.search(line)
        if alias is None or found is None or not re.search(rf"\b{alias[1] or alias[2]}\b", declared):
            continue
        past = _closing(line, found.end() - 1)
        if past is not None and _bare(line[found.start() : past]) == _bare(type_):
            return number, line.rstrip("\r")
    return None


def other_lines(member: Member, home: AdvisedAllocator) -> tuple[list[tuple[int, str, str]], list[int]]:
    """Returns other lines of the file with the variable's type: those that name its iterators, before and after, and
    the numbers of the rest, which the change may or may not concern.
    """
    type_ = member.type
    name = container_of(type_)
    if is_pmr(type_) or name not in ALIASES:
        return [], []
    # The type in the compiler's spelling and in the declaration's, which may name a template's parameter.
    same = {_bare(type_)} | ({_bare(own)} if (own := _type_on(declaration_line(member), name)) else set())
    pattern = re.compile(rf"(?<![\w:.>])(?:std::)?{re.escape(name)}\s*<")
    must: list[tuple[int, str, str]] = []
    may: list[int] = []
    for number, line in enumerate(lines_of(member.file), 1):
        found = pattern.search(line)
        if number == member.line or found is None or line.lstrip().startswith(("//", "#", "*")):
            continue
        past = _closing(line, found.end() - 1)
        if past is None or _bare(line[found.start() : past]) not in same:
            continue
        if line[past:].lstrip().startswith("::"):
            must.append((number, line.strip(), changed_line(line, type_, home).strip()))
        else:
            may.append(number)
    return must[:_OTHERS_MAX], may[:_OTHERS_MAX]


def _type_on(line: str, name: str) -> str:
    """Returns the first instance of a container's template on a line; empty without one."""
    found = re.search(rf"(?<![\w:.>])(?:std::)?{re.escape(name)}\s*<", line)
    past = _closing(line, found.end() - 1) if found else None
    return line[found.start() : past] if found and past else ""


def _closing(line: str, opening: int) -> int | None:
    depth = 0
    for at in range(opening, len(line)):
        depth += {"<": 1, ">": -1}.get(line[at], 0)
        if depth == 0:
            return at + 1
    return None


def _bare(type_: str) -> str:
    """Returns a type without scopes, blanks and differences of spelling between compilers."""
    text = re.sub(r"\b\w+::", "", type_)
    text = re.sub(r"\bunsigned int\b|\buint32_t\b", "unsigned", text)
    text = re.sub(r"\bint32_t\b", "int", text)
    return re.sub(r"\s+", "", text)
