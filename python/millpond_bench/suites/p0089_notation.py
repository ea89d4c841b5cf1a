# SPDX-License-Identifier: BSL-1.0
"""The paper's own notation for runs of Benchmark II (section 8 of P0089R0)."""

from __future__ import annotations

import re

from millpond_bench.experiments.experiment_data import Parameters, points

_NOTATION = re.compile(r"(?:-(\d{1,2}) (\d{1,2})|(\d{1,10}) (\d{1,10})) (\d{1,4}) ([+-])(\d{1,4}) (\d{1,6})")


def notation(text: str) -> Parameters | None:
    """Parses `-21 18 8 +3 32`, the paper's notation for a run of Benchmark II; None for anything else.

    A negative |G| and the |S| after it are exponents of 2; `10000000 1000 10 +5 1` has numbers of links.
    """
    found = _NOTATION.fullmatch(" ".join(text.split()))
    if found is None:
        return None
    log2_g, log2_s, links, links_each, af, sign, sf, rf = found.groups()
    sizes = {"links": links, "links_each": links_each} if links else {"log2_g": log2_g, "log2_s": log2_s}
    (made,) = points(
        **{name: [int(size)] for name, size in sizes.items()},
        af=[int(af)],
        sf=[f"{'-' if sign == '-' else ''}{int(sf)}"],
        rf=[int(rf)],
    )
    return made
