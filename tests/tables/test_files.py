"""Files: text survives as it was written, one path is one file, nothing reaches the network."""

from __future__ import annotations

import csv
import gzip
import hashlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import narwhals as nw
import numpy as np
import pyarrow
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from comparity.counts.decision_rows import count_decisions
from comparity.counts.decisions import Confusion
from comparity.counts.judged_rows import count_comparisons
from comparity.counts.pairs import Cell, Tally
from comparity.errors import (
    DuplicateColumnError,
    FileAccessError,
    MissingColumnError,
    MissingValueError,
    NotNumericError,
    RemotePathError,
    UnnamedColumnError,
    UnreadableFileError,
    UnsupportedColumnError,
    UnsupportedFileError,
)
from comparity.tables.files import file_sha256, read_table
from comparity.tables.frames import collect_columns, connection, in_memory
from tests.fuzz.formats import encoded
from tests.fuzz.sheets import Sheet

ROWS = [("007", "NA", "1"), ("None", "a,b", "2"), ("7", 'say "x"\nagain', "3")]


def rows(path: Path) -> list[tuple[Any, ...]]:
    relation: Any = read_table(path).to_native()
    found: list[tuple[Any, ...]] = relation.fetchall()
    return found


def quoted(cells: tuple[str, ...], separator: str) -> str:
    doubled = (cell.replace('"', '""') for cell in cells)
    return separator.join(f'"{cell}"' for cell in doubled)


@pytest.mark.parametrize(("ending", "separator"), [("csv", ","), ("tsv", "\t")])
@pytest.mark.parametrize("zipped", [False, True])
def test_text_files_keep_ids_quotes_and_line_breaks(
    tmp_path: Path, ending: str, separator: str, zipped: bool
) -> None:
    path = tmp_path / f"items.{ending}{'.gz' if zipped else ''}"
    lines = [quoted(row, separator) for row in [("item", "group", "score"), *ROWS]]
    content = "\n".join(lines).encode()
    path.write_bytes(gzip.compress(content) if zipped else content)
    assert rows(path) == ROWS


@pytest.mark.parametrize("ending", ["jsonl", "ndjson", "json", "jsonl.gz"])
def test_json_lines_keep_text_that_looks_like_dates_and_numbers(
    tmp_path: Path, ending: str
) -> None:
    path = tmp_path / f"items.{ending}"
    records = [{"item": "2024-01-01", "group": "007"}, {"item": "2024-01-02", "group": "8"}]
    content = "\n".join(map(json.dumps, records)).encode()
    path.write_bytes(gzip.compress(content) if ending.endswith("gz") else content)
    assert rows(path) == [("2024-01-01", "007"), ("2024-01-02", "8")]


def test_a_number_in_json_is_called_alike_as_text(tmp_path: Path) -> None:
    path = tmp_path / "judged.jsonl"
    path.write_text('{"judge": 1, "sex": "f"}\n{"judge": "1", "sex": "f"}\n')
    assert rows(path) == [("1", "f"), ("1", "f")]


WRITTEN = ["1", "1.0", "1.10", "1e2", "-0", "5e-05", "1e400", "0.1000000000000000055", str(10**30)]
VALUES = [
    *WRITTEN,
    str(2**64 - 1),
    '"x"',
    '"1.10"',
    r'"\"a\": 1.1,"',
    r'"\u00e9"',
    "true",
    "null",
    "NaN",
]
# Keys as they are spelled, blanks around signs, and whether the file is one list.
styles = st.tuples(
    st.booleans(), st.sampled_from(["", " "]), st.sampled_from(["", " "]), st.booleans()
)


def as_python_reads(line: str) -> dict[str, str | None]:
    """Parse one object; numbers stay text, NaN is missing."""
    options: dict[str, Any] = {"parse_int": str, "parse_float": str}
    cells = json.loads(line, parse_constant=lambda _: None, **options)
    return {key: "true" if value is True else value for key, value in cells.items()}


@given(
    st.lists(st.dictionaries(st.sampled_from(["a", "é", 'k"', "o'k"]), st.sampled_from(VALUES))),
    styles,
    st.sampled_from(["", '"n": {"a": 1.1}', '"n": []']),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_values_in_json_are_text_as_it_was_written(
    tmp_path: Path, objects: list[dict[str, str]], style: tuple[bool, str, str, bool], nested: str
) -> None:
    ascii_only, before, after, is_list = style
    colon, comma = f"{before}:{after}", f"{before},{after}"
    lines = ['{"a": "first", "b": 1}']
    for cells in objects:
        named = [(json.dumps(key, ensure_ascii=ascii_only), cells[key]) for key in cells]
        rest = [key + colon + value for key, value in named]
        lines.append("{" + comma.join([nested, *rest] if nested else rest) + "}")
    path = tmp_path / "a.json"
    path.write_text(f"[{','.join(lines)}]" if is_list else "\n".join(lines), encoding="utf-8")
    frame = read_table(path)
    names = [name for name in frame.columns if name != "n"]
    found = frame.select(names).to_native().fetchall()
    for row, line in zip(found, lines, strict=True):
        told = {
            name: "true" if cell is True else cell for name, cell in zip(names, row, strict=True)
        }
        assert told == dict.fromkeys(names) | {
            key: value for key, value in as_python_reads(line).items() if key != "n"
        }


def test_nested_values_are_no_ids(tmp_path: Path) -> None:
    path = tmp_path / "d.jsonl"
    path.write_text('{"y": 1, "p": 1, "sex": "f"}\n{"y": 0, "p": 0, "sex": ["m"]}\n')
    with pytest.raises(UnsupportedColumnError, match="'sex'"):
        count_decisions(read_table(path), label="y", prediction="p", sensitive=["sex"])


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{"a": 1}\n\n[1, 2]\n', "data row 2"),
        ('{"a": 1}\n3\n', "data row 2"),
        ('{"a": 1}\n{"a": 2}\nnull\n', "data row 3"),
        ('[{"a": 1}, {"a": 2}, "x"]', "data row 3"),
        ("[1, 2]\n", "data row 1"),
        ('{"a": 1}\n\n{"a": 2\n{"a": 3}\n', "line 3"),
        ('{"a": 1}\n{"a": 2}\n{"a"', "line 3"),
        ('[{"a": 1},\n{"a": ]', "line 2"),
        ("[]", "no JSON object"),
        (" \n", "no JSON object"),
        ("{}\n", "no keys"),
    ],
)
def test_what_is_no_json_object_is_an_error_that_says_where(
    tmp_path: Path, text: str, found: str
) -> None:
    path = tmp_path / "a.jsonl"
    for mark in ("", "\ufeff"):
        path.write_text(mark + text, encoding="utf-8")
        with pytest.raises(UnreadableFileError, match=found):
            read_table(path)


@pytest.mark.long
def test_rows_between_quotes_are_no_rows_in_large_files(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    trap = "\n".join(f"{i},f,1,0" for i in range(400))
    cells = [[str(i), "m", str(i % 2), trap if i % 3 else "x"] for i in range(16_000)]
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerows([["id", "sex", "y", "note"], *cells])
    assert path.stat().st_size > 36 * 2**20
    found = collect_columns(read_table(path))
    assert [found["id"].tolist(), found["note"].tolist()] == [
        [row[0] for row in cells],
        [row[3] for row in cells],
    ]


def test_text_of_type_json_in_parquet_is_text(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    connection().sql("select '1.10'::json as item").write_parquet(str(path))
    assert collect_columns(read_table(path).filter(nw.col("item") == "x"))["item"].tolist() == []
    assert rows(path) == [("1.10",)]


def test_files_of_a_pattern_have_the_same_columns(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("item,sex\n1,f\n")
    (tmp_path / "b.csv").write_text("sex,item\nf,1\n")
    with pytest.raises(UnreadableFileError, match=r"b\.csv.*\n.*its columns are not those of"):
        read_table(tmp_path / "*.csv", allow_remote=True)


def test_a_table_of_the_connection_is_not_taken_for_arrays() -> None:
    database = duckdb.connect()
    home = database.sql("select 1 as item")
    database.execute("create table columns (item varchar)")
    moved = in_memory({"item": np.array(["a"], dtype=object)}, home)
    assert moved.to_native().fetchall() == [("a",)]


def test_parquet_keeps_its_types(tmp_path: Path) -> None:
    path = tmp_path / "items.parquet"
    connection().sql("select '007' as item, 0.5::double as score").write_parquet(str(path))
    assert rows(path) == [("007", 0.5)]


def test_an_empty_cell_is_missing_and_named(tmp_path: Path) -> None:
    path = tmp_path / "decisions.csv"
    path.write_text("y,p,sex\n1,1,f\n0,,m\n0,0,f\n")
    with pytest.raises(MissingValueError, match=r"(?s)'p'.*data row 2"):
        count_decisions(read_table(path), label="y", prediction="p", sensitive=["sex"])


def test_two_files_are_joined_and_numbers_read_from_text(tmp_path: Path) -> None:
    judged, items = tmp_path / "judged.csv", tmp_path / "items.tsv"
    judged.write_text("better,worse\n007,7\nNA,7\n")
    items.write_text("item\tmodel\tsex\n007\t1e-3\tf\n7\t.5\tm\nNA\t 0.75\tf\n")
    counts = count_comparisons(
        read_table(judged), read_table(items), score="model", sensitive=["sex"]
    )
    assert counts["sex"].tallies() == {Cell("f", "m"): Tally(1, 2)}


def test_words_among_numbers_are_named(tmp_path: Path) -> None:
    path = tmp_path / "decisions.csv"
    path.write_text("y,p,sex\n1,0.5,f\n0,n/a,m\n")
    with pytest.raises(NotNumericError, match=r"(?s)data row 2.*'n/a'"):
        count_decisions(
            read_table(path), label="y", prediction="p", sensitive=["sex"], threshold=0.5
        )


def test_column_names_cannot_carry_sql(tmp_path: Path) -> None:
    path = tmp_path / "decisions.csv"
    odd = 'y"; drop table x; --'
    path.write_text(f"{quoted((odd, 'p', 'g'), ',')}\n1,1,f\n0,0,m\n")
    counts = count_decisions(read_table(path), label=odd, prediction="p", sensitive=["g"])
    assert counts["g"]["f"] == Confusion(true_positives=1)


@pytest.mark.parametrize("name", ["a*.csv", "a?.csv", "a[b].csv", "it's; --.csv", "é x.csv"])
def test_signs_in_the_name_of_a_file_are_no_pattern(tmp_path: Path, name: str) -> None:
    (tmp_path / "ab.csv").write_text("item\nother\n")
    (tmp_path / name).write_text("item\nmine\n")
    assert rows(tmp_path / name) == [("mine",)]


@pytest.mark.parametrize(
    "path", ["https://example.org/a.csv", "s3://bucket/a.csv", "*.csv", "data/[ab]?.csv"]
)
def test_addresses_and_patterns_are_refused_unless_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.csv").write_text("item\n1\n")
    with pytest.raises(RemotePathError, match="allow_remote=True"):
        read_table(path)


def test_patterns_are_read_when_asked_for(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / f"{name}.csv").write_text(f"item\n{name}\n")
    relation: Any = read_table(tmp_path / "*.csv", allow_remote=True).to_native()
    assert sorted(relation.fetchall()) == [("a",), ("b",)]


def test_no_extension_is_fetched_or_loaded_by_itself() -> None:
    query = "select value from duckdb_settings() where name like 'auto%known_extensions'"
    assert connection().sql(query).fetchall() == [("false",), ("false",)]


@pytest.mark.parametrize(
    ("name", "content", "error", "said"),
    [
        ("none.csv", None, FileAccessError, "no such file"),
        ("folder", "", FileAccessError, "a directory"),
        ("table.docx", b"x", UnsupportedFileError, ".csv, .tsv, .parquet"),
        ("table", b"x", UnsupportedFileError, "ending ''"),
        ("table.parquet.gz", b"x", UnsupportedFileError, ".parquet.gz"),
        ("table.parquet", b"not parquet", UnreadableFileError, "table.parquet"),
        ("table.jsonl", b"{not json", UnreadableFileError, "table.jsonl"),
        ("table.csv.gz", b"not gzip", UnreadableFileError, "table.csv.gz"),
    ],
)
def test_files_that_cannot_be_read_are_named(
    tmp_path: Path, name: str, content: bytes | str | None, error: type[Exception], said: str
) -> None:
    path = tmp_path / name
    if content == "":
        path.mkdir()
    elif isinstance(content, bytes):
        path.write_bytes(content)
    with pytest.raises(error, match=said):
        read_table(path)


def test_a_file_that_breaks_off_in_the_middle_is_our_error(tmp_path: Path) -> None:
    path = tmp_path / "decisions.csv"
    path.write_text("y,p,sex\n" + "1,1,f\n" * 30_000 + "1,1,f,too,many\n" + "0,0,m\n")
    with pytest.raises(UnreadableFileError):
        count_decisions(read_table(path), label="y", prediction="p", sensitive=["sex"])


WITHOUT_ENGINES = """
import sys
for engine in ("pandas", "polars", "pyarrow", "pyspark"):
    sys.modules[engine] = None
from comparity.counts.judged_rows import count_comparisons
from comparity.counts.decision_rows import count_decisions
assert "duckdb" not in sys.modules
from comparity.tables.files import read_table
from comparity.tables.layouts import read_comparisons
judged, items = sys.argv[1:]
table = read_comparisons(judged)
options = {"tied": "tied", "evaluator": "evaluator", "score": "model", "sensitive": ["sex"]}
for design in ("fresh", "shared"):
    counts = count_comparisons(table.frame, read_table(items), design=design, **options)["sex"]
    tallies = counts.tallies() if design == "shared" else counts
    print({str(cell): tally.trials for cell, tally in tallies.items()})
"""


@pytest.mark.long
def test_files_are_counted_without_any_dataframe_library(tmp_path: Path) -> None:
    judged, items = tmp_path / "judged.csv", tmp_path / "items.csv"
    judged.write_text("left,right,winner,judge\na,b,left,x\na,b,tie,y\n")
    items.write_text("item,model,sex\na,1,f\nb,2,m\n")
    command = [sys.executable, "-c", WITHOUT_ENGINES, str(judged), str(items)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["{'f > m': 1}"] * 2


def test_the_hash_of_a_file_is_that_of_its_bytes(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b"item\n1\n")
    assert file_sha256(path) == hashlib.sha256(b"item\n1\n").hexdigest()
    with pytest.raises(FileAccessError, match="no such file"):
        file_sha256(tmp_path / "none.csv")


@pytest.mark.parametrize(
    ("ending", "text", "names"),
    [
        ("csv", "sex,model,sex\nf,1,m\n", "'sex', 'sex'"),
        ("tsv", "sex\tSEX\nf\tm\n", "'sex', 'SEX'"),
        ("csv", '"a, b","a, b"\n1,2\n', "'a, b', 'a, b'"),
    ],
)
def test_two_columns_of_one_name_are_an_error(
    tmp_path: Path, ending: str, text: str, names: str
) -> None:
    path = tmp_path / f"a.{ending}"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DuplicateColumnError, match=names):
        read_table(path)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("item,sex\n#1,f\n2,m\n", [("#1", "f"), ("2", "m")]),
        ("item,sex\r\n\r\n1,f\r\n\r\n", [("1", "f")]),
        ("\ufeffitem,sex\n1,f\n", [("1", "f")]),
        ('item, "sex"\n1,"a ""b"""\n', [("1", 'a "b"')]),
    ],
    ids=["a sign of comments", "empty lines", "a mark of bytes", "quotes"],
)
def test_no_row_is_taken_for_something_else(
    tmp_path: Path, text: str, found: list[tuple[str, ...]]
) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(text.encode())
    assert rows(path) == found


@pytest.mark.parametrize(
    ("text", "places"),
    [
        (",sex\n0,f\n", "column 1 of 2"),
        (",column0,sex,note\n0,1,f,\n", "column 1 of 4"),
        ("a,b,\n1,2,\n", "column 3 of 3"),
        ('a,""," "\n1,2,3\n', "columns 2, 3 of 3"),
    ],
)
def test_a_column_without_a_name_is_an_error(tmp_path: Path, text: str, places: str) -> None:
    path = tmp_path / "a.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UnnamedColumnError, match=places):
        read_table(path)


def test_names_in_parquet_and_json_are_held_to_the_same_rule(tmp_path: Path) -> None:
    values = pyarrow.array(["x"])
    for names, error in ((["sex", "sex"], DuplicateColumnError), (["sex", ""], UnnamedColumnError)):
        parquet.write_table(pyarrow.table([values, values], names=names), tmp_path / "a.parquet")
        (tmp_path / "a.jsonl").write_text(f'{{"{names[0]}": "x", "{names[1]}": "x"}}\n')
        for name in ("a.parquet", "a.jsonl"):
            with pytest.raises(error):
                read_table(tmp_path / name)


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.csv.gz", "a.parquet", "a.jsonl", "a.json"])
def test_blanks_around_names_of_columns_are_dropped_in_every_format(
    tmp_path: Path, name: str
) -> None:
    for header, names in (([" sex", "age \u00a0"], ["sex", "age"]), (["sex ", "sex"], None)):
        sheet = Sheet({column: ["1"] for column in header}, {})
        (tmp_path / name).write_bytes(encoded(sheet, name.partition(".")[2]))
        if names:
            assert read_table(tmp_path / name).collect_schema().names() == names
            assert rows(tmp_path / name) == [("1", "1")]
        else:
            with pytest.raises(DuplicateColumnError, match="'sex ', 'sex'"):
                read_table(tmp_path / name)


def test_keys_that_differ_in_capitals_alone_are_an_error(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"sex": "f"}\n{"Sex": "m"}\n')
    with pytest.raises(DuplicateColumnError, match="'sex', 'Sex'"):
        read_table(path)


@pytest.mark.parametrize(
    "text",
    [
        "a,b\n1,2\n3\n",
        "a,b\n1,2\n3,4,5\n",
        "a,b\n1,2\n3,4,\n",
        'a,b\n1,2\n3,4,""\n',
        "a,b\n1,2\n3,4,,,\n",
        "a,b\n1,2\n3,4,",
        "title\na,b\n1,2\n",
    ],
)
def test_a_row_with_another_number_of_cells_is_an_error_that_names_file_and_line(
    tmp_path: Path, text: str
) -> None:
    line = 2 if text.startswith("title") else 3
    for ending, sep in (("csv", ","), ("tsv", "\t")):
        path = tmp_path / f"ragged.{ending}"
        path.write_text(text.replace(",", sep), encoding="utf-8")
        frame = read_table(path)
        # Rows are counted even where no cell is looked at.
        for asked in (frame, frame.select(frame.columns[0]), frame.select(nw.len())):
            with pytest.raises(UnreadableFileError, match=rf"ragged\.{ending}'.*\n.*Line: {line}"):
                collect_columns(asked)


@pytest.mark.parametrize(
    ("content", "found"),
    [
        ("item,sex\n1,féminin\n".encode("latin-1"), "utf-8"),
        (b"\nitem,sex\n1,f\n", "the first line is empty"),
        (b'"item,sex\n1,f\n', "one header row"),
        (b"item,sex\n1,f\r\n2,m\n", "ends all lines alike"),
    ],
    ids=["not UTF-8", "an empty line first", "a quote without end", "two ends of lines"],
)
def test_a_file_that_can_be_read_in_two_ways_is_an_error(
    tmp_path: Path, content: bytes, found: str
) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(content)
    with pytest.raises(UnreadableFileError, match=found):
        collect_columns(read_table(path))


@pytest.mark.parametrize(
    ("name", "content", "advice"),
    [
        ("a.jsonl", b'{"item": 1}\n{"item": 2', "one JSON object on every line"),
        ("a.parquet", b"PAR1 is not enough", "was written as Parquet"),
    ],
)
def test_advice_on_a_broken_file_is_for_its_kind(
    tmp_path: Path, name: str, content: bytes, advice: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(UnreadableFileError, match=advice) as broken:
        collect_columns(read_table(path))
    assert "header row" not in str(broken.value)


@pytest.mark.parametrize("cut", [0, 12, 40])
def test_a_compressed_file_that_is_empty_cut_off_or_damaged_is_an_error(
    tmp_path: Path, cut: int
) -> None:
    path = tmp_path / "a.csv.gz"
    whole = gzip.compress(b"item,sex\n1,f\n" * 100 if cut else b"")
    path.write_bytes(whole[:12] + b"\xff\x00\x33" * 9 if cut == 40 else whole[: cut or None])
    with pytest.raises(UnreadableFileError, match=r"a\.csv\.gz"):
        collect_columns(read_table(path))


def test_an_endless_line_is_not_quoted_as_a_whole(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("item,sex\n1," + "f" * 3_000_000 + "\n", encoding="utf-8")
    with pytest.raises(UnreadableFileError) as raised:
        collect_columns(read_table(path))
    assert len(str(raised.value)) < 2000


def test_columns_separated_by_something_else_are_told(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("hired;model;sex\n1;1;f\n", encoding="utf-8")
    names = {"label": "hired", "prediction": "model", "sensitive": ["sex"]}
    with pytest.raises(MissingColumnError, match="all columns are in one"):
        count_decisions(read_table(path), **names)
