# SPDX-License-Identifier: BSL-1.0
"""Other packages add documents and parts; without them, millpond says which package is needed."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import EntryPoint
from types import ModuleType
from typing import Any

import pytest
from conftest import FakeLab

from millpond.system import extensions
from millpond.system.errors import Failure, Status


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """The entry points of the packages that are installed: a test fills the list."""
    entries: list[Any] = []
    monkeypatch.setattr(extensions, "entry_points", lambda group: entries if group == extensions.GROUP else [])
    extensions.extensions.cache_clear()
    yield entries
    extensions.extensions.cache_clear()


class Entry:
    """An entry point of a package that adds the module."""

    value = "another.extension"

    def __init__(self, name: str, module: ModuleType) -> None:
        self.name = name
        self._module = module

    def load(self) -> ModuleType:
        return self._module


def test_without_extensions_nothing_is_added(installed: list[Any]) -> None:
    assert extensions.documents() == {} and extensions.metrics() == []
    with pytest.raises(Failure, match=r"millpond-bench run needs the package millpond-bench") as failed:
        extensions.part("main", "millpond-bench run")
    assert failed.value.status == Status.ENVIRONMENT


def test_an_extension_adds_documents_metrics_and_parts(installed: list[Any]) -> None:
    module = ModuleType("another")
    module.DOCUMENTS = {"another.1": "another.data:Data"}  # type: ignore[attr-defined]
    module.metrics = lambda: ["balls"]  # type: ignore[attr-defined]
    module.validate = lambda: 7  # type: ignore[attr-defined]
    installed += [Entry("b", ModuleType("nothing")), Entry("a", module)]
    assert extensions.documents() == {"another.1": "another.data:Data"}
    assert extensions.metrics() == ["balls"]
    assert extensions.part("validate", "millpond-bench run")() == 7


def test_a_half_installed_extension_is_left_out(installed: list[Any], lab: FakeLab) -> None:
    installed.append(EntryPoint("gone", "millpond_gone.extension", extensions.GROUP))
    done = lab.run("bench", "--list")
    assert done.status == 4
    assert "millpond_gone.extension is left out" in done.stderr and "pip install millpond-bench" in done.stderr
