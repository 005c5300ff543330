"""Tables in several files, and limits of memory, on the command line."""

import json
from pathlib import Path

import duckdb
import pytest

from tests.cli.conftest import Run

CHOICES = ("--label", "y", "--prediction", "p", "--sensitive", "g", "--json")
COLUMNS = "i % 2 as y, (i % 3 = 0)::int as p, if(i % 5 < 2, 'a', 'b') as g"
SOURCE = f"select {COLUMNS} from range({{}}) t(i)"


@pytest.fixture(params=["csv", "parquet"])
def parts(request: pytest.FixtureRequest, tmp_path: Path) -> list[Path]:
    files = [tmp_path / f"part-{place}.{request.param}" for place in range(3)]
    for place, file in enumerate(files):
        duckdb.sql(f"copy ({SOURCE.format(300 + place)}) to '{file}'")
    return files


def test_parts_named_one_by_one_or_by_a_pattern_are_one_table(parts: list[Path], run: Run) -> None:
    whole = parts[0].with_name(f"whole{parts[0].suffix}")
    rows = " union all ".join(f"({SOURCE.format(300 + place)})" for place in range(3))
    duckdb.sql(f"copy ({rows}) to '{whole}'")
    pattern = parts[0].with_name(f"part-*{parts[0].suffix}")
    answers = [
        json.loads(run("separation", *files, *CHOICES).out)
        for files in ([whole], parts, [pattern, "--glob", "--memory", "2GB"])
    ]
    assert [one.pop("provenance")["data"]["files"][-1]["name"] for one in answers] == [
        whole.name,
        *[parts[-1].name] * 2,
    ]
    assert answers[0] == answers[1] == answers[2]


def test_a_pattern_is_read_only_where_it_is_asked_for(parts: list[Path], run: Run) -> None:
    outcome = run("separation", parts[0].parent / "part-*", *CHOICES)
    assert outcome.status == 2
    assert "--glob" in outcome.err


def test_a_broken_part_is_named_and_nothing_is_left(parts: list[Path], run: Run) -> None:
    spill = parts[0].parent / "spill"
    spill.mkdir()
    content = parts[1].read_bytes()
    parts[1].write_bytes(content[: len(content) // 2])
    outcome = run("separation", *parts, *CHOICES, "--memory", "2GB", "--spill", spill)
    if parts[1].suffix == ".parquet":
        assert outcome.status == 2
        assert "part-1.parquet" in outcome.err
    assert list(spill.iterdir()) == []


def test_rows_of_several_files_can_be_dropped(parts: list[Path], run: Run) -> None:
    odd = parts[0].with_name(f"part-9{parts[0].suffix}")
    duckdb.sql(f"copy (select null::int as y, 1 as p, 'a' as g) to '{odd}'")
    outcome = run("separation", *parts, odd, "--drop-missing", *CHOICES)
    assert json.loads(outcome.out)["provenance"]["dropped"][0]["rows"] == 1
