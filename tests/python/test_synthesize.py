# SPDX-License-Identifier: BSL-1.0
"""Size classes for traces: the cheapest of all divisions, estimates by hand, the header's text, wrong requests."""

from __future__ import annotations

import itertools
import random
from pathlib import Path

import jsonschema
import pytest

from millpond.advice import allocator_header
from millpond.advice.class_choice import (
    GENERAL_PRICE,
    MEASURED,
    POWERS,
    PRICED_PEAK_BYTES,
    TIE_WEIGHT,
    choose,
    count_classes,
    four_an_octave,
    held_bytes,
    powers_of_two,
    run_bytes,
)
from millpond.advice.size_tables import SizeTable
from millpond.advice.synthesis import Synthesis, synthesize
from millpond.cli import main
from millpond.report import json_schemas
from millpond.system.errors import Failure, Status


def table(*rows: tuple[int, int, int, list[int]], sites: tuple[tuple[str, int, int], ...] = (), larger: int = 0,
          program: str = "shop") -> SizeTable:  # fmt: skip
    """Returns a table of rows: size, requests, requested bytes, live blocks over time; the mean is over the moments."""
    moments = len(rows[0][3]) if rows else 1
    requests = sum(row[1] for row in rows) + larger
    means = [sum(live) / moments for *_, live in rows]
    return SizeTable.from_json({
        "schema": "millpond.sizes/1", "trace": {"path": f"{program}.mpt"}, "process": {"argv": [program]},
        "granule_bytes": 8, "largest_bytes": 4096, "short_bytes": 32768, "moments": moments,
        "census": {"requests": requests, "requested_bytes": 0, "distinct_sizes": len(rows),
                   "most_frequent": [{"bytes": r[0], "requests": r[1]} for r in sorted(rows, key=lambda r: -r[1])]},
        "rows": [{"bytes": size, "requests": n, "requested_bytes": asked, "peak_blocks": max(live),
                  "mean_blocks": mean, "mean_bytes": mean * asked / n, "live": live}
                 for (size, n, asked, live), mean in zip(rows, means, strict=True)],
        "larger": {"requests": larger, "requested_bytes": 5000 * larger, "peak_blocks": larger,
                   "peak_bytes": 5000 * larger},
        "sites": [{"site": s, "objects": 1, "bytes": b, "short_bytes": short} for s, b, short in sites],
    })  # fmt: skip


def random_table(dice: random.Random) -> SizeTable:
    sizes = sorted(dice.sample(range(8, 4097, 8), dice.randint(1, 7)))
    rows = []
    for size in sizes:
        requests = dice.randint(1, 3000)
        asked = sum(dice.randint(size - 7, size) for _ in range(3)) / 3
        rows.append((size, requests, int(requests * asked), [dice.randint(0, 500) for _ in range(3)] + [1]))
    return table(*rows)


def cost_of(tables: list[SizeTable], classes: tuple[int, ...], weight: float) -> float:
    """Returns the cost, computed literally as the module defines it."""
    total = 0.0
    for one in tables:
        peak = max(sum(row.bytes * row.live[m] for row in one.rows) for m in range(one.moments))
        for count in count_classes(one, classes)[:-1]:
            free = count.held_bytes - count.mean_block_bytes
            total += (free + (weight + TIE_WEIGHT) * (count.mean_block_bytes - count.mean_requested_bytes)) / peak
        rest = [row for row in one.rows if row.bytes > classes[-1]]
        held = max(sum((row.bytes + 16) * row.live[m] for row in rest) for m in range(one.moments))
        free = held - sum(row.mean_blocks * (row.bytes + 16) for row in rest)
        total += (free + (weight + TIE_WEIGHT) * tags_beyond(one, classes)) / peak
        price = GENERAL_PRICE * max(1.0, PRICED_PEAK_BYTES / peak)
        total += price * sum(row.requests for row in rest) / one.census.requests
    return total


def tags_beyond(one: SizeTable, classes: tuple[int, ...]) -> float:
    """Returns the average bytes of the general allocator's tags."""
    return sum(16 * row.mean_blocks for row in one.rows if row.bytes > classes[-1])


@pytest.mark.more
@pytest.mark.parametrize("weight", [0.0, 0.5, 1.0, 3.0])
def test_chosen_classes_cost_least_of_all_divisions(seed: int, weight: float) -> None:
    dice = random.Random(seed)
    for _ in range(25):
        tables = [random_table(dice) for _ in range(dice.randint(1, 2))]
        most = dice.randint(1, 8)
        sizes = sorted({row.bytes for one in tables for row in one.rows})
        divisions = [some for k in range(min(most, len(sizes))) for some in itertools.combinations(sizes, k + 1)]
        least = min(cost_of(tables, division, weight) for division in divisions)
        chosen = choose(tables, most, weight)
        assert len(chosen) <= most
        assert cost_of(tables, chosen, weight) == pytest.approx(least, abs=1e-9)


def test_sizes_that_live_in_turns_share_a_class() -> None:
    in_turns = table((1000, 100, 100_000, [500, 0]), (1008, 100, 100_800, [0, 500]))
    together = table((1000, 100, 100_000, [500, 500]), (1008, 100, 100_800, [500, 500]))
    assert choose([in_turns]) == (1008,)
    # One class or two need three pages, so two classes waste nothing.
    assert choose([table((24, 1, 24, [200]), (40, 1, 40, [50]))]) == (24, 40)
    assert choose([together], weight=20) == (1000, 1008)


@pytest.mark.lengthy
def test_a_larger_weight_makes_no_fewer_classes(seed: int) -> None:
    dice = random.Random(seed)
    for _ in range(20):
        one = random_table(dice)
        lost = []
        for weight in (0.0, 0.5, 1.0, 4.0, 100.0):
            classes = choose([one], weight=weight)
            counts = count_classes(one, classes)
            lost.append(
                sum(c.mean_block_bytes - c.mean_requested_bytes for c in counts) + tags_beyond(one, classes)
            )  # fmt: skip
        assert all(after <= before + 1e-6 for before, after in itertools.pairwise(lost))


def test_schemes_are_those_of_the_library() -> None:
    assert powers_of_two(16, 128) == (16, 32, 64, 128)
    assert four_an_octave(8, 192) == (8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192)
    assert len(four_an_octave(8, 4096)) == 4 * (4096 // 8).bit_length() - 8  # four_an_octave::count
    assert (run_bytes(24), run_bytes(1000), run_bytes(3000), run_bytes(4096)) == (4096, 4096, 12288, 4096)
    assert held_bytes(24, [0, 1, 170, 171]).tolist() == [0, 4096, 4096, 8192]


def test_counts_are_those_of_hands() -> None:
    one = table((16, 10, 100, [2, 4]), (24, 30, 720, [8, 2]), (4096, 1, 4096, [1, 0]), larger=2)
    served, rest = count_classes(one, (24,))
    assert (served.requests, served.block_bytes, served.requested_bytes, served.peak_blocks) == (40, 960, 820, 10)
    assert (served.mean_block_bytes, served.held_bytes) == (24 * 8, 4096)
    assert (rest.bytes, rest.requests, rest.peak_blocks) == (None, 3, 3)
    assert rest.held_bytes == 4096 + 2 * 5000 + 3 * 16


def example() -> Synthesis:
    made = table((24, 300, 7200, [100, 200]), (40, 100, 3600, [50, 10]), larger=1, program="shop --sell\\")
    other = table((24, 10, 240, [5, 5]), (48, 30, 1440, [10, 9]), program="stock")
    return synthesize([made], [other])


def test_held_out_traces_are_told_from_the_others() -> None:
    found = example()
    assert [use.held_out for use in found.traces] == [False, True]
    assert found.made_from == found.traces[:1]
    measured = {use.path: {s.source: s for s in use.sources}[MEASURED] for use in found.traces}
    assert measured["stock.mpt"].requests_outside == 30
    powers = {s.source: s for s in found.traces[1].sources}[POWERS]
    assert (powers.requests_outside, powers.classes) == (0, 10)


def test_census_counts_the_most_frequent_sizes_and_tags() -> None:
    use = example().traces[0]
    assert [(f.sizes, f.share) for f in use.frequent[:2]] == [(1, 300 / 401), (2, 400 / 401)]
    (eight, _sixteen) = use.tags
    assert eight.line_bytes_by_request == pytest.approx(64 * 8 * 400 / (300 * 24 + 100 * 40 + 8 * 400))
    # The paper says: about a quarter, if 24 bytes are common.
    (only, _) = synthesize([table((24, 9, 216, [3]))], []).traces[0].tags
    assert only.line_bytes_live == 16


def test_sites_are_predicted_from_all_traces() -> None:
    row = (24, 10, 240, [1])
    first = table(row, sites=(("a", 100, 100), ("b", 50, 0), ("c", 10, 10)))
    second = table(row, sites=(("a", 100, 100), ("c", 10, 5)))
    held = table(row, sites=(("a", 80, 60), ("b", 50, 50), ("d", 7, 7)))
    use = synthesize([first, second], [held]).traces[-1].lifetimes
    assert (use.bytes, use.short_bytes, use.predicted_bytes, use.wrong_bytes) == (137, 117, 80, 20)
    assert use.unknown_site_bytes == 7
    assert use.wrong_share == 0.25


HEADER = """\
// SPDX-License-Identifier: BSL-1.0
// Made by `millpond synthesize` from 1 trace: size classes for the requests of these runs:
//   shop --sell (401 requests)
//
//   class  serves            requests   share    lost   most blocks
//      24  1…24                   300   74.8 %   0.0 %         200
//      40  25…40                  100   24.9 %  10.0 %          50
//       –  41…                      1    0.2 %
//
// lost: bytes of blocks that were not requested. Weight 1: these classes need the least memory at the peaks.
// Other classes in comparison; peak: estimated bytes, added up over the traces:
//
//   classes                number    lost        peak
//   powers of two              10  32.5 %     17.3 kB
//   multiples of a word       512   3.6 %     17.3 kB
//   bounded waste, 25 %        32   3.6 %     17.3 kB
//   measured                    2   3.6 %     17.3 kB
//
// Larger requests go to gnu_gxx. Compile with C++20 and Millpond's include folder:
//     my_heap::heap<> heap;
//     void* block = heap.allocate(24, 8);
//     heap.deallocate(block);
#pragma once

#include <millpond/classic/size_map.hpp>
#include <millpond/core/class_map.hpp>

namespace my_heap {

using scheme = millpond::class_map<24, 40>;

template <class Counts = millpond::classic::uncounted, class Region = millpond::region,
          class Prediction = millpond::classic::no_prediction>
using heap =
    millpond::classic::size_map<scheme, millpond::classic::pointer_words, Counts, Region, Prediction>;

}  // namespace my_heap
"""


def test_header_has_classes_and_their_reasons() -> None:
    assert allocator_header.header(example(), "my_heap") == HEADER


def test_long_class_lists_are_broken_into_lines() -> None:
    rows = [(size, 10, 10 * size, [400]) for size in range(8, 2000, 16)]
    text = allocator_header.header(synthesize([table(*rows)], [], most=200, weight=1e6), "many")
    assert all(len(line) <= 120 for line in text.splitlines())
    (declared,) = text.split("class_map<")[1:]
    assert [int(w) for w in declared.split(">")[0].split(",")] == [row[0] for row in rows]


@pytest.mark.lengthy
def test_synthesis_survives_json_and_follows_its_schema() -> None:
    found = example()
    assert Synthesis.from_json(found.to_json()) == found
    jsonschema.validate(found.to_json(), json_schemas.schema("millpond.synthesis.1"))


def test_traces_without_small_requests_are_refused() -> None:
    with pytest.raises(Failure, match="--largest") as refused:
        synthesize([table(larger=5)], [])
    assert refused.value.status == Status.INPUT


@pytest.mark.parametrize("name", ["1.hpp", ".hpp", "a__b.hpp", "é.hpp"])
def test_headers_need_a_name_for_their_namespace(name: str) -> None:
    assert allocator_header.name_of(Path("a/my-heap.hpp")) == "my_heap"
    assert allocator_header.name_of(Path("new.hpp")) == "new_allocator"
    with pytest.raises(Failure, match="my_allocator"):
        allocator_header.name_of(Path(name))


def test_only_headers_of_ours_are_replaced(tmp_path: Path) -> None:
    mine, ours = tmp_path / "mine.hpp", tmp_path / "ours.hpp"
    mine.write_text("// Not made by anything.")
    ours.write_text(HEADER)
    allocator_header.prove_replaceable(ours)
    allocator_header.prove_replaceable(tmp_path / "new.hpp")
    for place in (mine, tmp_path):
        with pytest.raises(Failure, match="nothing is overwritten"):
            allocator_header.prove_replaceable(place)


def test_a_missing_or_failing_compiler_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "no-such-compiler -m64")
    with pytest.raises(Failure, match="no-such-compiler") as missing:
        allocator_header.compiler()
    assert missing.value.status == Status.ENVIRONMENT
    monkeypatch.setenv("CXX", "false")
    library = tmp_path / "my_malloc.so"
    with pytest.raises(Failure, match="false could not build"):
        allocator_header.build_library(HEADER, "my_heap", library)
    assert not library.exists()


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["--set=granule=12"], "neither 8 nor 16"), (["--set=granule=8", "-o", "m.so"], "aligned to 16"),
        (["--set=largest=100"], "a multiple of granule 8"), (["-o", "no/such/folder.hpp"], "create the folder"),
        (["--classes=0"], "classes"),
    ],
)  # fmt: skip
def test_wrong_requests_are_refused(
    words: list[str], part: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["synthesize", "trace.mpt", *words]) in (Status.USAGE, Status.ENVIRONMENT)
    assert part in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_too_many_sizes_are_refused() -> None:
    rows = [(size, 1, size, [1]) for size in range(8, 8 * 2050, 8)]
    with pytest.raises(Failure, match="2049 sizes") as refused:
        choose([table(*rows)])
    assert refused.value.status == Status.USAGE
