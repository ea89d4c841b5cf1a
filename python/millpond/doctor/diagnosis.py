# SPDX-License-Identifier: BSL-1.0
"""What follows from an examination for the results, in sentences. Pure: a document goes in, findings come out."""

from __future__ import annotations

from collections.abc import Iterator

from millpond.doctor.examination_data import Examination, Finding
from millpond.statistics.order_statistics import MINIMUM_EFFECT
from millpond.system.wording import bytes_text, list_text, seconds_text

_SMALL_PAGES_IN_A_HUGE_ONE = 512
_LITTLE_SPACE_BYTES = 2_000_000_000
_SMALL_ADDRESS_SPACE_BYTES = 64 * 2**30
_NOISY = 0.03
_SLOW_CLOCK_NS = 200.0


def diagnose(document: Examination) -> list[Finding]:
    """The findings, what is missing first."""
    parts = (_needs, _time, _counters, _pages, _memory, _process, _store, _noise, _replay)
    found = [finding for part in parts for finding in part(document)]
    order = {"missing": 0, "warning": 1, "note": 2}
    return sorted(found, key=lambda f: order[f.level])


def ns_text(ns: float | None) -> str:
    """Nanoseconds in the unit that suits them."""
    if ns is None:
        return "–"
    return f"{ns:.0f} ns" if ns < 1000 else seconds_text(ns * 1e-9)


def _needs(document: Examination) -> Iterator[Finding]:
    facts, installed = document.facts, document.installed
    if facts.system != "Linux" or facts.architecture != "x86_64":
        where = f"{facts.system} on {facts.architecture}"
        yield Finding("missing", "system", f"Programs are recorded and tried on x86-64 Linux only; this is {where}.")
    absent = [p for p in [*installed.programs, *installed.libraries] if p.path is None]
    needed = [p.name for p in absent if p.needed]
    if needed:
        yield Finding("missing", "installed", f"{list_text(needed)} cannot be found: build Millpond with `make`, or "
                      "set MILLPOND_BIN to the folder that has the programs.")  # fmt: skip
    for program in absent:
        if not program.needed:
            yield Finding("warning", "installed", f"{program.name} cannot be found, without which there is no "
                          f"{program.without}.")  # fmt: skip
    if not needed:
        for ability in document.works:
            if not ability.available and ability.name in ("preload", "record"):
                yield Finding("missing", ability.name, f"{ability.name} does not work: {ability.why_not}.")


def _time(document: Examination) -> Iterator[Finding]:
    facts = document.facts
    cores, load, quota = facts.cores, facts.load, facts.cpu_quota_cores
    if cores == 1:
        yield Finding("warning", "cores", "There is one core: threads never run at once, so that what contention costs "
                      "cannot be seen here.")  # fmt: skip
    if load is not None and load > 0.5 * cores:
        yield Finding("warning", "cores", f"Other work is running (load {load:.2g} on {cores} cores): rounds are "
                      "noisier than they need be.")  # fmt: skip
    if quota is not None and quota < cores:
        yield Finding("warning", "cores", f"The container may use the time of {quota:.2g} of {cores} cores: wall times "
                      "jump where it is held back; trust CPU time.")  # fmt: skip
    if facts.governor not in (None, "performance"):
        yield Finding("warning", "clock", f"The clock rate is governed by {facts.governor!r}: short programs run at "
                      "changing rates. Interleaved rounds lessen that, and do not remove it.")  # fmt: skip
    clock = document.cost("clock") or 0.0
    if facts.clock_source not in (None, "tsc") and clock > _SLOW_CLOCK_NS:
        yield Finding("warning", "clock", f"The kernel takes the time from {facts.clock_source!r}, and reading it "
                      f"costs {ns_text(clock)}: programs that do so often are slow here.")  # fmt: skip
    if document.time_stamp_is_invariant is False:
        yield Finding("warning", "clock", "The time stamp counter changes its rate: the order of events of several "
                      "threads in a trace, and times inside it, are not to be trusted.")  # fmt: skip
    if facts.virtual:
        yield Finding("note", "system", "This is a virtual machine: neighbours show as noise, and page faults and "
                      "memory are slower than on the metal. Figures hold for machines like this one.")  # fmt: skip


def _counters(document: Examination) -> Iterator[Finding]:
    counters = document.counters
    if document.why_no_probe:
        yield Finding("warning", "costs", f"Costs and counters are unknown: {document.why_no_probe}.")
    hardware = [c for c in counters if c.name not in ("task_clock", "page_faults")]
    absent = [c for c in hardware if not c.available]
    if absent:
        names = list_text([c.name for c in absent])
        yield Finding("note", "counters", f"Not counted here: {names} ({absent[0].why_not}). No figure of Millpond "
                      "needs them: times are CPU times, and D is counted from references.")  # fmt: skip
    elif hardware:
        yield Finding("note", "counters", "Hardware counters work: instructions and cache misses can be counted.")


def _pages(document: Examination) -> Iterator[Finding]:
    fault, pair = document.cost("page_fault"), document.cost("allocation")
    if fault and pair:
        yield Finding("note", "page faults", f"A page fault costs {ns_text(fault)}, as much as {fault / pair:.0f} "
                      f"pairs of malloc and free ({ns_text(pair)}): an allocator that keeps memory saves time, and "
                      "page faults explain more of a difference than calls do.")  # fmt: skip
    policy, huge = document.facts.huge_pages, document.costs.get("huge_page_fault")
    if huge is None or huge.median is None:
        why = (huge and huge.why_null) or f"policy {policy or 'unknown'}"
        yield Finding("note", "huge pages", f"There are no huge pages ({why}): the effect `huge_pages` is none here, "
                      "and may be one elsewhere.")  # fmt: skip
        return
    small = (fault or 0) * _SMALL_PAGES_IN_A_HUGE_ONE
    costs = f"2 MiB are touched in {ns_text(huge.median)} as one huge page, in {ns_text(small)} as small ones"
    if policy == "always":
        yield Finding("note", "huge pages", "The kernel gives huge pages unasked: resident bytes come in steps of "
                      f"2 MiB where it does, and asking for them changes little ({costs}).")  # fmt: skip
    else:
        yield Finding("note", "huge pages", f"Huge pages go to those who ask (policy {policy}): {costs}. The effect "
                      "`huge_pages` shows what asking gives.")  # fmt: skip


def _memory(document: Examination) -> Iterator[Finding]:
    facts = document.facts
    if facts.overcommit == "never":
        yield Finding("warning", "overcommit", "Memory is never overcommitted: address ranges that pools reserve count "
                      "at once, and a trial may have to make do with smaller ones, or fail.")  # fmt: skip
    limit = facts.limits["address_space"].value
    if limit is not None and limit < _SMALL_ADDRESS_SPACE_BYTES:
        yield Finding("warning", "limits", f"`ulimit -v` allows {bytes_text(limit)} of address space: recording and "
                      "trials reserve more than they use, and may fail.")  # fmt: skip
    available, allowed = facts.available_bytes, facts.memory_limit_bytes
    if allowed is not None and (available is None or allowed < available):
        yield Finding("note", "memory", f"The container allows {bytes_text(allowed)}: a program that comes near it is "
                      "killed or reclaimed from, which no allocator is to blame for.")  # fmt: skip
    if facts.address_randomisation == "0":
        yield Finding("warning", "addresses", "Addresses are not randomised: every round has the same layout, so that "
                      "the luck of one layout is in all of them, and in no interval.")  # fmt: skip
    elif facts.address_randomisation is not None:
        yield Finding("note", "addresses", "Addresses are randomised: each round has another layout, and intervals "
                      "contain what that changes. Addresses of two runs cannot be compared.")  # fmt: skip


def _process(document: Examination) -> Iterator[Finding]:
    facts = document.facts
    if facts.preloaded:
        yield Finding("warning", "preload", f"LD_PRELOAD is set already ({facts.preloaded}): every program is "
                      "measured with it, and a malloc in it takes the C library's place.")  # fmt: skip
    if facts.seccomp == "filter":
        yield Finding("note", "system", "A filter of system calls is around us (a container's, most likely): what it "
                      "forbids looks like a fault of the program.")  # fmt: skip
    tracing = next((a for a in document.works if a.name == "ptrace"), None)
    if tracing is not None and not tracing.available:
        yield Finding("note", "ptrace", f"Processes cannot be traced ({tracing.why_not}). Millpond never does.")
    size = facts.limits["file_size"].value
    if size is not None:
        yield Finding("warning", "limits", f"`ulimit -f` ends every file at {bytes_text(size)}: a trace that would be "
                      "larger is cut there.")  # fmt: skip


def _store(document: Examination) -> Iterator[Finding]:
    store = document.store
    if not store.writable:
        yield Finding("missing", "store", f"The store {store.path} cannot be written: {store.why_not}; --store "
                      "names another place.")  # fmt: skip
    places = (("the store", store.free_bytes), ("temporary files, where traces lie", store.temporary_free_bytes))
    for name, free in places:
        if free < _LITTLE_SPACE_BYTES:
            yield Finding("warning", "disk", f"{bytes_text(free)} are left for {name}: a recording takes about "
                          "four bytes an event, ten while it runs.")  # fmt: skip


def _noise(document: Examination) -> Iterator[Finding]:
    noise = document.noise
    cpu = next((n for n in noise.metrics if n.metric == "cpu_seconds"), None)
    if cpu is None:
        yield Finding("warning", "noise", f"The noise of this machine is unknown: {noise.why_null}.")
        return
    floor = cpu.floor
    words = (
        f"Two equal contenders differed by up to {100 * floor:.1f} % in CPU time over {noise.rounds} rounds of "
        f"{seconds_text(cpu.round)}, and single rounds by {100 * cpu.spread:.1f} %"
    )
    if floor > _NOISY:
        yield Finding("warning", "noise", f"{words}: smaller effects are lost in the noise; a larger --budget, or a "
                      "quieter hour, shows them.")  # fmt: skip
    else:
        least = max(floor, MINIMUM_EFFECT)
        yield Finding("note", "noise", f"{words}: effects from about {100 * least:.1f} % on can be told from noise.")


def _replay(document: Examination) -> Iterator[Finding]:
    installed = document.installed
    if installed.missing_mallocs and len(installed.mallocs) < 3:
        names = [f"{name} ({package})" for name, package in installed.missing_mallocs.items()]
        yield Finding("note", "mallocs", f"Not installed: {list_text(names)}; `trial` does without, and replay is "
                      "validated on fewer pairs.")  # fmt: skip
    error = document.replay_error
    if error is not None:
        yield Finding("note" if error.validated else "warning", "replay", error.sentence)
