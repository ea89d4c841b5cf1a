# SPDX-License-Identifier: BSL-1.0
"""Platforms that this machine emulates, and the values that an emulated program can give.

    aarch64   preset toolchain-aarch64 ──▶ qemu-aarch64 -L SYSROOT PROGRAM … ──▶ bytes and counts

A platform is a toolchain whose programs an emulator runs. Times, events, page faults and limits of memory are then the
emulator's as well, so a value of such a kind is dropped. Bytes and counts are left. They do not vary with time, so one
round is enough.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass

from millpond.cells.cell import TOOLCHAIN, Cell
from millpond.cells.metrics import MetricKind
from millpond.system import native
from millpond.system.errors import Failure, Status
from millpond_bench.experiments.experiment import PublishedSpec

_LIMITED = "a limit of memory would hold for {} as well"
# The kinds of values that an emulator changes.
_CHANGED: Mapping[MetricKind, str] = {
    MetricKind.TIME: "times under {} are not those of a processor",
    MetricKind.EVENT: "events of a processor cannot be counted under {}",
    MetricKind.FAULTS: "the page faults of {} are among those of the program",
    MetricKind.RECORDED: "a program under {} is not recorded",
}


def find_emulator(name: str) -> str | None:
    """The path of an installed emulator."""
    return shutil.which(name)


@dataclass(frozen=True)
class Platform:
    """A toolchain and the emulator of its programs. `name`: of the toolchain. `malloc`: what its programs run on.

    `emulator`: the words before the program, where BUILD is the repository's folder of builds. `ignored`: contenders
    whose system call the emulator accepts and does not make.
    """

    name: str
    emulator: tuple[str, ...]
    malloc: str
    ignored: tuple[str, ...] = ()

    @property
    def runner(self) -> list[str]:
        """The words before the program. Failure (status 4) if the emulator is not installed."""
        if find_emulator(self.emulator[0]) is None:
            raise Failure(
                Status.ENVIRONMENT,
                f"{self.emulator[0]}, which runs programs for {self.name}, is missing: `scripts/setup {self.name}` "
                "installs it",
            )
        return [word.replace("BUILD", str(native.build_folder())) for word in self.emulator]

    def why_absent(self, kind: MetricKind) -> str:
        """The reason why values of a kind cannot be measured here; empty if they can."""
        return _CHANGED.get(kind, "").format(self.emulator[0])

    def untestable(self, spec: PublishedSpec) -> dict[str, str]:
        """The metrics and contenders of an experiment that cannot be measured here, each with the reason. The
        experiment's figure is also under the empty name.
        """
        figure = spec.data.figure
        sources = {**{name: name for name in spec.metrics.units}, figure.name: figure.metric, "": figure.metric}
        if spec.rules.memory_bytes or spec.rules.writable_bytes:
            return dict.fromkeys(sources, _LIMITED.format(self.emulator[0]))
        ignored = dict.fromkeys(self.ignored, f"{self.emulator[0]} ignores the system call")
        return ignored | {
            name: why for name, metric in sources.items() if (why := self.why_absent(spec.metrics.kind(metric)))
        }


PLATFORMS: Mapping[str, Platform] = {
    one.name: one
    for one in (Platform("aarch64", ("qemu-aarch64", "-L", "BUILD/aarch64/root"), "glibc", ignored=("madv_free",)),)
}


def platform_of(cell: Cell) -> Platform | None:
    """The platform that a cell's program runs on; None for this machine."""
    return PLATFORMS.get(dict(cell.parameters).get(TOOLCHAIN, ""))
