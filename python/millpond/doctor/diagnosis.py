# SPDX-License-Identifier: BSL-1.0
"""Derives the doctor's findings, in sentences, from an examination. Pure: it reads and writes nothing."""

from __future__ import annotations

from collections.abc import Iterator

from millpond.doctor.examination_data import Diagnosis, Examination
from millpond.statistics.order_statistics import MINIMUM_EFFECT
from millpond.system.wording import bytes_text, list_text, seconds_text

_ARCHITECTURES = ("x86_64", "aarch64")
_SMALL_PAGES_IN_A_HUGE_ONE = 512
_LITTLE_SPACE_BYTES = 2_000_000_000
_SMALL_ADDRESS_SPACE_BYTES = 64 * 2**30
_NOISY = 0.03
_SLOW_CLOCK_NS = 200.0
_PARANOID_MOST = 2  # users may count what their own processes do in user mode
_WITHOUT_FILTER = "`--security-opt seccomp=unconfined`"
_HUGE_PAGES = "/sys/kernel/mm/transparent_hugepage/enabled"


def diagnose(document: Examination) -> list[Diagnosis]:
    """Returns the findings; missing things come first."""
    parts = (_needs, _time, _counters, _pages, _memory, _process, _store, _noise, _replay)
    found = [finding for part in parts for finding in part(document)]
    order = {"missing": 0, "warning": 1, "note": 2}
    return sorted(found, key=lambda f: order[f.level])


def ns_text(ns: float | None) -> str:
    """Formats nanoseconds in a unit that suits their size."""
    if ns is None:
        return "–"
    return f"{ns:.0f} ns" if ns < 1000 else seconds_text(ns * 1e-9)


def _needs(document: Examination) -> Iterator[Diagnosis]:
    facts, installed = document.facts, document.installed
    if facts.system != "Linux" or facts.architecture not in _ARCHITECTURES:
        where = f"{facts.system} on {facts.architecture}"
        yield Diagnosis("missing", "system", "Programs are recorded and tried on x86-64 and aarch64 Linux only; this "
                      f"is {where}.")  # fmt: skip
    absent = [p for p in [*installed.programs, *installed.libraries] if p.path is None]
    needed = [p.name for p in absent if p.needed]
    if needed:
        yield Diagnosis("missing", "installed", f"{list_text(needed)} cannot be found: build Millpond with `make`, or "
                      "set MILLPOND_BIN to the folder that has the programs.")  # fmt: skip
    for program in absent:
        if not program.needed:
            yield Diagnosis("warning", "installed", f"{program.name} cannot be found. Without it you cannot have "
                          f"{program.without}.")  # fmt: skip
    if not needed:
        for ability in document.works:
            if not ability.available and ability.name in ("preload", "record"):
                yield Diagnosis("missing", ability.name, f"{ability.name} does not work: {ability.why_not}.")


def _time(document: Examination) -> Iterator[Diagnosis]:
    facts = document.facts
    cores, load, quota = facts.cores, facts.load, facts.cpu_quota_cores
    if cores == 1:
        yield Diagnosis("warning", "cores", "There is one core: threads never run at the same time, so the cost of "
                      "contention cannot be measured here.")  # fmt: skip
    if load is not None and load > 0.5 * cores:
        yield Diagnosis("warning", "cores", f"Other work is running (load {load:.2g} on {cores} cores): rounds are "
                      "noisier than necessary.")  # fmt: skip
    if quota is not None and quota < cores:
        yield Diagnosis("warning", "cores", f"The container may use {quota:.2g} of {cores} cores: wall times "
                      "jump when it is throttled; trust CPU time.")  # fmt: skip
    if facts.governor not in (None, "performance"):
        yield Diagnosis("warning", "clock", f"The CPU frequency governor is {facts.governor!r}: short programs run at "
                      "changing clock rates. Interleaved rounds reduce this effect but do not remove it.")  # fmt: skip
    clock = document.cost("clock") or 0.0
    if facts.clock_source not in (None, "tsc") and clock > _SLOW_CLOCK_NS:
        yield Diagnosis("warning", "clock", f"The kernel's clock source is {facts.clock_source!r}, and reading it "
                      f"costs {ns_text(clock)}: programs that read it often are slow here.")  # fmt: skip
    if document.time_stamp_is_invariant is False:
        yield Diagnosis("warning", "clock", "The time stamp counter has no constant rate: do not trust the times in a "
                      "trace, nor the order of events of different threads.")  # fmt: skip
    if facts.virtual:
        yield Diagnosis("note", "system", "This is a virtual machine: other guests cause noise, and page faults and "
                      "memory are slower than on bare hardware. Figures hold for machines like this one.")  # fmt: skip


def _counters(document: Examination) -> Iterator[Diagnosis]:
    counters = document.counters
    if document.why_no_probe:
        yield Diagnosis(
            "warning", "costs", f"Costs of basic operations and hardware counters are unknown: {document.why_no_probe}."
        )
    hardware = [c for c in counters if c.name not in ("task_clock", "page_faults")]
    absent = [c for c in hardware if not c.available]
    if absent:
        names = list_text([c.name for c in absent])
        yield Diagnosis("note", "counters", f"Not counted here: {names} ({absent[0].why_not}). No result of Millpond "
                      "needs them: times are CPU times, and the D score is computed from references."
                      f"{_counting_cure(document, absent[0].why_not or '')}")  # fmt: skip
    elif hardware:
        yield Diagnosis("note", "counters", "Hardware counters work: instructions and cache misses can be counted.")


def _counting_cure(document: Examination, why_not: str) -> str:
    """A sentence on how to allow counters that the kernel forbids; empty if it forbids none."""
    if "forb" not in why_not:
        return ""
    level = document.facts.perf_event_paranoid or ""
    if level.lstrip("-").isdigit() and int(level) > _PARANOID_MOST:
        return f" To have them: `sudo sysctl kernel.perf_event_paranoid={_PARANOID_MOST}`."
    filtered = document.facts.seccomp == "filter"
    return f" To have them: start the container with {_WITHOUT_FILTER}." if filtered else ""


def _pages(document: Examination) -> Iterator[Diagnosis]:
    fault, pair = document.cost("page_fault"), document.cost("allocation")
    if fault and pair:
        yield Diagnosis("note", "page faults", f"A page fault costs {ns_text(fault)}, as much as {fault / pair:.0f} "
                      f"pairs of malloc and free ({ns_text(pair)}): an allocator that keeps memory saves time, and "
                      "page faults explain more of a difference between allocators than calls do.")  # fmt: skip
    policy, huge = document.facts.huge_pages, document.costs.get("huge_page_fault")
    if huge is None or huge.median is None:
        why = (huge and huge.why_null) or f"policy {policy or 'unknown'}"
        cure = f": `echo madvise | sudo tee {_HUGE_PAGES}` gives them to those who ask" if policy == "never" else ""
        yield Diagnosis("note", "huge pages", f"There are no huge pages ({why}): the effect `huge_pages` is zero here, "
                      f"but may not be on other machines{cure}.")  # fmt: skip
        return
    small = (fault or 0) * _SMALL_PAGES_IN_A_HUGE_ONE
    costs = f"touching 2 MiB takes {ns_text(huge.median)} as one huge page, {ns_text(small)} as small pages"
    if policy == "always":
        yield Diagnosis("note", "huge pages", "The kernel gives huge pages without a request: resident bytes then grow "
                      f"in steps of 2 MiB, and a request for them changes little ({costs}).")  # fmt: skip
    else:
        yield Diagnosis("note", "huge pages", f"Programs get huge pages on request (policy {policy}): {costs}. The "
                      "effect `huge_pages` shows what the request changes.")  # fmt: skip


def _memory(document: Examination) -> Iterator[Diagnosis]:
    facts = document.facts
    if facts.overcommit == "never":
        yield Diagnosis("warning", "overcommit", "The kernel never overcommits memory: address ranges that pools "
                      "reserve count as used, so a trial may get only smaller ranges, or fail.")  # fmt: skip
    limit = facts.limits["address_space"].value
    if limit is not None and limit < _SMALL_ADDRESS_SPACE_BYTES:
        yield Diagnosis("warning", "limits", f"`ulimit -v` allows {bytes_text(limit)} of address space: recording and "
                      "trials reserve more than they use, and may fail.")  # fmt: skip
    available, allowed = facts.available_bytes, facts.memory_limit_bytes
    if allowed is not None and (available is None or allowed < available):
        yield Diagnosis("note", "memory", f"The container allows {bytes_text(allowed)} of memory. Near this limit the "
                      "kernel reclaims memory or kills the program, with any allocator.")  # fmt: skip
    if facts.address_randomisation == "0":
        yield Diagnosis("warning", "addresses", "Addresses are not randomised: every round has the same layout, so all "
                      "rounds share its good or bad luck, and intervals do not show it.")  # fmt: skip
    elif facts.address_randomisation is not None:
        yield Diagnosis("note", "addresses", "Addresses are randomised: each round has another layout, and intervals "
                      "include this effect. Addresses of two runs cannot be compared.")  # fmt: skip


def _process(document: Examination) -> Iterator[Diagnosis]:
    facts = document.facts
    if facts.preloaded:
        yield Diagnosis("warning", "preload", f"LD_PRELOAD is already set ({facts.preloaded}): every program is "
                      "measured with it, and a malloc in it replaces the C library's.")  # fmt: skip
    if facts.seccomp == "filter":
        yield Diagnosis("note", "system", "A filter of system calls is active (most likely a container's): a call that "
                      "it forbids looks like a failure of the program. A container that is started with "
                      f"{_WITHOUT_FILTER} has none.")  # fmt: skip
    tracing = next((a for a in document.works if a.name == "ptrace"), None)
    if tracing is not None and not tracing.available:
        yama = f"; yama's ptrace_scope is {facts.ptrace_scope}" if facts.ptrace_scope not in (None, "0") else ""
        yield Diagnosis("note", "ptrace", f"Processes cannot be traced ({tracing.why_not}{yama}). Millpond does not "
                      "need to: it starts the programs that it records.")  # fmt: skip
    if facts.debug_servers is None:
        yield Diagnosis("note", "debug files", "No debug file is downloaded: functions of stripped libraries have no "
                      "names. Set DEBUGINFOD_URLS to your distribution's server, or install "
                      "their debug packages.")  # fmt: skip
    size = facts.limits["file_size"].value
    if size is not None:
        yield Diagnosis("warning", "limits", f"`ulimit -f` limits every file to {bytes_text(size)}: a larger trace "
                      "is cut off there.")  # fmt: skip


def _store(document: Examination) -> Iterator[Diagnosis]:
    store = document.store
    if not store.writable:
        yield Diagnosis("missing", "store", f"The store {store.path} cannot be written: {store.why_not}; choose "
                      "another place with --store.")  # fmt: skip
    places = (("the store", store.free_bytes), ("temporary files, where traces lie", store.temporary_free_bytes))
    for name, free in places:
        if free < _LITTLE_SPACE_BYTES:
            yield Diagnosis("warning", "disk", f"{bytes_text(free)} are free for {name}: a recording takes about "
                          "four bytes per event, and ten while it runs.")  # fmt: skip


def _noise(document: Examination) -> Iterator[Diagnosis]:
    noise = document.noise
    cpu = next((n for n in noise.metrics if n.metric == "cpu_seconds"), None)
    if cpu is None:
        yield Diagnosis("warning", "noise", f"The noise of this machine is unknown: {noise.why_null}.")
        return
    floor = cpu.floor
    text = (
        f"Two equal contenders differed by up to {100 * floor:.1f} % in CPU time over {noise.rounds} rounds of "
        f"{seconds_text(cpu.round)}, and single rounds by {100 * cpu.spread:.1f} %"
    )
    if floor > _NOISY:
        yield Diagnosis("warning", "noise", f"{text}: smaller effects are lost in the noise; a larger --budget or a "
                      "quieter machine shows them.")  # fmt: skip
    else:
        least = max(floor, MINIMUM_EFFECT)
        yield Diagnosis(
            "note", "noise", f"{text}: effects of about {100 * least:.1f} % and more stand out from the noise."
        )


def _replay(document: Examination) -> Iterator[Diagnosis]:
    installed = document.installed
    if installed.missing_mallocs and len(installed.mallocs) < 3:
        names, packages = list(installed.missing_mallocs), sorted(set(installed.missing_mallocs.values()))
        yield Diagnosis("note", "mallocs", f"Not installed: {list_text(names)}. `millpond advise` runs without them, "
                      "and the validation of replay compares fewer pairs. To have them: "
                      f"`sudo apt-get install {' '.join(packages)}`.")  # fmt: skip
    error = document.replay_error
    if error is not None:
        yield Diagnosis("note" if error.validated else "warning", "replay", error.sentence)
