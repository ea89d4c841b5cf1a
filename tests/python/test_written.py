# SPDX-License-Identifier: BSL-1.0
"""The code of an advice: names, places, sizes, and the folder of `--write`."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from conftest import FakeLab
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from millpond.advice import container_text
from millpond.advice.advice_data import Advice, AnalysedProgram, Choices, Code, Option, Row
from millpond.advice.choice_text import lines
from millpond.advice.code_changes import with_code
from millpond.advice.code_header import HEADER, header, one_line
from millpond.advice.code_homes import CLASSES_SAVE_MIN, default_class, foreign_text, homes, identifier
from millpond.advice.code_test import TEST
from millpond.advice.code_writing import NOTE, files_of, write
from millpond.cells.plan_file import PlanFile, PlanProgram, PlanRoute, PlanScope
from millpond.rounds.characterisation import (
    AllocationPlace,
    Container,
    InstanceBytes,
    Member,
    ScopeLegality,
    TraceSummary,
)
from millpond.system.errors import Failure, Status

PLACE = AllocationPlace(file="/src/book.cpp", line=18, function="book::add", bytes=100)
MEMBER = Member(
    name="orders_", kind="member", type="std::map<int, shop::order>", holds="itself", named_in_call=True,
    file="/src/book.hpp", line=12,
)  # fmt: skip


def container(type_: str | None, bytes_: int = 960, allocations: int = 10, **more: Any) -> Container:
    known = Container(
        type=type_, why_null=None if type_ else "why", bytes=bytes_, allocations=allocations, share=1.0,
        places=(PLACE,), members=(MEMBER,) if type_ else (),
    )  # fmt: skip
    return replace(known, **more)


def advice(*containers: Container, scope: PlanScope | None = None, **row: Any) -> Advice:
    routes = (
        PlanRoute(("shop::book",), "shop::book", "monotonic" if scope else "multipool", scope=scope),
        PlanRoute(("*",), "rest", "malloc"),
    )
    book = Row(name="shop::book", W=1, peak_live_bytes=5000, containers=containers, best="multipool", **row)
    return Advice(
        verdict="Give shop::book a pool of its own.", choice=Option(kind="plan"), effects={}, sums={}, rounds=11,
        program=AnalysedProgram(argv=("./shop",)), trace=TraceSummary(), subsystems=(book,), notes=(),
        plan=PlanFile(program=PlanProgram("./shop", "ab"), routes=routes),
    )  # fmt: skip


def code_of(one: Advice) -> Code:
    (row,) = with_code(one).subsystems
    assert row.code is not None
    return row.code


@pytest.mark.lengthy
@given(st.lists(st.text(max_size=90), max_size=8))
def test_every_owner_has_a_valid_name_of_its_own(owners: list[str]) -> None:
    taken: set[str] = set()
    names = [identifier(owner, taken) for owner in owners]
    assert len(set(names)) == len(owners) == len(taken)
    assert all(re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name) and "__" not in name for name in names)


@pytest.mark.lengthy
@given(st.text())
def test_text_of_a_program_stays_inside_its_comment(text: str) -> None:
    line = one_line(text)
    assert line.isprintable() and not line.endswith("\\") and len(line) <= 200


@given(st.integers(1, 1 << 20))
def test_default_classes_waste_less_than_a_quarter(size: int) -> None:
    block = default_class(size)
    assert size <= block < max(size * 1.25, size + 8) and default_class(block) == block


def test_first_bytes_follow_the_bytes_of_an_activation() -> None:
    judged = ScopeLegality(
        scope="function", name="serve", legality="legal", legal=True, instance_bytes=InstanceBytes(p95=5000)
    )
    (home,) = homes(advice(container("std::map<int, int>"), scope=PlanScope("serve"), legality=(judged,)))
    assert home.first_bytes == 5120 and "5.00 kB" in home.first_reason
    assert "millpond::advise::scope_arena<struct shop_book_memory_tag, 5120>;" in header([home], "shop")
    assert "no object outlived" in home.owner


def test_size_classes_are_written_where_the_default_ones_waste() -> None:
    (wasteful,) = homes(advice(container("std::map<int, int>", 10 * 72, 10)))
    assert wasteful.classes == (72,) and "class_map<72>" in header([wasteful], "shop")
    for given_ in (
        [container("std::map<int, int>", 10 * 96, 10)],  # a default class
        [container("std::map<int, int>", 10 * 72 + 1, 10)],  # not of one size
        [container("std::map<int, int>", 720, 10), container("std::vector<int>", 720, 10)],  # of any size
        [container("std::map<int, int>", 720, 10), container(None, 720, 10)],
        [],
    ):
        (home,) = homes(advice(*given_))
        assert home.classes == () and "class_map" not in header([home], "shop")
    assert CLASSES_SAVE_MIN < 80 / 72 - 1


def test_a_change_names_its_place_and_both_declarations() -> None:
    code = code_of(advice(container("std::map<int, shop::order>")))
    (change,) = code.changes
    assert (change.file, change.line) == ("/src/book.hpp", 12)
    assert change.before == "std::map<int, shop::order> orders_;"
    assert change.after == "millpond_advice::shop_book_memory::map<int, shop::order> orders_;"


def test_containers_below_1_percent_of_the_bytes_get_no_change() -> None:
    members = (replace(MEMBER, type="std::list<long>", name="all_", line=14),)
    large, small = (
        container("std::map<int, shop::order>", 100_000),
        container("std::list<long>", 999, members=members),
    )
    enough = replace(small, bytes=1100)
    assert len(code_of(advice(large, small)).changes) == 1
    assert len(code_of(advice(large, enough)).changes) > 1


def test_changes_are_the_lines_of_a_source_at_hand(tmp_path: Path) -> None:
    source = tmp_path / "book.cpp"
    source.write_text("using orders = std::map<int, order>;\norders orders_;\nstd::map<int, order>::iterator last_;\n")
    member = replace(MEMBER, file=str(source), line=2)
    code = code_of(advice(container("std::map<int, shop::order>", members=(member,))))
    space = "millpond_advice::shop_book_memory"
    assert [(c.line, c.after) for c in code.changes] == [
        (1, f"using orders = {space}::map<int, order>;"),
        (3, f"{space}::map<int, order>::iterator last_;"),
    ]


@pytest.mark.parametrize(
    ("head", "opened"),
    [
        ("long serve(int i) { return i; }", "long serve(int i) { SCOPE return i; }"),
        ("long serve(int i,\n    int k) const noexcept\n{\n}", "{ SCOPE"),
        ("auto serve() -> std::vector<int> {", "auto serve() -> std::vector<int> { SCOPE"),
        ("long serve(int i);", None),
        ("server(int i) : values{i} {", None),
    ],
)
def test_an_arena_is_the_first_line_of_its_function(head: str, opened: str | None, tmp_path: Path) -> None:
    source = tmp_path / "serve.cpp"
    source.write_text(f"// first\n{head}\n")
    judged = ScopeLegality(scope="function", name="serve", legality="legal", legal=True, file=str(source), line=2)
    code = code_of(advice(scope=PlanScope("serve"), legality=(judged,)))
    (change,) = [c for c in code.changes if "scope scope;" in c.after]
    statement = "millpond_advice::shop_book_memory::scope scope;"
    if opened is None:
        assert (change.before, change.after) == ("", statement)
    else:
        assert change.after == opened.replace("SCOPE", statement)
        assert change.before == source.read_text().split("\n")[change.line - 1].strip()


def test_if_several_variables_fit_none_is_chosen() -> None:
    members = tuple(replace(MEMBER, name=n, line=i, named_in_call=False) for i, n in enumerate(("a", "b"), 1))
    found = container("std::map<int, shop::order>", members=members)
    code = code_of(advice(found))
    (change,) = code.changes
    assert not change.before and "a (book.hpp:1), b (book.hpp:2)" in change.what
    assert container_text.member_of(found) is None


def test_memory_outside_containers_has_calls_to_replace() -> None:
    for found, words in (
        (container(None), "::make<T>"),
        (container(None, call="strdup"), "strdup"),
        (container("std::pmr::map<int, int>", members=()), "::resource()"),
        (container("std::shared_ptr<int>", members=()), "::make_shared<T>"),
        (container("std::function<int()>", members=()), "takes no allocator"),
    ):
        code = code_of(advice(found))
        assert any(words in change.what for change in code.changes), words


def test_links_open_the_place_in_an_editor() -> None:
    assert container_text.editor_link(PLACE) == "vscode://file/src/book.cpp:18"
    assert container_text.editor_link(AllocationPlace(file='/a b/"c.cpp', line=3)) == "vscode://file/a%20b/%22c.cpp:3"
    for unknown in (None, AllocationPlace(), AllocationPlace(file="book.cpp", line=3)):
        assert container_text.editor_link(unknown) == ""


def test_a_table_says_once_why_members_are_missing() -> None:
    why = "there are line tables only (-g1): build with -g to name it"
    bare = [container(type_, members=(), why_no_members=why) for type_ in ("std::set<int>", "std::list<int>")]
    (row,) = advice(*bare, container("std::map<int, int>")).subsystems
    assert [line for line in container_text.lines(row) if why in line] == [
        f"which members these are is not known: {why}"
    ]
    assert files_of(advice(*bare))[NOTE].count("line tables only") == 1
    (row,) = advice(container("std::map<int, int>")).subsystems
    assert not any("not known" in line for line in container_text.lines(row))


def test_an_older_store_has_no_containers() -> None:
    old = advice()
    (row,) = old.subsystems
    row = replace(row, containers=None)
    old = replace(old, subsystems=(row,))
    assert container_text.lines(row) == [] and container_text.mostly(row) == ""
    assert code_of(old).changes == () and set(files_of(old)) == {NOTE, HEADER, TEST}
    assert container_text.named_with_container("shop::book", [row]) == "shop::book"


def test_writes_a_new_folder_or_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "advice"
    said = write(advice(container("std::map<int, shop::order>")), folder)
    assert {p.name for p in folder.iterdir()} == {NOTE, HEADER, TEST} and NOTE in said
    note = (folder / NOTE).read_text()
    assert "book.hpp:12" in note and "-DMILLPOND_CHECKED" in note and "c++ -std=c++20" in note
    before = {p: p.read_bytes() for p in folder.iterdir()}
    with pytest.raises(Failure, match="nothing is overwritten") as refused:
        write(advice(), folder)
    assert refused.value.status == Status.USAGE
    assert {p: p.read_bytes() for p in folder.iterdir()} == before
    with pytest.raises(Failure, match="is a file"):
        write(advice(), folder / NOTE)
    assert list(folder.parent.iterdir()) == [folder], "nothing is left next to it"


def test_without_a_change_of_the_source_only_the_note_is_written(tmp_path: Path) -> None:
    nothing = replace(advice(), plan=None, choice=Option(kind="none"))
    malloc = replace(nothing, choice=Option(kind="malloc", command="LD_PRELOAD=libfast.so ./shop"))
    undecided = replace(nothing, choice=Option(kind="undecided"))
    for name, one, words in (
        ("a", nothing, "No change of the source is better"),
        ("b", malloc, "LD_PRELOAD=libfast.so ./shop"),
        ("c", undecided, "no verdict yet"),
    ):
        assert "only" in write(one, tmp_path / name)
        assert [p.name for p in (tmp_path / name).iterdir()] == [NOTE]
        assert words in (tmp_path / name / NOTE).read_text()


def test_advise_writes_the_folder_that_it_is_given(lab: FakeLab, tmp_path: Path) -> None:
    folder = tmp_path / "written"
    done = lab.run("advise", f"--write={folder}", "-o", "-", "--", "prog")
    assert done.status == 0 and NOTE in {p.name for p in folder.iterdir()} and str(folder) in done.stderr
    assert all("code" in row for row in json.loads(done.stdout)["subsystems"])
    again = lab.run("advise", f"--write={folder}", "--", "prog")
    assert again.status == 2 and "nothing is overwritten" in again.stderr


def test_sources_of_packages_get_no_code() -> None:
    own = advice(container("std::map<int, int>"))
    foreign = advice(container("std::map<int, int>"), package="libshop2")
    assert foreign_text(own) == "" and foreign_text(foreign) == "libshop2"
    assert homes(foreign) == [] and with_code(foreign).subsystems[0].code is None
    files = files_of(foreign)
    assert list(files) == [NOTE]
    assert "libshop2" in files[NOTE] and "millpond run --plan" in files[NOTE]
    assert "no header was written" not in files[NOTE] and "Not yours to change" not in files_of(own)[NOTE]


def test_a_folder_without_code_names_the_package_of_the_source(tmp_path: Path) -> None:
    said = write(advice(container("std::map<int, int>"), package="libshop2"), tmp_path / "change")
    assert "libshop2" in said and "do not build" in said


def test_the_choice_names_the_package_of_the_source() -> None:
    plan = Option(kind="plan", what="a pool for shop::book")
    malloc = Option(kind="malloc", what="LD_PRELOAD=libfast.so", command="LD_PRELOAD=libfast.so")
    choices = Choices(prefer="balanced", source_change=plan, without_source_change=malloc)
    said = dict(lines(replace(advice(container("int"), package="libshop2"), choices=choices)))
    assert "in the source of libshop2" in said
    would_do = said["what we would do"]
    assert "under the plan or on LD_PRELOAD=libfast.so" in would_do and "the maintainers of libshop2" in would_do
    own = dict(lines(replace(advice(container("int")), choices=choices)))
    assert "in the source" in own and own["what we would do"].startswith("change the source")
