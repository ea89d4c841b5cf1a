# SPDX-License-Identifier: BSL-1.0
"""Changes of code that calls malloc, new and free itself: places, languages, standards, one change a place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from test_written import MEMBER, advice, code_of, container

from millpond.advice.advice_data import SourceChange
from millpond.advice.code_allocating import malloc_line, new_line
from millpond.advice.code_bytes import ADDRESS, HEAD, SIZE, found_by
from millpond.advice.code_changes import one_for_each_place
from millpond.advice.code_header import HEADER, header
from millpond.advice.code_homes import homes
from millpond.advice.code_needs import option_of, year_of
from millpond.advice.code_pool import C_HEADER, c_header
from millpond.advice.code_pool_test import C_TEST
from millpond.advice.code_test import TEST
from millpond.advice.code_writing import NOTE, files_of
from millpond.advice.container_text import change_lines
from millpond.advice.freeing_places import merged_places
from millpond.cells.plan_file import PlanFile, PlanProgram, PlanRoute, PlanScope
from millpond.rounds.characterisation import AllocationPlace, Container, FreeingCall, FreeingPlace

SPACE = "millpond_advice::shop_book_memory"
FREED = FreeingPlace(function="drop", file="/src/free.c", line=7, frees=10)


def made(language: str = "C", standard: str = "C17", **more: Any) -> Container:
    place = AllocationPlace(file="/src/make.c", line=3, function="make", language=language, standard=standard, bytes=9)
    return container(None, places=(place,), **more)


def changes(*containers: Container, **row: Any) -> list[SourceChange]:
    return list(code_of(advice(*containers, **row)).changes)


def test_code_in_c_gets_a_c_header() -> None:
    one = advice(made(), freed_at=(FREED,), frees=10)
    files = files_of(one)
    assert set(files) == {NOTE, C_HEADER, C_TEST}
    assert "shop_book_memory_free_any" in files[C_HEADER] and "#include <millpond" not in files[C_HEADER]
    assert f'#include "{C_HEADER}"' in files[NOTE] and "-std=c17" in files[NOTE]
    assert code_of(one).language == "C" and code_of(one).needs == ""
    cpp = advice(made("C++", "C++20"), freed_at=(FREED,), frees=10)
    assert set(files_of(cpp)) == {NOTE, HEADER, TEST} and code_of(cpp).language == "C++"
    # C++ containers have only this header.
    assert code_of(advice(made(), container("std::map<int, int>"))).language == "C++"


def test_every_place_that_frees_is_named_with_its_counts() -> None:
    others = FreeingPlace(
        function="xfree", file="/src/mem.c", line=20, frees=1, of_others=9,
        callers=(FreeingCall(function="close", file="/src/db.c", line=5, frees=1),
                 FreeingCall(function="quit", file="/src/db.c", line=9, frees=1, of_others=9)),
    )  # fmt: skip
    sized = FreeingPlace(function="grow", file="/src/mem.c", line=30, resizes=4)
    found = {(c.file, c.line): c for c in changes(made(), freed_at=(FREED, others, sized), frees=11)}
    assert set(found) == {("/src/make.c", 3), ("/src/free.c", 7), ("/src/mem.c", 20), ("/src/mem.c", 30)}
    assert "frees 10 of these blocks and no others" in found["/src/free.c", 7].what
    shared = found["/src/mem.c", 20].what
    assert "1 of these blocks, and 9 of others (90 %" in shared and "shop_book_memory_owns(p)" in shared
    assert "close (db.c:5) frees no others" in shared and "quit" not in shared
    assert "shop_book_memory_resize_any(p, bytes)" in found["/src/mem.c", 30].what
    assert [c.kind for c in found.values()] == ["allocate", "free", "resize", "free"]  # most blocks first


def test_unknown_freeing_places_are_reported() -> None:
    assert any("were not recorded" in c.what for c in changes(made(), frees=10))
    assert not any("were not recorded" in c.what for c in changes(made(), freed_at=(FREED,), frees=10))
    assert any("5 more of these blocks" in c.what for c in changes(made(), freed_at=(FREED,), freed_elsewhere=5))


def test_frees_inside_a_library_are_not_places_of_the_program() -> None:
    in_a_map = replace(FREED, through="std::map<int, int>::erase")
    by_pointer = replace(FREED, line=9, through="std::default_delete<order>::operator()")
    found = changes(made("C++", "C++20"), freed_at=(in_a_map, by_pointer), frees=20)
    assert [c.line for c in found if c.kind == "free"] == [9]
    assert "type must change there, and with it the ABI" in found[-1].what


def test_a_shared_free_is_changed_only_if_blocks_name_their_pool(tmp_path: Path) -> None:
    source = tmp_path / "free.cpp"
    source.write_text("void xfree(void* p) {\n  free(p);\n}\n")
    place = FreeingPlace(function="xfree", file=str(source), line=2, frees=3, of_others=5)
    row = {"freed_at": (place,), "frees": 3}
    (by_address,) = [c for c in changes(made("C++", "C++20"), **row) if c.kind == "free"]
    assert by_address.after == f"{SPACE}::free_bytes(p);"
    with_head = advice(made("C++", "C++20"), scope=PlanScope(function="f"), **row)
    (told,) = [c for c in code_of(with_head).changes if c.kind == "free"]
    assert not told.after and "nothing tells them apart" in told.what


@pytest.mark.parametrize(
    ("line", "changed"),
    [
        ("  auto p = new node(first, i);", "make<node>(first, i);"),
        ("x = new shop::node{first, {i, 2}}, y;", "make<shop::node>(first, {i, 2}), y;"),
        ("return new node;", "make<node>();"),
        ("new std::pair<int, long>(1, 2)", "make<std::pair<int, long>>(1, 2)"),
        ("auto p = new (place) node(i);", ""),
        ("auto p = new node[n];", ""),
        ("f(new a(1), new b(2));", ""),
        ("auto p = new node{first,", ""),
        ("int renew = 5;", ""),
    ],
)
def test_a_new_expression_becomes_make(line: str, changed: str) -> None:
    (home,) = homes(advice(made("C++", "C++20")))
    found = new_line(line, home)
    assert found == "" if not changed else f"{SPACE}::{changed}" in found


def test_a_malloc_becomes_the_header_function() -> None:
    (home,) = homes(advice(made()))
    assert malloc_line("p = malloc(sizeof *p);", home) == "p = shop_book_memory_allocate(sizeof *p);"
    assert malloc_line("p = realloc(q, 5);", home) == "p = shop_book_memory_resize_any(q, 5);"
    for other in ("p = calloc(1, 5);", "p = my_malloc(5);", "a = malloc(1), b = malloc(2);", "h->malloc(5);"):
        assert malloc_line(other, home) == "", other


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["a.c", "b.c", ""]),
            st.integers(0, 3),
            st.sampled_from(["allocate", "free", "resize", "type"]),
            st.sampled_from(["", "x"]),
        )
    )
)
def test_a_place_gets_one_change(drawn: list[tuple[str, int, str, str]]) -> None:
    given_ = [
        SourceChange(file=file, line=line, kind=kind, before=before, after=before, what=str(number))
        for number, (file, line, kind, before) in enumerate(drawn)
    ]
    found = one_for_each_place(given_)
    places = [(c.file, c.line) for c in found if c.kind != "type" and c.file and c.line]
    assert len(set(places)) == len(places)
    assert {(c.file, c.line) for c in found} == {(c.file, c.line) for c in given_}
    with_code = {(c.file, c.line) for c in given_ if c.before and c.kind != "type" and c.file and c.line}
    assert all(c.before for c in found if c.kind != "type" and (c.file, c.line) in with_code)


def test_new_or_malloc_is_one_line_where_the_source_is_not_at_hand() -> None:
    found = [c for c in changes(made("C++", "C++20"), freed_at=(FREED,)) if c.kind == "allocate"]
    assert len(found) == 1 and "either `new T(…)`" in found[0].what and "or `malloc(bytes)`" in found[0].what


def test_lines_at_hand_are_changed(tmp_path: Path) -> None:
    source = tmp_path / "make.cpp"
    source.write_text("node* make() { return new node(1); }\n// free(p);\nvoid drop(node* p) { delete p; }\n")
    place = AllocationPlace(file=str(source), line=1, function="make", language="C++", standard="C++20", bytes=9)
    freed = replace(FREED, file=str(source), line=3)
    found = changes(container(None, places=(place,)), freed_at=(freed,), frees=10)
    assert [(c.line, c.after) for c in found] == [
        (1, f"node* make() {{ return {SPACE}::make<node>(1); }}"),
        (3, f"void drop(node* p) {{ {SPACE}::destroy(p); }}"),
    ]


def test_arrays_are_freed_as_bytes(tmp_path: Path) -> None:
    source = tmp_path / "make.cpp"
    source.write_text("a = new int[n];\ndelete[] a;\n")
    place = AllocationPlace(file=str(source), line=1, function="make", language="C++", standard="C++20", bytes=9)
    found = changes(container(None, places=(place,)), freed_at=(replace(FREED, file=str(source), line=2),), frees=10)
    assert not any(c.before for c in found)
    assert f"{SPACE}::allocate_bytes(n * sizeof(T))" in found[0].what
    assert f"`delete[] p` becomes `{SPACE}::free_bytes(p)`" in found[1].what and "destroy" not in found[1].what


def test_a_returned_variable_is_told_in_words(tmp_path: Path) -> None:
    source = tmp_path / "book.cpp"
    source.write_text("orders book::all() {\n    std::map<int, order> found;\n    return found;\n}\n"
                      "auto book::some() {\n    std::map<int, order> found;\n    return found;\n}\n")  # fmt: skip
    local = replace(MEMBER, name="found", kind="local variable", file=str(source), line=2)
    (change,) = changes(container("std::map<int, shop::order>", members=(local,)))
    assert not change.before and "`found` is returned (book.cpp:3)" in change.what and "the ABI" in change.what
    (change,) = changes(container("std::map<int, shop::order>", members=(replace(local, line=6),)))
    assert change.before and "returned" not in change.what


def test_a_returned_member_names_the_functions(tmp_path: Path) -> None:
    source = tmp_path / "book.hpp"
    source.write_text("    std::map<int, order> orders_;\n    const orders& all() const { return orders_; }\n")
    member = replace(MEMBER, file=str(source), line=1)
    (change,) = changes(container("std::map<int, shop::order>", members=(member,)))
    assert change.before and "`orders_` is returned (book.hpp:2)" in change.what


def test_an_older_standard_is_named() -> None:
    code = code_of(advice(made("C++", "C++14"), freed_at=(replace(FREED, standard="C++11", file="/src/free.cpp"),)))
    assert "needs C++20" in code.needs and "make.c (C++14)" in code.needs and "free.cpp (C++11)" in code.needs
    assert change_lines(code)[0].startswith("the build: ")
    assert code_of(advice(made("C++", "C++23"))).needs == ""
    assert "needs C99" in code_of(advice(made("C", "C89"))).needs
    (home,) = homes(advice(made("C++", "C++23")))
    assert option_of(home) == "-std=c++23"
    (home,) = homes(advice(made("C++", "")))
    assert option_of(home) == "-std=c++20"
    assert [year_of(s) for s in ("C89", "C++98", "C++03", "C11", "C++20", "")] == [1989, 1998, 2003, 2011, 2020, 0]


def with_strategy(strategy: str, scope: PlanScope | None = None, **row: Any) -> Any:
    one = advice(made("C++", "C++20"), **row)
    route = PlanRoute(("shop::book",), "shop::book", strategy, scope=scope)
    return replace(one, plan=PlanFile(program=PlanProgram("./shop", "ab"), routes=(route,)))


def test_blocks_have_a_head_only_in_arenas_of_calls_and_threads() -> None:
    shared = (replace(FREED, of_others=3),)
    for expected, one in (
        (ADDRESS, with_strategy("multipool")),
        (SIZE, with_strategy("synchronized(multipool)", freed_at=(FREED,))),
        (ADDRESS, with_strategy("synchronized(multipool)", freed_at=shared)),
        (SIZE, with_strategy("monotonic", PlanScope(phase=True))),
        (HEAD, with_strategy("monotonic", PlanScope(function="f"))),
        (HEAD, with_strategy("monotonic", PlanScope(thread=True))),
    ):
        (home,) = homes(one)
        assert found_by(home) == expected
        place = header([home], "shop").split("millpond::advise::")[1].split("<")[0]
        assert (place in ("scope_arena", "thread_arena")) == (expected == HEAD)
        assert (place in ("slab_pool", "synchronized_slab_pool")) == (expected == ADDRESS)
        note = files_of(one)[NOTE]
        assert ("head of 16 bytes" in note) == (expected == HEAD) and ("must know the requested size" in note) == (
            expected == SIZE
        )


def test_places_of_joined_subsystems_count_as_their_own() -> None:
    first = replace(FREED, frees=10, of_others=7, callers=(FreeingCall(function="a", frees=10, of_others=5),))
    second = replace(FREED, frees=5, of_others=12, callers=(FreeingCall(function="a", frees=5, of_others=10),))
    (joined,) = merged_places([(first,), (second,)])
    assert (joined.frees, joined.of_others) == (15, 2)
    assert [(c.frees, c.of_others) for c in joined.callers] == [(15, 0)]
    assert len(merged_places([(first,), (replace(second, line=8),)])) == 2


def test_a_comment_of_the_c_header_cannot_end_early() -> None:
    (home,) = homes(advice(made()))
    text = c_header([home], "./a */ int x; /* b")
    assert "int x" in text and text.count("/*") == text.count("*/")
