# SPDX-License-Identifier: BSL-1.0
"""Functions of a written header in the place of new, malloc, realloc, free and delete.

Blocks have no head wherever the allocator can do without, so that the memory is what the trial measured:

- by address: a pool of the process over slabs of one size each, as the trial's; the address of a block tells its size.
- by size: a pool that several threads share, or an arena of a phase; whoever frees must know the size.
- by head: an arena of calls or of threads; 16 bytes before each block say which arena it is of.
"""

from __future__ import annotations

from millpond.advice.code_freeing import Replacements, shares_places
from millpond.advice.code_homes import PHASE, PROCESS, AdvisedAllocator, C

ADDRESS, SIZE, HEAD = "address", "size", "head"


def found_by(home: AdvisedAllocator) -> str:
    """Returns ADDRESS, SIZE or HEAD: the way in which a free learns the size of a block."""
    if home.language == C:
        return ADDRESS
    if home.kind == PROCESS:
        return SIZE if home.several_threads and not shares_places(home) else ADDRESS
    return SIZE if home.kind == PHASE else HEAD


def replacements_of(home: AdvisedAllocator) -> Replacements:
    """Functions of a home's header for places that free."""
    if home.language == C:
        name = home.name
        return Replacements(f"{name}_free_any", f"{name}_resize_any", f"{name}_owns", f"{name}_free", f"{name}_resize")
    space, how = home.space, found_by(home)
    sized = (f"{space}::deallocate_bytes", f"{space}::resize_bytes")
    if how == SIZE:
        return Replacements("", "", "", *sized, destroy=f"{space}::destroy")
    by_address = (f"{space}::free_bytes", f"{space}::resize_bytes")
    owns = f"{space}::owns" if how == ADDRESS else ""
    if how == HEAD:
        sized = by_address
    return Replacements(*by_address, owns, *sized, destroy=f"{space}::destroy")
