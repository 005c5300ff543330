"""Run the command line with ``python -m comparity`` or ``comparity``."""

import os
import signal
import sys
import threading
import time

INTERRUPTED = 130
PATIENCE = 2.0
SHOW_CURSOR = "\x1b[?25h"


def main() -> None:
    """Run the command line; after Ctrl-C, also while it is imported, leave without a traceback."""
    try:
        _watch_interruptions()
        from comparity.cli import main as run

        run()
    except KeyboardInterrupt:
        # The status shells give a program that was interrupted.
        sys.exit(INTERRUPTED)
    finally:
        # What Python does at its end would show a traceback; now it just ends.
        signal.signal(signal.SIGINT, signal.SIG_DFL)


def _watch_interruptions() -> None:
    """Have a thread see every Ctrl-C at once.

    Python itself sees it only between two steps of its own, and DuckDB may count for minutes
    without looking.
    """
    if sys.platform == "win32":  # where it takes sockets
        return
    seen, told = os.pipe()
    os.set_blocking(told, False)
    signal.set_wakeup_fd(told, warn_on_full_buffer=False)
    threading.Thread(target=_leave_late, args=(seen,), daemon=True).start()


def _leave_late(seen: int) -> None:
    """End the process where it does not end by itself soon after Ctrl-C."""
    while os.read(seen, 1) != bytes([signal.SIGINT]):
        pass
    time.sleep(PATIENCE)
    # What an engine spilled that does not look up would stay.
    memory = sys.modules.get("comparity.tables.memory")
    if memory is not None:
        memory.remove_folders()
    if sys.stderr is not None and sys.stderr.isatty():
        os.write(sys.stderr.fileno(), SHOW_CURSOR.encode())
    os._exit(INTERRUPTED)


if __name__ == "__main__":
    main()
