# SPDX-License-Identifier: BSL-1.0
"""The strategies of P0089R0 by their labels, on our allocators and on allocators like the paper's.

AS1 … AS14           ours: the paper's allocators × bindings × disposals (section 4); multipools take no lock
AS7s … AS14s         the same multipools with a lock
AS7-2015, AS7s-2015  multipools as libraries had them in 2015, without and with a lock: 16 bytes before each block,
                     powers of two, blocks above 2^12 bytes left to the allocator below (multipool_2015.hpp)
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_RESOURCES = ("monotonic", "multipool", "multipool(monotonic)")
_BOUND = [f"{binding}:{disposal}" for binding in ("type", "base") for disposal in ("destroy", "wink")]
_NAMES = ["new_delete:type:destroy", "new_delete:base:destroy", *(f"{r}:{b}" for r in _RESOURCES for b in _BOUND)]
ALIASES: Mapping[str, str] = {f"AS{n}": name for n, name in enumerate(_NAMES, 1)}
_MULTIPOOLS = {label: name for label, name in ALIASES.items() if name.startswith("multipool")}


def _locked(name: str) -> str:
    return re.sub(r"^(.*?):", r"synchronized(\1):", name)


def _of_2015(name: str) -> str:
    return name.replace("multipool", "multipool_2015")


LOCKED: Mapping[str, str] = {f"{label}s": _locked(name) for label, name in _MULTIPOOLS.items()}
OF_2015: Mapping[str, str] = {f"{label}-2015": _of_2015(name) for label, name in _MULTIPOOLS.items()}
LOCKED_2015: Mapping[str, str] = {f"{label}s-2015": _locked(_of_2015(n)) for label, n in _MULTIPOOLS.items()}
ALL_ALIASES = {**ALIASES, **LOCKED, **OF_2015, **LOCKED_2015}
# The paper's labels on its own allocators. Its multipools took a lock in Benchmarks I and II, and none in III and IV
# (section 4); its monotonic allocators never did, so ours replace them.
DOCUMENTS_LOCKED: Mapping[str, str] = {label: LOCKED_2015[f"{label}s-2015"] for label in _MULTIPOOLS}
DOCUMENTS_UNLOCKED: Mapping[str, str] = {
    label: OF_2015[f"{label}-2015"] for label, name in _MULTIPOOLS.items() if name.endswith(":destroy")
}
