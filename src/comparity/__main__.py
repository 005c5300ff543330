"""Run the command line with ``python -m comparity`` or ``comparity``."""

import atexit
import os
import signal
import sys
import threading
import time
from typing import NoReturn

INTERRUPTED = 130
ENDED = 128
"""What shells add to the number of the signal that ended a program."""
ENDINGS = ("SIGTERM", "SIGHUP")
"""How schedulers, containers and terminals that are closed end a program."""
SECONDS_TO_END_IN = 2.0
SHOW_CURSOR = "\x1b[?25h"


def main() -> NoReturn:
    """Run the command line; after Ctrl-C, also while it is imported, leave without a traceback."""
    status: int | str | None = 0
    try:
        _watch_interruptions()
        from comparity.cli import main as run

        run()
    except KeyboardInterrupt:
        # The status shells give a program that was interrupted.
        status = INTERRUPTED
    except SystemExit as left:
        status = left.code
    finally:
        # What Python does at its end would show a traceback; now it just ends.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    _leave(status)


def _leave(status: int | str | None) -> NoReturn:
    """End the process at once where nobody waits for anything else.

    Taking millions of objects apart takes Python seconds, and DuckDB would list on stderr what
    narwhals and PyArrow keep of it to the end.
    """
    others = [one for one in threading.enumerate() if not one.daemon]
    watched = sys.gettrace() is not None or sys.getprofile() is not None
    if watched or len(others) > 1 or not isinstance(status, int):
        sys.exit(status)
    try:
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
    except (AttributeError, OSError, ValueError):  # streams that were closed, or cannot be written
        sys.exit(status)
    os._exit(status)


def _watch_interruptions() -> None:
    """Have a thread see at once every Ctrl-C, and what else ends programs.

    Python itself sees it only between two steps of its own, and DuckDB may count for minutes
    without looking.
    """
    if sys.platform == "win32":  # where it takes sockets
        return
    seen, told = os.pipe()
    os.set_blocking(told, False)
    signal.set_wakeup_fd(told, warn_on_full_buffer=False)
    for ending in (getattr(signal, name) for name in ENDINGS):
        # A program that was started by nohup ignores the second.
        if signal.getsignal(ending) is signal.SIG_DFL:
            signal.signal(ending, _end)
    threading.Thread(target=_leave_late, args=(seen,), daemon=True).start()


def _end(number: int, _: object) -> NoReturn:
    """End as after Ctrl-C: what was written to be deleted is."""
    sys.exit(ENDED + number)


def _leave_late(seen: int) -> None:
    """End the process where it does not end by itself soon after it was told to."""
    # A server that ends by itself has put its own answer in place of ours.
    while (number := os.read(seen, 1)[0]) != signal.SIGINT and signal.getsignal(number) != _end:
        pass
    time.sleep(SECONDS_TO_END_IN)
    # What an engine spilled that does not look up would stay.
    memory = sys.modules.get("comparity.tables.memory")
    if memory is not None:
        memory.remove_folders()
    if sys.stderr is not None and sys.stderr.isatty():
        os.write(sys.stderr.fileno(), SHOW_CURSOR.encode())
    os._exit(ENDED + number)


if __name__ == "__main__":
    main()
