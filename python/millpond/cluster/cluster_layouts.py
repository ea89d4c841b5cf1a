# SPDX-License-Identifier: BSL-1.0
"""Simulates recordings, and recordings on other allocators, on a cluster: one a call, on any worker."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from msgspec import structs

from millpond.cluster.cluster import Cluster
from millpond.cluster.cluster_executor import ClusterExecutor
from millpond.cluster.shipment import Shipment
from millpond.cluster.workplace import Workplace
from millpond.rounds.layouts import (
    CAPTURE,
    LAYOUT,
    PLAYER,
    RECORDED,
    SIMULATE,
    Layout,
    LayoutSimulator,
    simulate_recording,
)
from millpond.rounds.simulation_data import Simulation
from millpond.system.temporary import temporary_folder


def simulate_on_cluster(
    cluster: Cluster, recording: Path, layouts: Sequence[Layout], options: Sequence[str]
) -> list[tuple[str, Simulation]]:
    """The results of `layouts.simulate_layouts`. Failure: that of a call; or status 4 if no worker can serve."""
    plans = [Path(word) for layout in layouts for word in layout.pools if Path(word).is_file()]
    libraries = [layout.library for layout in layouts if layout.library is not None]
    shipment = Shipment.of((LAYOUT, PLAYER, CAPTURE, SIMULATE), [recording, *plans, *libraries], with_libraries=True)
    with ClusterExecutor(cluster, shipment) as executor:
        calls = [executor.submit(_on_layout, str(recording.absolute()), layout, list(options)) for layout in layouts]
        # The shortest one last, so that no worker waits long for the other.
        whole = executor.submit(_as_recorded, str(recording.absolute()), list(options))
        found = [
            (RECORDED, whole.result()),
            *((layout.name, c.result()) for layout, c in zip(layouts, calls, strict=True)),
        ]
    return [(name, _under_its_path(one, recording)) for name, one in found]


def simulate_recordings(cluster: Cluster, recordings: Sequence[Path], options: Sequence[str]) -> dict[Path, Simulation]:
    """The result of `layouts.simulate_recording` for each recording. Failure: that of a call; or status 4 if no worker
    can serve.
    """
    with ClusterExecutor(cluster, Shipment.of((SIMULATE,), recordings)) as executor:
        calls = {one: executor.submit(_recorded, str(one.absolute()), list(options)) for one in recordings}
        return {one: _under_its_path(call.result(), one) for one, call in calls.items()}


def _under_its_path(simulation: Simulation, recording: Path) -> Simulation:
    """The same under the path that the user gave."""
    return structs.replace(simulation, input=structs.replace(simulation.input, path=str(recording)))


def _recorded(place: Workplace, recording: str, options: list[str]) -> Simulation:
    with temporary_folder(place.folder) as folder:
        return simulate_recording(place.located(recording), options, folder)


def _as_recorded(place: Workplace, recording: str, options: list[str]) -> Simulation:
    return _simulator(place, recording, options).recorded()


def _on_layout(place: Workplace, recording: str, layout: Layout, options: list[str]) -> Simulation:
    library = place.located(layout.library) if layout.library is not None else None
    pools = tuple(str(place.located(word)) if Path(word).is_file() else word for word in layout.pools)
    return _simulator(place, recording, options).on(replace(layout, library=library, pools=pools))


def _simulator(place: Workplace, recording: str, options: list[str]) -> LayoutSimulator:
    """The simulator of this worker, which all layouts share: it writes the script once.

    The player counts with the program, and longer paths take more instructions: paths as long as on one machine.
    """

    def make(until: ExitStack) -> LayoutSimulator:
        return LayoutSimulator(place.located(recording), options, until.enter_context(temporary_folder()))

    return place.once((recording, *options), make)
