# SPDX-License-Identifier: BSL-1.0
"""Parquet files keep every value, are read by other libraries, and are refused if they are damaged or foreign."""

from __future__ import annotations

import io
import random
import struct
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import pytest
from test_store import journal_of

from millpond.store import store_files
from millpond.store.column_table import NUMBER, TEXT, TRUTH, WHOLE, Columns, ColumnTable
from millpond.store.parquet_footer import footer_offset, parse_footer, require_pages
from millpond.store.relations import RELATIONS
from millpond.store.store import Store
from millpond.store.store_files import Unreadable, read_parquet, write_parquet
from millpond.system import database
from tiers import scaled

KINDS: Columns = {"run": TEXT, "text": TEXT, "whole": WHOLE, "number": NUMBER, "truth": TRUTH, "none": TEXT}
TEXTS = ["", "a\0b", "µ", "😀", "\ufffe\U0010ff80", "'\"\\;--\n", "x" * 5000]
WHOLES = [0, 1, -1, 2**63 - 1, -(2**63)]
NUMBERS = [0.0, -0.0, 5e-324, -1.7976931348623157e308, float("inf"), float("-inf"), 0.1]
NANS = [struct.unpack("<d", struct.pack("<Q", bits))[0] for bits in (0x7FF8000000000000, 0xFFF8000000000123)]


def drawn(dice: random.Random, rows: int, numbers: Sequence[float]) -> ColumnTable:
    def column(values: Sequence[Any], nulls: float) -> list[Any]:
        return [None if dice.random() < nulls else dice.choice(values) for _ in range(rows)]

    share = dice.choice((0.0, 0.3, 1.0))
    return ColumnTable.of(KINDS, {
        "run": ["r"] * rows, "text": column(TEXTS, share), "whole": column(WHOLES, share),
        "number": column(numbers, share), "truth": column([True, False], share), "none": [None] * rows,
    })  # fmt: skip


def bits(column: list[Any]) -> list[Any]:
    """Returns the values with their types, and numbers by their bits."""
    return [struct.pack("<d", value) if isinstance(value, float) else (type(value), value) for value in column]


def assert_equal(found: ColumnTable, expected: ColumnTable) -> None:
    assert found.kinds == expected.kinds and len(found) == len(expected)
    for name in expected.kinds:
        assert bits(found.column(name)) == bits(expected.column(name)), name
        assert found.has_null(name) == (None in expected.column(name))


@pytest.mark.lengthy
@pytest.mark.parametrize("numbers", [NUMBERS, NUMBERS + NANS, NANS], ids=["no NaN", "some NaN", "only NaN"])
def test_values_come_back_bit_for_bit(tmp_path: Path, seed: int, numbers: list[float]) -> None:
    dice, path = random.Random(seed), tmp_path / "r.parquet"
    for rows in (0, 1, *(dice.randint(2, 3000) for _ in range(scaled(20, 4)))):
        table = drawn(dice, rows, numbers)
        about = {"names": dice.sample(TEXTS, 3)}
        write_parquet(path, table, about)
        assert_equal(read_parquet(path, KINDS), table)
        assert store_files.about(path) == about
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.lengthy
def test_other_libraries_read_the_same_values(tmp_path: Path, seed: int) -> None:
    parquet, pandas = pytest.importorskip("pyarrow.parquet"), pytest.importorskip("pandas")
    path = tmp_path / "r.parquet"
    table = drawn(random.Random(seed), 500, NUMBERS)
    write_parquet(path, table, {"a": "µ"})
    by_arrow = parquet.read_table(path)
    types = [str(kind) for kind in by_arrow.schema.types]
    assert types == ["string", "string", "int64", "double", "bool", "string"]
    assert [bits(by_arrow.column(name).to_pylist()) for name in KINDS] == [bits(table.column(name)) for name in KINDS]
    assert by_arrow.schema.metadata[b"millpond"] == '{"a":"µ"}'.encode()
    frame = pandas.read_parquet(path, dtype_backend="numpy_nullable")
    for name in KINDS:
        assert [None if value is pandas.NA else value for value in frame[name]] == table.column(name), name
    with duckdb.connect() as connection:
        rows = connection.execute(f"select * from '{path}'").fetchall()
    assert [bits(list(column)) for column in zip(*rows, strict=True)] == [bits(table.column(name)) for name in KINDS]


def as_older_versions_wrote(table: ColumnTable, compression: str = "zstd", **options: Any) -> bytes:
    """Returns an unsealed file by Arrow, whose pages have checksums."""
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    types = {TEXT: arrow.string(), WHOLE: arrow.int64(), NUMBER: arrow.float64(), TRUTH: arrow.bool_()}
    columns = [arrow.array(table.column(name), type=types[kind]) for name, kind in table.kinds.items()]
    made = arrow.table(columns, names=list(table.kinds)).replace_schema_metadata({b"millpond": b'{"of":"old"}'})
    file = io.BytesIO()
    parquet.write_table(
        made, file, compression=compression, write_page_checksum=True, write_statistics=False, **options
    )
    return file.getvalue()


@pytest.mark.parametrize("is_sealed", [False, True])
@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_files_of_older_versions_are_read(tmp_path: Path, seed: int, is_sealed: bool, version: str) -> None:
    table, path = drawn(random.Random(seed), 1000, NUMBERS), tmp_path / "r.parquet"
    content = as_older_versions_wrote(table, data_page_version=version)
    path.write_bytes(store_files._sealed(content) if is_sealed else content)
    assert_equal(read_parquet(path, KINDS), table)
    assert store_files.about(path) == {"of": "old"}


@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_a_flipped_bit_of_an_unsealed_page_is_noticed(tmp_path: Path, seed: int, version: str) -> None:
    dice, path = random.Random(seed), tmp_path / "r.parquet"
    table = drawn(dice, 300, NUMBERS)
    content = as_older_versions_wrote(table, "none", data_page_version=version, use_dictionary=False)
    footer = parse_footer(content[footer_offset(content) : -8])
    for _, end in footer.chunks:
        at = end - 1  # a page begins with a header, which has no checksum
        path.write_bytes(content[:at] + bytes([content[at] ^ (1 << dice.randrange(8))]) + content[at + 1 :])
        with pytest.raises(Unreadable, match="damaged: the checksum of a page is wrong"):
            read_parquet(path, KINDS)


@pytest.mark.lengthy
def test_any_damage_of_an_unsealed_file_is_an_error_of_data(tmp_path: Path, seed: int) -> None:
    dice, path = random.Random(seed), tmp_path / "r.parquet"
    whole = as_older_versions_wrote(drawn(dice, 50, NUMBERS))
    for _ in range(scaled(1500, 300)):
        content = bytearray(whole)
        for _ in range(dice.randint(1, 4)):
            begin = dice.choice((0, footer_offset(whole)))
            content[dice.randrange(begin, len(content))] = dice.randrange(256)
        path.write_bytes(content[: dice.choice((len(content), dice.randrange(len(content))))])
        acts = (
            partial(read_parquet, columns=KINDS),
            partial(store_files.check_footer, columns=KINDS),
            store_files.about,
        )
        for act in acts:
            try:
                act(path)
            except Unreadable as reason:
                assert "\n" not in str(reason) and "/proc" not in str(reason)


def test_any_bytes_as_a_footer_are_an_error_of_data(seed: int) -> None:
    dice = random.Random(seed)
    for _ in range(scaled(20_000, 2000)):
        content = dice.randbytes(dice.randint(0, 60))
        try:
            require_pages(content, parse_footer(content))
        except ValueError:
            continue


FOREIGN = [
    ("text", "int64", "whole numbers, not text"),
    ("text", "binary", "BYTE_ARRAY, not text"),
    ("text", "list", "columns of its own, not text"),
    ("whole", "string", "text, not whole numbers"),
    ("whole", "date32", "another meaning of INT32, not whole numbers"),
    ("whole", "float64", "numbers, not whole numbers"),
    ("number", "bool_", "true or false, not numbers"),
    ("truth", "int8", "whole numbers, not true or false"),
]


@pytest.mark.parametrize(("name", "kind", "why"), FOREIGN)
def test_columns_of_another_kind_are_named(tmp_path: Path, name: str, kind: str, why: str) -> None:
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "r.parquet"
    of = arrow.list_(arrow.int64()) if kind == "list" else getattr(arrow, kind)()
    kinds = {"text": "string", "whole": "int64", "number": "float64", "truth": "bool_"}
    columns = {each: arrow.array([None], type=getattr(arrow, kind)()) for each, kind in kinds.items()}
    texts = {each: arrow.array(["r"]) for each in ("run", "none")}
    parquet.write_table(arrow.table({**columns, **texts, name: arrow.array([None], type=of)}), path)
    with pytest.raises(Unreadable, match=f"^not ours: its column {name} holds {why}$"):
        store_files.check_footer(path, KINDS)


@pytest.mark.parametrize(
    ("name", "kind", "values"),
    [
        ("whole", "int8", [-128, 127]), ("whole", "uint64", [0, 2**63 - 1]), ("number", "int32", [-5, 7]),
        ("number", "float32", [0.5, None]), ("text", "large_string", ["a", None]), ("text", "null", [None, None]),
        ("whole", "null", [None, None]),
    ],
)  # fmt: skip
def test_columns_of_a_narrower_type_are_converted(tmp_path: Path, name: str, kind: str, values: list[Any]) -> None:
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "r.parquet"
    made = arrow.table({"run": ["r", "r"], name: arrow.array(values, type=getattr(arrow, kind)())})
    parquet.write_table(made, path)
    assert read_parquet(path, {"run": TEXT, name: KINDS[name]}).column(name) == values


def test_a_whole_number_out_of_range_is_damage(tmp_path: Path) -> None:
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "r.parquet"
    parquet.write_table(arrow.table({"run": ["r"], "whole": arrow.array([2**63], type=arrow.uint64())}), path)
    with pytest.raises(Unreadable, match="damaged: its values cannot be read"):
        read_parquet(path, {"run": TEXT, "whole": WHOLE})


@pytest.mark.parametrize(
    ("name", "value", "error"),
    [
        ("text", 5, TypeError), ("text", b"x", TypeError), ("truth", 1, TypeError), ("whole", 1.0, TypeError),
        ("whole", "5", TypeError), ("whole", 2**63, ValueError), ("number", "x", ValueError),
    ],
)  # fmt: skip
def test_values_of_another_kind_are_refused(name: str, value: object, error: type[Exception]) -> None:
    with pytest.raises(error):
        ColumnTable.of({name: KINDS[name]}, {name: [None, value]})


def test_text_that_cannot_be_utf_8_leaves_no_file(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="UTF-8"):
        write_parquet(tmp_path / "r.parquet", ColumnTable.of({"run": TEXT}, {"run": ["\ud800"]}), {})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["plain", "a[b]*?", "key=value", "it's", "a;b\\c\n", "\udcff"])
def test_a_store_may_have_any_name(tmp_path: Path, name: str) -> None:
    (tmp_path / "ab").mkdir()  # what a[b]*? would match
    Store(tmp_path / "ab").write(journal_of(3)[0])
    journal, _ = journal_of(2)
    store = Store(tmp_path / name)
    store.write(journal)
    assert store.load(journal.run).observations == journal.rows
    assert [row["id"] for row in store.query("select id from observations order by id")] == [r.id for r in journal.rows]
    assert store.query("select * from contexts") == []
    assert store.skipped == []


def test_files_of_several_types_are_one_relation(tmp_path: Path) -> None:
    """A file with a narrower type comes first: the other's values are not converted to it."""
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    store = Store(tmp_path)
    path = store.write(journal_of(1)[0])
    read = read_parquet(path, RELATIONS["observations"])
    rows = [{**row, "run": "0", "value": 3, "more": [1]} for row in read.rows()]
    parquet.write_table(arrow.Table.from_pylist(rows), path.with_name("0.parquet"))
    found = store.query("select value from observations where metric = 'cpu_seconds' order by run")
    assert [row["value"] for row in found] == [3.0, 0.5]
    assert store.skipped == []


def test_the_database_loads_nothing_and_has_no_threads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names = "autoinstall_known_extensions, autoload_known_extensions, threads, async_threads, temp_directory"
    settings = ", ".join(f"current_setting('{name}')" for name in names.split(", "))
    with database.connection() as connection:
        assert connection.execute(f"select {settings}").fetchone() == (False, False, 1, 0, "")
        with pytest.raises(duckdb.Error, match="httpfs"):
            connection.execute("from read_parquet('https://127.0.0.1/x.parquet')")
        local = 5  # noqa: F841
        with pytest.raises(duckdb.CatalogException):
            connection.execute("from local")
    assert list(tmp_path.iterdir()) == []


def test_connections_do_not_see_each_other(tmp_path: Path) -> None:
    with database.connection() as one, database.connection() as two:
        one.execute("create temp table rows as select 1")
        with pytest.raises(duckdb.CatalogException):
            two.execute("from rows")
    with database.connection() as three, pytest.raises(duckdb.CatalogException):
        three.execute("from rows")
