# SPDX-License-Identifier: BSL-1.0
"""`millpond schema [NAME]`: the JSON Schema of a JSON document that Millpond writes."""

from __future__ import annotations

from typing import Annotated

import typer

from millpond.report import json_schemas
from millpond.system.output import json_text


def command(
    name: Annotated[
        str | None,
        typer.Argument(metavar="[NAME]", help="The document, such as millpond.advice.1.", show_default=False),
    ] = None,
) -> None:
    """Print the JSON Schema of a JSON document; without NAME, the names of all documents."""
    if name is None:
        print("\n".join(json_schemas.documents()))
    else:
        print(json_text(json_schemas.schema(name)), end="")
