# SPDX-License-Identifier: BSL-1.0
"""The points that each experiment of the study of 1993 makes from a capture: parameters, and values from counts."""

from __future__ import annotations

from collections.abc import Iterable

from millpond_bench.experiments.experiment_data import Parameters
from millpond_bench.programs.grunwald1993_captures import CACHES_KIBIBYTES, LINES_BYTES
from millpond_bench.programs.grunwald1993_predictions import SHAPES
from millpond_bench.programs.page_faults import MEMORIES_KIBIBYTES
from millpond_bench.runs.capture_run import Values
from millpond_bench.tables import grunwald1993_tables as printed

FAULT_SECONDS = 0.016  # a seek and half a turn of a disk of 1993; ours, the document has no figure
_ATTRIBUTED = 64  # KB of the cache whose misses are attributed to the code that made them


# What statements suppose of a program (the premises in claims/grunwald1993.toml), at every point.
FACTS = ("objects_allocated", "allocator_share")


def _facts(values: Values) -> dict[str, float]:
    """The objects of a program, and the share of its instructions in allocation, as far as they were counted."""
    found = _kept(values, "objects_allocated")
    if "allocator_instructions" in values:
        found["allocator_share"] = 100 * values["allocator_instructions"] / values["instructions_executed"]
    return found


def of_programs(values: Values, _base: Values | None) -> Iterable[tuple[Parameters, Values]]:
    objects = max(1.0, values["objects_allocated"])
    yield (), {
        **values, **_facts(values), "references_1e6": values["references"] / 1e6,
        **({"examined_each": values["examined_objects"] / objects} if "examined_objects" in values else {}),
        **_of_insertions(values), **_mean_object(values), "freed_share": values["objects_freed"] / objects,
    }  # fmt: skip


def _of_insertions(values: Values) -> dict[str, float]:
    """The nodes and pages that an insertion into a doubly linked list writes, on average, if there are such lists."""
    if not values.get("insertions"):
        return {}
    return {f"{name}_each": values[name] / values["insertions"] for name in ("relinked_nodes", "relinked_pages")}


def of_pages(values: Values, _base: Values | None) -> Iterable[tuple[Parameters, Values]]:
    for size in MEMORIES_KIBIBYTES:
        yield (("memory", str(size)),), {**values, **_facts(values), **_of_faults(values, size)}


def _of_faults(values: Values, size: int) -> dict[str, float]:
    """Faults of one memory, and `paged_seconds`: no misses, but faults that each wait for a disk. Empty for a round
    without distances of pages.
    """
    faults = values.get(f"faults_{size}")
    if faults is None:
        return {}
    per_million = 1e6 / values["references"]
    base = values["instructions_executed"] * printed.CYCLE_SECONDS
    return {"faults_a_million": faults * per_million, "warm_faults_a_million": (faults - values["pages"]) * per_million,
            "paged_seconds": base + faults * FAULT_SECONDS}  # fmt: skip


def of_times(values: Values, _base: Values | None) -> Iterable[tuple[Parameters, Values]]:
    base = values["instructions_executed"] * printed.CYCLE_SECONDS
    for size in CACHES_KIBIBYTES:
        missed = values.get(f"misses_32_{size}")
        if not missed:
            continue
        waiting = {p: missed * p * printed.CYCLE_SECONDS for p in printed.PENALTIES}
        total = base + waiting[printed.PENALTY_CYCLES]
        yield (
            (("cache", str(size)),),
            {**_facts(values), **_mean_object(values),
             "time_seconds": total, "base_seconds": base, "miss_seconds": waiting[printed.PENALTY_CYCLES],
             "miss_share": waiting[printed.PENALTY_CYCLES] / total,
             "misses_a_thousand": 1000 * missed / values["instructions_executed"],
             **{name: own / missed for name, own in _told_apart(values, size).items()},
             **{f"seconds_at_{p}": base + waiting[p] for p in printed.PENALTIES},
             **_direct(values, size)},
        )  # fmt: skip


def _mean_object(values: Values) -> dict[str, float]:
    """The mean size of an object, if a capture has a census of sizes."""
    if "requested_bytes" not in values:
        return {}
    return {"mean_object_bytes": values["requested_bytes"] / max(1.0, values["objects_allocated"])}


def _direct(values: Values, size: int) -> dict[str, float]:
    """The allocator's own misses in a thousand instructions of the program, and the share of the bytes of cached lines
    that it accessed last, if a capture separates them.
    """
    if "allocator_misses" not in values or size != _ATTRIBUTED:
        return {}
    found = {"direct_misses_a_thousand": 1000 * values["allocator_misses"] / values["instructions_executed"]}
    if values.get("fetched_bytes"):
        found["allocator_held_share"] = values["allocator_bytes"] / values["fetched_bytes"]
    return found


def of_classes(values: Values, base: Values | None) -> Iterable[tuple[Parameters, Values]]:
    """The times, with what size classes decide: bytes lost in blocks, and blocks made for a thousand objects."""
    objects = max(1.0, values["objects_allocated"])
    decided = {
        "lost_share": values["lost_bytes"] / max(1.0, values["granted_bytes"]),
        "fresh_a_thousand": 1000 * values["blocks"] / objects,
        "freed_share": values["objects_freed"] / objects,
        **_kept(values, "heap_bytes"),
    }
    for point, found in of_times(values, base):
        yield point, {**found, **decided}


def _told_apart(values: Values, size: int) -> dict[str, float]:
    """Misses of first touches, and of the allocator's own accesses, if a capture separates them."""
    if "cold_misses" not in values:
        return {}
    cold = {"cold_share": values["cold_misses"]}
    own = values["allocator_misses"] + values["indirect_misses"]
    return {**cold, "own_miss_share": own} if size == _ATTRIBUTED else cold


def of_caches(values: Values, _base: Values | None) -> Iterable[tuple[Parameters, Values]]:
    for line in LINES_BYTES:
        for size in CACHES_KIBIBYTES:
            missed = values[f"misses_{line}_{size}"]
            yield (
                (("line", str(line)), ("cache", str(size))),
                {**_facts(values), **_kept(values, "heap_bytes"),
                 "miss_rate": 100 * missed / values["references"], "misses": missed,
                 **({"around_rate": 100 * values[around] / values["references"]}
                    if line == 32 and (around := f"around_misses_{size}") in values else {}),
                 "level_1_rate": 100 * values["level_1_misses"] / values["references"],
                 "level_2_rate": 100 * values["level_2_misses"] / values["references"],
                 "base_seconds": values["instructions_executed"] * printed.CYCLE_SECONDS},
            )  # fmt: skip


def of_tags(values: Values, without: Values | None) -> Iterable[tuple[Parameters, Values]]:
    """Penalties as shares of the time without tags, at each cost of a miss."""
    if without is None:
        return
    found = {**_facts(values), "miss_rate": 100 * values["misses_32_64"] / values["references"],
             "program_misses": values["misses_32_64"] - values["allocator_misses"],
             **_kept(values, "heap_bytes")}  # fmt: skip
    for penalty in printed.PENALTIES:
        waiting = penalty * values["misses_32_64"]
        before = penalty * without["misses_32_64"]
        whole = without["instructions_executed"] + before
        found[f"tag_penalty_at_{penalty}"] = added = 100 * (waiting - before) / whole
        if penalty == printed.PENALTIES[-1] and found["tag_penalty"]:
            found["tag_growth"] = added / found["tag_penalty"]
        if penalty == printed.PENALTY_CYCLES:
            found |= {"miss_penalty": 100 * waiting / whole, "tag_penalty": 100 * (waiting - before) / whole,
                      "slower": 100 * ((values["instructions_executed"] + waiting) / whole - 1)}  # fmt: skip
    yield (), found


def _kept(values: Values, *names: str) -> dict[str, float]:
    """The optional values of a capture: an allocator may not report its heap."""
    return {name: values[name] for name in names if name in values}


def of_lifetimes(values: Values, _base: Values | None) -> Iterable[tuple[Parameters, Values]]:
    """The share of the bytes that die soon which were predicted to, and the wrong share of the predicted ones."""
    right = values["predicted_bytes"] - values["wrong_bytes"]
    yield (), {
        **values, "right_share": right / max(1.0, values["short_bytes"]),
        "wrong_share": values["wrong_bytes"] / max(1.0, values["predicted_bytes"]),
        "short_share": values["short_bytes"] / max(1.0, values["requested_bytes"]),
    }  # fmt: skip


def of_model(values: Values, _base: Values | None) -> Iterable[tuple[Parameters, Values]]:
    """Ours: with two levels of cache and this machine's latencies. The paper's: its table 5 divided by its table 2."""
    yield (), {**values, **_facts(values), "model_to_measured": values["model_seconds"] / values["cpu_seconds"]}


def of_predictions(values: Values, _base: Values | None) -> Iterable[tuple[Parameters, Values]]:
    for name in SHAPES:
        predicted, direct = values[f"predicted_{name}"], values[f"direct_{name}"]
        yield (
            (("cache", name),),
            {"predicted_to_direct": predicted / direct, "predicted_misses": predicted, "direct_misses": direct},
        )
