"""How much memory a question may take, where the rest is written, and how far the engine is.

Nothing heavy is imported at the top, because ``--help`` reads this module.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from comparity.errors import FileAccessError, OptionError

UNITS = {
    **{"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12},
    **{"k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12},
    **{"kib": 2**10, "mib": 2**20, "gib": 2**30, "tib": 2**40},
}
SIZE = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([a-zA-Z]*)\s*")

LEAST_MEMORY = 10**9
"""The interpreter, its libraries and one block of rows take nearly half of this."""

OWN_SHARE = 5 * 10**8
"""Memory of the interpreter and its libraries, without the engine."""

LEAST_OF_ENGINE = 0.3
"""Part of the memory that the engine has at least."""

GLIBC_TRIM_THRESHOLD, GLIBC_MMAP_THRESHOLD = -1, -3
"""The C library: how much freed memory it keeps, and from what size it maps a block by itself."""

LARGEST_KEPT = 2**31 - 1
"""The most that either can be set to, in bytes."""

TIMES_TO_REMOVE = 20
"""How often a folder is removed that is not empty at once."""

ASSUMED_MEMORY = 2**34
"""Memory that is assumed of a machine that does not say."""

# Where the limit of a container is told, by version 2 and version 1 of control groups.
CONTAINER_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def read_size(text: str) -> int:
    """Return a size in bytes, such as ``"4GB"`` (10^9) or ``"4GiB"`` (2^30).

    Examples
    --------
    >>> read_size("4GB"), read_size("1.5 GiB")
    (4000000000, 1610612736)
    """
    found = SIZE.fullmatch(text)
    if found is None or found[2].lower() not in UNITS:
        raise OptionError("memory", text, ["a size such as 4GB or 512MiB"])
    return int(float(found[1]) * UNITS[found[2].lower()])


def keep_freed_memory() -> None:
    """Have the C library keep memory that arrays give back, for the arrays that follow.

    By default it returns each block of more than 32 MB to the system, which clears it before the
    next array gets it: a tenth of the core-seconds of a ranking of ten million comparisons, for a
    fourth more memory at its peak. C libraries other than GNU's stay as they are.
    """
    import ctypes

    try:
        set_option = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        return
    for option in (GLIBC_TRIM_THRESHOLD, GLIBC_MMAP_THRESHOLD):
        set_option(option, LARGEST_KEPT)


def machine_memory() -> int:
    """Return the memory of the machine, or of the container it is run in, in bytes."""
    if not hasattr(os, "sysconf"):
        return ASSUMED_MEMORY
    whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    told = [Path(one).read_text() for one in CONTAINER_LIMITS if os.access(one, os.R_OK)]
    return min([whole, *(int(text) for text in told if text.strip().isdigit())])


@dataclass(slots=True)
class EngineProgress:
    """How far an engine is with the rows it reads.

    Attributes
    ----------
    connection : object
        The connection of DuckDB, which knows.
    rows : int
        Rows that are read in one pass; 0 where nobody knows.
    come : int or None
        Rows of the pass that have come to memory, where they come in batches.
    began : float
        When the pass began.
    last : float
        The share of it that was done when somebody last asked.
    """

    connection: Any = None
    rows: int = 0
    come: int | None = None
    began: float = field(default_factory=time.monotonic)
    last: float = 0.0

    def begin(self, rows: int, *, in_batches: bool = False) -> None:
        """Begin a pass over some rows."""
        self.rows, self.began, self.last = rows, time.monotonic(), 0.0
        self.come = 0 if in_batches else None

    def share(self) -> float | None:
        """Return the share of the pass that is done; nothing where nobody knows."""
        if self.come is not None:
            # Of a query that waits for who fetches its rows the engine tells nothing useful.
            return min(self.come / self.rows, 1.0) if self.rows else None
        told = -1.0 if self.connection is None else self.connection.query_progress()
        return None if told <= 0 else min(told / 100, 1.0)

    def words(self) -> str:
        """Say how much of a pass is done, how fast, and how long the rest takes at that pace."""
        share, seconds = self.share(), max(time.monotonic() - self.began, 1e-3)
        if share is None:
            return f"{self.come:,} rows, {self.come / seconds:,.0f} rows/s" if self.come else ""
        if not share:
            return ""
        if share < self.last:  # of another pass
            self.began, seconds = time.monotonic(), 1e-3
        self.last = share
        left = seconds * (1 - share) / share
        pace = f" {self.rows * share / seconds:,.0f} rows/s," if self.rows else ""
        return f"{share:.0%},{pace} {left:,.0f} s left"


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryLimits:
    """What a question may take.

    Attributes
    ----------
    memory : int
        Bytes.
    folder : Path or None
        Where what does not fit is written; the folder is gone when the question is answered.
    work : EngineProgress
        How far it is.
    """

    memory: int
    folder: Path | None = None
    work: EngineProgress = field(default_factory=EngineProgress)

    def holds(self, rows: int, bytes_per_row: int) -> bool:
        """Return whether so many rows fit."""
        return rows * bytes_per_row <= self.memory

    def limit_engine(self, held: int) -> None:
        """Leave so many bytes to Python where it holds much; the engine keeps a part of its own.

        An engine without a limit of its own is left as it is, and one that cannot answer a query
        takes its whole share again.
        """
        from comparity.tables.frames import limit_database

        if self.folder is not None:
            limit_database(max(self.memory - held, int(LEAST_OF_ENGINE * self.memory)))


_folders: set[Path] = set()

_limits: ContextVar[MemoryLimits | None] = ContextVar("limits", default=None)


def current_limits() -> MemoryLimits:
    """Return the limits of the present question; by default half of the machine's memory."""
    return _limits.get() or MemoryLimits(memory=machine_memory() // 2)


BYTES_PER_ROW = 400
"""What a row takes that is counted in memory, with all copies of it."""


def check_room(frame: Any, option: str, chosen: object, instead: str) -> None:
    """Raise an error where a choice brings all rows of an engine to memory, and these do not fit.

    Parameters
    ----------
    frame : narwhals.LazyFrame
    option : str
        The choice that needs single rows.
    chosen : object
        What was chosen.
    instead : str
        What engines can do.
    """
    from comparity.tables.frames import n_rows, stays_on_engine

    rows = n_rows(frame) if stays_on_engine(frame) else 0
    if not current_limits().holds(rows, BYTES_PER_ROW):
        why = f"that looks at single rows, and {rows:,} rows do not fit into memory"
        raise OptionError(option, chosen, [instead, "more memory", "a random sample of rows"], why)


@contextmanager
def watch_engine() -> Iterator[MemoryLimits]:
    """Let whoever shows progress see how far the engine of this thread is."""
    from comparity.tables.frames import watched_connection

    work = EngineProgress(watched_connection())
    limits = MemoryLimits(memory=machine_memory() // 2, work=work)
    token = _limits.set(limits)
    try:
        yield limits
    finally:
        _limits.reset(token)


@contextmanager
def limit_memory(
    memory: int | str | None = None, spill: str | os.PathLike[str] | None = None
) -> Iterator[MemoryLimits]:
    """Limit the memory of the questions that are asked inside.

    Files that are read inside may be larger than that: what does not fit is written to a folder
    inside `spill`, which is removed at the end, also after an error or Ctrl-C.

    Parameters
    ----------
    memory : int or str, optional
        Bytes, or a size such as ``"4GB"``; half of the memory of the machine by default.
    spill : path, optional
        The folder; that of the system for temporary files by default.
    """
    wanted = read_size(memory) if isinstance(memory, str) else memory or machine_memory() // 2
    if wanted < LEAST_MEMORY:
        raise OptionError("memory", memory, [f"{LEAST_MEMORY / 1e9:g}GB or more"])
    from comparity.tables.frames import own_database

    folder = _make_folder(spill)
    try:
        with own_database(max(wanted - OWN_SHARE, wanted // 2), folder) as connection:
            limits = MemoryLimits(memory=wanted, folder=folder, work=EngineProgress(connection))
            token = _limits.set(limits)
            try:
                yield limits
            finally:
                _limits.reset(token)
    finally:
        _remove_folder(folder)


def _remove_folder(folder: Path) -> None:
    """Remove a folder that an engine which was interrupted may still write to."""
    for _ in range(TIMES_TO_REMOVE):
        shutil.rmtree(folder, ignore_errors=True)
        if not folder.exists():
            break
        time.sleep(0.1)
    _folders.discard(folder)


def _make_folder(spill: str | os.PathLike[str] | None) -> Path:
    try:
        folder = Path(tempfile.mkdtemp(prefix="comparity-", dir=spill))
    except OSError as error:
        name = os.fspath(spill or tempfile.gettempdir())
        raise FileAccessError(name, error.strerror or str(error), doing="make") from error
    _folders.add(folder)
    return folder


def remove_folders() -> None:
    """Remove what was spilled, where the process ends before the question is answered."""
    for folder in [*_folders]:
        _remove_folder(folder)
