"""Limits of memory: sizes as people write them, and a folder that is gone afterwards."""

from pathlib import Path

import pytest

from comparity.errors import FileAccessError, OptionError
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


def test_too_little_memory_and_a_folder_that_is_not_there_are_refused(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="1GB or more"), limit_memory("3MB"):
        pass
    with (
        pytest.raises(FileAccessError, match="No such file"),
        limit_memory("2GB", tmp_path / "none"),
    ):
        pass


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
    assert EngineProgress().words() == ""


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


def test_parts_of_several_kinds_are_refused(tmp_path: Path) -> None:
    with pytest.raises(Exception, match=r"\.csv, \.tsv, \.parquet"):
        join_parts([tmp_path / "a.csv", tmp_path / "b.parquet"])
    with pytest.raises(FileAccessError, match="no file fits"):
        find_parts(str(tmp_path / "*.csv"))
