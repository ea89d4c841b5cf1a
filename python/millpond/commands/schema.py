# SPDX-License-Identifier: BSL-1.0
"""`millpond schema [NAME]`: the JSON Schema of a JSON document that Millpond writes."""

from __future__ import annotations

from millpond.report import json_schemas
from millpond.system.output import json_text
from millpond.verbs.requests import SchemaRequest


def schema(request: SchemaRequest) -> None:
    """Prints the JSON Schema of a JSON document; without a name, the names of all documents."""
    if request.name is None:
        print("\n".join(json_schemas.documents()))
    else:
        print(json_text(json_schemas.schema(request.name)), end="")
