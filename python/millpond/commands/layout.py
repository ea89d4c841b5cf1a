# SPDX-License-Identifier: BSL-1.0
"""The verb `millpond trace layout TRACE LAYOUT…`: simulates a recording as recorded and on other allocators."""

from __future__ import annotations

from pathlib import Path

from millpond.cluster.cluster import ClusterChoice, opened
from millpond.cluster.cluster_layouts import simulate_on_cluster
from millpond.commands.writing import prove_all, write_documents, write_form
from millpond.report.simulation_page import render
from millpond.rounds.layouts import layout_of, simulate_layouts
from millpond.rounds.simulation_data import LAYOUTS_SCHEMA, LayoutComparison, NamedSimulation
from millpond.system.errors import Status
from millpond.system.json_seal import sealed
from millpond.system.temporary import temporary_folder
from millpond.verbs.simulators import for_curves, native_words
from millpond.verbs.trace_requests import LayoutRequest
from millpond.verbs.values import places, takes_stdout


def layout(request: LayoutRequest) -> int:
    """Predicts the misses of a recorded program on other allocators, side by side."""
    prove_all(request.out)
    layouts = [layout_of(word) for word in dict.fromkeys(request.layouts)]
    pages = places(request.out, "html")
    options = [*native_words(request), *(for_curves(request) if pages else [])]
    with opened(ClusterChoice(request.cluster, request.workers)) as cluster:
        if cluster is None:
            with temporary_folder() as folder:
                found = simulate_layouts(Path(request.trace), layouts, options, folder)
        else:
            found = simulate_on_cluster(cluster, Path(request.trace), layouts, options)
    comparison = LayoutComparison(LAYOUTS_SCHEMA, tuple(NamedSimulation(name, one) for name, one in found))
    for page in pages:
        write_form(render(found), page)
    write_documents(request.out, sealed(comparison.to_json()))
    if not takes_stdout(request.out):
        from millpond.report import terminal
        from millpond.report.views.layout_view import layout_section

        terminal.print_section(layout_section(comparison), terminal.console())
    return Status.OK
