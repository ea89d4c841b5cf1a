# SPDX-License-Identifier: BSL-1.0
"""Makes the JSON Schema of each JSON document of ours from its Python type.

    millpond schema NAME ─▶ DOCUMENTS[NAME] ─▶ "module:Class" ─▶ JSON Schema (draft 2020-12)

The type is the definition, so no schema is stored. Documents of extensions are found, too.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import msgspec

from millpond.system import extensions
from millpond.system.errors import Failure, Status
from millpond.system.records import Record

DIALECT = "https://json-schema.org/draft/2020-12/schema"
# Name and version → module and class.
DOCUMENTS = {
    "millpond.advice.1": "millpond.advice.advice_data:Advice",
    "millpond.advice_state.1": "millpond.advice.advice_state:AdviceState",
    "millpond.builds.1": "millpond.advice.prediction_outcome:Builds",
    "millpond.characterisation.1": "millpond.rounds.characterisation:Characterisation",
    "millpond.contexts.1": "millpond.store.call_tree:CallTree",
    "millpond.doctor.1": "millpond.doctor.examination_data:Examination",
    "millpond.fleet.1": "millpond.rounds.fleet_data:Fleet",
    "millpond.layouts.1": "millpond.rounds.simulation_data:LayoutComparison",
    "millpond.plan.1": "millpond.cells.plan_file:PlanFile",
    "millpond.references_validation.1": "millpond.doctor.references_error:ReferencesValidation",
    "millpond.replay.1": "millpond.rounds.replay_data:ReplayResult",
    "millpond.simulation.1": "millpond.rounds.simulation_data:Simulation",
    "millpond.synthesis.1": "millpond.advice.synthesis:Synthesis",
    "millpond.trace_comparison.1": "millpond.report.comparison.trace_changes:TraceComparison",
    "millpond.trial.1": "millpond.rounds.trial_data:TrialResult",
    "millpond.validation.1": "millpond.doctor.replay_error:Validation",
}


def documents() -> dict[str, str]:
    """The documents of `millpond` and its extensions: name and version → module and class, by name."""
    return dict(sorted({**DOCUMENTS, **extensions.documents()}.items()))


def type_of(name: str) -> type[Record]:
    """The type of a document. Failure (status 2) for an unknown name, with the names that exist."""
    known = documents()
    # The documents themselves say "millpond.advice/1".
    where = known.get(name.replace("/", "."))
    if where is None:
        raise Failure(Status.USAGE, f"there is no document {name!r}; there are {', '.join(known)}")
    module, _, kind = where.partition(":")
    found: type[Record] = getattr(import_module(module), kind)
    return found


def schema(name: str) -> dict[str, Any]:
    """The JSON Schema of a document. Failure (status 2) for an unknown name."""
    return {"$schema": DIALECT, **msgspec.json.schema(type_of(name))}
