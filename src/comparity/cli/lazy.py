"""A group of commands that imports a command only when it is asked for."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import get_close_matches
from importlib import import_module
from typing import Any

import click

from comparity.cli.exits import BadInput, check_memory, tell_faults
from comparity.errors import ComparityError

__all__ = ["BadInput", "LazyGroup", "SuggestingGroup", "as_options"]

OPTIONS = (
    *("positive", "threshold", "continuous", "design", "better", "worse", "evaluator", "tied"),
    *("left", "right", "winner"),
    *("margin", "alpha", "n_evaluators", "n_items", "n_pairs", "power", "tpr", "fpr", "tnr"),
    *("score_ties", "intersection", "notions", "looks", "layout"),
    *("first", "second", "raters", "order", "labels", "reference", "anchor"),
    *("privileged", "slack", "steps"),
)
# A flag is set by naming it; an option that takes a value is followed by it.
OPTION = re.compile(rf"\b({'|'.join(OPTIONS)})=(?:True\b)?")
UNSET = re.compile(rf"\b({'|'.join(OPTIONS)})=False\b")
VALUE = re.compile(rf"(--(?:{'|'.join(OPTIONS).replace('_', '-')}))(?=['\[(0-9])")
# Several values stand in brackets in Python, and behind each other here.
LISTED = re.compile(r"(--[a-z-]+) \[([^\]]*)\]")


UNCHECKED = ("doctor",)
"""Commands that run with packages of any version."""


class SuggestingGroup(click.Group):
    """Commands by name; a misspelt one is answered with the nearest."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, or say which one could have been meant."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            near = get_close_matches(args[0], self.list_commands(ctx), n=1)
            if not near:
                raise
            message = f"No such command {args[0]!r}. Did you mean {near[0]!r}?"
            raise click.UsageError(message, ctx) from error


class LazyGroup(SuggestingGroup):
    """Commands by name; the command ``x`` is the object ``x`` of :mod:`comparity.cli.x`.

    Parameters
    ----------
    names : sequence of str
        The commands, in the order ``--help`` lists them.
    """

    def __init__(self, *args: Any, names: Sequence[str] = (), **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.names = tuple(names)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order of a piece of work."""
        return list(self.names)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; it runs only with packages that are recent enough."""
        found = super().resolve_command(ctx, args)
        if not ctx.resilient_parsing and args[0] not in UNCHECKED and "--help" not in args:
            # Imported here so that --help reads no metadata.
            from comparity.errors.requirements import check_requirements

            check_requirements()
        return found

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command."""
        if cmd_name not in self.names:
            return None
        command = getattr(import_module(f"comparity.cli.{cmd_name}"), cmd_name)
        assert isinstance(command, click.Command), cmd_name
        return command

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        """Read the words of the command line; ``--help`` prints here."""
        with tell_faults():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; an error of ours becomes a message and status 2."""
        with tell_faults():
            try:
                check_memory()
                return super().invoke(ctx)
            except ComparityError as error:
                raise BadInput(as_options(str(error))) from error


def as_options(message: str) -> str:
    """Name options as the command line writes them, in the hint of an error.

    What the error found is left as it is: it may quote data.

    Examples
    --------
    >>> as_options("a  hint:  name it with positive=, or use design='fresh' or continuous=True.")
    "a  hint:  name it with --positive, or use --design 'fresh' or --continuous."
    >>> as_options("a  hint:  give one rate per group, such as tpr=[0.8, 0.84]")
    'a  hint:  give one rate per group, such as --tpr 0.8,0.84'
    """
    start, hint, rest = message.rpartition("hint:")
    rest = UNSET.sub(lambda found: "no --" + found[1].replace("_", "-"), rest)
    rest = OPTION.sub(lambda found: "--" + found[1].replace("_", "-"), rest)
    rest = VALUE.sub(r"\1 ", rest)
    return start + hint + LISTED.sub(lambda one: f"{one[1]} {one[2].replace(', ', ',')}", rest)
