"""The command line: parse, call, print, exit status."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Sequence

import click

from comparity import __version__
from comparity.cli.running import (
    CUT_OFF,
    DEFECT,
    INTERRUPTED,
    NOT_WRITTEN,
    LazyGroup,
    open_streams,
    silence_streams,
)
from comparity.errors.spelling import visible

HOMES = {
    "separation": "questions",
    "impact": "scores",
    "comparative": "questions",
    "pairwise": "scores",
    "relative": "deciders",
    "rank": "questions",
    "metrics": "scores",
    "weights": "questions",
    "train": "questions",
    "judges": "deciders",
    "plan": "questions",
    "pairs": "questions",
    "collect": "collect",
    "gate": "questions",
    "report": "report",
    "data": "tools",
    "demo": "tools",
    "reproduce": "reproduce",
    "doctor": "tools",
}
"""The module of each command, in the order of a piece of work."""


@click.group(cls=LazyGroup, homes=HOMES)
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
    open_streams()
    try:
        status = _run(arguments)
    # Neither can be told where stderr fails, too.
    except BrokenPipeError:
        silence_streams()
        status = CUT_OFF
    except OSError:
        silence_streams()
        status = NOT_WRITTEN
    except KeyboardInterrupt:
        status = INTERRUPTED
    sys.exit(status)


def _run(arguments: Sequence[str] | None) -> int:
    """Print the error, if there is one, and return the exit status."""
    try:
        status = commands.main(arguments, prog_name="comparity", standalone_mode=False)
    except click.ClickException as error:
        words = sys.argv[1:] if arguments is None else arguments
        # click has no other way to say it; what it shows it takes from here.
        error.message = _spell_out(error.message, words)  # type: ignore[misc]
        error.show()
        return error.exit_code
    except click.Abort:
        return INTERRUPTED
    # Python would leave with 1, which says that something was found.
    except Exception:
        traceback.print_exc()
        return DEFECT
    return status if isinstance(status, int) else 0


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
