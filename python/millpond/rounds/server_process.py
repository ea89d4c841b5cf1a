# SPDX-License-Identifier: BSL-1.0
"""A running server, seen from outside through /proc: whether it listens, its CPU time, its memory, and its end."""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Callable, Iterator, Sequence, Set
from contextlib import contextmanager, suppress
from pathlib import Path

from millpond.system import process_tree

_LISTENS_IN_TCP, _LISTENS_IN_UNIX = "0A", 0x10000  # the state of a socket, and its flag
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_TICKS = os.sysconf("SC_CLK_TCK")
_CHILDREN_USER, _CHILDREN_SYSTEM = 13, 14  # fields of /proc/PID/stat, behind the name
_CPU_CLOCK_OF_PROCESS = 2  # CPUCLOCK_SCHED of the kernel's clock ids


class ServerProcess:
    """A process and those that it has started. A query reads /proc, in time linear in threads. Not thread-safe."""

    def __init__(self, process: int, foreign_sockets: Set[str] = frozenset()) -> None:
        """`foreign_sockets`: inodes of sockets that are not the server's, though it may hold them for a moment."""
        self.process = process
        self._foreign_sockets = foreign_sockets
        self._seen = dict[int, int]()

    @classmethod
    def child_of(cls, parent: int) -> ServerProcess | None:
        """The first child of one of our programs; None if it has none yet."""
        found = _children_of(parent)
        # Between fork and exec a child holds the sockets of its parent, and our recorder listens on one.
        return cls(min(found), _sockets_of(parent)) if found else None

    @property
    def processes(self) -> dict[int, int]:
        """Returns the living processes, each with its start time."""
        found = dict[int, int]()
        due = [self.process]
        while due:
            process = due.pop()
            if process not in found and (facts := process_tree.process_facts(process)):
                found[process] = facts[1]
                due += _children_of(process)
        self._seen |= found
        return found

    def listens(self) -> bool:
        """True if a process of it has a TCP or unix socket that accepts connections."""
        return any((_sockets_of(process) - self._foreign_sockets) & _listening(process) for process in self.processes)

    def cpu_seconds(self) -> float:
        """Returns the CPU time of the processes so far, with those that ended and were waited for."""
        return sum(map(_cpu_seconds, self.processes))

    def resident_bytes(self) -> int:
        """Returns the resident memory of the processes; a page that several share counts for each."""
        return sum(map(_resident_bytes, self.processes))

    def end(self, seconds: float) -> bool:
        """Ends it by SIGTERM, after `seconds` by SIGKILL; then kills every process of it that was seen in a query and
        still runs. True if SIGTERM sufficed, or it had ended before.
        """
        was_enough = True
        if self.process in self.processes:
            with watched([self.process]) as ended:
                _send(self.process, signal.SIGTERM)
                was_enough = bool(ended(seconds))
        started = self.processes  # which also sees what was started meanwhile
        process_tree.kill_each(started | self._seen)
        left = [process for process, since in self._seen.items() if process_tree.process_facts(process)[1:] == (since,)]
        for process in left:  # a killed process runs on for a moment
            with watched([process]) as ended:
                ended(seconds)
        return was_enough


@contextmanager
def watched(processes: Sequence[int]) -> Iterator[Callable[[float], list[int]]]:
    """Yields a function that waits at most so many seconds until one of the processes ends, and returns those that
    have.
    """
    descriptors = dict[int, int]()
    gone = list[int]()
    for process in processes:
        try:
            descriptors[os.pidfd_open(process)] = process
        except ProcessLookupError:
            gone.append(process)
    poll = select.poll()
    for descriptor in descriptors:
        poll.register(descriptor, select.POLLIN)

    def ended(seconds: float) -> list[int]:
        found = poll.poll(0 if gone else max(0.0, 1000.0 * seconds))
        return [*gone, *(descriptors[descriptor] for descriptor, _ in found)]

    try:
        yield ended
    finally:
        for descriptor in descriptors:
            os.close(descriptor)


def _children_of(process: int) -> list[int]:
    """The living processes that a process has started. Not through all processes of the machine: this takes 0.3 ms,
    and a look at all of them 6 ms, which a server under a load would feel.
    """
    found = list[int]()
    with suppress(OSError):
        for thread in Path(f"/proc/{process}/task").iterdir():
            with suppress(OSError):
                found += map(int, (thread / "children").read_text().split())
    return found


def _send(process: int, number: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(process, number)


def _sockets_of(process: int) -> set[str]:
    """The inodes of its open sockets."""
    found = set()
    with suppress(OSError):
        for link in Path(f"/proc/{process}/fd").iterdir():
            with suppress(OSError):
                place = str(link.readlink())
                if place.startswith("socket:["):
                    found.add(place[len("socket:[") : -1])
    return found


def _listening(process: int) -> set[str]:
    """The inodes of the sockets that accept connections in its network."""
    found = set()
    for name in ("tcp", "tcp6", "unix"):
        with suppress(OSError):
            for line in Path(f"/proc/{process}/net/{name}").read_text(errors="replace").splitlines()[1:]:
                words = line.split()
                if name == "unix" and int(words[3], 16) & _LISTENS_IN_UNIX:
                    found.add(words[6])
                elif name != "unix" and words[3] == _LISTENS_IN_TCP:
                    found.add(words[9])
    return found


def _cpu_seconds(process: int) -> float:
    """The CPU time of one process in nanoseconds' steps, by its clock, and of its ended children in clock ticks."""
    try:
        own = time.clock_gettime((~process << 3) | _CPU_CLOCK_OF_PROCESS)
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return own + (int(fields[_CHILDREN_USER]) + int(fields[_CHILDREN_SYSTEM])) / _TICKS


def _resident_bytes(process: int) -> int:
    try:
        return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * _PAGE_BYTES
    except OSError:
        return 0
