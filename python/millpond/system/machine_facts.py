# SPDX-License-Identifier: BSL-1.0
"""Facts about this machine from the kernel, as far as they affect measurements of heaps. Reads only.

clock, cores, load       how far to trust times         huge pages, overcommit     what resident bytes mean
limits of this process   what may fail half-way         seccomp, ASLR              what works, what varies
"""

from __future__ import annotations

import os
import platform
import resource
import shutil
from pathlib import Path

from msgspec import field

from millpond.system.records import NULL, Record

SYSTEM = Path("/")
_LIMITS = {
    "address_space": (resource.RLIMIT_AS, "bytes"),
    "data": (resource.RLIMIT_DATA, "bytes"),
    "stack": (resource.RLIMIT_STACK, "bytes"),
    "file_size": (resource.RLIMIT_FSIZE, "bytes"),
    "open_files": (resource.RLIMIT_NOFILE, "files"),
    "processes": (resource.RLIMIT_NPROC, "processes"),
}
_OVERCOMMIT = {"0": "heuristic", "1": "always", "2": "never"}
_SECCOMP = {"0": "none", "1": "strict", "2": "filter"}
TOOLS = ("g++", "clang++-19", "cmake", "ninja", "valgrind", "gdb", "zstd")


class Limit(Record, frozen=True):
    """A resource limit of this process; None without a limit."""

    value: int | None
    unit: str


class Place(Record, frozen=True):
    """Something that may be installed, and its path; None if it is absent."""

    name: str
    path: str | None


class MachineFacts(Record, frozen=True, kw_only=True):
    """All facts by name; None if the kernel does not tell."""

    architecture: str
    system: str
    cores: int
    cpu_quota_cores: float | None = field(default_factory=NULL)
    load: float | None = field(default_factory=NULL)
    governor: str | None = field(default_factory=NULL)
    virtual: bool | None = field(default_factory=NULL)
    clock_source: str | None = field(default_factory=NULL)
    available_bytes: int | None = field(default_factory=NULL)
    swap_bytes: int | None = field(default_factory=NULL)
    memory_limit_bytes: int | None = field(default_factory=NULL)
    huge_pages: str | None = field(default_factory=NULL)
    huge_pages_defrag: str | None = field(default_factory=NULL)
    overcommit: str | None = field(default_factory=NULL)
    mappings_limit: int | None = field(default_factory=NULL)
    address_randomisation: str | None = field(default_factory=NULL)
    seccomp: str | None = field(default_factory=NULL)
    ptrace_scope: str | None = field(default_factory=NULL)
    perf_event_paranoid: str | None = field(default_factory=NULL)
    preloaded: str | None = field(default_factory=NULL)
    debug_servers: str | None = field(default_factory=NULL)
    limits: dict[str, Limit]


def _read(path: str, root: Path) -> str | None:
    try:
        return (root / path.lstrip("/")).read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return None


def _chosen(text: str | None) -> str | None:
    """The word in brackets of a line such as `always [madvise] never`."""
    if text is None or "[" not in text:
        return text
    return text[text.index("[") + 1 : text.index("]")]


def _field(text: str | None, name: str) -> str | None:
    for line in (text or "").splitlines():
        key, _, value = line.partition(":")
        if key.strip() == name:
            return value.strip()
    return None


def _limit(which: int) -> int | None:
    soft, _ = resource.getrlimit(which)
    return None if soft == resource.RLIM_INFINITY else soft


def memory_limit(root: Path = SYSTEM) -> int | None:
    """The bytes of memory that the container allows; None outside a container."""
    for path in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        text = _read(path, root)
        if text and text.isdigit() and int(text) < 1 << 60:
            return int(text)
    return None


def _cpu_quota(root: Path) -> float | None:
    """The number of cores whose time the container allows; None without a limit."""
    words = (_read("/sys/fs/cgroup/cpu.max", root) or "max").split()
    return int(words[0]) / int(words[1]) if len(words) == 2 and words[0].isdigit() else None


def facts(root: Path = SYSTEM) -> MachineFacts:
    """Reads all of them. `root` stands for / in tests."""
    cpu, status, memory = _read("/proc/cpuinfo", root), _read("/proc/self/status", root), _read("/proc/meminfo", root)
    flags = (_field(cpu, "flags") or "").split()
    thp = "/sys/kernel/mm/transparent_hugepage"
    frequency = "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"
    available = (_field(memory, "MemAvailable") or "").split()
    swap = (_field(memory, "SwapTotal") or "").split()
    load = (_read("/proc/loadavg", root) or "").split()
    return MachineFacts(
        architecture=platform.machine(),
        system=platform.system(),
        cores=len(os.sched_getaffinity(0)),
        cpu_quota_cores=_cpu_quota(root),
        load=float(load[0]) if load else None,
        governor=_read(frequency, root),
        virtual="hypervisor" in flags if flags else None,
        clock_source=_read("/sys/devices/system/clocksource/clocksource0/current_clocksource", root),
        available_bytes=int(available[0]) * 1024 if available else None,
        swap_bytes=int(swap[0]) * 1024 if swap else None,
        memory_limit_bytes=memory_limit(root),
        huge_pages=_chosen(_read(f"{thp}/enabled", root)),
        huge_pages_defrag=_chosen(_read(f"{thp}/defrag", root)),
        overcommit=_OVERCOMMIT.get(_read("/proc/sys/vm/overcommit_memory", root) or ""),
        mappings_limit=int(_read("/proc/sys/vm/max_map_count", root) or 0) or None,
        address_randomisation=_read("/proc/sys/kernel/randomize_va_space", root),
        seccomp=_SECCOMP.get(_field(status, "Seccomp") or ""),
        ptrace_scope=_read("/proc/sys/kernel/yama/ptrace_scope", root),
        perf_event_paranoid=_read("/proc/sys/kernel/perf_event_paranoid", root),
        preloaded=os.environ.get("LD_PRELOAD") or None,
        debug_servers=os.environ.get("DEBUGINFOD_URLS") or None,
        limits={name: Limit(_limit(which), unit) for name, (which, unit) in _LIMITS.items()},
    )


def tools() -> tuple[Place, ...]:
    """Programs that some verbs or builds use, with their places."""
    return tuple(Place(name, shutil.which(name)) for name in TOOLS)
