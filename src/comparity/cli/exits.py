"""How the command line leaves where something outside of it fails: memory, streams, Ctrl-C."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

import click

from comparity.errors import OutOfMemoryError
from comparity.errors.spelling import visible

__all__ = [
    "CUT_OFF",
    "DEFECT",
    "INTERRUPTED",
    "NOT_WRITTEN",
    "BadInput",
    "check_memory",
    "open_streams",
    "silence_streams",
    "tell_faults",
]

# 0, 1 and 3 are findings and 2 is bad input, so nothing else may use them.
DEFECT = 70
"""Status of a mistake in this program, as sysexits.h has it (EX_SOFTWARE)."""
NOT_WRITTEN = 74
"""Status where what was found cannot be printed, as sysexits.h has it (EX_IOERR)."""
INTERRUPTED = 130
"""Status after Ctrl-C, as shells have it."""
CUT_OFF = 141
"""Status where the reader of a pipe went away before all was printed, as shells have it."""

# Full, closed, broken or too many: no mistake of ours.
OUTSIDE = {
    *(errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EBADF, errno.EIO, errno.ENXIO),
    *(errno.EROFS, errno.EMFILE, errno.ENFILE),
}

LEAST_MEMORY = 640 * 2**20
NO_ROOM_TO_IMPORT = ("failed to map segment", "annot allocate memory")


class BadInput(click.ClickException):
    """Input that cannot be judged: one of our errors, said without a traceback."""

    exit_code = 2

    def format_message(self) -> str:
        """Return the message with everything that could steer a terminal spelled out."""
        return visible(self.message, keep="\n")


class NotWritten(BadInput):
    """A result that is known and cannot be printed."""

    exit_code = NOT_WRITTEN

    def __init__(self, error: OSError) -> None:
        where = f" ({error.filename})" if error.filename else ""
        super().__init__(
            f"the output cannot be written{where}.\n  found: {error.strerror}\n"
            "  hint:  check where it is sent to: a full disk, a closed stream?"
        )


@contextmanager
def tell_faults() -> Iterator[None]:
    """Raise what fails outside of this program as what the command line says of it.

    click would leave with 1 where a pipe is closed, which says that something was found, and in
    silence where a file ends too soon.
    """
    try:
        try:
            yield
        finally:
            sys.stdout.flush()
    except MemoryError as error:
        raise BadInput(str(OutOfMemoryError(str(error)))) from error
    except ImportError as error:
        if not any(words in str(error) for words in NO_ROOM_TO_IMPORT):
            raise
        raise BadInput(str(OutOfMemoryError(str(error)))) from error
    except BrokenPipeError as error:
        silence_streams()
        raise SystemExit(CUT_OFF) from error
    except OSError as error:
        if error.errno == errno.ENOMEM:
            raise BadInput(str(OutOfMemoryError(str(error)))) from error
        if error.errno not in OUTSIDE:
            raise
        silence_streams(1)
        raise NotWritten(error) from error
    except EOFError as error:
        raise RuntimeError("a file ended where nobody expected it") from error


def check_memory() -> None:
    """Refuse to begin where libraries of linear algebra would end the process, with status 1."""
    if sys.platform == "win32":
        return
    import resource

    allowed = resource.getrlimit(resource.RLIMIT_AS)[0]
    if allowed != resource.RLIM_INFINITY and allowed < LEAST_MEMORY:
        found = f"a limit of {allowed / 2**20:,.0f} MB, where {LEAST_MEMORY / 2**20:,.0f} are used"
        raise OutOfMemoryError(f"{found} before any data are read")


def open_streams() -> None:
    """Make both streams safe to print to.

    A terminal with few characters shows the others as escapes instead of failing. A stream that
    was closed would leave its number to the next file that is opened, which would then be printed
    into: what is printed in its place fails, and messages go nowhere.
    """
    if sys.stdout is None:
        sys.stdout = _stand_in(1, os.O_RDONLY)
    if sys.stderr is None:
        sys.stderr = _stand_in(2, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def silence_streams(*numbers: int) -> None:
    """Print no more to streams that cannot be written, both by default.

    Python writes what is left in them when it ends, and would fail and say so then.
    """
    for number in numbers or (1, 2):
        _open_nothing(number, os.O_WRONLY)


def _stand_in(number: int, mode: int) -> TextIO:
    """Open a stream on a number that was closed; one opened for reading refuses to be written."""
    _open_nothing(number, mode)
    return open(number, "w", encoding="utf-8", closefd=False)


def _open_nothing(number: int, mode: int) -> None:
    nothing = os.open(os.devnull, mode)
    if nothing != number:
        os.dup2(nothing, number)
        os.close(nothing)
