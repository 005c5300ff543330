"""A group of commands that imports a command only when it is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from functools import partial
from importlib import import_module
from typing import Any

import click

from comparity.cli.exits import BadInput, check_memory, tell_faults
from comparity.errors import ComparityError, Option

__all__ = ["LazyGroup", "SuggestingGroup", "declared_options", "spell_option"]

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
    """Commands by name, each an object of that name in a module of :mod:`comparity.cli`.

    Parameters
    ----------
    homes : mapping of str to str
        The module of each command, in the order ``--help`` lists them.
    """

    def __init__(self, *args: Any, homes: Mapping[str, str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.homes = dict(homes)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order of a piece of work."""
        return list(self.homes)

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
        if cmd_name not in self.homes:
            return None
        command = getattr(import_module(f"comparity.cli.{self.homes[cmd_name]}"), cmd_name)
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
                # Of two commands that call an option differently, the one that runs is right.
                running = self.get_command(ctx, ctx.invoked_subcommand or "") or self
                known = declared_options(self) | declared_options(running)
                raise BadInput(error.tell(partial(spell_option, known=known))) from error


def declared_options(command: click.Command) -> dict[str, click.Option]:
    """Return the options of a command, or of all commands of a group, by the names of choices."""
    found = {one.name or "": one for one in command.params if isinstance(one, click.Option)}
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            one = command.get_command(context, name)
            assert one is not None, name
            found = declared_options(one) | found
    return found


def spell_option(named: Option, known: Mapping[str, click.Option]) -> str:
    """Name a choice as the command line writes it; one that it does not have, as Python does.

    Examples
    --------
    >>> known = {
    ...     "score_ties": click.Option(["--score-ties"]),
    ...     "tpr": click.Option(["--tpr"]),
    ...     "continuous": click.Option(["--continuous"], is_flag=True),
    ... }
    >>> spell_option(Option("score_ties"), known), spell_option(Option("score_ties", "half"), known)
    ('--score-ties', "--score-ties 'half'")
    >>> spell_option(Option("tpr", [0.8, 0.84]), known), spell_option(Option("x", 1), known)
    ('--tpr 0.8,0.84', 'x=1')
    >>> spell_option(Option("continuous", False), known)
    'no --continuous'
    """
    if named.name not in known:
        return str(named)
    option = known[named.name].opts[0]
    # A flag is set by naming it, and whatever has no value is left out.
    if named.value is None or named.value is False:
        return f"no {option}"
    if named.value is True or not named.has_value:
        return option
    several = isinstance(named.value, list)
    return f"{option} {','.join(map(str, named.value)) if several else repr(named.value)}"
