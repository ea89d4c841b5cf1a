# SPDX-License-Identifier: BSL-1.0
"""bench-library runs every peer, compares within rounds, applies its bars as stated, and reports what it leaves out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from library_bench import LIBRARIES, Use, bench, line_of, run
from test_bench import follows_its_schema

from millpond.statistics.order_statistics import summarise
from millpond.system.errors import Failure, Status
from millpond_bench.bench_cli import main
from millpond_bench.claims.bar_rules import judge_rows
from millpond_bench.claims.claims import Claim, load
from millpond_bench.experiments.comparisons import Question
from millpond_bench.experiments.contenders import ADAPTER_SYMBOL, find_contenders
from millpond_bench.experiments.result_table import ResultRow, label
from millpond_bench.experiments.suite_rounds import read_suite
from millpond_bench.experiments.surroundings import USUAL
from millpond_bench.suites.library import BAR_ROUNDS, LIBRARY, QUESTIONS

RULES = load(LIBRARY.claims)
ONE = ("--scale", "quick", "--cells", "vector_string/*")


@pytest.mark.more
def test_the_summary_has_one_row_for_each_workload_and_comparison(use: Use) -> None:
    use()
    status, document = run("--scale", "quick", "--rounds", "1")
    assert status == Status.OK, [bar for bar in document["bars"] if not bar["holds"]]
    rows = [(row["workload"], row["comparison"]) for row in document["summary"]]
    assert len(set(rows)) == len(rows)
    for benchmark, questions in QUESTIONS.items():
        found = {row["comparison"] for row in document["summary"] if row["benchmark"] == benchmark}
        assert {q.comparison for q in questions if isinstance(q, Question) and q.each is None} <= found, benchmark
    assert {bar["name"] for bar in document["bars"]} > {rule.statement for rule in RULES if rule.kind == "each"}
    assert document["schema"] == "millpond.bench/1"
    for row in document["observations"]:
        assert set(row) >= {"schema", "workload", "metric", "unit", "value", "status", "kind", "round", "machine"}


@pytest.mark.more
def test_a_row_has_plain_numbers_and_intervals(use: Use) -> None:
    use(ns={"boost_pool:kept": 25.0})
    _, document = run(*ONE)
    follows_its_schema(document)
    row = line_of(document, "kept_multipool")
    assert (row["ours_name"], row["best_peer_name"]) == ("multipool", "boost_pool:kept")
    assert (row["ours"], row["best_peer"], row["ideal"]) == (20.0, 25.0, 19.5)
    assert row["ratio_to_best_peer"] == pytest.approx(0.8)
    assert row["ratio_to_ideal"] == pytest.approx(20 / 19.5)
    assert row["ratio_to_best_peer_low"] <= row["ratio_to_best_peer"] <= row["ratio_to_best_peer_high"]
    assert row["cold_ratio_to_best_peer"] == pytest.approx(0.8)
    assert row["rounds"] == 3


@pytest.mark.parametrize("name", LIBRARIES)
def test_a_missing_peer_is_named_before_anything_is_measured(
    use: Use, libraries: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    fake = use()
    (libraries / name).unlink()
    assert run(*ONE) == (Status.ENVIRONMENT, {})
    assert not fake.calls
    said = capsys.readouterr().err
    assert any(known in said for known in ("jemalloc", "mimalloc", "tcmalloc", "tbb"))
    assert name.partition(".")[0].removeprefix("lib")[:3] in said and "has it" in said


def test_an_unloadable_peer_is_named_before_anything_is_measured(use: Use, capsys: pytest.CaptureFixture[str]) -> None:
    fake = use(unloaded=["tbb"])
    assert run(*ONE)[0] == Status.ENVIRONMENT
    assert not fake.calls
    assert "tbb" in capsys.readouterr().err


@pytest.mark.lengthy
def test_a_bar_that_is_missed_gives_status_1_and_names_the_row(use: Use) -> None:
    use(ns={"pmr_pool:kept": 20.5, "ideal_bump": 15.0, "ideal_free_list": 15.0})
    status, document = run(*ONE)
    assert status == Status.GATE
    missed = [bar for bar in document["bars"] if not bar["holds"]]
    assert [bar["name"] for bar in missed] == ["multipool against the best pool peer over kept chunks"]
    assert "vector_string" in missed[0]["worst"] and "pmr_pool:kept" in missed[0]["worst"]
    assert missed[0]["figure"]["median"] == pytest.approx(20 / 20.5)


@pytest.mark.lengthy
def test_bad_alloc_is_a_value_and_the_next_best_is_compared(use: Use) -> None:
    fake = use(bad_alloc=["boost_pool:kept"], ns={"boost_pool:kept": 1.0, "pmr_pool:kept": 30.0})
    status, document = run(*ONE)
    assert status == Status.OK
    row = line_of(document, "kept_multipool")
    assert row["best_peer_name"] == "pmr_pool:kept"
    assert "boost_pool:kept: bad_alloc" in row["note"]
    (kept,) = [o for o in document["observations"] if o["contender"] == "boost_pool:kept"]
    assert (kept["status"], kept["value"]) == ("bad_alloc", None)
    assert sum(name == "boost_pool:kept" for name, _ in fake.calls) == 1


@pytest.mark.lengthy
@pytest.mark.parametrize("how", ["bad_alloc", "dies"])
def test_a_row_in_which_ours_fails_does_not_hold(use: Use, how: str) -> None:
    use(**{how: ["multipool", "monotonic"]})
    status, document = run(*ONE)
    assert status == Status.GATE
    assert line_of(document, "default")["ours"] is None
    assert document["notes"]


@pytest.mark.lengthy
def test_a_contender_that_did_other_work_is_left_out_and_named(use: Use) -> None:
    use(checksum={"pmr_pool:kept": 8}, ns={"pmr_pool:kept": 1.0})
    _, document = run(*ONE, "--rounds", "2")
    (note,) = [note for note in document["notes"] if "checksum" in note]
    assert "pmr_pool:kept" in note
    assert line_of(document, "kept_multipool")["best_peer_name"] != "pmr_pool:kept"


@pytest.mark.lengthy
def test_cells_that_were_not_selected_are_not_judged(use: Use) -> None:
    fake = use()
    status, document = run(*ONE)
    assert status == Status.OK
    assert {words[words.index("--workload") + 1] for _, words in fake.calls} == {"vector_string"}
    assert len(document["bars"]) == 5
    assert bench("--cells", "vector_sting/*") == Status.USAGE


@pytest.mark.more
def test_the_shards_make_the_whole(use: Use, tmp_path: Path) -> None:
    fake = use()
    store = ("--store", str(tmp_path / "store"))
    for part in ("1/2", "2/2"):
        run(*ONE, "--shard", part, *store)
    ran = sorted(name for name, _ in fake.calls)
    status, document = run(*ONE, *store)
    assert sorted(name for name, _ in fake.calls) == ran, "the whole ran nothing again"
    assert status == Status.OK
    assert all(ran.count(name) == 3 for name in ran)
    assert line_of(document, "default")["rounds"] == 3
    values = [o for o in document["observations"] if o["metric"] == "warm_ns" and o["contender"] == "multipool"]
    assert sorted(o["round"] for o in values) == [1, 2, 3]


def test_a_shard_needs_a_place_for_its_rounds(use: Use) -> None:
    use()
    assert bench(*ONE, "--shard", "1/2") == Status.USAGE


@pytest.mark.lengthy
def test_listing_and_forecast_run_and_write_nothing(use: Use, capsys: pytest.CaptureFixture[str]) -> None:
    fake = use()
    assert main(["list", "library"]) == Status.OK
    assert "vector_string/size=4096/seed=1/units=262144/multipool\n" in capsys.readouterr().out
    assert run("--dry-run") == (Status.OK, {})
    assert "runs, about" in capsys.readouterr().out
    assert not fake.calls


def test_the_standard_scale_takes_an_hour_at_most(use: Use) -> None:
    use()
    contenders = find_contenders(read_suite(LIBRARY.suite, {}, USUAL))
    grid = LIBRARY.rounds_and_seconds("standard", contenders, BAR_ROUNDS, 1, {})
    runs = [(cell, rounds * seconds) for cell, (rounds, seconds) in grid.items()]
    others = ("push_back", "small_array", "commit_steps", "slots", "set_of_numbers", "set_life", "instructions_slots",
              "sequence", "ordered_numbers", "small_ordered_numbers", "ranked_numbers", "small_sets", "small_lists",
              "merged_sets", "spliced_lists")  # fmt: skip
    assert sum(seconds for _, seconds in runs) <= 3600
    assert sum(seconds for cell, seconds in runs if not cell.name.startswith(others)) <= 1800
    named = {cell.name for cell in grid}
    for af, sizes in ((1, (4, 8, 12, 16, 20)), (16, (4, 8, 12, 16, 20)), (256, (12, 16))):
        for size in sizes:
            point = f"lists_shuffled/size={2**size}/af={af}/"
            assert any(name.startswith(point) and name.endswith("/multipool") for name in named)
    for point in ("size=16384/seed=1", "size=4096/seed=2"):
        assert any(name.startswith(f"vector_string/{point}/") for name in named)


@pytest.mark.lengthy
def test_the_seed_decides_the_strings_and_the_order(use: Use) -> None:
    fake = use()
    for seed in ("1", "9"):
        run(*ONE, "--rounds", "1", "--seed", seed)
    seeds = [words[words.index("--seed") + 1] for _, words in fake.calls]
    half = len(seeds) // 2
    assert (set(seeds[:half]), set(seeds[half:])) == ({"1"}, {"9"})
    assert [n for n, _ in fake.calls[:half]] != [n for n, _ in fake.calls[half:]]


@pytest.mark.lengthy
def test_other_sizes_can_be_chosen(use: Use) -> None:
    fake = use()
    run(*ONE, "--rounds", "1", "--sizes", "vector_string=5000,2^13")
    assert {words[words.index("--size") + 1] for _, words in fake.calls} == {"5000", "8192"}
    for wrong in ("vector_sting=1", "vector_string", "vector_string=", "vector_string=x", "vector_string=0"):
        assert bench(*ONE, "--sizes", wrong) == Status.USAGE


@pytest.mark.lengthy
def test_malloc_tunables_reach_only_the_kept_contenders(use: Use, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GLIBC_TUNABLES", "MALLOC_CONF", "MIMALLOC_LARGE_OS_PAGES", "MALLOC_TRIM_THRESHOLD_"):
        monkeypatch.setenv(name, "1")
    fake = use()
    run(*ONE, "--rounds", "1")
    seen = {}
    for (name, _), environment in zip(fake.calls, fake.environments, strict=True):
        seen[name] = environment
        assert not {"MALLOC_CONF", "MIMALLOC_LARGE_OS_PAGES", "MALLOC_TRIM_THRESHOLD_"} & environment.keys()
        assert environment.get("GLIBC_TUNABLES", "") != "1"
    assert "mmap_max=0" in seen["glibc:kept"]["GLIBC_TUNABLES"]
    assert "mmap_max=0" in seen["pool_alloc:kept"]["GLIBC_TUNABLES"]
    assert "GLIBC_TUNABLES" not in seen["multipool"] and "LD_PRELOAD" not in seen["multipool"]
    assert seen["tcmalloc"]["LD_PRELOAD"].endswith("libtcmalloc_minimal.so.4")
    assert len({len(e["MILLPOND_PAD"]) for e in fake.environments}) > 5


@pytest.mark.lengthy
def test_a_peer_given_by_path_is_a_malloc_or_an_adapter(use: Use, tmp_path: Path) -> None:
    fake = use(ns={"fast": 10.0, "bde:kept": 18.0, "ideal_bump": 9.0})
    (tmp_path / "fast.so").write_bytes(b"\x7fELF")
    (tmp_path / "bde.so").write_bytes(b"\x7fELF" + ADAPTER_SYMBOL)
    status, document = run(*ONE, "--peer", f"fast={tmp_path}/fast.so", "--peer", f"bde={tmp_path}/bde.so")
    assert status == Status.GATE
    assert line_of(document, "default")["best_peer_name"] == "fast"
    assert line_of(document, "kept_multipool")["best_peer_name"] == "bde:kept"
    assert {"fast", "bde"} <= {peer["name"] for peer in document["peers"]}
    words = next(words for name, words in fake.calls if name == "bde")
    assert words[-2:] == ("--peer", str(tmp_path / "bde.so"))


@pytest.mark.parametrize(
    ("given", "status"),
    [("x", 2), ("=y.so", 2), ("a:b=y.so", 2), ("jemalloc=fast.so", 2), ("x=absent.so", 3), ("x=text.so", 3)],
)
def test_a_file_that_is_no_peer_is_refused(use: Use, tmp_path: Path, given: str, status: int) -> None:
    use()
    (tmp_path / "fast.so").write_bytes(b"\x7fELF")
    (tmp_path / "text.so").write_text("no library")
    assert bench(*ONE, "--peer", given) == status


@pytest.mark.lengthy
def test_bytes_are_compared_with_the_leanest_peer_of_similar_speed(use: Use) -> None:
    lean = {"pmr_pool:kept": 1_000_000, "boost_pool:kept": 8_000_000}
    use(ns={"boost_pool:kept": 21.5, "pmr_pool:kept": 22.5}, bytes=lean)
    status, document = run(*ONE)
    row = line_of(document, "held_multipool")
    assert (row["best_peer_name"], row["unit"]) == ("boost_pool:kept", "bytes")
    assert row["ratio_to_best_peer"] == pytest.approx(1.25)
    assert status == Status.GATE
    assert "no peer is within 10 %" in line_of(document, "held_monotonic")["note"]


@pytest.mark.lengthy
def test_hardened_is_held_to_the_geometric_mean_over_the_rows(use: Use) -> None:
    use(ns={"multipool:hardened": 20.8})
    status, document = run("--scale", "quick", "--rounds", "2", "--cells", "vector_*/*multipool*")
    (bar,) = [bar for bar in document["bars"] if bar["name"] == "hardened against release"]
    assert bar["figure"]["median"] == pytest.approx(1.04) and bar["holds"]
    assert status in (Status.OK, Status.GATE)


@pytest.mark.lengthy
def test_instructions_are_the_difference_of_two_counts(use: Use) -> None:
    use(counts={("free_allocate", "multipool"): 31, ("free_allocate", "multipool:base"): 45})
    status, document = run("--scale", "quick", "--cells", "instructions_*")
    bars = {bar["name"]: bar for bar in document["bars"]}
    assert status == Status.GATE
    assert not bars["instructions of free + allocate, type binding"]["holds"]
    assert bars["instructions of free + allocate, base binding"]["figure"]["median"] == 45
    assert {o["kind"] for o in document["observations"] if o["metric"] == "instructions"} == {"counted"}


@pytest.mark.lengthy
def test_no_step_may_exceed_twice_the_size_before(use: Use) -> None:
    use(ns={"multipool": 0.9})
    status, document = run("--scale", "quick", "--cells", "size_sweep/*")
    (bar,) = [bar for bar in document["bars"] if bar["name"] == "free + allocate: from one size to the next"]
    assert status == Status.GATE and bar["figure"]["median"] == pytest.approx(1.9 / 0.9)


@pytest.mark.parametrize(
    ("to_peer", "to_ideal", "holds"),
    [(0.95, 2.0, True), (0.96, 1.05, True), (0.96, 1.06, False), (1.3, 1.0, True), (0.2, None, True)],
)
def test_faster_than_the_peer_or_at_the_ideal_is_enough(to_peer: float, to_ideal: float | None, holds: bool) -> None:
    rule = next(rule for rule in RULES if rule.statement.startswith("multipool against"))
    assert _judged(rule, to_peer, to_ideal) is holds


def _judged(rule: Claim, to_peer: float, to_ideal: float | None) -> bool:
    ideal = None if to_ideal is None else summarise([to_ideal] * 15)
    line = ResultRow("w", "vector_string", {}, "kept_multipool", "ns", "multipool", 1.0, "peer", 1.0, "ideal", 1.0)
    bar = judge_rows(rule, [replace(line, to_peer=summarise([to_peer] * 15), to_ideal=ideal)])
    assert bar is not None
    return bar.holds is True


def test_the_worst_line_of_a_bar_is_one_that_does_not_hold() -> None:
    rule = next(rule for rule in RULES if rule.statement.startswith("multipool against"))
    line = ResultRow("a", "vector_string", {}, "kept_multipool", "ns", "multipool", 1.0, "peer", 1.0, "ideal", 1.0)
    good = replace(line, to_peer=summarise([1.4]), to_ideal=summarise([1.0]))
    bad = replace(line, workload="b", to_peer=summarise([1.1]), to_ideal=summarise([1.5]))
    bar = judge_rows(rule, [good, bad])
    assert bar is not None and not bar.holds
    assert bar.ours is not None and bar.ours.median == 1.1
    assert bar.worst.startswith("b,")


def test_an_outdated_program_must_be_built_again(use: Use, monkeypatch: pytest.MonkeyPatch) -> None:
    use()
    program = read_suite(LIBRARY.suite, {}, USUAL)
    with pytest.raises(Failure, match="build it again") as failure:
        replace(program, workloads={}).workload("vector_string")
    assert failure.value.status == Status.ENVIRONMENT


def test_a_label_names_the_point() -> None:
    assert label("vector_string", {"size": "4096", "seed": "2"}) == "vector_string 2^12, seed 2"
    assert label("lists_shuffled", {"size": "16", "af": "256"}) == "lists_shuffled 16, af 256"
    assert label("threads_own", {"size": "256", "threads": "2"}) == "threads_own 256, 2 threads"
