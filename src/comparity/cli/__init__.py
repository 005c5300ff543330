"""The command line: parse, call, print, exit status."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Sequence

import click

from comparity import __version__
from comparity.cli.lazy import LazyGroup
from comparity.reporting.formats import visible

__all__ = ["commands", "main"]

# 0, 1 and 3 are findings and 2 is bad input, so neither a defect of ours nor Ctrl-C may use them.
DEFECT = 70
INTERRUPTED = 130

NAMES = (
    "separation",
    "comparative",
    "pairwise",
    "relative",
    "rank",
    "metrics",
    "weights",
    "train",
    "plan",
    "gate",
    "report",
    "data",
    "demo",
    "reproduce",
    "doctor",
)


@click.group(cls=LazyGroup, names=NAMES)
@click.version_option(__version__, prog_name="comparity")
def commands() -> None:
    """Test fairness from judgments: labels, comparisons between pairs, or two decision makers.

    An audit ends with status 0 (within the margin), 1 (violated), 2 (bad input) or
    3 (undecided), so that scripts can act on it.
    """


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and leave with its exit status.

    Parameters
    ----------
    arguments : sequence of str, optional
        The words after ``comparity``; those of the process by default.
    """
    _print_anything()
    try:
        status = commands.main(arguments, prog_name="comparity", standalone_mode=False)
    except click.ClickException as error:
        words = sys.argv[1:] if arguments is None else arguments
        # click has no other way to say it; what it shows it takes from here.
        error.message = _spell_out(error.message, words)  # type: ignore[misc]
        error.show()
        sys.exit(error.exit_code)
    except click.Abort:
        sys.exit(INTERRUPTED)
    # Python would leave with 1, which says that something was found.
    except Exception:
        traceback.print_exc()
        sys.exit(DEFECT)
    sys.exit(status if isinstance(status, int) else 0)


def _spell_out(message: str, words: Sequence[str]) -> str:
    r"""Spell out control characters in what a message quotes of the command line.

    The line breaks of the message itself are kept.

    Examples
    --------
    >>> print(_spell_out("Choose:\n  extra argument (a\x1b\nb)", ["demo", "a\x1b\nb"]))
    Choose:
      extra argument (a\x1b\nb)
    """
    # Of an option that is written with its value, messages quote either.
    for part in {part for word in words for part in (word, *word.partition("="))}:
        if part.strip() and part != visible(part):
            message = message.replace(part, visible(part))
    return visible(message, keep="\n\t")


def _print_anything() -> None:
    """Let a terminal with few characters show the others as escapes instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
