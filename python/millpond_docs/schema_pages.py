# SPDX-License-Identifier: BSL-1.0
"""Makes a page for each JSON document from its JSON Schema: a table of fields for each type."""

from __future__ import annotations

import json
import re
from typing import Any

from millpond.report import json_schemas

FOLDER = "reference/schemas"
_INTRODUCTION = """# JSON documents

Each document names its form in its field `schema`. `millpond schema NAME` prints the JSON Schema (draft 2020-12). New
fields have defaults, so that older documents can be read.

"""


def pages() -> dict[str, str]:
    """The pages by their places below docs/: one for each document, and an index."""
    found = {}
    rows = []
    for name in json_schemas.documents():
        schema = json_schemas.schema(name)
        found[f"{FOLDER}/{name}.md"] = _page(name, schema)
        rows.append(f"- [`{name}`]({name}.md): {_meaning(_root(schema))}")
    return {f"{FOLDER}/README.md": _INTRODUCTION + "\n".join(rows) + "\n", **found}


def _root(schema: dict[str, Any]) -> dict[str, Any]:
    root: dict[str, Any] = schema["$defs"][schema["$ref"].rpartition("/")[2]]
    return root


def _page(name: str, schema: dict[str, Any]) -> str:
    types = schema["$defs"]
    first = schema["$ref"].rpartition("/")[2]
    lines = [f"# {name}", "", _meaning(_root(schema)), "", "```sh", f"millpond schema {name}", "```"]
    for title in [first, *sorted(set(types) - {first})]:
        lines += ["", f"## {title}", "", *_type(types[title], is_first=title == first)]
    return "\n".join(lines) + "\n"


def _type(one: dict[str, Any], *, is_first: bool) -> list[str]:
    lines = [] if is_first else [_meaning(one), ""]
    if "enum" in one:
        return [*lines, "One of " + ", ".join(f"`{json.dumps(value)}`" for value in one["enum"]) + "."]
    required = set(one.get("required", ()))
    lines += ["| field | type | default |", "|---|---|---|"]
    for name, value in one.get("properties", {}).items():
        default = "" if name in required or "default" not in value else f"`{json.dumps(value['default'])}`"
        lines.append(f"| `{name}` | {_kind(value)} | {default} |".replace("|  |", "| |"))
    return lines


def _kind(value: dict[str, Any]) -> str:
    """The type in words, with links to the types of this page."""
    if "$ref" in value:
        name = value["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in value:
        return " or ".join(_kind(one) for one in value["anyOf"])
    if "enum" in value:
        return ", ".join(f"`{json.dumps(one)}`" for one in value["enum"])
    kind = value.get("type", "any value")
    if kind == "array":
        items = value.get("prefixItems")
        return f"array of ({', '.join(map(_kind, items))})" if items else f"array of {_kind(value.get('items') or {})}"
    if kind == "object" and isinstance(value.get("additionalProperties"), dict):
        return f"object of {_kind(value['additionalProperties'])}"
    return str(kind)


def _meaning(one: dict[str, Any]) -> str:
    """The first paragraph of a type's description."""
    text = re.split(r"\n\s*\n", one.get("description", ""))[0]
    return " ".join(text.split()).replace("*", r"\*").replace("<", r"\<")
