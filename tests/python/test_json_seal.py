# SPDX-License-Identifier: BSL-1.0
"""The checksum of a document covers its values: order and indentation do not matter, every change does."""

from __future__ import annotations

import json
import random
from typing import Any

from millpond.system.json_seal import NAME, seal_flaw, sealed

DOCUMENT: dict[str, Any] = {
    "schema": "millpond.simulation/1", "input": {"path": "/tmp/ä.mpt", "references": 18_446_744_073_709_551_615},
    "rows": [1, 2.5, -3, True, None, "x", 9_007_199_254_740_993], "empty": {}, "half": "\ud800",
}  # fmt: skip


def test_a_sealed_document_is_whole_in_any_form() -> None:
    text = json.dumps(sealed(DOCUMENT), indent=7)
    assert seal_flaw(json.loads(text)) == ""
    assert seal_flaw(dict(reversed(sealed(DOCUMENT).items()))) == ""
    assert seal_flaw(DOCUMENT) == "", "older documents have none"


def test_every_changed_value_is_found() -> None:
    chance = random.Random(7)
    text = json.dumps(sealed(DOCUMENT))
    silent = 0
    for _ in range(2000):
        at = chance.randrange(len(text))
        damaged = text[:at] + chr(ord(text[at]) ^ 1 << chance.randrange(7)) + text[at + 1 :]
        try:
            found = json.loads(damaged)
        except ValueError:
            continue
        if NAME in found and found != sealed(DOCUMENT) and not seal_flaw(found):
            silent += 1
    assert silent == 0
