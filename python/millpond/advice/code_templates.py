# SPDX-License-Identifier: BSL-1.0
"""Makes C and C++ from the templates in templates/, which look like C: clang-format can read them.

$name$                        a value
/*% for home in homes %*/     a statement, in a line of its own
"""

from __future__ import annotations

from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined


def filled(template: str, **values: Any) -> str:
    """Returns the text of a template. It is code, so nothing is escaped: comments must get harmless text."""
    return _environment().get_template(template).render(**values)


@cache
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("millpond.advice"), undefined=StrictUndefined, autoescape=False,
        variable_start_string="$", variable_end_string="$", block_start_string="/*%", block_end_string="%*/",
        comment_start_string="/*#", comment_end_string="#*/", trim_blocks=True, lstrip_blocks=True,
        keep_trailing_newline=True,
    )  # fmt: skip
