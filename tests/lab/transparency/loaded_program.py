# SPDX-License-Identifier: BSL-1.0
"""The code and slots of a process, which decide what instructions it runs, as its memory has them now."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

_SLOT_KINDS = ("R_X86_64_JUMP_SLO", "R_X86_64_GLOB_DAT", "R_X86_64_64")
_WORD_BYTES = 8
_OURS = "libmillpond-"


@dataclass(frozen=True)
class _Mapping:
    first: int
    past: int
    protection: str
    offset: int
    path: str


@cache
def _slots_of(path: str) -> tuple[int, ...]:
    """Returns the places of a module's relocations that name a symbol, from its beginning."""
    out = subprocess.run(["readelf", "-rW", path], capture_output=True, text=True, check=True).stdout
    rows = [line.split() for line in out.splitlines()]
    return tuple(int(row[0], 16) for row in rows if len(row) > 4 and row[2].startswith(_SLOT_KINDS))


class LoadedProgram:
    """The state of one moment. The process must not load or unload modules meanwhile."""

    def __init__(self, pid: int) -> None:
        self._mappings = [one for one in _mappings(pid) if _OURS not in one.path]
        self._modules = {one.path: one.first for one in self._mappings if one.offset == 0}
        self._bytes: dict[_Mapping, bytes] = {}
        self._slots: dict[tuple[str, int], int] = {}
        with Path(f"/proc/{pid}/mem").open("rb", buffering=0) as memory:
            for one in self._mappings:
                if "w" not in one.protection and "r" in one.protection:
                    memory.seek(one.first)
                    self._bytes[one] = memory.read(one.past - one.first)
            for path, base in self._modules.items():
                for place in _slots_of(path):
                    memory.seek(base + place)
                    self._slots[path, place] = int.from_bytes(memory.read(_WORD_BYTES), "little")
        assert self._bytes and self._slots

    def differences(self, before: LoadedProgram) -> list[str]:
        """Returns what is not as it was then: mappings and their protection, read-only bytes, slots.

        A slot that waited for its first call then may be bound since.
        """
        found = [f"a mapping of {one.path}" for one in set(self._mappings) ^ set(before._mappings)]
        found += [f"bytes of {one.path}" for one in self._bytes if self._bytes[one] != before._bytes.get(one)]
        for slot, value in self._slots.items():
            then = before._slots[slot]
            is_bound = self._module_of(then) == slot[0] and self._module_of(value) not in (None, slot[0])
            if value != then and not is_bound:
                found.append(f"a slot of {slot[0]}")
        return found

    def _module_of(self, address: int) -> str | None:
        """Returns the module that holds an address; None for ours, and outside of all."""
        return next((one.path for one in self._mappings if one.first <= address < one.past), None)


def _mappings(pid: int) -> list[_Mapping]:
    """Returns the mapped modules of a process. A mapping that the kernel has split into equal parts is one here."""
    found: list[_Mapping] = []
    for line in Path(f"/proc/{pid}/maps").read_text("utf-8").splitlines():
        words = line.split(maxsplit=5)
        if len(words) < 6 or not words[5].startswith("/") or ".mpt" in words[5]:
            continue
        first, past = (int(number, 16) for number in words[0].split("-"))
        one = _Mapping(first, past, words[1], int(words[2], 16), words[5])
        last = found[-1] if found else None
        if last and (last.past, last.protection, last.path) == (one.first, one.protection, one.path):
            found[-1] = replace(last, past=one.past)
        else:
            found.append(one)
    return found
