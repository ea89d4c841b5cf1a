# SPDX-License-Identifier: BSL-1.0
"""Fakes millpond-library-suite: the same command line and JSON, with figures from the test.

`capture` replaces `native.capture`. Keys of `config`, each by the contender's name in cells:
  ns          {contender: ns a unit}, 40 for the others; ours 20, ideals 19.5, trees 100
  bytes       {contender: resident bytes}, 10 MB for the others
  bad_alloc   contenders that run out of memory          dies     contenders that die of SIGSEGV
  checksum    {contender: another checksum}              unloaded libraries that the loader refuses
  counts      {(workload, contender): instructions}      after    {contender: ns after shuffling}
  left        {contender: bytes at the end}, a hundredth of all slots for the others
  pauses      {contender: ns}, ours 3, the control's 1, 100 for the others
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from millpond.system.native import ProgramOutput

LIBC = "/lib/x86_64-linux-gnu/libc.so.6"
SOURCES = ("pmr_monotonic", "pmr_pool", "boost_monotonic", "boost_pool", "multipool_2015")
OURS = ("multipool", "monotonic", "multipool:base", "monotonic:base", "multipool:wink", "synchronized_multipool")
HEAPS = ("pool_alloc", "mt_alloc", "fast_pool", "fast_pool_no_mutex")
LOCKED = ("pmr_synchronized_pool", "boost_synchronized_pool")
IDEALS = ("ideal_bump", "ideal_free_list")
ARRAYS = ("dyn_array", "dyn_array:cleared")
HEAP_ARRAYS = ("vector", "vector:cleared", "deque", "realloc")
GROWING = ("dyn_array", "vector", "deque", "realloc", "mremap", "reserved")
SLOTS = ("compact_pool", "suballocator", "pooled_set")
JOINED = ("small_sets", "small_lists", "merged_sets", "spliced_lists")
TREES = ("vector_tree", "pooled_vector_tree", "ordered_set", "pooled_ordered_set", "counted_set", "pooled_counted_set")
TREE_PEERS = ("rope", "pb_ds_tree", "set", "btree_set", "boost_set", "flat_set")
NUMBERS = ("set_of_numbers", "set_life", "sequence", "sequence_crossing", "ordered_numbers", "small_ordered_numbers",
           "ranked_numbers")  # fmt: skip
LOCAL = (*OURS[:5], *SOURCES, *(f"{s}:kept" for s in SOURCES), *HEAPS, *IDEALS, "malloc", "adapter")
WORKLOADS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(
        ("vector_string", "unordered_set_int", "unordered_set_string", "vector_vector_string",
         "vector_unordered_set_int", "vector_unordered_set_string", "vector_int", "unique_characters", "threads_own",
         "free_allocate", "size_sweep", "lists_shuffled", "churn_fifo", "churn_random", "vector_int_64"),
        LOCAL,
    ),
    "threads_own": (*LOCAL, "synchronized_multipool", *LOCKED),
    "random_sizes": (*LOCAL[:-1], "synchronized_multipool", *LOCKED),
    "threads_handover": ("synchronized_multipool", *LOCKED, "malloc"),
    "construct_empty": OURS[:2],
    **dict.fromkeys(("push_back", "push_back_huge", "push_back_pauses"), GROWING),
    **dict.fromkeys(("small_array_int", "small_array_unique"), (*ARRAYS, *HEAP_ARRAYS[:2])),
    "commit_steps": ARRAYS[:1],
    **dict.fromkeys(("slots", "slots_sparse"), (SLOTS[0], *HEAPS, *SOURCES, *LOCKED, "malloc")),
    "slots_pairs": SLOTS[:1],
    **dict.fromkeys(("sequence", "sequence_crossing"), (*TREES[:2], *TREE_PEERS[:2], "vector", "deque")),
    **dict.fromkeys(("ordered_numbers", "small_ordered_numbers"), (*TREES[2:], *TREE_PEERS[2:])),
    "ranked_numbers": (*TREES[2:], TREE_PEERS[1]),
    **dict.fromkeys(JOINED, ("pooled", "standard")),
    "set_of_numbers": (*SLOTS, *HEAPS, *SOURCES, *LOCKED, "malloc"),
    "set_life": (*SLOTS, *OURS[:2], *HEAPS, *SOURCES, *LOCKED, "malloc"),
}  # fmt: skip


def listed() -> dict[str, Any]:
    def contender(name: str, kind: str, source: str) -> dict[str, Any]:
        return {"name": name, "alias": None, "source": source, "kind": kind, "package": None, "version": "1",
                "is_built_in": True}  # fmt: skip

    kinds = [contender(n, "ours", "default") for n in OURS]
    for name in SOURCES:
        kind = "monotonic_peer" if "monotonic" in name else "pool_peer"
        kinds += [contender(name, kind, "default"), contender(f"{name}:kept", kind, "kept")]
    kinds += [contender(n, "pool_peer", "none") for n in (*HEAPS, *LOCKED, "adapter")]
    kinds += [contender(n, "ideal", "none") for n in IDEALS]
    kinds += [contender("malloc", "malloc", "none"), contender("mremap", "array", "none")]
    kinds += [contender(n, "ours", "none") for n in ARRAYS] + [contender(n, "heap_array", "none") for n in HEAP_ARRAYS]
    kinds += [contender("reserved", "ideal", "none")] + [
        contender(n, "ours", "none") for n in (*SLOTS, *TREES, "pooled")
    ]
    kinds += [contender(n, "tree", "none") for n in (*TREE_PEERS, "standard")]
    works = [{"name": n, "unit": "element", "parameters": [], "metrics": [], "contenders": list(c),
              "counted_functions": ["counted"]} for n, c in WORKLOADS.items()]  # fmt: skip
    return {"schema": "millpond.suite/2", "suite": "library", "workloads": works, "contenders": kinds}


class FakeSuite:
    """The fake program. `calls` are the command lines of rounds so far, after the contender's name."""

    def __init__(self, **config: Any) -> None:
        self.config = config
        self.calls: list[tuple[str, tuple[str, ...]]] = []
        self.environments: list[Mapping[str, str]] = []

    def capture(
        self, argv: Sequence[str], environment: Mapping[str, str], *, seconds: float | None = None,
        descriptors: Sequence[int] = (),
    ) -> ProgramOutput:  # fmt: skip
        del seconds, descriptors
        words = list(argv)
        library = environment.get("LD_PRELOAD", "")
        if any(refused in library for refused in self.config.get("unloaded", [])) and library:
            refusal = f"ERROR: ld.so: object '{library}' from LD_PRELOAD cannot be preloaded: ignored."
            return ProgramOutput(0, json.dumps({**listed(), "malloc": LIBC}), refusal)
        if "--list" in words:
            return ProgramOutput(0, json.dumps({**listed(), "malloc": library or LIBC}), "")
        given = {words[i]: words[i + 1] for i in range(len(words) - 1) if words[i].startswith("--")}
        name = self._name(given["--contender"], words[0], environment, given)
        self.calls.append((name, tuple(words)))
        self.environments.append(environment)
        known = ("multipool:hardened",) if words[0].endswith("-hardened") else WORKLOADS.get(given["--workload"], ())
        if given["--contender"] not in known:
            return ProgramOutput(2, "", f"millpond: {given['--workload']} has no contender {given['--contender']}")
        if "--instructions" in given:
            count = self.config.get("counts", {}).get((given["--workload"], name), 20)
            return ProgramOutput(0, "", f"==1== Collected : {100000 + count * int(given['--instructions'])}\n")
        return self._round(name, given, library or LIBC)

    def _round(self, name: str, given: Mapping[str, str], malloc: str) -> ProgramOutput:
        if name in self.config.get("dies", []):
            return ProgramOutput(-11, "", "")
        if name in self.config.get("bad_alloc", []):
            failed = {"schema": "millpond.suite/2", "status": "bad_alloc", "malloc": malloc}
            return ProgramOutput(0, json.dumps(failed), "")
        ours = name in (*OURS, *ARRAYS, *SLOTS, *TREES, "pooled") or name.startswith("multipool:")
        usual = 19.5 if name.startswith("ideal") else 20.0 if ours else 100.0 if name in TREE_PEERS else 40.0
        ns = float(self.config.get("ns", {}).get(name, usual))
        filled = 4 * int(given["--size"]) if given["--workload"].startswith("push_back") else 10_000_000
        resident = int(self.config.get("bytes", {}).get(name, filled))
        head = {"schema": "millpond.suite/2", "status": "ok", "workload": given["--workload"], "malloc": malloc,
                "checksum": str(self.config.get("checksum", {}).get(name, 7))}  # fmt: skip
        result: dict[str, float | None] = {
            "peak_bytes": 1_000_000 + resident, "end_bytes": 1_000_000, "resident_bytes": resident, "left_bytes": 0,
            "held_bytes": None, "page_faults": 3,
        }  # fmt: skip
        if given["--workload"].startswith("threads"):
            result |= {"wall_ns": ns}
        elif given["--workload"] == "lists_shuffled":
            result |= {"before_ns": 1.0, "after_ns": self.config.get("after", {}).get(name, ns / 20.0)}
        elif given["--workload"] == "push_back_pauses":
            usual = {"dyn_array": 3.0, "reserved": 1.0}.get(name, 100.0)
            result |= {"pause_ns": self.config.get("pauses", {}).get(name, usual)}
        elif given["--workload"] in ("size_sweep", "commit_steps"):
            result |= {f"step_ns:{16 << n}": ns + n for n in range(4)}
        elif given["--workload"].startswith("slots") or given["--workload"] in NUMBERS:
            full = int(self.config.get("bytes", {}).get(name, 8 * int(given["--size"])))
            left = int(self.config.get("left", {}).get(name, full // 100))
            result |= {"cold_ns": ns, "warm_ns": ns, "before_ns": ns, "after_ns": ns, "resident_bytes": full,
                       "left_bytes": left, "touched_bytes": full // 100}  # fmt: skip
        elif given["--workload"] == "random_sizes":
            left = int(self.config.get("left", {}).get(name, 12_000_000))
            result |= {"cold_ns": ns, "warm_ns": ns, "left_bytes": left, "touched_bytes": 10_000_000}
        else:
            result |= {"cold_ns": 2 * ns, "warm_ns": ns, "before_ns": 5.0, "after_ns": 2.0}
        return ProgramOutput(0, json.dumps({**head, "metrics": result}) + "\n", "")

    def _name(self, asked: str, program: str, environment: Mapping[str, str], given: Mapping[str, str]) -> str:
        tuned = any(n in environment for n in ("MALLOC_CONF", "MIMALLOC_LARGE_OS_PAGES", "TBB_MALLOC_USE_HUGE_PAGES"))
        huge = tuned or "hugetlb" in environment.get("GLIBC_TUNABLES", "")
        if asked in HEAP_ARRAYS:
            malloc = self._name("malloc", program, {"LD_PRELOAD": environment.get("LD_PRELOAD", "")}, given)
            return ("huge:" if huge else "") + (asked if malloc == "glibc" else f"{asked}@{malloc}")
        kept = ":kept" if "GLIBC_TUNABLES" in environment else ""
        if asked == "malloc":
            library = Path(environment.get("LD_PRELOAD", "")).name.removeprefix("lib")
            known = ("jemalloc", "mimalloc", "tcmalloc", "tbb")
            found = next((n for n in known if library.startswith(n)), library.partition(".")[0])
            return found or f"glibc{kept}"
        return (Path(given["--peer"]).stem if asked == "adapter" else asked) + kept
