"""Limits of memory: sizes as people write them, and a folder that is gone afterwards."""

from pathlib import Path
from typing import ClassVar

import duckdb
import narwhals as nw
import pytest

from comparity.errors import FileAccessError, OptionError, UnreadableFileError
from comparity.pairwise.parity import audit_parity_frame
from comparity.separation.audit import audit_frame
from comparity.tables import memory
from comparity.tables.file_parts import find_parts, join_parts
from comparity.tables.files import read_table
from comparity.tables.frames import collect_columns, connection
from comparity.tables.memory import (
    EngineProgress,
    MemoryLimits,
    current_limits,
    limit_memory,
    read_size,
)


@pytest.mark.parametrize(
    ("text", "size"),
    [("4GB", 4 * 10**9), ("4 gib", 2**32), ("1.5TB", 1.5e12), ("2000000000", 2e9), ("3m", 3e6)],
)
def test_sizes_are_read_with_their_unit(text: str, size: float) -> None:
    assert read_size(text) == size


@pytest.mark.parametrize("text", ["", "many", "-4GB", "4 parsecs", "4GB 2"])
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(OptionError, match="4GB"):
        read_size(text)


def _fill_and_stop(spill: Path) -> None:
    before = connection()
    with limit_memory("2GB", spill) as limits:
        assert limits.folder is not None
        (limits.folder / "rows").write_text("spilled")
        assert current_limits() is limits
        assert connection() is not before
        (found,) = connection().execute("select current_setting('temp_directory')").fetchone()
        assert found == str(limits.folder)
        raise KeyboardInterrupt


def test_the_folder_is_gone_after_an_error_and_the_engine_is_the_old_one(tmp_path: Path) -> None:
    before = connection()
    with pytest.raises(KeyboardInterrupt):
        _fill_and_stop(tmp_path)
    assert list(tmp_path.iterdir()) == []
    assert connection() is before


def _memory_of_engine() -> str:
    ((found,),) = connection().execute("select current_setting('memory_limit')").fetchall()
    return str(found)


@pytest.mark.parametrize(
    ("memory", "limited", "share"),
    [("1GB", "286.1 MiB", "476.8 MiB"), ("2GB", "1.2 GiB", "1.3 GiB")],
)
def test_the_engine_leaves_memory_to_python_but_not_all(
    memory: str, limited: str, share: str
) -> None:
    """0.3 of 1 GB, and half of it; 2 - 0.7 and 2 - 0.5 GB."""
    with limit_memory(memory) as limits:
        assert _memory_of_engine() == share
        limits.limit_engine(7 * 10**8)
        assert _memory_of_engine() == limited


def test_a_query_that_a_limited_engine_cannot_answer_is_asked_again_with_its_share() -> None:
    rows = "select i, hash(i) % 1000003 as k from range(8_000_000) t(i) order by k"
    with limit_memory("1GB") as limits:
        limits.limit_engine(7 * 10**8)
        connection().execute("set memory_limit = '9MB'")
        found = collect_columns(nw.from_native(connection().sql(f"select max(k) m from ({rows})")))
        assert found["m"].tolist() == [1_000_002]
        assert _memory_of_engine() == "476.8 MiB"


def test_an_engine_without_a_limit_of_its_own_is_left_as_it_is() -> None:
    before = _memory_of_engine()
    current_limits().limit_engine(7 * 10**8)
    assert _memory_of_engine() == before


def test_too_little_memory_and_a_folder_that_is_not_there_are_refused(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="1GB or more"), limit_memory("3MB"):
        pass
    with (
        pytest.raises(FileAccessError, match="No such file"),
        limit_memory("2GB", tmp_path / "none"),
    ):
        pass


def test_freed_memory_is_kept_where_the_c_library_can_and_nothing_fails_where_it_cannot(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Library:
        asked: ClassVar[list[tuple[int, int]]] = []

        def mallopt(self, option: int, size: int) -> None:
            self.asked.append((option, size))

    for library in (Library(), object()):
        monkeypatch.setattr("ctypes.CDLL", lambda _, found=library: found)
        memory.keep_freed_memory()
    # Numbers of M_TRIM_THRESHOLD and M_MMAP_THRESHOLD in malloc.h of the GNU C library.
    assert Library.asked == [(-1, 2**31 - 1), (-3, 2**31 - 1)]


def test_rows_fit_as_long_as_their_bytes_do() -> None:
    limits = MemoryLimits(memory=1000)
    assert limits.holds(10, 100)
    assert not limits.holds(11, 100)


def test_progress_is_told_in_rows_and_seconds() -> None:
    class Engine:
        def query_progress(self) -> float:
            return 25.0

    work = EngineProgress(Engine())
    work.begin(4000)
    work.began -= 10
    assert work.words() == "25%, 100 rows/s, 30 s left"
    work.last = 0.9  # of the pass before this one
    assert work.words().endswith(" 0 s left")
    assert EngineProgress().words() == ""


def test_rows_that_come_in_batches_are_counted() -> None:
    class Engine:
        def query_progress(self) -> float:
            return 1.0

    work = EngineProgress(Engine())
    for rows, words in ((4000, "25%, 100 rows/s, 30 s left"), (0, "1,000 rows, 100 rows/s")):
        work.begin(rows, in_batches=True)
        assert work.words() == ""
        work.began -= 10
        work.come = 1000
        assert work.words() == words
    work.begin(4000)
    assert work.words().startswith("1%")


def test_parts_are_read_one_after_the_other(tmp_path: Path) -> None:
    for place in range(3):
        (tmp_path / f"part-{place}.csv").write_text(f"id,n\n00{place},{place}\n")
    (tmp_path / "odd.csv").write_text("id,m\n1,2\n")
    whole = find_parts(str(tmp_path / "part-*.csv"))
    assert collect_columns(read_table(whole))["id"].tolist() == ["000", "001", "002"]
    assert join_parts([whole]) is whole
    assert getattr(join_parts(whole.paths), "paths", ()) == whole.paths
    with pytest.raises(Exception, match="its columns are not those of"):
        read_table(join_parts([*whole.paths, tmp_path / "odd.csv"]))


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_columns_of_parts_have_a_type_that_holds_all_of_them(
    tmp_path: Path, order: tuple[int, int]
) -> None:
    queries = (
        "select 1::bigint as score, 7::bigint as id",
        # In another order, too.
        "select '007' as id, 0.7::double as score",
    )
    paths = [tmp_path / f"part-{place}.parquet" for place in range(2)]
    for path, query in zip(paths, queries, strict=True):
        duckdb.sql(f"copy ({query}) to '{path}'")
    found = collect_columns(read_table(join_parts([paths[place] for place in order])))
    assert sorted(found["score"].tolist()) == [0.7, 1.0]
    assert sorted(found["id"].tolist()) == ["007", "7"]


def test_parts_of_text_may_have_their_columns_in_another_order(tmp_path: Path) -> None:
    for name, text in (("a.csv", "id,n\n1,2\n"), ("b.csv", "n,id\n3,4\n")):
        (tmp_path / name).write_text(text)
    found = collect_columns(read_table(join_parts([tmp_path / "a.csv", tmp_path / "b.csv"])))
    assert (found["id"].tolist(), found["n"].tolist()) == (["1", "4"], ["2", "3"])


def test_a_pattern_may_fit_one_file_and_no_file_counts_twice(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,n\n1,2\n")
    one = find_parts(str(tmp_path / "*.csv"))
    assert collect_columns(read_table(join_parts([one])))["n"].tolist() == ["2"]
    with pytest.raises(FileAccessError, match="more than once"):
        join_parts([one, tmp_path / "a.csv"])


def test_a_broken_part_is_named(tmp_path: Path) -> None:
    paths = [tmp_path / f"part-{place}.parquet" for place in range(3)]
    for path in paths:
        duckdb.sql(f"copy (select i as n from range(9) t(i)) to '{path}'")
    paths[1].write_bytes(b"PAR1" + paths[1].read_bytes()[4:-12])
    with pytest.raises(UnreadableFileError, match="part-1"):
        collect_columns(read_table(join_parts(paths)))


def test_parts_of_several_kinds_are_refused(tmp_path: Path) -> None:
    with pytest.raises(Exception, match=r"\.csv, \.tsv, \.parquet"):
        join_parts([tmp_path / "a.csv", tmp_path / "b.parquet"])
    with pytest.raises(FileAccessError, match="no file fits"):
        find_parts(str(tmp_path / "*.csv"))


def test_questions_about_single_rows_are_refused_where_these_do_not_fit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(memory, "current_limits", lambda: MemoryLimits(memory=1000))
    rows = duckdb.sql(
        """select i % 2 as y, i % 3 % 2 as p, if(i % 5 < 2, 'f', 'm') as g, i % 7 as who,
        i / 3.0 as s from range(900) t(i)"""
    )
    columns = {"label": "y", "prediction": "p", "sensitive": ("g",)}
    assert audit_frame(rows, **columns).n == 900
    with pytest.raises(OptionError, match="900 rows do not fit into memory"):
        audit_frame(rows, **columns, cluster=("who",))
    with pytest.raises(OptionError, match="900 rows do not fit into memory"):
        audit_parity_frame(rows, score="s", sensitive="s", continuous=True)
