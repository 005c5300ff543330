"""Run the command line with ``python -m comparity`` or ``comparity``."""

import signal
import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line; after Ctrl-C, also while it is imported, leave without a traceback."""
    try:
        from comparity.cli import main as run

        run()
    except KeyboardInterrupt:
        # The status shells give a program that was interrupted.
        sys.exit(130)
    finally:
        # What Python does at its end would show a traceback; now it just ends.
        signal.signal(signal.SIGINT, signal.SIG_DFL)


if __name__ == "__main__":
    main()
