"""What DuckDB raises of files, memory, threads and Ctrl-C, said as the errors it should be."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from comparity.errors.base import ComparityError, message
from comparity.errors.files import UnreadableFileError

__all__ = ["BusyConnectionError", "OutOfMemoryError", "translate_duckdb"]

# How DuckDB says which file broke while it was read.
NAMED_FILE = re.compile(r"^\s*file ?= ?(.+)$|stream: (.+)$", re.MULTILINE)
INTERRUPTED = "Query interrupted"


class OutOfMemoryError(ComparityError, MemoryError):
    """A question needs more memory than there is."""

    def __init__(self, found: str = "") -> None:
        first = found.strip().splitlines()[:1] or ["the system gives no more"]
        super().__init__(
            message(
                "not enough memory.",
                first[0][:300],
                "keep only the columns that are needed, write the file as Parquet, take a random "
                "sample of its rows, or allow more memory (ulimit -v, the limit of a container).",
            )
        )


class BusyConnectionError(ComparityError, RuntimeError):
    """A DuckDB connection was used by two threads at once."""

    def __init__(self, found: str) -> None:
        super().__init__(
            message(
                "a table cannot be read while another thread uses its DuckDB connection.",
                found.strip().splitlines()[0][:300],
                "make the table of each thread on a connection of its own: connection.cursor().",
            )
        )


@contextmanager
def translate_duckdb(name: str | None = None) -> Iterator[None]:
    """Raise what DuckDB says as an error of ours, and its word for Ctrl-C as what Python raises.

    Parameters
    ----------
    name : str, optional
        The file that is read; what DuckDB names by default.
    """
    import duckdb

    # Older versions wait for the other thread.
    busy = getattr(duckdb, "ResourceInUseException", ())
    try:
        yield
    except duckdb.OutOfMemoryException as error:
        raise OutOfMemoryError(str(error)) from error
    except duckdb.InterruptException as error:
        raise KeyboardInterrupt from error
    except busy as error:
        raise BusyConnectionError(str(error)) from error
    except duckdb.Error as error:
        raise UnreadableFileError(_file(name, str(error)), str(error)) from error
    except RuntimeError as error:
        if INTERRUPTED not in str(error):
            raise
        raise KeyboardInterrupt from error


def _file(name: str | None, reason: str) -> str:
    found = NAMED_FILE.search(reason)
    told = name or (found and (found[1] or found[2]))
    return repr(told) if told else "the table"
