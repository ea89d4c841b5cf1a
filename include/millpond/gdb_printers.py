# SPDX-License-Identifier: BSL-1.0
"""Makes gdb print Millpond's containers as their elements: `source include/millpond/gdb_printers.py`, or in ~/.gdbinit.

    (gdb) print scores
    $1 = counted_set of 4 = {120, 250, 310, 470}

Supports dyn_array, vector_tree, counted_set, ordered_set and their variants, and the iterators of the sets and maps. A
pooled container is shown as the standard's, if gdb has printers for those: libstdc++ brings them along. Needs gdb 12 or
later, with Python, and programs built with -g. It calls no function of the program, so it works on core dumps.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import gdb  # type: ignore[import-untyped,import-not-found,unused-ignore]

if TYPE_CHECKING:
    from collections.abc import Iterator

NAMES = (
    "dyn_array",
    "vector_tree",
    *(f"{family}_{kind}" for family in ("counted", "ordered") for kind in ("set", "multiset", "map", "multimap")),
)
OURS = re.compile(r"^millpond::(?:\w+::)*(\w+)<")
LEFT, RIGHT = 0, 1


def element_type(allocator: gdb.Type) -> gdb.Type:
    """Returns the type that an allocator allocates; a suballocator has the allocator beneath as its argument."""
    argument = allocator.template_argument(0).strip_typedefs()
    is_allocator = re.search(r"(?:allocator|resource)\w*<", str(argument).split("<", 1)[0] + "<")
    return element_type(argument) if is_allocator else argument


def dyn_array_elements(array: gdb.Value) -> Iterator[gdb.Value]:
    at, end = array["begin_"], array["end_"]
    while at != end:
        yield at.dereference()
        at += 1


def value_in_node(node: gdb.Value, value: gdb.Type) -> gdb.Value:
    """Returns the value behind a node's links, at the offset that its alignment requires."""
    links = node.dereference().type.sizeof
    offset = (links + value.alignof - 1) // value.alignof * value.alignof
    return gdb.Value(int(node) + offset).cast(value.pointer()).dereference()


def node_elements(core: gdb.Value) -> Iterator[gdb.Value]:
    """Yields the elements of a weight_tree in order, without recursion."""
    value = element_type(core.type.strip_typedefs().template_argument(1))
    above: list[gdb.Value] = []
    node = core["head_"]["head_"]["child"][LEFT]
    while above or int(node) != 0:
        while int(node) != 0:
            above.append(node)
            node = node["child"][LEFT]
        node = above.pop()
        yield value_in_node(node, value)
        node = node["child"][RIGHT]


def slot_value(slot: gdb.Value) -> gdb.Value:
    """Returns the element of a leaf's slot, which lies in the slot or where the slot points."""
    value = slot.type.strip_typedefs().template_argument(0)
    if any(field.name == "element_" for field in slot.type.strip_typedefs().fields()):
        return slot["element_"].dereference()
    return slot["bytes_"].address.cast(value.pointer()).dereference()


def leaf_elements(tree: gdb.Value) -> Iterator[gdb.Value]:
    """Yields the elements of a counted_tree in order, from leaf to leaf."""
    leaf = tree["first_"]
    while int(leaf) != 0:
        for slot in range(int(leaf["n"])):
            yield slot_value(leaf["slots"][slot])
        leaf = leaf["next"]


class ContainerPrinter:
    """Prints a container as a list of its elements."""

    def __init__(self, name: str, container: gdb.Value) -> None:
        self.name = name
        self.container = container

    def size(self) -> int:
        if self.name == "dyn_array":
            return int(self.container["end_"] - self.container["begin_"])
        if self.name.startswith("counted"):
            return int(self.container["core_"]["head_"]["head_"]["size"])
        return int(self.tree()["size_"])

    def tree(self) -> gdb.Value:
        return self.container["tree_"] if self.name == "vector_tree" else self.container["core_"]["tree_"]

    def elements(self) -> Iterator[gdb.Value]:
        if self.name == "dyn_array":
            return dyn_array_elements(self.container)
        if self.name.startswith("counted"):
            return node_elements(self.container["core_"])
        return leaf_elements(self.tree())

    def to_string(self) -> str:
        return f"{self.name} of {self.size()}"

    def children(self) -> Iterator[tuple[str, gdb.Value]]:
        for index, element in enumerate(self.elements()):
            if self.display_hint() == "map":
                yield f"[{index}].key", element["first"]
                yield f"[{index}].value", element["second"]
            else:
                yield f"[{index}]", element

    def display_hint(self) -> str:
        return "map" if self.name.endswith("map") else "array"


class IteratorPrinter:
    """Prints an iterator of a set or map as its element."""

    def __init__(self, name: str, iterator: gdb.Value) -> None:
        self.name = name
        self.iterator = iterator

    def to_string(self) -> Any:
        at = self.iterator["at_"]
        if self.name == "weight_iterator":
            if int(at) == 0:
                return "iterator of none"
            if int(at["parent"]) == 0:
                return "end"
            return value_in_node(at, self.iterator.type.strip_typedefs().template_argument(0).strip_typedefs())
        leaf, slot = at["at"], int(at["slot"])
        if int(leaf) == 0 or slot >= int(leaf["n"]):
            return "end"
        return slot_value(leaf["slots"][slot])


def standard_base(container: gdb.Value) -> gdb.Value | None:
    """Returns the standard container from which a pooled one is derived, directly or not."""
    for field in container.type.strip_typedefs().fields():
        if field.is_base_class:
            base = container.cast(field.type)
            return base if str(field.type.strip_typedefs()).startswith("std::") else standard_base(base)
    return None


def printer_of(value: gdb.Value) -> Any:
    found = OURS.match(str(value.type.strip_typedefs().unqualified().strip_typedefs()))
    name = found.group(1) if found else ""
    if name in NAMES:
        return ContainerPrinter(name, value)
    if name == "basic_pooled" or name.startswith("pooled_"):
        base = standard_base(value)
        return None if base is None else gdb.default_visualizer(base)
    return IteratorPrinter(name, value) if name in ("weight_iterator", "ordered_iterator") else None


printer_of.name = "millpond"  # type: ignore[attr-defined]  # for `info pretty-printer`
gdb.pretty_printers.append(printer_of)
