"""Tables that Spark reads: the session, the formats, and its errors in our words.

A cluster (``spark://host:7077``), a Spark Connect server (``sc://host``) or Spark on this machine
(``local[2]``) reads Parquet, CSV, Delta or a table of its catalogue; whatever can be counted is
counted there. Nothing heavy is imported at the top, because ``--help`` reads this module.
"""

from __future__ import annotations

import csv
import os
import re
import shutil
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from comparity.errors import (
    FileAccessError,
    MissingExtraError,
    NoSparkError,
    OptionError,
    SparkFormatError,
    SparkJobError,
    SparkUnreachableError,
    SpillFullError,
    UnreadableFileError,
)
from comparity.tables.file_parts import check_names

if TYPE_CHECKING:
    import narwhals as nw

CONNECT = "sc://"
CONNECT_PORT = 15002
SECONDS_TO_ANSWER = 10.0
"""How long an address may take to answer."""

SECONDS_TO_BEGIN = 60.0
"""How long a cluster may take to give a first executor."""

ADDRESS = re.compile(r"(?:spark|sc)://(\[[^\]]+\]|[^:/;,]+)(?::(\d+))?")
WITHOUT_ADDRESS = re.compile(
    r"local(\[([1-9]\d*|\*)(,\d+)?\])?|local-cluster\[[\d, ]+\]|yarn|k8s://.+", re.ASCII
)
READ_FILE = re.compile(
    r"(?:file|hdfs|s3a?|abfss?|gs)://?[^\s,;]+|/[^\s,;]+\.(?:parquet|csv|tsv)\S*"
)
NOT_THERE = ("PATH_NOT_FOUND", "TABLE_OR_VIEW_NOT_FOUND", "does not exist")
NOT_READ = ("is not a Parquet file", "FAILED_READ_FILE", "MALFORMED_RECORD", "corrupt", "header")
NO_MODULE = re.compile(r"No module named '([^']+)'")
DISK_FULL = "No space left on device"

# Text as files of ours are read: nothing is guessed, and odd rows are errors.
TEXT_OPTIONS = {
    **{"header": "true", "quote": '"', "escape": '"', "mode": "FAILFAST"},
    **{"enforceSchema": "false", "columnPruning": "false"},
}

PARTITIONS = "spark.sql.shuffle.partitions"

_session: ContextVar[Any] = ContextVar("spark session", default=None)


@dataclass(frozen=True, slots=True)
class SparkTable:
    """A table that Spark reads, in the place of a path.

    Attributes
    ----------
    name : str
        A path or address that the workers know, or the name of a table.
    """

    name: str

    def __fspath__(self) -> str:
        return self.name

    def read(self) -> nw.LazyFrame[Any]:
        """Return the table on Spark."""
        import narwhals as nw

        session = _session.get()
        if session is None:
            raise OptionError(
                "spark", None, ["the address of a cluster"], f"{self.name!r} is there"
            )
        with translate_spark(self.name):
            frame: nw.LazyFrame[Any] = nw.from_native(_read(session, self.name))
        return frame


@contextmanager
def spark_session(master: str) -> Iterator[Any]:
    """Let tables that are named inside be read by Spark at an address.

    Parameters
    ----------
    master : str
        ``spark://host:port``, ``sc://host`` or ``local[2]``. A session that exists is used, and
        left as it was; another is stopped at the end, also after an error or Ctrl-C.

    Raises
    ------
    MissingExtraError, NoSparkError
        PySpark, Java or what Spark Connect needs is not installed.
    SparkUnreachableError
        Nobody answers there, or no worker is free.
    """
    try:
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise MissingExtraError("a table on Spark", "pyspark", "spark") from error
    known = None if master.startswith(CONNECT) else SparkSession.getActiveSession()
    session = known or _open_session(master, SparkSession.builder)
    token = _session.set(session)
    try:
        # Spark reads nothing before it is asked to count, wherever that is.
        with translate_spark():
            yield session
    finally:
        _session.reset(token)
        if known is None:
            session.stop()


def _open_session(master: str, builder: Any) -> Any:
    _check_address(master)
    if master.startswith(CONNECT):
        try:
            return builder.remote(master).getOrCreate()
        except ImportError as error:
            needed = "pip install 'pyspark[connect]' installs what Spark Connect needs."
            raise NoSparkError(master, str(error).splitlines()[0], needed) from error
    java = os.environ.get("JAVA_HOME")
    if not (java or shutil.which("java")):
        hint = "install Java 17 or newer, and set JAVA_HOME if it is not on the path."
        raise NoSparkError(master, "Java was not found", hint)
    with translate_spark():
        settings = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false"}
        if master.startswith("local"):
            # Spark would take whatever Python comes first on the path.
            os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
            if PARTITIONS not in os.environ.get("PYSPARK_SUBMIT_ARGS", ""):
                # By default every step has 200 tasks, however few cores there are.
                settings[PARTITIONS] = str(2 * (os.cpu_count() or 1))
        session = builder.master(master).appName("comparity").config(map=settings).getOrCreate()
        session.sparkContext.setLogLevel("ERROR")
        _await_executor(session, master)
    return session


def _check_address(master: str) -> None:
    """Refuse an address that nobody answers at, which Spark would try for minutes."""
    found = ADDRESS.match(master)
    if found is None:
        if not WITHOUT_ADDRESS.fullmatch(master):
            allowed = ["an address such as spark://host:7077 or sc://host", "local[2]", "yarn"]
            raise OptionError("spark", master, allowed)
        return
    port = found[2] or (CONNECT_PORT if master.startswith(CONNECT) else 7077)
    try:
        socket.create_connection((found[1].strip("[]"), int(port)), SECONDS_TO_ANSWER).close()
    except OSError as error:
        raise SparkUnreachableError(master, error.strerror or str(error)) from error


def _await_executor(session: Any, master: str) -> None:
    """Wait for a first worker; without one Spark would wait for ever."""
    if not master.startswith("spark://"):
        return
    until = time.monotonic() + SECONDS_TO_BEGIN
    # The driver is one of them.
    while session.sparkContext._jsc.sc().getExecutorMemoryStatus().size() < 2:
        if time.monotonic() > until:
            session.stop()
            found = f"no worker took the work within {SECONDS_TO_BEGIN:g} seconds"
            raise SparkUnreachableError(master, found)
        time.sleep(0.1)


def _read(session: Any, name: str) -> Any:
    """Read by the ending of a name; a name without path and ending is that of a table."""
    # Workers and driver see a local file under the same path, wherever the default storage is.
    place = f"file://{os.path.abspath(name)}" if os.path.exists(name) else name
    plain = name.lower().rstrip("/").removesuffix(".gz")
    if plain.endswith((".csv", ".tsv")):
        return _read_text(session, place, name, "," if plain.endswith(".csv") else "\t")
    if plain.endswith(".delta") or Path(name, "_delta_log").is_dir():
        return session.read.format("delta").load(place)
    if plain.endswith(".parquet") or "/" in name:
        return session.read.parquet(place)
    return session.table(name)


def _read_text(session: Any, place: str, name: str, separator: str) -> Any:
    """Read text as it is written; an empty cell is missing."""
    from pyspark.sql import functions, types

    first = session.read.text(place).head()
    header = (
        next(csv.reader([first[0].removeprefix("\ufeff")], delimiter=separator), [])
        if first
        else []
    )
    if not header:
        raise UnreadableFileError(repr(name), "the first line is empty")
    check_names(header, name)
    schema = types.StructType([types.StructField(one, types.StringType()) for one in header])
    rows = session.read.options(**TEXT_OPTIONS, sep=separator).schema(schema).csv(place)
    empty = functions.lit("")
    return rows.select(
        *(functions.nullif(rows[f"`{one}`"], empty).alias(one.strip()) for one in header)
    )


@contextmanager
def translate_spark(name: str = "") -> Iterator[None]:
    """Raise what Spark says as an error of ours.

    Parameters
    ----------
    name : str
        The table that is read, where that is known.
    """
    from pyspark.errors import PySparkException

    errors: tuple[type[Exception], ...] = (PySparkException, *_bridge_errors())
    try:
        yield
    except errors as error:
        raise _explain(str(error), name) from error


def _bridge_errors() -> tuple[type[Exception], ...]:
    """Return the errors of the bridge to Java, which a client of Spark Connect need not have."""
    try:
        from py4j.protocol import Py4JError
    except ImportError:
        return ()
    return (Py4JError,)


def _explain(told: str, name: str) -> Exception:
    """Return our error for what Spark said."""
    if DISK_FULL in told:
        return SpillFullError("the local folders of Spark", DISK_FULL)
    if "DATA_SOURCE_NOT_FOUND" in told or "Failed to find the data source" in told:
        return SparkFormatError(name, "the data source of that format was not found")
    if name and any(word in told for word in NOT_THERE):
        return FileAccessError(name, "Spark finds no such file or table")
    if any(word in told for word in NOT_READ):
        found = READ_FILE.search(told)
        reason = next(
            (line for line in told.splitlines() if any(w in line for w in NOT_READ)), told
        )
        return UnreadableFileError(repr(found[0].rstrip(".") if found else name), reason)
    lacking = NO_MODULE.search(told)
    if lacking:
        told = f"the Python of the workers has no {lacking[1]}; PYSPARK_PYTHON names another"
    return SparkJobError(told)
