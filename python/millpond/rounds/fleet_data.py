# SPDX-License-Identifier: BSL-1.0
"""The merged characterisation of many traces ("millpond.fleet/1").

Fleet ─┬─ FleetBuild ─┬─ FleetProcess                     each process, by its trace
       │              ├─ FleetUse                         all its processes together
       │              └─ FleetSubsystem (a FleetUse)      a subsystem in all of them
       └─ UnusableTrace                                   a file without figures

FleetUse = sums (UseCounts) + the Distribution of each figure between processes + Outliers
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from msgspec import field

from millpond.rounds.characterisation import LifetimeBin, Size
from millpond.rounds.fleet_use import UnusableTrace, UseCounts
from millpond.statistics.distribution import Distribution
from millpond.system.errors import Failure, Status
from millpond.system.input_file import parse_json, read_bytes, why_unreadable
from millpond.system.json_seal import seal_flaw
from millpond.system.output import json_text
from millpond.system.records import NONE, NULL, Record

Schema = Literal["millpond.fleet/1"]
SCHEMA: Schema = "millpond.fleet/1"


class Outlier(Record, frozen=True, kw_only=True):
    """A process whose figure lies far outside those of the other processes. `times`: of the median; None if that is
    0.
    """

    trace: str
    figure: str
    value: float
    times: float | None = field(default_factory=NULL)


class FleetUse(UseCounts, frozen=True, kw_only=True):
    """The sums over all processes of a build, and the distribution of each figure between them.

    `distributions`: by figure; a process without the subsystem counts as 0. D, V, L, U and C have the processes in
    which they are known. `outliers`: those of each figure, the farthest first; `outliers_left_out`: further ones.
    """

    distributions: dict[str, Distribution]
    outliers: tuple[Outlier, ...] = field(default_factory=NONE)
    outliers_left_out: int = 0


class FleetSubsystem(FleetUse, frozen=True, kw_only=True):
    """A subsystem. `processes`: how many have it. `share`: of the build's events or of its bytes, the larger one.
    `sizes`, `lifetimes`: the sums of the processes' histograms.
    """

    name: str
    kind: str = ""
    near: str | None = None
    processes: int
    share: float
    sizes: tuple[Size, ...] = field(default_factory=NONE)
    lifetimes: tuple[LifetimeBin, ...] = field(default_factory=NONE)

    @property
    def label(self) -> str:
        """The name for people, as that of a single characterisation."""
        return f"near {self.near} ({self.name})" if self.near else self.name


class FleetProcess(UseCounts, frozen=True, kw_only=True):
    """A process, with the counts of its trace. `limits`: why they do not describe the whole run."""

    trace: str
    executable: str = ""
    pid: int | None = field(default_factory=NULL)
    argv: tuple[str, ...] = field(default_factory=NONE)
    threads: int | None = field(default_factory=NULL)
    cpu_seconds: float | None = field(default_factory=NULL)
    duration_seconds: float | None = field(default_factory=NULL)
    lost: int = 0
    limits: tuple[str, ...] = ()


class FleetBuild(Record, frozen=True, kw_only=True):
    """The processes of one build of a program. `executables`: its paths. Without a build-id, those of one path.
    `named_share`: of the events, those of functions with a name.
    """

    build_id: str
    executables: tuple[str, ...]
    named_share: float | None = field(default_factory=NULL)
    whole: FleetUse
    subsystems: tuple[FleetSubsystem, ...] = field(default_factory=NONE)
    processes: tuple[FleetProcess, ...]

    @property
    def name(self) -> str:
        """The file's name of its program, or `?`."""
        return Path(self.executables[0]).name if self.executables and self.executables[0] else "?"


class Fleet(Record, frozen=True, kw_only=True):
    """The merged characterisation. Builds with most events come first, and in each the subsystems with the largest
    share.
    """

    schema: str = field(default_factory=lambda: SCHEMA)
    builds: tuple[FleetBuild, ...]
    unusable: tuple[UnusableTrace, ...] = field(default_factory=NONE)

    @property
    def process_count(self) -> int:
        return sum(len(build.processes) for build in self.builds)

    def encoded(self) -> bytes:
        """The document as compact JSON; equal for equal fleets."""
        return json_text(self.to_json(), compact=True).encode()


def read_fleet(path: Path) -> Fleet:
    """The fleet in a JSON file. Failure (status 3) if it cannot be read, is damaged or is another document."""
    remedy = "`millpond trace show --merge -o FILE.json TRACE...` writes one"
    try:
        data = parse_json(read_bytes(path))
        if flaw := seal_flaw(data):
            raise Failure(Status.INPUT, f"{path}: {flaw}; merge the traces again")
        fleet = Fleet.from_json(data)
    except OSError as error:
        raise Failure(Status.INPUT, f"the fleet {path}: {why_unreadable(error)}; {remedy}") from error
    except ValueError as error:
        raise Failure(Status.INPUT, f"{path} is not a fleet: {error}; {remedy}") from error
    if fleet.schema != SCHEMA:
        raise Failure(Status.INPUT, f"{path} is {fleet.schema!r}, not {SCHEMA!r}; {remedy}")
    return fleet
