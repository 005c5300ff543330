"""Spark counts like every other engine."""

from __future__ import annotations

import shutil
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from comparity.counts import engine_pairs, label_parts, labelled_rows
from comparity.counts.decision_rows import count_decisions
from comparity.counts.decision_sets import decision_table
from comparity.counts.judged_rows import count_comparisons
from comparity.errors import (
    FileAccessError,
    MissingExtraError,
    MixedEnginesError,
    NoSparkError,
    OptionError,
    SparkFormatError,
    SparkJobError,
    SparkUnreachableError,
    UnknownItemError,
    UnreadableFileError,
)
from comparity.pairwise import audit as pairwise_audit
from comparity.pairwise import parity, query_items
from comparity.pairwise.audit import audit_frame as audit_pairs
from comparity.pairwise.parity import audit_parity_frame
from comparity.ranking.judgments import judgments_from_frames
from comparity.tables.frames import collect_columns
from comparity.tables.memory import MemoryLimits
from comparity.tables.spark import SparkTable, spark_session
from tests.conftest import ENGINES

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore")]

JUDGED = [("a", "b", "x", False), ("c", "d", "x", False), ("a", "d", "y", True)]
ITEMS = [("a", 0.9, "f"), ("b", 0.2, "m"), ("c", 0.4, "m"), ("d", 0.4, "f")]
OPTIONS: dict[str, Any] = {
    "evaluator": "judge",
    "tied": "tie",
    "score": "score",
    "sensitive": ["sex"],
}


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    sql = pytest.importorskip("pyspark.sql")
    if shutil.which("java") is None:
        pytest.skip("Java is not installed")
    changed = pytest.MonkeyPatch()
    changed.setenv("PYSPARK_PYTHON", sys.executable)
    session = (
        sql.SparkSession.builder.master("local[1]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "1")
        .config("spark.sql.adaptive.enabled", "false")
        # A query of few rows takes longer to compile than to interpret.
        .config("spark.sql.codegen.wholeStage", "false")
        .config("spark.sql.codegen.factoryMode", "NO_CODEGEN")
        # Code that runs once need not be compiled well.
        .config("spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
        .getOrCreate()
    )
    yield session
    session.stop()
    changed.undo()


def tables(spark: Any) -> tuple[Any, Any]:
    judged = spark.createDataFrame(JUDGED, ["better", "worse", "judge", "tie"])
    return judged, spark.createDataFrame(ITEMS, ["item", "score", "sex"])


def columns(rows: list[tuple[Any, ...]], names: str) -> dict[str, list[Any]]:
    return dict(zip(names.split(), map(list, zip(*rows, strict=True)), strict=True))


def counts_are_those_of_polars(spark: Any) -> None:
    for design in ("auto", "fresh"):
        found = count_comparisons(*tables(spark), design=design, **OPTIONS)
        expected = count_comparisons(
            ENGINES["polars"](columns(JUDGED, "better worse judge tie")),
            ENGINES["polars"](columns(ITEMS, "item score sex")),
            design=design,
            **OPTIONS,
        )
        assert found == expected


def decisions_are_counted(spark: Any) -> None:
    rows = [(1, 0.9, "f"), (0, 0.7, "m"), (1, 0.1, "m")]
    frame = spark.createDataFrame(rows, ["y", "p", "sex"])
    counts = count_decisions(frame, label="y", prediction="p", sensitive=["sex"], threshold=0.5)
    assert (counts["sex"]["f"].positives.rate, counts["sex"]["m"].positives.rate) == (1.0, 0.0)


def errors_have_counts_but_no_rows(spark: Any) -> None:
    judged, items = tables(spark)
    with pytest.raises(UnknownItemError, match="1 row, such as 'b'"):
        count_comparisons(judged, items.filter("item != 'b'"), **OPTIONS)


def items_elsewhere_do_not_travel(spark: Any) -> None:
    items = ENGINES["polars"](columns(ITEMS, "item score sex"))
    with pytest.raises(MixedEnginesError, match="comparisons in pyspark, items in polars"):
        count_comparisons(tables(spark)[0], items, **OPTIONS)


def differences_of_decisions_are_those_of_pandas(spark: Any) -> None:
    rows = [(3.0, "1", "f"), (2.0, "1", "m"), (2.0, "1", "m"), (5.0, "4", "f")]
    columns = ["first", "second", "sex"]
    table = dict(zip(columns, map(list, zip(*rows, strict=True)), strict=True))
    choices: dict[str, Any] = {"raters": columns[:2], "sensitive": ["sex"]}
    found = decision_table(spark.createDataFrame(rows, columns), **choices)
    expected = decision_table(ENGINES["pandas"](table), **choices)
    ours, theirs = (one.differences(0, 1, "sex") for one in (found, expected))
    assert ours.values.tolist() == theirs.values.tolist()
    assert ours.counts.tolist() == theirs.counts.tolist()


def all_pairs_are_counted_from_bins(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pairwise_audit, "MOST_COLLECTED", 0)
    monkeypatch.setattr(query_items, "MOST_ROWS", 30)
    for name, value in (("MOST_BINS", 8), ("FEWEST_BINS", 8), ("MOST_SCORES", 12)):
        monkeypatch.setattr(engine_pairs, name, value)
    scores = [(i * 37 % 101 - 9) * 10.0 ** (i % 8 * 80 - 280) for i in range(60)]
    rows = [(float(i % 2), f, "ab"[i * 13 % 5 > 2], f"q{i % 9}") for i, f in enumerate(scores)]
    names = ["y", "f", "g", "q"]
    known = ENGINES["polars"](columns(rows, " ".join(names)))
    choices: dict[str, Any] = {"label": "y", "score": "f", "sensitive": "g"}
    exact = audit_pairs(known, **choices)
    for tolerance in (0.05, 0.0):
        found = audit_pairs(spark.createDataFrame(rows, names), **choices, tolerance=tolerance)
        assert found.bound <= tolerance
        assert abs(found.matrix - exact.matrix).max() <= found.bound
    found = audit_pairs(spark.createDataFrame(rows, names), **choices, query="q")
    assert (found.matrix == audit_pairs(known, **choices, query="q").matrix).all()
    asked = {"score": choices["score"], "sensitive": choices["sensitive"]}
    monkeypatch.setattr(parity, "MOST_COLLECTED", 0)
    kept = audit_parity_frame(spark.createDataFrame(rows, names), **asked, tolerance=0)
    assert [one.gap for one in kept.tests] == [
        pytest.approx(one.gap, abs=1e-12) for one in audit_parity_frame(known, **asked).tests
    ]


def labels_are_divided_into_ranges(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pairwise_audit, "MOST_COLLECTED", 0)
    monkeypatch.setattr(pairwise_audit, "current_limits", lambda: MemoryLimits(memory=400 * 20))
    monkeypatch.setattr(labelled_rows, "MOST_LEVELS", 4)
    for name, value in (("MOST_BINS", 8), ("FEWEST_BINS", 8)):
        monkeypatch.setattr(engine_pairs, name, value)
    for name, value in (("MOST_ROWS", 20), ("MOST_BINS", 8)):
        monkeypatch.setattr(label_parts, name, value)
    rows = [(i * 29 % 41 / 3, i * 37 % 101 / 7, "ab"[i * 13 % 5 > 2]) for i in range(60)]
    names = ["y", "f", "g"]
    choices: dict[str, Any] = {"label": "y", "score": "f", "sensitive": "g"}
    exact = audit_pairs(ENGINES["polars"](columns(rows, "y f g")), **choices)
    found = audit_pairs(spark.createDataFrame(rows, names), **choices, tolerance=0.05)
    assert "Labels were divided into" in " ".join(found.raw.notes)
    assert found.bound <= 0.05
    assert abs(found.matrix - exact.matrix).max() <= found.bound + 1e-12
    assert (found.n_pairs == exact.n_pairs).all()
    # Standardised are the same items on every engine.
    duckdb = audit_pairs(ENGINES["duckdb"](columns(rows, "y f g")), **choices, tolerance=0.05)
    assert (found.n_sampled, duckdb.n_sampled) == (20, 20)
    assert found.standardised.rates == duckdb.standardised.rates
    assert str(found.standardised.tests) == str(duckdb.standardised.tests)


def judgments_are_those_of_polars(spark: Any) -> None:
    found = judgments_from_frames(tables(spark)[0], evaluator="judge", tied="tie")
    polars = ENGINES["polars"](columns(JUDGED, "better worse judge tie"))
    expected = judgments_from_frames(polars, evaluator="judge", tied="tie")
    for name in ("better", "worse", "items", "evaluator", "evaluators", "tied"):
        assert getattr(found, name).tolist() == getattr(expected, name).tolist()


def files_are_read_by_spark_as_they_are_written(folder: Path) -> None:
    text = folder / "rows.csv"
    text.write_text('\ufeffid, group,n\n007,"a, ""b""",\nNA,None,1.50\n', encoding="utf-8")
    (folder / "bad.parquet").write_bytes(b"PAR1 nothing PAR1")
    (folder / "odd.csv").write_text("a,b\n1,2\n3\n")
    (folder / "rows.delta").mkdir()
    with spark_session("local[1]"):
        found = collect_columns(SparkTable(str(text)).read())
        assert found["id"].tolist() == ["007", "NA"]
        assert found["group"].tolist() == ['a, "b"', "None"]
        assert found["n"].tolist() == [None, "1.50"]
        for name, error, words in (
            ("none.parquet", FileAccessError, "none.parquet"),
            ("no_such_table", FileAccessError, "no_such_table"),
            ("bad.parquet", UnreadableFileError, "bad.parquet"),
            ("rows.delta", SparkFormatError, "delta"),
        ):
            place = name if "." not in name else str(folder / name)
            with pytest.raises(error, match=words):
                collect_columns(SparkTable(place).read())
        with pytest.raises(UnreadableFileError, match=r"odd\.csv"):
            collect_columns(SparkTable(str(folder / "odd.csv")).read())
    with pytest.raises(SparkJobError, match="too late"), spark_session("local[1]") as session:
        session.sql("select raise_error('too late')").collect()


def test_spark_that_is_not_there_is_said_to_be_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyspark")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        for master in (f"spark://{address}", f"sc://{address}"):
            with pytest.raises(SparkUnreachableError, match="refused"), spark_session(master):
                pass
    # Spark would start Java for each of them before it complains.
    for odd in ("http://host", "host:7077", "local[0]", "local[two]", 'say "hi"', "NaN", ""):
        with pytest.raises(OptionError, match="spark://host:7077"), spark_session(odd):
            pass
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(NoSparkError, match="Java was not found"), spark_session("local[1]"):
        pass
    monkeypatch.setitem(sys.modules, "pyspark.sql", None)
    with pytest.raises(MissingExtraError, match="pyspark"), spark_session("local[1]"):
        pass


def test_spark_counts_like_every_other_engine(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One test, since Spark takes long to start and each worker that has a test starts it."""
    counts_are_those_of_polars(spark)
    decisions_are_counted(spark)
    errors_have_counts_but_no_rows(spark)
    items_elsewhere_do_not_travel(spark)
    differences_of_decisions_are_those_of_pandas(spark)
    all_pairs_are_counted_from_bins(spark, monkeypatch)
    labels_are_divided_into_ranges(spark, monkeypatch)
    judgments_are_those_of_polars(spark)
    files_are_read_by_spark_as_they_are_written(tmp_path)
