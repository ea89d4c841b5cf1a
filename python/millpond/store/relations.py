# SPDX-License-Identifier: BSL-1.0
"""The relations of a store: their columns, and the conversion of documents to rows and back.

    observations   a row for each value of each round                 (millpond.observation/2; /1 is read, too)
    subsystems     a row for each subsystem of a characterised run    its figures as columns, all of it in `detail`
    contexts       a row for each node of a run's call tree           node i has its parent before it; 0 is no parent

The rest of a document lies in the footer of the Parquet file, so that nothing is lost.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import fields

from millpond.store.call_tree import COUNTS, CallTree
from millpond.store.column_table import NUMBER, TEXT, TRUTH, WHOLE, Columns, ColumnTable
from millpond.store.observations import FIELDS, Observation, require_texts
from millpond.store.store_files import Unreadable, about, read_parquet
from millpond.store.version_1 import FIELDS_1, of_version_1
from millpond.system.any_bytes import kept
from millpond.system.input_file import parse_json
from millpond.system.records import decode

_NUMERIC = {"value": NUMBER, "round": WHOLE, "exit_status": WHOLE, "signal": WHOLE}
_COUNTS = ("events", "allocations", "frees", "bytes", "peak_live_bytes", "end_live_bytes")
_LETTERS = ("D", "V", "L", "U", "C")

RELATIONS: Mapping[str, Columns] = {
    "observations": {name: _NUMERIC.get(name, TEXT) for name in FIELDS},
    "subsystems": {
        "run": TEXT, "position": WHOLE, "name": TEXT, "kind": TEXT, "named": TRUTH,
        **dict.fromkeys(_COUNTS, WHOLE), **dict.fromkeys(_LETTERS, NUMBER), "detail": TEXT,
    },
    "contexts": {
        "run": TEXT, "node": WHOLE, "parent": WHOLE, "function": TEXT, "subsystem": TEXT,
        **dict.fromkeys(COUNTS, WHOLE), "function_index": WHOLE, "subsystem_index": WHOLE,
    },
}  # fmt: skip


# A column that only observations of version 1 have.
OLD_COLUMN = "strategy"
_OBSERVATIONS_1: Columns = {name: _NUMERIC.get(name, TEXT) for name in FIELDS_1}
_JSON_TEXTS = ("parameters", "subject", "plan")
# The columns that every row of a relation has, and that its readers rely on.
_NEVER_NULL: Mapping[str, tuple[str, ...]] = {
    "observations": tuple(field.encode_name for field in fields(Observation) if field.required),
    "subsystems": ("run", "position", "name", "detail"),
    "contexts": ("run", "node", "parent", "function_index", "subsystem_index", *COUNTS),
}


def read(relation: str, path: Path) -> ColumnTable:
    """The relation's columns of a file, with every page and its texts checked. Raises Unreadable. O(size)."""
    table = read_parquet(path, RELATIONS[relation], *([_OBSERVATIONS_1] if relation == "observations" else []))
    try:
        if OLD_COLUMN in table.kinds:
            table = observations_table([of_version_1(row) for row in table.rows()])
        _require_rows(relation, table)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise Unreadable(f"damaged: {' '.join(str(error).split())[:120]}") from error
    return table


def _require_rows(relation: str, table: ColumnTable) -> None:
    """Raises ValueError, or the error of a wrong type, if a value cannot be from its writer."""
    for name in _NEVER_NULL[relation]:
        if table.has_null(name):
            raise ValueError(f"its column {name} has rows without a value")
    if relation == "observations":
        if not all(value is None or math.isfinite(value) for value in table.column("value")):
            raise ValueError("its column value has a number that is not finite")
        texts = zip(*(table.column(name) for name in _JSON_TEXTS), strict=True)
        for row in dict.fromkeys(texts):
            require_texts(**dict(zip(_JSON_TEXTS, row, strict=True)))
    elif relation == "subsystems":
        for text in table.column("detail"):
            if not isinstance(parse_json(text), dict):
                raise ValueError("its column detail does not hold a JSON object")


def observations_in(path: Path) -> list[Observation]:
    """The rows of a file, in their order. Raises Unreadable like `read`."""
    return decode(list[Observation], read("observations", path).rows())


def observations_table(rows: Sequence[Observation]) -> ColumnTable:
    """The rows of a journal as a table."""
    columns = {each.encode_name: [getattr(row, each.name) for row in rows] for each in fields(Observation)}
    texts = {
        name: [value and kept(value) for value in columns[name]]
        for name, kind in RELATIONS["observations"].items()
        if kind == TEXT
    }
    return ColumnTable.of(RELATIONS["observations"], {**columns, **texts})


def subsystems_table(run: str, subsystems: Sequence[Mapping[str, Any]]) -> ColumnTable:
    """A row for each subsystem, in their order."""
    rows = [_subsystem_row(run, position, s) for position, s in enumerate(subsystems)]
    return ColumnTable.of_rows(RELATIONS["subsystems"], rows)


def _subsystem_row(run: str, position: int, subsystem: Mapping[str, Any]) -> dict[str, Any]:
    dvluc = subsystem.get("dvluc") or {}
    named = subsystem.get("named")
    return {
        "run": run,
        "position": position,
        "name": _text(subsystem.get("name")),
        "kind": _text(subsystem.get("kind")),
        "named": named if isinstance(named, bool) else None,
        **{name: _number(subsystem.get(name), int) for name in _COUNTS},
        **{letter: _number((dvluc.get(letter) or {}).get("value"), float) for letter in _LETTERS},
        "detail": kept(json.dumps(subsystem, ensure_ascii=False, separators=(",", ":"))),
    }


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _number(value: object, make: type) -> Any:
    return make(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def subsystems_in(path: Path) -> list[dict[str, Any]]:
    """The rows of a file by their columns, ordered by position. Raises Unreadable like `read`."""
    return sorted(read("subsystems", path).rows(), key=lambda row: int(row["position"]))


def contexts_table(run: str, tree: CallTree) -> ColumnTable:
    """The nodes as rows, with names in the place of numbers.

    Raises ValueError if a number refers to no function or subsystem, or has more than 64 bits.
    """
    nodes = tree.nodes
    parent, function, subsystem, *counts = zip(*nodes, strict=True) if nodes else ((),) * (3 + len(COUNTS))
    columns: dict[str, Sequence[Any]] = {
        "run": [run] * len(nodes),
        "node": list(range(1, len(nodes) + 1)),
        "parent": parent,
        "function": _names(function, tree.functions),
        "subsystem": _names(subsystem, tree.subsystems),
        **dict(zip(COUNTS, counts, strict=True)),
        "function_index": function,
        "subsystem_index": subsystem,
    }
    return ColumnTable.of(RELATIONS["contexts"], columns)


def _names(indices: Sequence[int], names: Sequence[str]) -> list[str | None]:
    if any(i >= len(names) for i in indices):
        raise ValueError(f"a node has the index {max(indices)}, but there are {len(names)} names")
    return [names[i] if i >= 0 else None for i in indices]


def call_tree_in(path: Path) -> CallTree:
    """The tree of a file, from its rows and its footer. Raises Unreadable like `read`."""
    table = read("contexts", path)
    columns = [table.column(name) for name in ("parent", "function_index", "subsystem_index", *COUNTS)]
    return CallTree.from_json({**about(path), "nodes": list(zip(*columns, strict=True))})


# The reader of each relation's file, for one run.
READERS: Mapping[str, Callable[[Path], Any]] = {
    "observations": observations_in,
    "subsystems": subsystems_in,
    "contexts": call_tree_in,
}
