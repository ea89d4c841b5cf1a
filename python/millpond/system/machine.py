# SPDX-License-Identifier: BSL-1.0
"""The machine's fingerprint: the properties that must be equal for two measurements to be comparable."""

from __future__ import annotations

import hashlib
import json
import os
import platform
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path


@dataclass(frozen=True)
class Machine:
    """The machine that runs the rounds. `page_policy` is the kernel's setting of transparent huge pages."""

    cpu: str
    cores: int
    memory_bytes: int
    kernel: str
    libc: str
    page_bytes: int
    page_policy: str

    @property
    def fingerprint(self) -> str:
        """Twelve hexadecimal digits, equal for equal machines."""
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()[:12]

    @property
    def kind(self) -> str:
        """Twelve hexadecimal digits, equal for machines whose measurements may be compared: memory counts in whole
        GiB.
        """
        return replace(self, memory_bytes=round(self.memory_bytes / 2**30) << 30).fingerprint

    def __str__(self) -> str:
        return (
            f"{self.cpu}, {self.cores} cores, {self.memory_bytes / 2**30:.0f} GiB, Linux {self.kernel}, {self.libc}, "
            f"huge pages {self.page_policy} [{self.fingerprint}]"
        )


def _first_line(path: str, key: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            for line in file:
                name, _, value = line.partition(":")
                if name.strip() == key:
                    return value.strip()
    except OSError:
        pass
    return ""


def _page_policy() -> str:
    try:
        text = Path("/sys/kernel/mm/transparent_hugepage/enabled").read_text(encoding="ascii")
    except OSError:
        return "unknown"
    return text[text.find("[") + 1 : text.find("]")] if "[" in text else "unknown"


@cache
def this_machine() -> Machine:
    """The machine that this process runs on."""
    memory = _first_line("/proc/meminfo", "MemTotal").split()
    return Machine(
        cpu=_first_line("/proc/cpuinfo", "model name") or platform.machine(),
        cores=len(os.sched_getaffinity(0)),
        memory_bytes=int(memory[0]) * 1024 if memory else 0,
        kernel=platform.release(),
        libc=" ".join(platform.libc_ver()),
        page_bytes=os.sysconf("SC_PAGE_SIZE"),
        page_policy=_page_policy(),
    )
