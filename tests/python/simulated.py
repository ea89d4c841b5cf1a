# SPDX-License-Identifier: BSL-1.0
"""Made-up documents of `millpond trace simulate`: one loop over lines, whose misses are easy to work out."""

from __future__ import annotations

from typing import Any

LINES, ROUNDS, LINE_BYTES = 512, 100, 32
REFERENCES = LINES * ROUNDS


def place(ways: int, size: int, line: int = LINE_BYTES) -> dict[str, int]:
    return {"cache_bytes": size, "sets": size // line // ways, "ways": ways, "line_bytes": line}


def references() -> dict[str, Any]:
    return {"metric": "references", "unit": "references", "value": REFERENCES}


def cache(ways: int, size: int, misses: int) -> dict[str, Any]:
    return {"metric": "misses", "unit": "references", "value": misses, **place(ways, size)}


def times(ways: int, size: int, misses: int) -> list[dict[str, Any]]:
    return [{"metric": "time", "unit": "cycles", "value": 2.0 * REFERENCES + misses * p, "miss_penalty_cycles": p,
             **place(ways, size)} for p in (10.0, 25.0)]  # fmt: skip


def distances(block: int, distinct: int) -> dict[str, Any]:
    """Returns the distances of a loop over `distinct` blocks: half of the references repeat the last block."""
    stay = REFERENCES // 2
    return {
        "description": f"distances:line={block}",
        "metrics": [{**references(), "line_bytes": block},
                    {"metric": "cold", "unit": "references", "value": distinct, "line_bytes": block}],
        "curve": [[0, stay], [distinct - 1, REFERENCES - stay - distinct]],
    }  # fmt: skip


def document(path: str = "loop.mpt", misses: int = 8000) -> dict[str, Any]:
    """Returns a document with direct-mapped caches of 8 and 16 KiB, two 2-way caches, all sizes of lines and pages."""
    return {
        "schema": "millpond.simulation/1",
        "input": {"path": path, "format": "recording", "instructions": 2 * REFERENCES, "references": REFERENCES,
                  "loads": REFERENCES, "stores": 0, "modifications": 0},
        "rules": {"straddling_access": "once", "modification": "once", "access_bytes_max": 0,
                  "flush_references": 0, "flush_instructions": 0},
        "simulators": [
            {"description": "direct:line=32,size=8K/16K",
             "metrics": [references(), cache(1, 8192, misses), cache(1, 16384, LINES)],
             "time": [*times(1, 8192, misses), *times(1, 16384, LINES)]},
            {"description": "lru:line=32,sets=128-256,ways=2",
             "metrics": [references(), cache(2, 8192, misses // 2), cache(2, 16384, LINES)]},
            distances(LINE_BYTES, LINES), distances(4096, 4),
        ],
    }  # fmt: skip


def level_time() -> dict[str, Any]:
    parts = [("instructions", 2 * REFERENCES, 0.5), ("level 1", REFERENCES, 1.0), ("memory", LINES, 80.0)]
    return {
        "metric": "time_by_level", "unit": "seconds", "value": 1.4e-4, "cycles": 2.9e5,
        "simulator": "levels:size=32K,ways=8", "translation": None,
        "latencies": "doctor.json (a mill)", "cycle_ns": 0.5, "cycles_per_instruction": 1.0,
        "parts": [{"part": p, "count": n, "ns_each": ns, "value": n * ns * 1e-9} for p, n, ns in parts],
        "assumptions": ["nothing overlaps"],
    }  # fmt: skip
