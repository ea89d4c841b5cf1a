# SPDX-License-Identifier: BSL-1.0
"""The words of millpond-simulate for what a user asks; shared by `trace simulate` and `trace layout`."""

from __future__ import annotations

from millpond.verbs.trace_requests import LayoutRequest, SimulateRequest

# The default simulators of millpond-simulate, and fully associative caches of all sizes.
_FOR_CURVES = ("direct:line=32,size=16K/32K/64K/128K/256K", "lru:line=32,sets=64-4096,ways=8", "distances:line=32",
               "distances:line=4K")  # fmt: skip
_COUNTED = {"system": "--with-system", "straddles": "--straddle=twice", "updates": "--modify=twice"}


def native_words(request: SimulateRequest | LayoutRequest) -> list[str]:
    """The options of millpond-simulate, without files to read and to write."""
    words = [f"--simulate={description}" for description in request.simulate]
    words += [f"--latencies={request.latencies}"] if request.latencies else []
    words += [_COUNTED[name] for name in request.extras if name in _COUNTED]
    words += [f"--{name}={value}" for name, value in request.settings]
    return words + (["--damaged"] if request.damaged else [])


def for_curves(request: SimulateRequest | LayoutRequest) -> list[str]:
    """The simulators of a page's curves, unless the user names others."""
    return [] if request.simulate else [f"--simulate={description}" for description in _FOR_CURVES]
