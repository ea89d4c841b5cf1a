# SPDX-License-Identifier: BSL-1.0
"""Every planted fault still has its place, and every header of the library and source of malloc has a fault.

scripts/plant_faults checks in `make test-all` that tests notice the faults.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import programs
import pytest
import repository

import faults

# These headers hold only types and names: a mistake in them does not compile.
WITHOUT = {
    "advise/containers.hpp", "advise/detail/arena_place.hpp",
    "classic/coalescing.hpp", "classic/predicted_site.hpp",
    "core/abi.hpp", "core/concepts.hpp", "core/detail/at_least_result.hpp", "core/size_class_scheme.hpp",
    "block/file_region.hpp", "block/numa_region.hpp",
    "local/arena.hpp", "local/first_chunk.hpp",
    "os/faults.hpp", "os/file_pages.hpp", "os/numa_pages.hpp", "os/optional_calls.hpp", "os/pages.hpp",
    "container/detail/guides.hpp", "container/pooled_map.hpp", "container/pooled_multimap.hpp",
    "container/pooled_multiset.hpp", "container/pooled_set.hpp", "container/pooled_stats.hpp",
}  # fmt: skip


def header(fault: faults.Fault) -> str:
    return repository.text(faults.place_of(fault.file))


@pytest.mark.parametrize("fault", faults.load(), ids=lambda fault: fault.name)
def test_a_fault_has_one_place_and_changes_it(fault: faults.Fault) -> None:
    assert faults.plant(header(fault), fault) != header(fault)


def test_names_of_faults_differ() -> None:
    twice = [name for name, count in Counter(fault.name for fault in faults.load()).items() if count > 1]
    assert not twice


def test_every_header_has_a_fault() -> None:
    inside = [path.relative_to(faults.HEADERS) for path in repository.library_headers()]
    classes = {path.as_posix() for path in inside if len(path.parts) > 1}
    assert not classes - WITHOUT - {fault.file for fault in faults.load()}


def test_every_part_of_our_malloc_has_a_fault() -> None:
    parts = (
        "block_depot",
        "cached_classes",
        "huge_regions",
        "kept_memory",
        "locked_malloc",
        "page_runs",
        "pool_slabs",
        "slab_map",
        "thread_cache",
    )
    for part in parts:
        assert any(Path(fault.file).stem == part for fault in faults.load() if fault.file.startswith("preload/")), part


def test_every_fault_has_a_description_and_a_test() -> None:
    for fault in faults.load():
        assert fault.what, fault.name
        assert fault.tests, fault.name


def test_a_fault_is_found_however_its_header_is_broken_into_lines() -> None:
    fault = faults.Fault("one", "one.hpp", "one", "if (a && b) {\n    c();", "if (a) { c();", ("one",))
    for text in ("if (a && b) { c(); }", "if (a &&\n        b)\n{\n\tc();\n}", "if(a&&b){c();}"):
        assert faults.plant(text, fault).startswith("if (a) { c();")
    for text in ("if (a || b) { c(); }", "if (a && b) { c(); } if (a && b) { c(); }"):
        with pytest.raises(faults.PlacementError):
            faults.plant(text, fault)


def test_targets_that_faults_name_exist() -> None:
    made = repository.text(Path("tests/unit/CMakeLists.txt"))
    for room in ("property", "oom", "misuse", "lab/mallocs"):
        made += repository.text(Path("tests", room, "CMakeLists.txt"))
    # The build makes one of them, of the examples in the headers.
    listed = dict(re.findall(r"millpond_library_test\((\w+)\s([^)]*)\)", made))
    sources = {"header_examples", *(path.stem for path in repository.cxx_files() if path.parts[0] == "tests")}
    for fault in faults.load():
        for test in fault.tests:
            target, _, source = test.partition("/")
            assert target in made or target.removeprefix("library_misuse_") in made, f"{fault.name}: {test}"
            assert (source in sources) == (target not in programs.WHOLE), f"{fault.name}: {test}"
            of_target = listed.get(target, "${")
            assert "${" in of_target or f"{source}.cpp" in of_target, f"{fault.name}: {target} has no {source}"
