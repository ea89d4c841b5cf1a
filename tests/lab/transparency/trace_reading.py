# SPDX-License-Identifier: BSL-1.0
"""A second reader of traces, written only from docs/reference/trace_format.md. It is slow and small, and shares no code
with the first.

It checks the recorder against the specification instead of our own reader. The `zstd` program decompresses. The main
reader checks checksums and the index; this one requires valid blocks from the first byte to the last.
"""

from __future__ import annotations

import heapq
import struct
import subprocess
from collections import Counter, defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

HEADER = struct.Struct("<IIIBBBBIIIIIIQQQ")
FRAME_MAGIC = 0x184D2A5D
TRAILER_MAGIC = 0x184D2A5E
BLOCK_MAGIC = int.from_bytes(b"MPTB", "little")
PROCESS, MODULES, CONTEXTS, EVENTS, END, INDEX = range(1, 7)
FREE, ALLOCATE, REALLOC_FREE, REALLOC_ALLOCATE, NOTE = range(5)
MARKED = range(5000, 6000)
NOTE_NAME, NOTE_PHASE = 10, 11


@dataclass(frozen=True)
class Event:
    """One heap event. Fields that an operation does not have are 0. A note has its subject in `bytes`, its value in
    `address`.
    """

    time: int
    operation: int
    address: int
    bytes: int
    context: int


@dataclass(frozen=True)
class Frame:
    """A node in the tree of contexts."""

    parent: int
    module: int
    offset: int


@dataclass
class Trace:
    """A whole trace in memory."""

    process: dict[int, list[bytes]] = field(default_factory=dict)
    end: dict[int, list[bytes]] = field(default_factory=dict)
    modules: dict[int, str] = field(default_factory=dict)
    frames: list[Frame] = field(default_factory=lambda: [Frame(0, 0, 0)])
    streams: dict[int, list[Event]] = field(default_factory=lambda: defaultdict(list))

    def events_and_notes(self) -> Iterator[Event]:
        """Returns all events and notes by time; each stream keeps its order."""
        return heapq.merge(*self.streams.values(), key=lambda event: event.time)

    def events(self) -> Iterator[Event]:
        """Returns all events by time, without notes."""
        return (event for event in self.events_and_notes() if event.operation != NOTE)

    def end_number(self, key: int) -> int:
        """Returns a number of the end block; 0 if it is missing."""
        return number(self.end[key][0], 0)[0] if key in self.end else 0

    def depth(self, context: int) -> int:
        """Returns the number of frames of a context."""
        depth = 0
        while context:
            context = self.frames[context].parent
            depth += 1
        return depth


def number(data: bytes, at: int) -> tuple[int, int]:
    """Returns the prefix varint at `at`, and the position of the next value."""
    first = data[at]
    if first == 0:
        return int.from_bytes(data[at + 1 : at + 9], "little"), at + 9
    length = (first & -first).bit_length()
    return int.from_bytes(data[at : at + length], "little") >> length, at + length


def signed(value: int) -> int:
    """Decodes a zigzag-coded value."""
    return (value >> 1) ^ -(value & 1)


def _string(data: bytes, at: int) -> tuple[bytes, int]:
    length, at = number(data, at)
    return data[at : at + length], at + length


def _fields(data: bytes) -> dict[int, list[bytes]]:
    found: dict[int, list[bytes]] = defaultdict(list)
    at = 0
    while at < len(data):
        key, at = number(data, at)
        value, at = _string(data, at)
        found[key].append(value)
    return dict(found)


class _Columns:
    """The values of one field: its own column, or (in rows) the payload that all fields share."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def next(self) -> int:
        value, self.at = number(self.data, self.at)
        return value

    def byte(self) -> int:
        self.at += 1
        return self.data[self.at - 1]


def _columns(payload: bytes, layout: int) -> list[_Columns]:
    """Returns the columns: tags, addresses, sizes, contexts, times, durations."""
    if layout == 0:
        return [_Columns(payload)] * 6
    columns, at = [], 0
    for _ in range(6):
        column, at = _string(payload, at)
        columns.append(_Columns(column))
    assert at == len(payload), "bytes behind the last column"
    return columns


def _events(payload: bytes, layout: int, count: int, first: int) -> Iterator[Event]:
    tags, addresses, sizes, contexts, times, durations = _columns(payload, layout)
    time, address = first, 0
    for _ in range(count):
        tag = tags.byte()
        operation = tag & 7
        if tag & 8:
            time += times.next()
        if operation == NOTE:
            subject = sizes.next()
            yield Event(time, NOTE, contexts.next(), subject, 0)
            continue
        if tag & 16:
            durations.next()
        address += signed(addresses.next()) * (1 if tag & 128 else 16)
        size = context = 0
        if operation in (ALLOCATE, REALLOC_ALLOCATE):
            size, context = sizes.next(), contexts.next()
            if tag & 32:
                contexts.byte()
        yield Event(time, operation, address, size, context)
    for column in (tags, addresses, sizes, contexts, times, durations):
        assert column.at == len(column.data), "bytes behind the last event"


def _add_contexts(trace: Trace, payload: bytes, count: int, first: int) -> None:
    assert first == len(trace.frames), "ids of contexts are not consecutive"
    at = 0
    for _ in range(count):
        up, at = number(payload, at)
        module, at = number(payload, at)
        offset, at = number(payload, at)
        parent = len(trace.frames) - signed(up)
        assert 0 <= parent < len(trace.frames), "a context's caller comes after it"
        trace.frames.append(Frame(parent, module, offset))


def _add_modules(trace: Trace, payload: bytes, count: int) -> None:
    at = 0
    for _ in range(count):
        identifier, at = number(payload, at)
        for _ in range(3):
            _, at = number(payload, at)
        path, at = _string(payload, at)
        _, at = _string(payload, at)
        for _ in range(2):
            _, at = number(payload, at)
        trace.modules[identifier] = path.decode()


def read(path: Path) -> Trace:
    """Reads the trace at `path`. Raises AssertionError if it breaks the specification."""
    data = path.read_bytes()
    unpacked = subprocess.run(["zstd", "-dcq", str(path)], capture_output=True, check=True).stdout
    trace, at, taken = Trace(), 0, 0
    while at < len(data):
        if struct.unpack_from("<I", data, at)[0] == TRAILER_MAGIC:
            assert at + 16 == len(data), "something follows the trailer"
            break
        (frame, frame_bytes, magic, version, kind, codec, layout, thread, _, count, stored, payload_bytes,
         _, first, _, _) = HEADER.unpack_from(data, at)  # fmt: skip
        assert (frame, magic) == (FRAME_MAGIC, BLOCK_MAGIC) and version in (1, 2, 3), f"no block at offset {at}"
        if codec == 0:
            assert frame_bytes == 56 + stored
            payload = data[at + 64 : at + 64 + stored]
        else:
            assert frame_bytes == 56
            payload = unpacked[taken : taken + payload_bytes]
            taken += payload_bytes
        assert len(payload) == payload_bytes
        at += 64 + stored
        if kind == PROCESS:
            trace.process = _fields(payload)
        elif kind == END:
            trace.end = _fields(payload)
        elif kind == MODULES:
            _add_modules(trace, payload, count)
        elif kind == CONTEXTS:
            _add_contexts(trace, payload, count, first)
        elif kind == EVENTS:
            trace.streams[thread].extend(_events(payload, layout, count, first))
    return trace


def count_marked(trace: Trace) -> Counter[str]:
    """Counts allocations, frees and reallocations of marked sizes (tests/lab/programs/marked.hpp).

    Events of two threads may have time stamps a few ticks out of order. At each address, allocations and frees are
    paired in their order, so none is lost.
    """
    counts: Counter[str] = Counter(allocations=0, frees=0, reallocations=0)
    live: dict[int, deque[int]] = defaultdict(deque)
    early: Counter[int] = Counter()
    for event in trace.events():
        if event.operation in (ALLOCATE, REALLOC_ALLOCATE):
            if event.bytes in MARKED:
                counts["allocations" if event.operation == ALLOCATE else "reallocations"] += 1
            if early[event.address]:
                early[event.address] -= 1
                counts["frees"] += event.bytes in MARKED
            else:
                live[event.address].append(event.bytes)
        else:
            objects = live[event.address]
            if not objects:
                early[event.address] += 1
            elif objects.popleft() in MARKED and event.operation == FREE:
                counts["frees"] += 1
    return counts


def allocations_by_phase(trace: Trace) -> list[tuple[bytes, Counter[int]]]:
    """Returns each stretch of a phase, in order: its name, and how many blocks of each marked size began in it."""
    found: list[tuple[bytes, Counter[int]]] = [(b"", Counter())]
    name = b""
    for event in trace.events_and_notes():
        if event.operation == NOTE and event.bytes == NOTE_NAME:
            name += event.address.to_bytes(8, "little")
        elif event.operation == NOTE and event.bytes == NOTE_PHASE:
            found.append((name[: event.address], Counter()))
            name = b""
        elif event.operation == ALLOCATE and event.bytes in MARKED:
            found[-1][1][event.bytes] += 1
    return found
